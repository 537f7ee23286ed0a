"""Two published set-ups of model selection by bags: which support of the LASSO, and how many clusters."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation
from steadyset.bags import draw_bags
from steadyset.guarantees import selection_stability
from steadyset.paper import _output
from steadyset.paper._batched_lasso import supports
from steadyset.paper._each_data_set import Finished, Result
from steadyset.plot import choice_tradeoff
from steadyset.selection import Argmax, InflatedArgmax, Rule, TopK

N_ROWS, BAG_SIZE = 30, 25
EPSILONS = (0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9)
#: Among these an epsilon is looked for whose sets are no larger than those of a top k.
PATH = tuple(hundredths / 100 for hundredths in range(1, 101))
INFLATED = {epsilon: f"inflated argmax, epsilon {epsilon:g}" for epsilon in PATH}
RULES: dict[str, Rule] = {
    "argmax": Argmax(),
    **{f"top {k}": TopK(k) for k in (2, 3, 5)},
    **{name: InflatedArgmax(epsilon) for epsilon, name in INFLATED.items()},
}
_BETWEEN = frozenset(name for epsilon, name in INFLATED.items() if epsilon not in EPSILONS)  # not in table and figure
THRESHOLDS = (0.5, 0.7, 0.9)
_FAMILIES = {"top": "top k", "features": "features in a share of bags"}  # by first word
_UNSEEN = 5  # columns for outcomes that no bag chose, so that there are enough for every top k
PENALTY, N_FEATURES, RIGHT_SUPPORT = 0.5, 20, (0, 2)
N_CLUSTERS, MOST_CLUSTERS = 3, 10
#: What the authors print of the clusters, by epsilon: the share of data sets whose set holds the right count, and the
#: mean size. Their elbow rule is their own, so that the trend is what compares.
PRINTED = {0.01: (0.64, 1.00), 0.1: (0.67, 1.07), 0.3: (0.72, 1.18), 0.5: (0.76, 1.28), 0.7: (0.86, 1.49)}


@dataclass(frozen=True)
class Selected:
    """What one method selects on one data set: conflicts over the rows left out, size, and whether it is right."""

    instability: float
    size: float
    right: bool


def reproduce(
    folder: str | Path = ".",
    *,
    n_lasso: int = 200,
    n_clusters: int = 100,
    n_bags: int = 10_000,
    seed: int = 0,
    n_jobs: int | None = None,
) -> tuple[Path, ...]:
    """Run both set-ups, every row left out by reuse of bags; write a figure, its numbers and a page of tables.

    Data sets that are done are kept in unfinished.jsonl until all are: the same call goes on after an interruption.

    Parameters
    ----------
    folder : path, default="."
        Where to write selection.png, selection.pdf, selection.svg, selection.json and results.md.
    n_lasso, n_clusters : int, default=200 and 100
        Data sets of each set-up.
    n_bags : int, default=10_000
        Bags per data set.
    seed : int, default=0
        Seed of every draw.
    n_jobs : int or None, default=None
        Processes.

    Returns
    -------
    tuple of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> from steadyset.paper import selection
    >>> files = selection.reproduce(tempfile.mkdtemp(), n_lasso=2, n_clusters=2, n_bags=100)
    >>> [file.name for file in files]
    ['selection.png', 'selection.pdf', 'selection.svg', 'selection.json', 'results.md']
    """
    n_bags = validation.count(n_bags, "n_bags", 2)
    setups = {
        "LASSO": (partial(_plain, lasso, n_bags, seed), validation.count(n_lasso, "n_lasso")),
        "clusters": (partial(_plain, clusters, n_bags, seed), validation.count(n_clusters, "n_clusters")),
    }
    finished = Finished(Path(folder) / "unfinished.jsonl", {"n_bags": n_bags, "seed": seed, "rules": [*RULES]})
    found = {name: finished.each(name, one, number, n_jobs) for name, (one, number) in setups.items()}
    tables = {name: _table(results, n_bags) for name, results in found.items()}
    figure = _output.new_figure((11.0, 4.5))
    for (name, table), ax in zip(tables.items(), figure.subplots(1, 2), strict=True):
        choice_tradeoff(_points(table), ax=ax).set_title(name)
    sizes = {"n_rows": N_ROWS, "bag_size": BAG_SIZE, "n_bags": n_bags}
    numbers = {**sizes, "seed": seed, "n_lasso": n_lasso, "n_clusters": n_clusters}
    files = _output.save(figure, {**numbers, **tables}, folder, "selection")
    page = Path(folder) / "results.md"
    _output.write_text(page, _page(numbers, tables))
    finished.forget()
    return (*files, page)


def _plain(work: Callable[[int, int, int], Mapping[str, Selected]], n_bags: int, seed: int, number: int) -> Result:
    return {name: asdict(selected) for name, selected in work(n_bags, seed, number).items()}


def lasso(n_bags: int, seed: int, number: int) -> dict[str, Selected]:
    """Return what every method selects on one table with two groups of nearly equal features."""
    rng = np.random.default_rng([seed, 1, number])
    covariance = np.eye(N_FEATURES)
    for group in ((0, 1), (2, 3, 4)):
        covariance[np.ix_(group, group)] = 0.99
    np.fill_diagonal(covariance, 1.0)
    X = rng.multivariate_normal(np.zeros(N_FEATURES), covariance, N_ROWS)
    y = X[:, 0] + X[:, 2] + 0.3 * rng.standard_normal(N_ROWS)
    members = draw_bags(N_ROWS, n_bags, BAG_SIZE, seed=number).membership()
    kept = supports(X, y, members, PENALTY)
    right = np.isin(np.arange(N_FEATURES), RIGHT_SUPPORT)
    outcomes, codes = np.unique(kept, axis=0, return_inverse=True)
    found = _by_votes(codes.ravel(), members, (outcomes == right).all(axis=1))
    everything = supports(X, y, np.vstack([np.ones(N_ROWS, bool), ~np.eye(N_ROWS, dtype=bool)]), PENALTY)
    found["one LASSO"] = _one_answer(everything, right)
    included = _shares_without_each_row(kept.astype(np.float64), members)
    for threshold in THRESHOLDS:
        found[f"features in {threshold:.0%} of bags"] = _one_answer(included >= threshold, right)
    return found


def clusters(n_bags: int, seed: int, number: int) -> dict[str, Selected]:
    """Return what every method selects on one cloud of points: how many clusters."""
    rng = np.random.default_rng([seed, 2, number])
    points = np.vstack(
        [
            rng.normal(1.5, 1.0, (5, 2)),
            rng.normal(3.5, 1.0, (5, 2)),
            rng.normal(2.5, 0.3, (20, 2)),
        ]
    )
    bags = draw_bags(N_ROWS, n_bags, BAG_SIZE, seed=number)
    counts = np.array([elbow(points[rows]) for rows in bags])
    outcomes, codes = np.unique(counts, return_inverse=True)
    found = _by_votes(codes, bags.membership(), outcomes == N_CLUSTERS)
    everything = [elbow(points)] + [elbow(np.delete(points, row, axis=0)) for row in range(N_ROWS)]
    found["one clustering"] = _one_answer(np.array(everything)[:, None], np.array([N_CLUSTERS]))
    return found


def elbow(points: NDArray[np.float64]) -> int:
    """Return the number of Ward's clusters after which the sum of squares falls most slowly all at once.

    With I(k) the sum of squares within k clusters, the k >= 2 of the largest I(k-1) - 2 I(k) + I(k+1).
    """
    from scipy.cluster.hierarchy import ward  # loads slowly, and only this set-up needs it

    gains = ward(points)[::-1, 2][:MOST_CLUSTERS] ** 2  # I(k) - I(k+1), up to a factor, for k = 1, 2, ...
    return int(np.argmax(gains[:-1] - gains[1:])) + 2


def _shares_without_each_row(votes: NDArray[np.float64], members: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the mean of the bags' votes over all bags, then over those without row 0, 1, ..."""
    taken = np.vstack([np.ones(len(members)), ~members.T]).astype(np.float64)
    return np.asarray(taken @ votes / taken.sum(axis=1, keepdims=True))


def _by_votes(codes: NDArray[np.intp], members: NDArray[np.bool_], right: NDArray[np.bool_]) -> dict[str, Selected]:
    shares = _shares_without_each_row(np.eye(len(right))[codes], members)
    shares = np.hstack([shares, np.zeros((len(shares), _UNSEEN))])  # outcomes that no bag chose
    found = {}
    for name, rule in RULES.items():
        sets = np.asarray(rule(shares))
        if not rule.has_epsilon:
            sets &= shares > 0  # with fewer outcomes than k, the top k is all of them
        apart = ~(sets[0] & sets[1:]).any(axis=1)
        seen, any_outcome = sets[0, :-_UNSEEN], bool(sets[0, -1])
        found[name] = Selected(float(apart.mean()), float(seen.sum()), bool(seen[right].any()) or any_outcome)
    return found


def _one_answer(answers: NDArray[Any], right: NDArray[Any]) -> Selected:
    """Return how a method fares that has one answer for all rows, the first, and one without each row."""
    differ = (answers[1:] != answers[0]).any(axis=1)
    return Selected(float(differ.mean()), 1.0, bool((answers[0] == right).all()))


def _table(results: Sequence[Result], n_bags: int) -> dict[str, dict[str, float]]:
    found = {}
    for name in results[0]:
        some = [Selected(**result[name]) for result in results]
        found[name] = {
            "worst_instability": max(one.instability for one in some),
            "mean_instability": float(np.mean([one.instability for one in some])),
            "mean_size": float(np.mean([one.size for one in some])),
            "share_right": float(np.mean([one.right for one in some])),
        }
        epsilon = getattr(RULES.get(name), "epsilon", None)
        if epsilon is not None:
            setting = {"n_samples": N_ROWS, "bag_size": BAG_SIZE, "epsilon": epsilon, "n_bags": n_bags}
            found[name]["guarantee"] = selection_stability(**setting, coupling="any").delta
    return found


def _shown(table: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    return {name: row for name, row in table.items() if name not in _BETWEEN}


def _points(table: Mapping[str, Mapping[str, float]]) -> dict[str, list[tuple[float, float]]]:
    """Return size and worst instability, the rules of a family together."""
    families: dict[str, list[tuple[float, float]]] = {}
    for name, row in _shown(table).items():
        family = _FAMILIES.get(name.partition(" ")[0], name.partition(",")[0])
        families.setdefault(family, []).append((row["mean_size"], row["worst_instability"]))
    return families


def _page(numbers: Mapping[str, Any], tables: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    lines = [
        "# Model selection by bags",
        "",
        f"{numbers['n_lasso']} data sets for the LASSO and {numbers['n_clusters']} for the clusters, "
        f"{numbers['n_bags']:,} bags of {BAG_SIZE} of {N_ROWS} rows, seed {numbers['seed']}. Instability: the share of "
        "rows whose removal leaves no outcome in common, each row left out by reuse of bags; one LASSO and one "
        "clustering are fitted again. The guarantee bounds it for any data set, on average over the draw of bags. "
        "`steadyset reproduce selection` makes this page again.",
    ]
    for name, table in tables.items():
        lines += ["", f"## {name}", ""]
        lines += ["| method | worst instability | mean instability | mean size | right | guarantee |"]
        lines += ["|---|---:|---:|---:|---:|---:|"]
        lines += [_line(method, row) for method, row in _shown(table).items()]
        lines += ["", *_matched(table)]
    lines += ["", "![worst instability against mean set size](selection.png)", "", *_printed(tables["clusters"])]
    return "\n".join(lines) + "\n"


def _line(method: str, row: Mapping[str, float]) -> str:
    promise = f"{min(row['guarantee'], 1):.3f}" if "guarantee" in row else ""
    cells = (f"{row[name]:.3f}" for name in ("worst_instability", "mean_instability", "mean_size", "share_right"))
    return f"| {method} | {' | '.join(cells)} | {promise} |"


def _matched(table: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
    """Yield each top k beside the inflated argmax of the largest epsilon with sets no larger: size alone decides."""
    yield (
        f"At no larger sets: each top k beside the inflated argmax of the largest epsilon of {PATH[0]:g}, {PATH[1]:g}, "
        f"..., {PATH[-1]:g} whose mean size on these data sets is at most that of the top k. Size alone decides, not "
        "instability."
    )
    yield ""
    yield "| top k | its size | its worst | its mean | epsilon | size | worst | mean | guarantee |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, row in table.items():
        if not name.startswith("top "):
            continue
        no_larger = [epsilon for epsilon in PATH if table[INFLATED[epsilon]]["mean_size"] <= row["mean_size"]]
        found = " | ".join("–" * 5)
        if no_larger:
            other = table[INFLATED[max(no_larger)]]
            found = f"{max(no_larger):g} | {_sizes(other)} | {min(other['guarantee'], 1):.3f}"
        yield f"| {name} | {_sizes(row)} | {found} |"


def _sizes(row: Mapping[str, float]) -> str:
    return " | ".join(f"{row[name]:.3f}" for name in ("mean_size", "worst_instability", "mean_instability"))


def _printed(table: Mapping[str, Mapping[str, float]]) -> Iterable[str]:
    yield "How many clusters, beside what the authors print. Their elbow rule is their own: compare the trend."
    yield ""
    yield "| epsilon | right, printed | right | size, printed | size |"
    yield "|---:|---:|---:|---:|---:|"
    for epsilon, (right, size) in PRINTED.items():
        row = table[INFLATED[epsilon]]
        yield f"| {epsilon:g} | {right:.2f} | {row['share_right']:.2f} | {size:.2f} | {row['mean_size']:.2f} |"
