"""Bags: which training rows each learner sees, drawn so that the theorems apply, and what the bags predict."""

from steadyset.bags._bags import Bags, Part, concatenate, coupling_of, draw_bags
from steadyset.bags._claims import check_bags
from steadyset.bags._guarantee import guarantee_of_rule
from steadyset.bags._hash import bag_key, id_words
from steadyset.bags._predictions import BLOCK, BagPredictions, checked_predictions, exact_predictions, sum_bags
from steadyset.bags._row_ids import (
    POSITIONS,
    RowIds,
    content_digests,
    content_ids,
    content_words,
    given_ids,
    group_ids,
    with_parameters,
)

__all__ = [
    "BLOCK",
    "POSITIONS",
    "BagPredictions",
    "Bags",
    "Part",
    "RowIds",
    "bag_key",
    "check_bags",
    "checked_predictions",
    "concatenate",
    "content_digests",
    "content_ids",
    "content_words",
    "coupling_of",
    "draw_bags",
    "exact_predictions",
    "given_ids",
    "group_ids",
    "guarantee_of_rule",
    "id_words",
    "sum_bags",
    "with_parameters",
]
