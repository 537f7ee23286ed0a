"""The constant of the inflated argmax that both its own room and the guarantees need."""

import math

INV_SQRT2 = math.sqrt(0.5)


def left_out_gap(n_classes: int | None) -> float:
    """Return kappa_L = sqrt(L/(L-1)) - 1/sqrt(2): a label left out is at least kappa_L eps below the largest.

    For an unknown number of labels it is the limit, 1 - 1/sqrt(2), which is the smallest.
    """
    if n_classes is None:
        return 1 - INV_SQRT2
    labels = max(n_classes, 2)  # one label alone is never left out
    return math.sqrt(labels / (labels - 1)) - INV_SQRT2
