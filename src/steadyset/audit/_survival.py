"""How many points are how unstable."""

import numpy as np
from numpy.typing import NDArray


def survival(instability: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of points whose instability exceeds each threshold; 0 where there are no points."""
    above = len(instability) - np.searchsorted(np.sort(instability), thresholds, side="right")
    return np.asarray(above / max(len(instability), 1))
