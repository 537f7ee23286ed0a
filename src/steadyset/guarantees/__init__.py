"""What the theorems promise before anything is trained: the formulas, and the formulas solved for one argument."""

from steadyset.guarantees._browser import javascript
from steadyset.guarantees._guarantee import TITLES, VACUOUS, Guarantee
from steadyset.guarantees._promise import MOST_BAGS, OutOfReachError, Promise, grid_size, kept, short_above
from steadyset.guarantees._solver import SMALLEST_EPSILON, NoSolutionError, solve_stability
from steadyset.guarantees._stability import SAME_FIT, reseed_stability, row_influence, selection_stability

__all__ = [
    "MOST_BAGS",
    "SAME_FIT",
    "SMALLEST_EPSILON",
    "TITLES",
    "VACUOUS",
    "Guarantee",
    "NoSolutionError",
    "OutOfReachError",
    "Promise",
    "grid_size",
    "javascript",
    "kept",
    "reseed_stability",
    "row_influence",
    "selection_stability",
    "short_above",
    "solve_stability",
]
