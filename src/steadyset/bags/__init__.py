"""Bags: which training rows each learner sees, drawn so that the theorems apply, and what the bags predict."""

from steadyset.bags._bags import Bags, Part, concatenate, draw_bags
from steadyset.bags._guarantee import guarantee_of_rule, stability_of_bags
from steadyset.bags._hash import bag_key, id_words
from steadyset.bags._predictions import BLOCK, BagPredictions, checked_predictions, sum_bags

__all__ = [
    "BLOCK",
    "BagPredictions",
    "Bags",
    "Part",
    "bag_key",
    "checked_predictions",
    "concatenate",
    "draw_bags",
    "guarantee_of_rule",
    "id_words",
    "stability_of_bags",
    "sum_bags",
]
