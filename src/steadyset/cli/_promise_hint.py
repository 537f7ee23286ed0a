"""Which options make a fit promise something, where what was fitted promises little."""

from typing import Any

from steadyset._base.words import out_of_a_hundred
from steadyset.bags import GOAL, mend
from steadyset.guarantees import Guarantee


def hint(guarantee: Guarantee, rule: Any) -> str:
    """Return a sentence with options to add to the command, or one that says that none would do."""
    found, goal, units = mend(guarantee, rule), out_of_a_hundred(GOAL), f"{guarantee.unit}s"
    if found is None:
        return (
            f"{guarantee.n_samples:,} training {units} are too few for a promise of {goal} under {rule!r}: "
            "--rule inflated-argmax has an epsilon that can be chosen larger"
        )
    added = {"--delta": found.delta, "--n-bags": found.n_bags, "--epsilon": found.epsilon}
    options = " ".join(f"{name} {value:g}" for name, value in added.items() if value is not None)
    n_bags, size = found.guarantee.n_bags, found.guarantee.bag_size or 0
    bags = "infinitely many" if n_bags is None else f"{n_bags:,}"
    few = f"; larger bags would take more {units} or a still larger epsilon" if found.small else ""
    return (
        f"this promises little; added to this command, {options} promises at most {goal}, with {bags} bags of "
        f"{size:,} {units if size != 1 else guarantee.unit}{few}"
    )
