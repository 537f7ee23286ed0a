"""What a fitted model promises, and which options of `fit` make it promise something where that is little."""

from dataclasses import dataclass
from typing import Any

from steadyset._base.words import out_of_a_hundred
from steadyset.bags import GOAL, WEAK, mend
from steadyset.cli._errors import note
from steadyset.guarantees import Guarantee


@dataclass(frozen=True)
class Promised:
    """What a model guarantees, None where nothing is guaranteed, and the line that says so."""

    guarantee: Guarantee | None
    words: str

    @classmethod
    def by(cls, clf: Any) -> "Promised":
        """Return what a fitted classifier guarantees."""
        try:
            found = clf.guarantee()
        except ValueError as error:
            return cls(None, f"No guarantee: {error}")
        return cls(found, f"Guarantee: {found}")

    def note_mend(self, rule: Any, quiet: bool, how: str = "added to this command") -> None:
        """Name what mends a promise that says little."""
        if self.guarantee is not None and self.guarantee.delta > WEAK and not quiet:
            note(hint(self.guarantee, rule, how))


def hint(guarantee: Guarantee, rule: Any, how: str = "added to this command") -> str:
    """Return a sentence with options to add to a fit, or one that says that none would do."""
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
        f"this promises little; {how}, {options} promises at most {goal}, with {bags} bags of "
        f"{size:,} {units if size != 1 else guarantee.unit}{few}"
    )
