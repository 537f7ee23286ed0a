"""The guarantee of what was drawn, at one epsilon and along all of them."""

from dataclasses import replace
from typing import Any

from steadyset.bags import Bags, guarantee_of_rule
from steadyset.guarantees import Guarantee


def guarantee(
    bags: Bags, rule: Any, n_classes: int, assumptions: tuple[str, ...] = (), *, limit: bool = False
) -> Guarantee | str:
    """Return the best guarantee of a rule on these bags, or in a sentence why there is none.

    `assumptions` are those of the fit itself. With `limit`, that of infinitely many such bags.
    """
    try:
        found = guarantee_of_rule(bags, rule, n_classes, limit=limit)
    except ValueError as error:
        return f"No guarantee: {error}"
    return replace(found, assumptions=found.assumptions + assumptions)


def setting(bags: Any, n_classes: int, rounding: float = 0.0) -> dict[str, Any] | None:
    """Return what the page's formulas take, apart from epsilon and the theorem; None for adopted bags.

    `rounding` is what epsilon is lowered by, for probabilities that are off.
    """
    if bags.resampling is None:
        return None
    return {
        "n": bags.n_samples,
        "size": bags.bag_size,
        "isShare": False,
        "labels": n_classes,
        "bags": bags.n_bags,
        "resampling": bags.resampling,
        "coupling": bags.coupling,
        "rounding": rounding,
    }
