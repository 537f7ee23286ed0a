"""The paper's simulation of set sizes: the inflated argmax beside the fixed margin."""

from pathlib import Path
from typing import Any

from steadyset.metrics import Estimate
from steadyset.paper import _output
from steadyset.plot import compute_set_size_by_classes, set_size_by_classes

#: The mean size of the inflated argmax over that of the fixed margin, as the paper prints it, by number of labels.
PRINTED_RATIOS = {25: 0.78, 100: 0.48}


def reproduce(folder: str | Path = ".", *, n_draws: int = 1000, seed: int = 0) -> tuple[Path, ...]:
    """Run the simulation, draw it and write its numbers.

    Parameters
    ----------
    folder : path, default="."
        Where to write set-size.png, set-size.pdf, set-size.svg and set-size.json.
    n_draws : int, default=1000
        Random vectors per number of labels; the paper draws as many.
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    tuple of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> from steadyset.paper import set_size
    >>> [file.name for file in set_size.reproduce(tempfile.mkdtemp(), n_draws=50)]
    ['set-size.png', 'set-size.pdf', 'set-size.svg', 'set-size.json']
    """
    sizes = compute_set_size_by_classes(n_draws=n_draws, seed=seed)
    figure = _output.new_figure((6.0, 4.0))
    set_size_by_classes(sizes, ax=figure.subplots())
    rows = [
        {
            "n_classes": count,
            "inflated_argmax": _number(inflated),
            "fixed_margin": _number(margin),
            "ratio": _number(ratio),
            **({"printed_ratio": PRINTED_RATIOS[count]} if count in PRINTED_RATIOS else {}),
        }
        for count, inflated, margin, ratio in zip(
            sizes.n_classes, sizes.inflated, sizes.margin, sizes.ratios, strict=True
        )
    ]
    numbers = {"epsilon": sizes.epsilon, "n_draws": sizes.n_draws, "seed": sizes.seed, "sizes": rows}
    return _output.save(figure, numbers, folder, "set-size")


def _number(estimate: Estimate) -> dict[str, Any]:
    return {"value": float(estimate), "standard_error": estimate.standard_error}
