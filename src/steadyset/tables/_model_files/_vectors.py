"""Support vector machines and neighbours: compiled code takes counts, labels and widths from the file."""

import math
from typing import Any

import numpy as np

from steadyset._base.memory import physical_memory
from steadyset.tables._model_files._plan import Made
from steadyset.tables._model_files._refusal import UnknownError, array, count, insist, within

_SVM = "a support vector machine whose parts contradict each other"
_NEIGHBORS = "neighbours whose parts contradict each other"
_KERNELS = ("linear", "poly", "rbf", "sigmoid")
_LARGEST = 1e150  # of the numbers of neighbours' rows
_VOTE_BYTES = 64  # of the walk over the neighbours, for each vote of a bag
_STABLE_METRICS = ("euclidean", "cosine", "manhattan")
_METRICS = ("minkowski", "euclidean", "l2", "sqeuclidean", "manhattan", "cityblock", "l1", "chebyshev", "cosine")


def check_svm(svm: Made) -> None:
    """Refuse counts, vectors, coefficients and labels of different sizes."""
    if svm["kernel"] not in _KERNELS or svm["_sparse"] is not False:
        raise UnknownError
    width, n_classes = count(svm["n_features_in_"], _SVM), len(svm["classes_"])
    vectors = array(svm["support_vectors_"], "f", 2, _SVM)
    counts = array(svm["_n_support"], "i", 1, _SVM)
    pairs = n_classes * (n_classes - 1) // 2
    insist(n_classes >= 2 and len(counts) == n_classes, _SVM)
    insist(vectors.shape[1] == width and len(vectors) >= 1, _SVM)
    within(counts, 0, len(vectors) + 1, _SVM)
    insist(int(counts.sum(dtype=object)) == len(vectors), _SVM)
    support = array(svm["support_"], "i", 1, _SVM)
    insist(len(support) == len(vectors), _SVM)
    shape = svm["shape_fit_"]
    insist(isinstance(shape, tuple) and len(shape) == 2 and count(shape[1], _SVM) == width, _SVM)
    within(support, 0, count(shape[0], _SVM), _SVM)
    for name in ("dual_coef_", "_dual_coef_"):
        insist(array(svm[name], "f", 2, _SVM).shape == (n_classes - 1, len(vectors)), _SVM)
    for name in ("intercept_", "_intercept_"):
        insist(array(svm[name], "f", 1, _SVM).shape == (pairs,), _SVM)
    calibrated = array(svm["_probA"], "f", 1, _SVM)
    insist(calibrated.shape == array(svm["_probB"], "f", 1, _SVM).shape, _SVM)
    claims = svm.get("probability", False) is True or svm.get("_effective_probability", False) is True
    insist(len(calibrated) == pairs or (len(calibrated) == 0 and not claims), _SVM)


def check_neighbors(neighbors: Made) -> None:
    """Refuse labels that are not one per stored row, or no class; other methods and metrics are not known here."""
    metrics = {neighbors["metric"], neighbors["effective_metric_"]}
    if neighbors["_fit_method"] != "brute" or neighbors.get("_tree") is not None or not metrics <= set(_METRICS):
        raise UnknownError
    for name in ("metric_params", "effective_metric_params_"):
        _check_metric(neighbors.get(name))
    rows = array(neighbors["_fit_X"], "f", 2, _NEIGHBORS)
    insist(rows.shape == (count(neighbors["n_samples_fit_"], _NEIGHBORS), rows.shape[1]), _NEIGHBORS)
    insist(rows.shape[1] == count(neighbors["n_features_in_"], _NEIGHBORS), _NEIGHBORS)
    if neighbors["outputs_2d_"] is not False:
        raise UnknownError
    labels = array(neighbors["_y"], "iu", 1, _NEIGHBORS)
    insist(len(labels) == len(rows), _NEIGHBORS)
    within(labels, 0, len(neighbors["classes_"]), _NEIGHBORS)
    if neighbors.get("n_neighbors") is not None:
        insist(count(neighbors["n_neighbors"], _NEIGHBORS) <= len(rows), _NEIGHBORS)


def check_radius_neighbors(neighbors: Made) -> None:
    """Let Euclidean neighbours pass as others do: for every other metric compiled code gets points of any width."""
    metric, power = neighbors["metric"], neighbors["p"]
    if metric not in ("euclidean", "sqeuclidean") and (metric, power) != ("minkowski", 2):
        raise UnknownError
    check_neighbors(neighbors)


def _check_metric(params: Any) -> None:
    if params and set(params) != {"p"}:
        raise UnknownError


def check_stable_neighbors(neighbors: Made) -> None:
    """Refuse rows, words and labels of different lengths; a metric that is a callable is not known here."""
    if neighbors["metric"] not in _STABLE_METRICS or neighbors["columns_"] is not None:
        raise UnknownError
    rows, codes = array(neighbors["rows_"], "f", 2, _NEIGHBORS), array(neighbors["codes_"], "i", 1, _NEIGHBORS)
    words = array(neighbors["words_"], "u", 1, _NEIGHBORS)
    insist(rows.dtype in (np.float32, np.float64) and words.dtype == np.uint64 and codes.dtype == np.intp, _NEIGHBORS)
    insist(2 <= len(rows) == len(codes) == len(words), _NEIGHBORS)
    insist(bool((np.abs(rows) <= _LARGEST).all()), _NEIGHBORS)  # others have no distances, and so no order
    insist(rows.shape[1] == count(neighbors["n_features_in_"], _NEIGHBORS), _NEIGHBORS)
    within(codes, 0, len(neighbors["classes_"]), _NEIGHBORS)
    votes, size = count(neighbors["n_neighbors"], _NEIGHBORS), count(neighbors["bag_size_"], _NEIGHBORS)
    bootstrap = np.asarray(neighbors["bootstrap"])
    insist(bootstrap.shape == () and bootstrap.dtype == bool and (bool(bootstrap) or size < len(rows)), _NEIGHBORS)
    insist(min(votes, size) * _VOTE_BYTES <= physical_memory(), _NEIGHBORS)
    _check_bounds(neighbors["center_"], neighbors["scale_"], rows.shape[1])


def _check_bounds(center: Any, scale: Any, width: int) -> None:
    """Refuse another center than one of these columns, or another scale than a power of 2."""
    insist((center is None) == (scale is None), _NEIGHBORS)
    if center is not None:
        insist(array(center, "f", 1, _NEIGHBORS).shape == (width,) and center.dtype == np.float64, _NEIGHBORS)
        insist(bool(np.isfinite(center).all()) and type(scale) is float and math.frexp(scale)[0] == 0.5, _NEIGHBORS)
