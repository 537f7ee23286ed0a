"""The one file that knows scikit-learn's private doors, under names of our own.

Each door says what is done where this version of scikit-learn does not have it, so that the next release breaks nothing
silently and 1.6 still works. Only rooms that use scikit-learn anyway import this module.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

__all__ = [
    "HAS_CALLBACKS",
    "CallbackSupportMixin",
    "callback_progress",
    "check_sample_weight",
    "is_linear_classifier",
    "n_training_rows",
    "num_samples",
    "params_of_rows",
    "take",
    "with_callbacks",
]


def _length(X: Any) -> int:
    return int(X.shape[0] if hasattr(X, "shape") else len(X))


try:
    from sklearn.utils.validation import _num_samples
except ImportError:
    _num_samples = _length


def num_samples(X: Any) -> int:
    """Return the number of rows."""
    return int(_num_samples(X))


def _indexed(X: Any, positions: NDArray[np.intp], axis: int = 0) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[positions] if axis == 0 else X.iloc[:, positions]
    if hasattr(X, "shape"):
        return X[positions] if axis == 0 else X[:, positions]
    return [X[int(place)] for place in positions]


try:
    from sklearn.utils import _safe_indexing
except ImportError:
    _safe_indexing = _indexed


def take(X: Any, positions: NDArray[np.intp], axis: int = 0) -> Any:
    """Return a copy of these rows, or columns with `axis=1`, as the kind of thing that X is."""
    if axis == 0 and isinstance(X, np.ndarray):
        return X[positions]  # as scikit-learn does it, without looking around first
    return _safe_indexing(X, positions, axis=axis)


def _sliced(X: Any, params: Mapping[str, Any], indices: NDArray[np.intp]) -> dict[str, Any]:
    def of_rows(value: Any) -> bool:
        is_array = not isinstance(value, str | bytes | Mapping) and (hasattr(value, "__len__") or issparse(value))
        return is_array and _length(value) == _length(X)

    return {name: _indexed(value, indices) if of_rows(value) else value for name, value in params.items()}


try:
    from sklearn.utils.validation import _check_method_params
except ImportError:
    _check_method_params = _sliced


def params_of_rows(X: Any, params: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return the parameters for these rows of X: those with one value per row are sliced, others stay as they are."""
    return dict(_check_method_params(X, params, indices=rows))


def _weights(
    sample_weight: Any, X: Any, *, dtype: Any = None, ensure_non_negative: bool = False, **_: Any
) -> NDArray[Any]:
    weights = np.asarray(sample_weight, dtype or np.float64)
    if weights.ndim == 0:
        weights = np.full(_length(X), weights)
    if weights.shape != (_length(X),) or not np.isfinite(weights).all():
        raise ValueError(
            f"sample_weight must hold a finite number for each of the {_length(X)} rows; got shape {weights.shape}."
        )
    if ensure_non_negative and (weights < 0).any():
        raise ValueError(f"sample_weight must hold no negative number; got {weights.min()!r}.")
    return weights


try:
    from sklearn.utils.validation import _check_sample_weight
except ImportError:
    _check_sample_weight = _weights


def check_sample_weight(
    sample_weight: Any, X: Any, *, dtype: Any = None, ensure_non_negative: bool = False
) -> NDArray[Any]:
    """Return the weights as an array with one number per row of X."""
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=dtype, ensure_non_negative=ensure_non_negative))


def _public_linear_classifiers() -> tuple[type, ...]:
    from sklearn import linear_model, svm
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return (
        linear_model.LogisticRegression,
        linear_model.RidgeClassifier,
        linear_model.RidgeClassifierCV,
        linear_model.SGDClassifier,
        svm.LinearSVC,
        LinearDiscriminantAnalysis,
    )


try:
    from sklearn.linear_model._base import LinearClassifierMixin

    _linear_classifiers: tuple[type, ...] = (LinearClassifierMixin,)
except ImportError:
    _linear_classifiers = _public_linear_classifiers()


def is_linear_classifier(learner: Any) -> bool:
    """Return whether the learner is one of scikit-learn's linear classifiers."""
    return isinstance(learner, _linear_classifiers)


def n_training_rows(ensemble: Any) -> int:
    """Return how many rows a fitted forest or BaggingClassifier was fitted on."""
    if not hasattr(ensemble, "_n_samples"):
        raise ValueError(
            f"fitted must know its number of training rows, which this version of {type(ensemble).__name__} does not "
            "keep; give its estimators_ as a list, with rows and n_samples."
        )
    return int(ensemble._n_samples)


try:
    from sklearn.callback import CallbackSupportMixin, ProgressBar, with_callbacks

    HAS_CALLBACKS = True
except ImportError:  # before 1.9: a bar of our own is shown instead
    HAS_CALLBACKS = False

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in for scikit-learn's class of that name."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


@contextmanager
def callback_progress(estimator: Any, total: int, verbose: int, step: str) -> Iterator[Callable[[int], None]]:
    """Give a function to call with the number of finished steps, which tells the estimator's callbacks.

    With `verbose`, an estimator without callbacks shows scikit-learn's progress bar. Needs `HAS_CALLBACKS`.
    """
    own_bar = bool(verbose) and not hasattr(estimator, "_skl_callbacks")
    if own_bar:
        estimator.set_callbacks(ProgressBar())
    try:
        context = estimator._init_callback_context(max_subtasks=total)
        context.call_on_fit_task_begin(estimator=estimator)

        def advance(n: int) -> None:
            for _ in range(n if hasattr(estimator, "_skl_callbacks") else 0):
                one = context.subcontext(task_name=step)
                one.call_on_fit_task_begin(estimator=estimator)
                one.call_on_fit_task_end(estimator=estimator)

        yield advance
        context.call_on_fit_task_end(estimator=estimator)
    finally:
        if own_bar:
            estimator.set_callbacks()
