"""What the theorems promise before anything is trained: the formulas, and the formulas solved for one argument."""

from steadyset.guarantees._formulas import least_held
from steadyset.guarantees._guarantee import TITLES, Guarantee
from steadyset.guarantees._setting import hit_probability
from steadyset.guarantees._solver import SMALLEST_EPSILON, NoSolutionError, solve_stability
from steadyset.guarantees._stability import reseed_stability, row_influence, selection_stability

__all__ = [
    "SMALLEST_EPSILON",
    "TITLES",
    "Guarantee",
    "NoSolutionError",
    "hit_probability",
    "least_held",
    "reseed_stability",
    "row_influence",
    "selection_stability",
    "solve_stability",
]
