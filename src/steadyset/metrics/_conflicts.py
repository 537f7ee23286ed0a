"""Has retraining contradicted anything?"""

import math
from typing import Any

import numpy as np

from steadyset._base import set_validation
from steadyset.metrics._estimate import Estimate, mean, warn_undefined


def conflict_rate(sets_old: Any, sets_new: Any, *, sample_weight: Any = None) -> Estimate:
    """Return how often the new set shares no label with the old one.

    Parameters
    ----------
    sets_old, sets_new : bool arrays of shape (n_samples, n_classes)
        Label sets of the same samples before and after, with the same columns; none empty.
    sample_weight : array of shape (n_samples,), default=None
        Weights that are at least 0.

    Returns
    -------
    Estimate
        A float from 0 to 1, lower is better, with its `standard_error`; NaN with a warning where no sample counts.

    Notes
    -----
    Theory: :doc:`/theory/metrics`.

    Examples
    --------
    >>> import steadyset as ss
    >>> old, new = [[0.51, 0.49], [0.9, 0.1]], [[0.49, 0.51], [0.8, 0.2]]
    >>> ss.metrics.conflict_rate(ss.argmax_set(old), ss.argmax_set(new))
    0.5
    >>> ss.metrics.conflict_rate(ss.inflated_argmax(old, epsilon=0.1), ss.inflated_argmax(new, epsilon=0.1))
    0.0
    """
    old = set_validation.no_empty_set(set_validation.sample_sets(sets_old, "sets_old"), "sets_old")
    new = set_validation.no_empty_set(set_validation.sample_sets(sets_new, "sets_new"), "sets_new")
    set_validation.same_shape(new, "sets_new", old.shape, "sets_old")
    weights = set_validation.sample_weights(sample_weight, len(old))
    rate = mean(np.count_nonzero(old & new, axis=1) == 0, weights)
    if math.isnan(rate):
        warn_undefined("conflict_rate", "no sample has a weight above 0")
    return rate
