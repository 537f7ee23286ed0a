"""What is guaranteed of bags that were drawn: the one place where a fitted model, a report and a page ask."""

from typing import Any

from steadyset.bags._bags import Bags
from steadyset.guarantees import Guarantee, selection_stability
from steadyset.selection import rule_name


def guarantee_of_rule(
    bags: Bags, rule: Any, n_classes: int | None, *, theorem: str = "best", limit: bool = False
) -> Guarantee:
    """Return the guarantee of a rule on these bags; with `limit`, that of infinitely many such bags.

    A rule that no theorem makes compatible is an error, and so are bags that were not drawn here.
    """
    if bags.resampling is None:
        raise ValueError(
            "bags must be drawn by steadyset.draw_bags for a guarantee; got adopted ones, which can only be audited, "
            "never certified."
        )
    if not hasattr(rule, "compatible_epsilon") or not rule.compatible_epsilon(n_classes):
        labels = "any number of" if n_classes is None else n_classes
        raise ValueError(
            f"rule must be one that a theorem makes compatible for {labels} labels; got {rule_name(rule)}."
        )
    parts = [part for part in getattr(rule, "parts", (rule,)) if part.compatible_epsilon(n_classes)]
    found = [
        selection_stability(
            n_samples=bags.n_samples,
            bag_size=bags.bag_size or 0,
            n_classes=n_classes,
            n_bags=None if limit else bags.n_bags,
            resampling=bags.resampling,
            coupling=bags.coupling,
            theorem=theorem,  # type: ignore[arg-type]
            rule=part,
        )
        for part in parts
    ]
    return min(found, key=lambda one: one.delta).about(bags.ids.unit)  # a superset of a steady set is steady
