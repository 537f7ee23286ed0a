"""A recorded run certified anew: its bags are trained again, and nothing else."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from steadyset.audit import StabilityAudit, audit_bags
from steadyset.paper._output import write_text
from steadyset.paper.fashion_mnist import _results as results_of
from steadyset.paper.fashion_mnist._data import Images, load_images
from steadyset.paper.fashion_mnist._networks import Recipe, Sizes, train_bags
from steadyset.paper.fashion_mnist._page import page
from steadyset.paper.fashion_mnist._run_folder import RunFolder, write_json
from steadyset.selection import InflatedArgmax


def recertify(
    record: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    images: Images | None = None,
    n_jobs: int | None = None,
    progress: Callable[[str, float], object] | None = None,
) -> tuple[Path, ...]:
    """Prove anew what a record says is proved, and write it into the record; everything else there stays.

    Parameters
    ----------
    record : path
        The folder of a finished run with its results.json.
    folder : path
        A run's folder: the bags that it lacks are trained. It may be the record's own, or one that was interrupted.
    images : Images, optional
        The data; Fashion-MNIST as :func:`load_images` finds it where None.
    n_jobs : int or None, default=None
        Threads; None means all CPUs that this process may use.
    progress : callable, optional
        Called with (stage, share of the whole run that was finished).

    Returns
    -------
    tuple of Path
        results.json and results.md of the record.
    """
    target = Path(record)
    results = _read(target)
    setting = results["configuration"]
    images = images or load_images()
    sizes = Sizes(**{name: setting[name] for name in Sizes.__dataclass_fields__})
    recipe = Recipe(**{name: setting[name] for name in Recipe.__dataclass_fields__})
    threads = joblib.effective_n_jobs(-1 if n_jobs is None else n_jobs)
    run = RunFolder(folder)
    bags = train_bags(images, sizes, recipe, run, threads, progress or (lambda stage, share: None))
    epsilon = setting["epsilon"]
    audit = audit_bags(bags, InflatedArgmax(epsilon), n_jobs=threads)
    sets = InflatedArgmax(epsilon)(bags.mean())
    y_test = np.searchsorted(bags.classes, images.y_test)
    _check_same(results, audit, sets, (sets.sum(axis=1) == 1) & sets[np.arange(len(y_test)), y_test])
    certificates = results_of.certified(bags, epsilon, run.path / "certificates")
    results["promises"] = results_of.promises(bags, epsilon, certificates, audit)
    write_json(target / "results.json", results)
    write_text(target / "results.md", page(results))
    return target / "results.json", target / "results.md"


def _read(record: Path) -> dict[str, Any]:
    try:
        results: dict[str, Any] = json.loads((record / "results.json").read_text(encoding="utf-8"))
        known = isinstance(results, dict) and {"configuration", "main_table", "instability"} <= results.keys()
    except (OSError, ValueError):
        known = False
    if not known:
        raise ValueError(f"record must be the folder of a finished run with its results.json; got {str(record)!r}.")
    return results


def _check_same(
    results: Mapping[str, Any], audit: StabilityAudit, sets: NDArray[np.bool_], right: NDArray[np.bool_]
) -> None:
    """Refuse bags that are not those of the record, to the last conflict of a row and a point."""
    ours = {
        "conflicting pairs": int(audit.n_conflicts.sum()),
        "points ever in conflict": int((audit.instability > 0).sum()),
        "correct single": round(float(right.mean()), 12),
        "set size": round(float(sets.sum(axis=1).mean()), 12),
    }
    table, audits = (
        next(row for row in rows if (row["rule"], row["algorithm"]) == ("inflated argmax", "subbagged") and fits(row))
        for rows, fits in (
            (results["main_table"], lambda row: True),
            (results["instability"], lambda row: row["rows_left_out"] == audit.n_units),
        )
    )
    recorded = {
        "conflicting pairs": audits["conflicting_pairs"],
        "points ever in conflict": audits["points_ever_in_conflict"],
        "correct single": round(table["correct_single"]["value"], 12),
        "set size": round(table["set_size"]["value"], 12),
    }
    if ours != recorded:
        raise ValueError(
            f"the bags must be those of the record, which says {recorded}; got {ours}: train them with the record's "
            f"versions and instruction set, {results['times']['instruction_set']}."
        )
