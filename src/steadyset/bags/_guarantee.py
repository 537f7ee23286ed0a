"""What is guaranteed of bags that were drawn: the one place where a fitted model, a report and a page ask."""

from typing import Any

from steadyset.bags._bags import Bags
from steadyset.guarantees import Guarantee, selection_stability
from steadyset.selection import rule_name

_FARTHEST = 2.0  # more than any two probability vectors lie apart


def stability_of_bags(
    bags: Bags,
    n_classes: int,
    epsilon: float,
    *,
    theorem: str = "best",
    limit: bool = False,
    any_rule: bool = False,
) -> Guarantee:
    """Return the guarantee of a compatible epsilon on these bags; with `limit`, that of infinitely many such bags."""
    if bags.resampling is None:
        raise ValueError(
            "bags must be drawn by steadyset.draw_bags for a guarantee; got adopted ones, which can only be audited, "
            "never certified."
        )
    return selection_stability(
        n_samples=bags.n_samples,
        epsilon=epsilon,
        bag_size=bags.bag_size or 0,
        n_classes=n_classes,
        n_bags=None if limit else bags.n_bags,
        resampling=bags.resampling,
        coupling=bags.coupling,
        theorem=theorem,  # type: ignore[arg-type]
        any_rule=any_rule,
    )


def guarantee_of_rule(
    bags: Bags, rule: Any, n_classes: int, *, theorem: str = "best", limit: bool = False
) -> Guarantee:
    """Return the guarantee of a rule on these bags; a rule that no theorem makes compatible is an error."""
    compatible = rule.compatible_epsilon(n_classes) if hasattr(rule, "compatible_epsilon") else None
    if bags.resampling is not None and not compatible:
        raise ValueError(
            f"rule must be one that a theorem makes compatible for {n_classes} labels; got {rule_name(rule)}."
        )
    return stability_of_bags(
        bags,
        n_classes,
        min(float(compatible or 0.0), _FARTHEST),
        theorem=theorem,
        limit=limit,
        any_rule=not getattr(rule, "holds_inflated_argmax", False),
    )
