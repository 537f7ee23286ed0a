"""The paper's Fashion-MNIST experiment: both tables and the survival figure, and what goes beyond them."""

import math
import os
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from steadyset import _native
from steadyset._base import optional, validation
from steadyset.paper._output import write_text
from steadyset.paper.fashion_mnist import _printed as printed
from steadyset.paper.fashion_mnist import _results as results_of
from steadyset.paper.fashion_mnist._claims import claims
from steadyset.paper.fashion_mnist._data import CLASSES, Images, load_images
from steadyset.paper.fashion_mnist._figures import draw
from steadyset.paper.fashion_mnist._networks import INDEPENDENT, Predictions, Recipe, Sizes, train
from steadyset.paper.fashion_mnist._page import page
from steadyset.paper.fashion_mnist._run_folder import RunFolder, write_json

#: What each scale trains; the paper's scale is the paper's own size.
SCALES = {
    "paper": Sizes(),
    "small": Sizes(n_bags=64, left_out=32, base_fits=8),
}

_ANALYSIS = "audits, tables and figures"


@dataclass(frozen=True)
class Options:
    """What a run is asked for.

    Parameters
    ----------
    sizes : Sizes
        How many networks.
    recipe : Recipe
        How each is trained.
    epsilon : float, default=0.05
        Of the inflated argmax.
    """

    sizes: Sizes
    recipe: Recipe
    epsilon: float = 0.05

    def values(self) -> dict[str, Any]:
        """Return every number that was asked for, by its name."""
        return {**asdict(self.sizes), **asdict(self.recipe), "epsilon": self.epsilon}


def options(scale: str = "small", **changes: Any) -> Options:
    """Return the options of a scale with some of them changed; None leaves one as it is.

    Parameters
    ----------
    scale : {"small", "paper"}, default="small"
        1,000 bags, 500 left-out fits and 16 base fits at the paper's scale; 64, 32 and 8 at the small one.
    **changes
        n_bags, bag_size, left_out, base_fits, independent_fits, seed, epochs, batch_size, learning_rate, momentum,
        epsilon.

    Examples
    --------
    >>> from steadyset.paper import fashion_mnist
    >>> fashion_mnist.options("paper").sizes.n_bags, fashion_mnist.options("small", n_bags=80).sizes.n_bags
    (1000, 80)
    """
    validation.choice(scale, "scale", tuple(SCALES))
    given = {name: value for name, value in changes.items() if value is not None}
    epsilon = validation.epsilon(given.pop("epsilon", 0.05))
    for name in ("n_bags", "bag_size", "left_out", "base_fits", "epochs", "batch_size"):
        if name in given:
            given[name] = validation.count(given[name], name)
    recipe = {name: given.pop(name) for name in list(given) if name in Recipe.__dataclass_fields__}
    return Options(replace(SCALES[scale], **given), replace(Recipe(), **recipe), epsilon)


def reproduce(
    folder: str | os.PathLike[str],
    asked: Options | None = None,
    *,
    images: Images | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str, float], object] | None = None,
) -> tuple[Path, ...]:
    """Train what the folder does not hold yet, then write every number, table and figure.

    Parameters
    ----------
    folder : path
        The run's folder. A call that was interrupted goes on from the fits that are finished there; other options in
        the same folder use the fits that they share.
    asked : Options, optional
        From :func:`options`; the small scale by default.
    images : Images, optional
        The data; Fashion-MNIST as :func:`load_images` finds it where None.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    progress : callable, optional
        Called with (stage, share of the whole run that was finished).

    Returns
    -------
    tuple of Path
        results.json, results.md and the figures, each as PNG, PDF, SVG and JSON.
    """
    optional.require("matplotlib", "plot")  # now, not after an hour of training
    asked = asked or options()
    images = images or load_images()
    if not np.isin(images.y_test, images.y_train).all():
        raise ValueError("the test labels must be among the training labels; got others.")
    run = RunFolder(folder)
    sizes = _fitting(asked.sizes, len(images.y_train))
    threads = joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs)
    work = sizes.work(len(images.y_train))
    total = sum(work.values())

    def advance(stage: str, share: float) -> None:
        if progress is not None:
            progress(stage, share * work[stage] / total)

    asked = replace(asked, sizes=sizes)
    described = _description(asked, images)
    write_json(run.path / "run.json", described)
    predictions = train(images, sizes, asked.recipe, run, threads, advance)
    run.forget_time(_ANALYSIS)
    with run.timed(_ANALYSIS):
        results, drawn = _analyse(predictions, asked, images, run, threads)
    results = {**described, "times": _times(run, work, threads), **results}
    write_json(run.path / "results.json", results)
    write_text(run.path / "results.md", page(results))
    return (run.path / "results.json", run.path / "results.md", *drawn)


def _fitting(sizes: Sizes, n: int) -> Sizes:
    """Return sizes that the data can fill: bags of at most half of the rows, unless asked otherwise."""
    if sizes.bag_size == SCALES["paper"].bag_size and sizes.bag_size >= n:
        sizes = replace(sizes, bag_size=n // 2)
    for name, least, most in (
        ("bag_size", 1, n - 1),
        ("left_out", 1, n),
        ("base_fits", 1, math.inf),
        ("n_bags", 2, math.inf),
        ("independent_fits", 0, sizes.left_out),
    ):
        allowed = f"at least {least}" if most == math.inf else f"from {least} to {most}"
        validation.whole(getattr(sizes, name), name, allowed, least, most)
    return sizes


def _analyse(
    predictions: Predictions, asked: Options, images: Images, run: RunFolder, threads: int
) -> tuple[dict[str, Any], list[Path]]:
    bags = predictions.bags
    y_test = np.searchsorted(bags.classes, images.y_test)
    found = results_of.find(predictions, y_test, asked.epsilon, threads, run.path / "certificates")
    promised = results_of.promises(bags, asked.epsilon, found.certificates, found.complete["inflated argmax"])
    limit = promised["infinitely_many_bags"]["delta"]
    main, extended = results_of.main_table(found), results_of.extended_table(found)
    names = [CLASSES[k] if images.checked else str(k) for k in bags.classes]
    drawn = list(draw(found, images.X_test, names, limit, run.path / "figures"))
    results = {
        "main_table": main,
        "extended_table": extended,
        "base_fits": results_of.base_over_seeds(found),
        "instability": results_of.instability(found),
        "promises": promised,
        "epsilon_tradeoff": results_of.tradeoff(found),
        "claims": claims(found, main, extended, limit),
        "disagreements": list(printed.DISAGREEMENTS),
    }
    return results, drawn


def _description(asked: Options, images: Images) -> dict[str, Any]:
    """Return what was asked for and with which versions: all that the numbers depend on."""
    return {
        "command": _command(asked),
        "configuration": {
            "n_samples": len(images.y_train),
            "n_points": len(images.y_test),
            "n_classes": len(np.unique(images.y_train)),
            **asked.values(),
            "network": "LeNet-5 as PyTorch's GarmentClassifier",
            "pixel_scaling": "(x / 255 - 0.5) / 0.5",
            "data": images.source,
            "data_checked": images.checked,
        },
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("steadyset", "numpy", "scipy", "scikit-learn")},
        },
    }


def _command(asked: Options) -> str:
    scale = "paper" if asked.sizes.n_bags == SCALES["paper"].n_bags else "small"
    words = ["steadyset reproduce fashion-mnist", f"--scale {scale}"]
    usual = options(scale).values()
    for name, value in asked.values().items():
        if value != usual[name]:
            flag = "bags" if name == "n_bags" else name.replace("_", "-")
            words.append(f"--{flag} {value}")
    return " ".join(words)


def _times(run: RunFolder, work: dict[str, float], threads: int) -> dict[str, Any]:
    """Return what the stages of this run took, over all calls; work that was lost to a kill is not counted."""
    known = run.times()
    stages = {stage: known[stage] for stage in (*work, _ANALYSIS) if stage in known}

    def minutes(clock: str, *, but: str = "") -> float:
        return sum(part[clock] for stage, part in stages.items() if stage != but) / 60

    return {
        "stages": stages,
        "wall_minutes": minutes("wall_seconds"),
        "wall_minutes_of_the_papers_part": minutes("wall_seconds", but=INDEPENDENT),
        "cpu_minutes": minutes("cpu_seconds"),
        "threads": threads,
        "cpu": _cpu(),
        "instruction_set": _native.isa(),
        "paper": printed.COMPUTE,
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return " ".join(named.split())
