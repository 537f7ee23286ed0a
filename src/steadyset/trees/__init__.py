"""Decision trees: many bags of a table at once, each grown from its own rows alone."""

from steadyset.trees._group import TreeGroup
from steadyset.trees._tree import TreeClassifier

__all__ = ["TreeClassifier", "TreeGroup"]
