"""Bags: which training rows each learner sees, drawn so that the theorems apply, and what the bags predict."""

from steadyset.bags._bags import Bags, Part, bag_key, concatenate, draw_bags, id_words
from steadyset.bags._predictions import BLOCK, BagPredictions, sum_bags

__all__ = [
    "BLOCK",
    "BagPredictions",
    "Bags",
    "Part",
    "bag_key",
    "concatenate",
    "draw_bags",
    "id_words",
    "sum_bags",
]
