"""What the theorems promise before anything is trained: the formulas, and the formulas solved for one argument."""

from steadyset.guarantees._formulas import (
    Guarantee,
    check_setting,
    least_held,
    reseed_stability,
    selection_stability,
)
from steadyset.guarantees._solver import SMALLEST_EPSILON, NoSolutionError, solve_stability

__all__ = [
    "SMALLEST_EPSILON",
    "Guarantee",
    "NoSolutionError",
    "check_setting",
    "least_held",
    "reseed_stability",
    "selection_stability",
    "solve_stability",
]
