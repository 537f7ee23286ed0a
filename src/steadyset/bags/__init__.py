"""Bags: which training rows each learner sees, drawn so that the theorems apply, and what the bags predict."""

from steadyset.bags._bag_digests import bag_digests, bag_numbers
from steadyset.bags._bags import Bags, Part, concatenate, coupling_of, draw_bags
from steadyset.bags._claims import check_bags
from steadyset.bags._guarantee import guarantee_of_rule
from steadyset.bags._hash import bag_key, id_words
from steadyset.bags._learner_seeds import bag_seed
from steadyset.bags._mend import GOAL, WEAK, Mend, mend
from steadyset.bags._predictions import BLOCK, BagPredictions, checked_predictions, exact_predictions, sum_bags
from steadyset.bags._redraw import Redraw, draw_after
from steadyset.bags._row_ids import (
    POSITIONS,
    CodedLabels,
    RowIds,
    content_digests,
    content_ids,
    content_ids_after,
    content_words,
    content_words_after,
    given_ids,
    group_ids,
    with_parameters,
)
from steadyset.bags._saved import SavedBags, load_bags, save_bags

__all__ = [
    "BLOCK",
    "GOAL",
    "POSITIONS",
    "WEAK",
    "BagPredictions",
    "Bags",
    "CodedLabels",
    "Mend",
    "Part",
    "Redraw",
    "RowIds",
    "SavedBags",
    "bag_digests",
    "bag_key",
    "bag_numbers",
    "bag_seed",
    "check_bags",
    "checked_predictions",
    "concatenate",
    "content_digests",
    "content_ids",
    "content_ids_after",
    "content_words",
    "content_words_after",
    "coupling_of",
    "draw_after",
    "draw_bags",
    "exact_predictions",
    "given_ids",
    "group_ids",
    "guarantee_of_rule",
    "id_words",
    "load_bags",
    "mend",
    "save_bags",
    "sum_bags",
    "with_parameters",
]
