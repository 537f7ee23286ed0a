"""What commands on tables and models share: reading, progress, warnings."""

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from steadyset._base import whole_files
from steadyset._base.validation import level
from steadyset.cli._errors import note
from steadyset.cli._options import ModelOptions
from steadyset.selection import with_epsilon
from steadyset.tables import SetOutput, TableModel, load_model, read_table, some_names, target_labels


@dataclass(frozen=True)
class Read:
    """A model, and a table as the model reads it."""

    model: TableModel
    table: Any
    X: Any
    labels: Any  # of the target column; None if the table has none that can be used
    known: Any  # which rows have a label that the model knows

    def rule(self, epsilon: float | None) -> Any:
        """Return the model's rule, at another epsilon where one is given."""
        rule = self.model.classifier.rule_
        return rule if epsilon is None else with_epsilon(rule, epsilon)


def open_both(model_path: str, data: str, options: ModelOptions, ids: str | None = None) -> Read:
    """Open a model and a table, and tell which columns are not used."""
    csv = options.format(*(options.missing or ()))
    model = load_model(model_path, trust=options.trust or (), trust_joblib=options.trust_joblib)
    model.classifier.set_params(n_jobs=options.n_jobs)
    saved = model.facts.get("missing") or []
    csv = replace(csv, missing=(*csv.missing, *map(str, saved)))
    table = read_table(data, csv, text=[name for name in (ids, model.id_column) if name])
    X = model.frame(table)
    extra = [name for name in model.extra_columns(table) if name != ids]
    if extra and not options.quiet:
        note(f"columns that the model does not use are ignored: {some_names(extra)}")
    labels, known = None, None
    if model.target.name in table.column_names:
        labels, known = _known_labels(model, table, options.quiet)
    return Read(model, table, X, labels, known)


def check_coverage(source: Any, coverage: float | None) -> None:
    """Refuse a coverage that is none, or a model that has not kept what it takes."""
    if coverage is None:
        return
    level(coverage, "coverage")
    if not hasattr(source, "bags_"):
        raise ValueError(
            "--coverage must be left out for neighbors and for folders of predictions, which keep no bags."
        )
    if "oob_label_proba_" not in vars(source):
        raise ValueError("--coverage needs a model fitted with its out-of-bag score; got one of `fit --no-score`.")


def needed(data: str | None) -> str:
    """Return the name of the table, which a model cannot do without."""
    if data is None:
        raise ValueError("DATA must be given with a model file; only a folder of predictions knows its points.")
    return data


def note_index(names: Sequence[str], option: str) -> None:
    """Tell which columns hold the index of a pandas frame and are left out, and which option takes them."""
    note(
        f"columns that hold the index of a saved frame or have no name are left out: {some_names(names)} "
        f"({option} NAME takes one in)"
    )


def open_sets(output: str, form: str, joiner: str, as_json: bool, *inputs: str) -> SetOutput:
    """Return how label sets are written; what cannot be is refused before anything is read."""
    if as_json and output == "-":
        raise ValueError("--json needs --output FILE: both would go to standard output.")
    sets = SetOutput(output, form, joiner)
    if output != "-":
        whole_files.check_output(output, *inputs)
    return sets


def _known_labels(model: TableModel, table: Any, quiet: bool) -> tuple[Any, Any]:
    try:
        labels, known = target_labels(table, model.target)
    except ValueError as error:
        if not quiet:
            note(f"the target column is ignored: {error}")
        return None, None
    strange = known & ~np.isin(labels, np.asarray(model.classifier.classes_))
    if strange.any() and not quiet:
        example = str(labels[strange][0])
        note(f"{int(strange.sum()):,} rows have a label that the model does not know, such as {example!r}")
    known = known & ~strange
    return (labels, known) if known.any() else (None, None)


# scikit-learn says so of its own transformers wherever one thread resets the warning filters of the whole process while
# another reads them: nothing is wrong, and nobody can do anything about it.
_OF_RACING_THREADS = "`sklearn.utils.parallel.delayed` should be used with"


@contextlib.contextmanager
def told_once(quiet: bool) -> Iterator[None]:
    """Tell each distinct warning once, as a note, instead of once per bag; none from worker processes."""
    os.environ.setdefault("PYTHONWARNINGS", "ignore")  # of worker processes, which start later
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    if not quiet:
        told = dict.fromkeys(str(warning.message).splitlines()[0] for warning in caught)
        for words in [words for words in told if not words.startswith(_OF_RACING_THREADS)][:5]:
            note(words)


def shows_progress(quiet: bool) -> bool:
    """Return whether a bar makes sense: somebody watches stderr."""
    return not quiet and sys.stderr.isatty()


@contextlib.contextmanager
def bar(title: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Give a function to call with (done, total), which draws a bar on stderr."""
    if not shows_progress(quiet):
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def drawn(X: Any, points: int | None, seed: int) -> tuple[Any, Any]:
    """Return that many rows of a frame, drawn at random, and their positions; all rows if it has fewer."""
    if points is None or points >= len(X):
        return X, np.arange(len(X))
    if points < 1:
        raise ValueError(f"points must be a whole number that is at least 1; got {points}.")
    rows = np.sort(np.random.default_rng(seed).choice(len(X), points, replace=False))
    return X.iloc[rows], rows
