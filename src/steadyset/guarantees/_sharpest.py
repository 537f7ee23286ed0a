"""Which theorem says most in a setting."""

from collections.abc import Callable

from steadyset.guarantees._exponential import exponential, exponential_for_every_row
from steadyset.guarantees._formulas import (
    exact_second_moment,
    exceeds_simplex,
    paper,
    second_moment,
    small_bag_tail,
    small_bags_limit,
)
from steadyset.guarantees._setting import Setting
from steadyset.guarantees._two_labels import two_labels


def small_bags(s: Setting) -> float | None:
    """Bound that holds for every row; None where no theorem gives one."""
    if exceeds_simplex(s.eps):
        return 0.0
    if s.B is None:
        return small_bags_limit(s)
    return small_bag_tail(s) if s.coupling == "hash" else exponential_for_every_row(s)


#: The theorems by name; the first of those that say most is the one that is named.
THEOREMS: dict[str, Callable[[Setting], float | None]] = {
    "paper": paper,
    "second-moment": second_moment,
    "small-bags": small_bags,
    "exact-second-moment": exact_second_moment,
    "exponential": exponential,
    "two-labels": two_labels,
}


def sharpest(s: Setting, theorem: str) -> tuple[float, str]:
    """Return the bound of a theorem as its formula gives it, and its name; of "best", the smallest, at most 1."""
    if theorem != "best":
        bound = THEOREMS[theorem](s)
        return (1.0 if bound is None else bound), theorem
    least, best = float("inf"), "second-moment"
    for name, formula in THEOREMS.items():
        bound = formula(s)
        if bound is not None and bound < least:
            least, best = bound, name
        if least == 0:
            break
    return min(least, 1.0), best  # every probability is at most 1
