"""How a tree is grown: the estimator's parameters, checked, as the native code takes them."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from steadyset._base.validation import count, number, real_number, shown, whole

_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Settings:
    """Everything but rows, weights and seeds that decides how a tree grows, under the native code's names."""

    entropy: bool
    random: bool
    max_features: int
    max_depth: int  # 0: no limit
    max_leaf_nodes: int
    min_split: float
    min_leaf: float
    split_is_share: bool
    leaf_is_share: bool
    min_decrease: float

    def native(self) -> dict[str, Any]:
        """Return the settings as the native code takes them."""
        return asdict(self)


def settings_of(tree: Any, n_features: int) -> Settings:
    """Return the settings of an estimator, checked."""
    split, split_is_share = _rows(tree.min_samples_split, "min_samples_split", 2)
    leaf, leaf_is_share = _rows(tree.min_samples_leaf, "min_samples_leaf", 1)
    return Settings(
        entropy=_choice(tree.criterion, "criterion", ("gini", "entropy")) == "entropy",
        random=_choice(tree.splitter, "splitter", ("best", "random")) == "random",
        max_features=features_per_split(tree.max_features, n_features),
        max_depth=_limit(tree.max_depth, "max_depth", 1),
        max_leaf_nodes=_limit(tree.max_leaf_nodes, "max_leaf_nodes", 2),
        min_split=split,
        min_leaf=leaf,
        split_is_share=split_is_share,
        leaf_is_share=leaf_is_share,
        min_decrease=number(
            tree.min_impurity_decrease,
            "min_impurity_decrease",
            "a finite number that is at least 0",
            lambda x: 0 <= x < math.inf,
        ),
    )


def features_per_split(value: Any, n_features: int) -> int:
    """Return how many features a node looks at, by scikit-learn's meaning of `max_features`."""
    allowed = 'None, "sqrt", "log2", a whole number that is at least 1 or a share above 0 and at most 1'
    if value is None:
        return n_features
    if isinstance(value, str):
        if value not in ("sqrt", "log2"):
            raise ValueError(f"max_features must be {allowed}; got {shown(value)}.")
        return max(1, int(math.sqrt(n_features) if value == "sqrt" else math.log2(n_features)))
    if isinstance(value, float | np.floating):
        return max(1, int(number(value, "max_features", allowed, lambda x: 0 < x <= 1) * n_features))
    return min(n_features, whole(value, "max_features", allowed, 1))


def _choice(value: Any, name: str, allowed: tuple[str, str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f'{name} must be "{allowed[0]}" or "{allowed[1]}"; got {shown(value)}.')
    return value


def _limit(value: Any, name: str, least: int) -> int:
    return (
        0 if value is None else whole(value, name, f"None or a whole number that is at least {least}", least, _LARGEST)
    )


def _rows(value: Any, name: str, least: int) -> tuple[float, bool]:
    """Return a number of rows, or a share of the bag's rows, and whether it is one."""
    if isinstance(value, float | np.floating):
        allowed = f"a whole number that is at least {least} or a share above 0 and at most 1"
        share = real_number(value, name, allowed)
        if not (0 < share < 1 or (share == 1 and least == 2)):
            raise ValueError(f"{name} must be {allowed}; got {shown(value)}.")
        return share, True
    return float(count(value, name, least)), False
