"""`steadyset.report`: from a model and points to one HTML file."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steadyset._base import validation, whole_files
from steadyset._base.words import counted
from steadyset.reporting import _evidence, _examples, _inputs, _numbers, _page


@dataclass(frozen=True, eq=False, repr=False)
class StabilityReport:
    """A stability report.

    Parameters
    ----------
    html : str
        The page: one file, which opens without a network.
    numbers : dict
        What the page shows, as plain data that goes into JSON.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=50, n_bags=100, bag_size=25)
    >>> proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=(100, 4))
    >>> ss.report(ss.BagPredictions(proba, bags, "abc"), epsilon=0.01).numbers["n_points"]
    4
    """

    html: str
    numbers: dict[str, Any]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page; the file appears whole or not at all.

        Parameters
        ----------
        path : path
            The file, in a folder that exists. A file that is there is replaced.

        Returns
        -------
        pathlib.Path
        """
        target = checked_path(path)
        with whole_files.replacing(target) as temporary:
            temporary.write_text(self.html, encoding="utf-8", newline="\n")
        return target

    def __repr__(self) -> str:
        audit = self.numbers["audit"]
        units = counted(audit["rows_left_out"], self.numbers["unit"])
        return (
            f"StabilityReport({self.numbers['n_points']:,} points, {audit['conflicts']:,} conflicts when one of "
            f"{units} is dropped, {len(self.html.encode()) / 1e6:.1f} MB)"
        )


def report(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    output: str | os.PathLike[str] | None = None,
    title: str | None = None,
    images: Any = None,
    epsilon: float | None = None,
    rule: Any = None,
    coverage: float | None = None,
    alpha: float = 0.05,
    max_points: int = 10_000,
    n_jobs: int | None = None,
) -> StabilityReport:
    """Make a stability report: one HTML file with what was observed, what is proved, and where the doubt is.

    The page has an epsilon slider that moves every number, set and curve on it; its numbers are those of
    :func:`steadyset.audit_bags`, :func:`steadyset.metrics.set_report`, :func:`steadyset.certify` and
    :func:`steadyset.selection_stability` at that epsilon.

    Parameters
    ----------
    model : StableClassifier, StableNeighborsClassifier or BagPredictions
        Fitted; or what every bag predicts.
    X : array, sparse matrix or frame of n_points rows
        The points to report on. With a BagPredictions it may be left out, and only shows the points.
    y : sequence of n_points labels, optional
        True labels. Without them whatever needs them is left out, and the page says so.
    output : path, optional
        Where to write the page.
    title : str, optional
        The page's heading.
    images : (height, width) or (height, width, channels), optional
        Show points as images of this shape. An `X` with more than two axes is taken for images by itself.
    epsilon : float, optional
        Another epsilon than the model's; 0.05 with a BagPredictions.
    rule : rule object or callable, optional
        Another rule than the model's. Both at once is an error.
    coverage : float, optional
        Show covering sets too, which hold the true label about that often: their promise, their sizes and, with `y`,
        how often they do, for each class and size. It takes a StableClassifier fitted with ``oob_score=True``.
    alpha : float, default=0.05
        The level of the certificates.
    max_points : int, default=10_000
        Of more points than these a random sample is reported on, always the same one, and the page says so.
    n_jobs : int, optional
        Threads of the audit; None for the CPUs that this process may use.

    Returns
    -------
    StabilityReport

    Notes
    -----
    Needs jinja2 and plotly: ``pip install steadyset[report]``.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=50, n_bags=100, bag_size=25)
    >>> proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=(100, 4))
    >>> ss.report(ss.BagPredictions(proba, bags, "abc"), y=list("abca"), epsilon=0.01)
    StabilityReport(4 points, 33 conflicts when one of 50 rows is dropped, ... MB)
    """
    _page.libraries()
    if output is not None:
        checked_path(output, "output")
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a string; got {validation.shown(title)}.")
    level = validation.level(alpha, "alpha")
    inputs = _inputs.gather(model, X, y, rule, epsilon, images, max_points)
    found = _evidence.collect(inputs, level, n_jobs, coverage)
    examples = _examples.examples(found)
    numbers = _numbers.plain(found, examples)
    made = StabilityReport(_page.page(found, numbers, examples, title or "Stability report"), numbers)
    if output is not None:
        made.save(output)
    return made


def checked_path(path: Any, name: str = "path") -> Path:
    """Return where a file can be written, or say why it cannot."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be a path; got {validation.shown(path)}.")
    whole_files.check_output(path, name=name)
    return Path(path)
