"""Forests of others that are installed, each on one core: scikit-learn-intelex, lightgbm, xgboost-cpu, snapml, ydf.

All but ydf bin their features, which an exact tree does not; the bins are in their names. LightGBM and XGBoost
limit the leaves or the depth of a tree by default and draw half of all rows for each tree; the others are given half.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

#: Fits a forest: X, y, half of the rows, trees, and the features that a node looks at, None for all of them or "sqrt".
Fit = Callable[[Any, Any, Any, int, str | None], object]


def installed() -> Iterator[tuple[str, Fit]]:
    """Names of the forests that can be imported, with what fits them."""
    for name, fit in _makers():
        with contextlib.suppress(ImportError):
            yield name, fit()


def _makers() -> list[tuple[str, Callable[[], Fit]]]:
    return [
        ("scikit-learn-intelex (256 bins)", _intelex),
        ("LightGBM rf (255 bins, 31 leaves)", _lightgbm),
        ("XGBRF (256 bins, depth 6)", _xgboost),
        ("snapml (256 bins)", _snapml),
        ("ydf (exact)", _ydf),
    ]


def _share(X: Any, features: str | None) -> float:
    return 1.0 if features is None else float(int(X.shape[1] ** 0.5) / X.shape[1])


def _intelex() -> Fit:
    from sklearnex.ensemble import RandomForestClassifier

    return lambda X, y, half, trees, features: RandomForestClassifier(
        trees, max_features=features, bootstrap=False, max_bins=256, n_jobs=1, random_state=0
    ).fit(X[half], y[half])


def _lightgbm() -> Fit:
    from lightgbm import LGBMClassifier

    return lambda X, y, half, trees, features: LGBMClassifier(
        boosting_type="rf",
        n_estimators=trees,
        subsample=0.5,
        subsample_freq=1,
        feature_fraction_bynode=_share(X, features),
        n_jobs=1,
        verbose=-1,
    ).fit(X, y)


def _xgboost() -> Fit:
    from xgboost import XGBRFClassifier

    return lambda X, y, half, trees, features: XGBRFClassifier(
        n_estimators=trees, subsample=0.5, colsample_bynode=_share(X, features), n_jobs=1
    ).fit(X, y)


def _snapml() -> Fit:
    from snapml import RandomForestClassifier

    return lambda X, y, half, trees, features: RandomForestClassifier(
        trees,
        max_features=_share(X, features),
        bootstrap=False,
        use_histograms=True,
        hist_nbins=256,
        n_jobs=1,
        random_state=0,
    ).fit(X[half], y[half])


def _ydf() -> Fit:
    import ydf

    ydf.verbose(0)
    return lambda X, y, half, trees, features: ydf.RandomForestLearner(
        label="label",
        num_trees=trees,
        max_depth=-1,
        min_examples=1,
        bootstrap_training_dataset=False,
        num_candidate_attributes=-1 if features is None else 0,  # 0: the square root
        winner_take_all=False,
        compute_oob_performances=False,
        num_threads=1,
    ).train({**{f"x{j}": column for j, column in enumerate(X[half].T)}, "label": y[half]})
