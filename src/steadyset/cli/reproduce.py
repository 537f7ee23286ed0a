"""`steadyset reproduce`: the paper's tables and figures."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from steadyset.cli._errors import sentences
from steadyset.cli._options import grouped

if TYPE_CHECKING:
    from steadyset.paper.fashion_mnist import Options

app = typer.Typer(
    help="Make the paper's tables and figures: PNG, PDF and SVG files, with the numbers as JSON.", no_args_is_help=True
)
_RunFolder = Annotated[
    Path, typer.Option(metavar="FOLDER", help="The run's folder: finished fits, results and figures.")
]
_Data = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where the IDX files are; found or downloaded without it.")
]
_Unchecked = Annotated[
    bool, typer.Option(help="Take whatever images the --data folder holds, without Fashion-MNIST's checksums.")
]
_Scale = Annotated[str, typer.Option(metavar="small|paper", help="How many networks to train.")]
_Seed = Annotated[int, typer.Option(help="Seed of every draw.")]
_Jobs = Annotated[int | None, typer.Option(metavar="THREADS", help="Threads; all CPUs by default.")]
_Folder = Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the files.")]


@app.command()
def simplex(
    folder: _Folder = Path("."),
    epsilon: Annotated[float, typer.Option(help="Epsilon of the fixed margin and the inflated argmax.")] = 0.5,
) -> None:
    """Draw which set each rule returns on the simplex of three labels."""
    with sentences("reproduce simplex"):
        from steadyset.paper.simplex import reproduce

        _show(reproduce(folder, epsilon=epsilon))


@app.command("set-size")
def set_size(
    folder: _Folder = Path("."),
    n_draws: Annotated[int, typer.Option(help="Random vectors per number of labels.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
) -> None:
    """Draw the mean set size of the inflated argmax and the fixed margin against the number of labels."""
    with sentences("reproduce set-size"):
        from steadyset.paper.set_size import reproduce

        _show(reproduce(folder, n_draws=n_draws, seed=seed))


@app.command()
def selection(
    folder: _Folder = Path("."),
    n_lasso: Annotated[int, typer.Option("--lasso", help="Data sets for the LASSO.")] = 200,
    n_clusters: Annotated[int, typer.Option("--clusters", help="Data sets for the number of clusters.")] = 100,
    n_bags: Annotated[int, typer.Option("--bags", help="Bags per data set.")] = 10_000,
    seed: _Seed = 0,
    n_jobs: Annotated[int | None, typer.Option(metavar="PROCESSES", help="Processes; one by default.")] = None,
) -> None:
    """Select models by bags: supports of the LASSO and numbers of clusters, every row left out."""
    with sentences("reproduce selection"):
        from steadyset.paper.selection import reproduce

        _show(reproduce(folder, n_lasso=n_lasso, n_clusters=n_clusters, n_bags=n_bags, seed=seed, n_jobs=n_jobs))


_EXAMPLES = """
Examples:

  steadyset reproduce fashion-mnist --scale small
      64 bags and 32 left-out fits, in a few minutes on two cores

  steadyset reproduce fashion-mnist --scale paper --folder run
      the paper's own size, in about an hour on two cores; the same command goes on after an interruption

  steadyset reproduce fashion-mnist --scale paper --folder run --epsilon 0.1
      another epsilon from the same networks, without training
"""


@dataclass(frozen=True)
class _Setting:
    """The experiment: its scale, and what differs from it."""

    scale: _Scale = "small"
    n_bags: Annotated[int | None, typer.Option("--bags", metavar="BAGS", help="Number of bags.")] = None
    bag_size: Annotated[int | None, typer.Option(metavar="ROWS", help="Rows per bag.")] = None
    left_out: Annotated[int | None, typer.Option(metavar="ROWS", help="Rows to leave out, one fit per row.")] = None
    base_fits: Annotated[int | None, typer.Option(metavar="FITS", help="Fits on all rows, one seed per fit.")] = None
    epochs: Annotated[int | None, typer.Option(metavar="EPOCHS", help="Passes over a network's rows.")] = None
    batch_size: Annotated[int | None, typer.Option(metavar="ROWS", help="Rows per step.")] = None
    learning_rate: Annotated[float | None, typer.Option(metavar="NUMBER", help="Step size.")] = None
    momentum: Annotated[float | None, typer.Option(metavar="NUMBER", help="Momentum of the steps.")] = None
    epsilon: Annotated[float, typer.Option(metavar="NUMBER", help="Epsilon of the inflated argmax.")] = 0.05
    seed: _Seed = 0


@app.command("fashion-mnist", epilog=_EXAMPLES)
@grouped
def fashion_mnist(
    folder: _RunFolder = Path("fashion-mnist"),
    data: _Data = None,
    unchecked_data: _Unchecked = False,
    *,
    setting: _Setting,
    independent_seeds: Annotated[
        bool, typer.Option(help="Train the left-out fits a second time, each from a seed of its own.")
    ] = False,
    independent_fits: Annotated[
        int | None,
        typer.Option(metavar="FITS", help="Do so for the first FITS of them only."),
    ] = None,
    n_jobs: _Jobs = None,
) -> None:
    """Run the paper's experiment: both tables, the survival figure, and audits over every row."""
    with sentences("reproduce fashion-mnist"):
        from steadyset.paper.fashion_mnist import options

        asked = options(**asdict(setting))
        if independent_fits is not None or independent_seeds:
            fits = asked.sizes.left_out if independent_fits is None else independent_fits
            asked = replace(asked, sizes=replace(asked.sizes, independent_fits=fits))
        _run_fashion_mnist(folder, asked, data, not unchecked_data, n_jobs)


@app.command("certificates")
def certificates(
    record: Annotated[Path, typer.Argument(metavar="RECORD", help="The folder of a finished run of fashion-mnist.")],
    folder: _RunFolder = Path("fashion-mnist"),
    data: _Data = None,
    unchecked_data: _Unchecked = False,
    n_jobs: _Jobs = None,
) -> None:
    """Certify a recorded run anew: train its bags, where the run's folder lacks them, and nothing else."""
    with sentences("reproduce certificates"):
        from rich.console import Console

        from steadyset.paper.fashion_mnist import load_images, recertify, show_time_left

        images = load_images(data, checked=not unchecked_data)
        with show_time_left(Console(stderr=True)) as progress:
            files = recertify(record, folder, images=images, n_jobs=n_jobs, progress=progress)
        _show(files)


@app.command("all")
def everything(
    folder: _RunFolder = Path("reproduced"),
    data: _Data = None,
    scale: _Scale = "small",
    seed: _Seed = 0,
    n_jobs: _Jobs = None,
) -> None:
    """Reproduce every table and figure, each in a folder of its own."""
    with sentences("reproduce all"):
        from steadyset.paper import fashion_mnist, set_size, simplex

        asked = fashion_mnist.options(scale, seed=seed)
        _show(simplex.reproduce(folder / "simplex"))
        _show(set_size.reproduce(folder / "set-size", seed=seed))
        _run_fashion_mnist(folder / "fashion-mnist", asked, data, True, n_jobs)


def _run_fashion_mnist(folder: Path, asked: "Options", data: Path | None, checked: bool, n_jobs: int | None) -> None:
    from rich.console import Console

    from steadyset.paper.fashion_mnist import load_images, reproduce, show_time_left

    images = load_images(data, checked=checked)
    with show_time_left(Console(stderr=True)) as progress:
        files = reproduce(folder, asked, images=images, n_jobs=n_jobs, progress=progress)
    _show(files)


def _show(files: Iterable[Path]) -> None:
    for file in files:
        typer.echo(str(file))
