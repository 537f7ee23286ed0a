"""The guarantee of what was drawn, at one epsilon and along all of them."""

import bisect
import math
from typing import Any

from steadyset.bags import Bags, guarantee_of_rule, stability_of_bags
from steadyset.guarantees import Guarantee, hit_probability, least_held

_MOST_STEPS = 4_000  # values of the small-bag theorem that a page holds


def guarantee(bags: Bags, rule: Any, n_classes: int, *, limit: bool = False) -> Guarantee | str:
    """Return the best guarantee of a rule on these bags, or in a sentence why there is none.

    With `limit`, that of infinitely many such bags.
    """
    try:
        return guarantee_of_rule(bags, rule, n_classes, limit=limit)
    except ValueError as error:
        return f"No guarantee: {error}"


def along_epsilon(bags: Bags, n_classes: int, top: float) -> dict[str, Any] | None:
    """Return what gives the best guarantee of the inflated argmax at every epsilon up to `top`; None for adopted bags.

    The paper's theorem and the second-moment theorem are a constant over epsilon squared. The small-bag theorem is a
    step for each least number of bags that have to hold the row.
    """
    if bags.resampling is None:
        return None
    square, theorem = _over_square(bags, n_classes, limit=False)
    limit_square, _ = _over_square(bags, n_classes, limit=True)
    return {
        "square": square,
        "theorem": theorem,
        "limitSquare": limit_square,
        "hit": hit_probability(bags.n_samples, bags.bag_size or 0, bags.resampling),
        "bags": bags.n_bags,
        "small": [] if bags.coupling != "hash" else _small_bag_steps(bags, n_classes, square, top),
    }


def _over_square(bags: Bags, n_classes: int, limit: bool) -> tuple[float, str]:
    """Return the smaller of the two bounds that go with 1/epsilon^2, at epsilon = 1, and its theorem."""
    at_one = [stability_of_bags(bags, n_classes, 1.0, theorem=name, limit=limit) for name in ("paper", "second-moment")]
    best = min(at_one, key=lambda found: found.delta)
    return best.delta, best.theorem


def _small_bag_steps(bags: Bags, n_classes: int, square: float, top: float) -> list[list[float]]:
    """Return [held, bound] for each number of bags at which the small-bag theorem says more than the others.

    Beyond the last number the bound is at most the last one.
    """
    width = math.sqrt(2) / bags.n_bags  # of the epsilons that share a number of bags

    def bound(held: int) -> float:
        return stability_of_bags(bags, n_classes, (held - 0.5) * width, theorem="small-bags").delta

    numbers = range(1, least_held(top, bags.n_bags) + 1)
    found: list[list[float]] = []
    for held in numbers[bisect.bisect_left(numbers, True, key=lambda held: bound(held) < 1) :]:
        inside, least = bound(held), (held - 1) * width
        if least == 0 or inside < square / least / least:
            found.append([held, inside])
        if inside < 1e-300 or len(found) == _MOST_STEPS:
            break
    return found
