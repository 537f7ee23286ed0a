"""The paper's simulation: set sizes of the inflated argmax and the fixed margin as labels grow in number."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from steadyset._base import validation
from steadyset.metrics import Estimate, mean_set_size
from steadyset.plot import _style
from steadyset.selection import fixed_margin, inflated_argmax

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class SetSizes:
    """Mean set sizes on random probabilities, for several numbers of labels.

    Parameters
    ----------
    n_classes : tuple of int
        The numbers of labels.
    inflated, margin, ratios : tuple of Estimate
        The mean size under the inflated argmax, under the fixed margin, and the first over the second.
    epsilon : float
        The epsilon of both rules.
    n_draws, seed : int
        How many vectors were drawn for each number of labels, and from which seed.

    Examples
    --------
    >>> import steadyset as ss
    >>> sizes = ss.plot.compute_set_size_by_classes((2, 50), n_draws=100)
    >>> sizes.ratios[0], sizes.ratios[1] < 0.8
    (1.0, True)
    """

    n_classes: tuple[int, ...]
    inflated: tuple[Estimate, ...]
    margin: tuple[Estimate, ...]
    ratios: tuple[Estimate, ...]
    epsilon: float
    n_draws: int
    seed: int


def compute_set_size_by_classes(
    n_classes: Sequence[int] = (3, 10, 25, 50, 75, 100), *, epsilon: float = 0.1, n_draws: int = 1000, seed: int = 0
) -> SetSizes:
    """Measure set sizes on the softmax of standard Gaussian vectors; both rules see the same vectors.

    Parameters
    ----------
    n_classes : sequence of int, default=(3, 10, 25, 50, 75, 100)
        The numbers of labels.
    epsilon : float, default=0.1
        The epsilon of both rules.
    n_draws : int, default=1000
        Vectors for each number of labels.
    seed : int, default=0
        Where the draws start.

    Returns
    -------
    SetSizes

    Examples
    --------
    >>> import steadyset as ss
    >>> sizes = ss.plot.compute_set_size_by_classes()
    >>> 0.75 < sizes.ratios[2] < 0.81, 0.46 < sizes.ratios[5] < 0.50
    (True, True)
    """
    counts = tuple(validation.label_count(count) for count in n_classes)
    epsilon, n_draws = validation.epsilon(epsilon), validation.count(n_draws, "n_draws", 2)
    children = np.random.SeedSequence(validation.count(seed, "seed", 0)).spawn(len(counts))
    found: list[tuple[Estimate, Estimate, Estimate]] = []
    for count, child in zip(counts, children, strict=True):
        proba = softmax(np.random.default_rng(child).standard_normal((n_draws, count)), axis=1)
        small, large = inflated_argmax(proba, epsilon), fixed_margin(proba, epsilon)
        sizes = small.sum(axis=1), large.sum(axis=1)
        found.append((mean_set_size(small), mean_set_size(large), Estimate.of_ratio(*sizes)))
    inflated, margin, ratios = zip(*found, strict=True) if found else ((), (), ())
    return SetSizes(counts, inflated, margin, ratios, epsilon, n_draws, seed)


def set_size_by_classes(sizes: SetSizes | None = None, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the mean set size against the number of labels, with bars of one standard error each way.

    Parameters
    ----------
    sizes : SetSizes, default=None
        What :func:`compute_set_size_by_classes` returned; where it is None, the paper's simulation is run.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure where it is None.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import steadyset as ss
    >>> ax = ss.plot.set_size_by_classes(ss.plot.compute_set_size_by_classes((3, 10), n_draws=50))
    >>> ax.get_xticks()
    array([ 3, 10])
    """
    if sizes is None:
        sizes = compute_set_size_by_classes()
    ax = _style.axes(ax)
    lines = (("fixed margin", sizes.margin), ("inflated argmax", sizes.inflated))
    for number, (name, estimates) in enumerate(lines, start=1):
        ax.errorbar(
            sizes.n_classes,
            estimates,
            yerr=[estimate.standard_error for estimate in estimates],
            capsize=4,
            marker=_style.MARKERS[number],
            markersize=5,
            label=name,
            **_style.line_style(number % 2),
        )
    ax.set_xticks(sizes.n_classes)
    ax.set(xlabel="number of labels $L$", ylabel="mean set size", ylim=(0, None))
    _style.open_frame(ax)
    ax.legend(frameon=False, loc="upper left", handlelength=3)
    return ax
