"""Choices that are not labels: anything that bags can vote for, settings of a search, features of a table."""

from steadyset.choices._feature_selector import StableFeatureSelector
from steadyset.choices._search import StableSearch
from steadyset.choices._stable_choice import StableChoice, stable_choice

__all__ = ["StableChoice", "StableFeatureSelector", "StableSearch", "stable_choice"]
