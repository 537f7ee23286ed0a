"""The one file that knows scikit-learn's private doors, under names of our own.

Versions 1.6 to 1.9 have all of them, but for the callbacks, which came with 1.9 and have stand-ins here. Where a later
version has lost one, importing this module says so. Only rooms that use scikit-learn anyway import it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray

from steadyset._base.outside_rows import OutsideRows

try:
    from sklearn.linear_model._base import LinearClassifierMixin
    from sklearn.tree._tree import Tree
    from sklearn.utils import _safe_indexing
    from sklearn.utils.validation import _check_method_params, _check_sample_weight, _num_samples
except ImportError as error:
    raise ImportError(
        "scikit-learn must be a version whose private functions steadyset knows, such as 1.6 to 1.9; "
        f"got {sklearn.__version__}: {error}."
    ) from error


def num_samples(X: Any) -> int:
    """Return the number of rows."""
    return int(_num_samples(X))


def take(X: Any, positions: NDArray[np.intp], axis: int = 0) -> Any:
    """Return a copy of these rows, or columns with `axis=1`, as the kind of thing that X is."""
    if axis == 0 and isinstance(X, np.ndarray | OutsideRows):
        return X[positions]  # as scikit-learn does it, without looking around first
    return _safe_indexing(X, positions, axis=axis)


def params_of_rows(X: Any, params: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return the parameters for these rows of X: those with one value per row are sliced, others stay as they are."""
    return dict(_check_method_params(X, params, indices=rows))


def check_sample_weight(
    sample_weight: Any, X: Any, *, dtype: Any = None, ensure_non_negative: bool = False
) -> NDArray[Any]:
    """Return the weights as an array with one number per row of X."""
    return np.asarray(_check_sample_weight(sample_weight, X, dtype=dtype, ensure_non_negative=ensure_non_negative))


def is_linear_classifier(learner: Any) -> bool:
    """Return whether the learner is one of scikit-learn's linear classifiers."""
    return isinstance(learner, LinearClassifierMixin)


def made_tree(n_features: int, nodes: Mapping[str, NDArray[Any]], values: NDArray[np.float64], depth: int) -> Any:
    """Return scikit-learn's Tree of these nodes, by the names of its fields; values are shares, (nodes, 1, classes)."""
    n_classes = values.shape[2]
    tree = Tree(n_features, np.array([n_classes], np.intp), 1)
    fields = tree.__reduce__()[2]["nodes"].dtype
    rows = np.zeros(len(values), fields)
    for name, column in nodes.items():
        rows[name] = column
    tree.__setstate__(
        {"max_depth": depth, "node_count": len(rows), "nodes": rows, "values": np.ascontiguousarray(values)}
    )
    return tree


def n_training_rows(ensemble: Any) -> int:
    """Return how many rows a fitted forest or BaggingClassifier was fitted on."""
    if not hasattr(ensemble, "_n_samples"):
        raise ValueError(
            f"fitted must know its number of training rows, which this version of {type(ensemble).__name__} does not "
            "keep; give its estimators_ as a list, with rows and n_samples."
        )
    return int(ensemble._n_samples)


try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import ProgressBar
    from sklearn.callback import with_callbacks as with_callbacks

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
