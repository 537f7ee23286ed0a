"""Claims of docs/theory/guarantees.md that tests/guarantees/test_theorems.py does not check. Nothing here is random."""

import itertools
import math
import zlib
from dataclasses import replace

import numpy as np
import pytest

import steadyset as ss
from steadyset.guarantees._setting import Setting
from steadyset.guarantees._sharpest import THEOREMS
from steadyset.guarantees._solver import NoSolutionError


def noisy(bag, seed):
    """A randomised learner: the label is a hash of the rows and the seed."""
    return np.eye(3)[zlib.crc32(repr((sorted(bag), seed)).encode()) % 3]


@pytest.mark.parametrize(("n", "m"), [(4, 1), (4, 2), (5, 3)])
def test_theorem_2_hash_with_a_randomised_learner(n, m):
    """Every order of the rows and every seed, which the two bags of one number share."""
    seeds = range(4)
    votes = np.array([noisy(bag, s) for bag in itertools.combinations(range(n), m) for s in seeds])
    sigma2 = float(((votes - votes.mean(0)) ** 2).sum(1).mean())
    for n_bags in (1, 3, 40):
        shifts = []
        for i in range(n):
            moved = np.array(
                [
                    noisy(order[:m], s) - noisy([row for row in order if row != i][:m], s)
                    for order in itertools.permutations(range(n))
                    for s in seeds
                ]
            )
            mean = float((moved.mean(0) ** 2).sum())
            shifts.append(mean + (float((moved**2).sum(1).mean()) - mean) / n_bags)
        bound = ss.selection_stability(
            n_samples=n, bag_size=m, epsilon=1.0, sigma2=sigma2, n_bags=n_bags, theorem="second-moment"
        )
        assert 0 < np.mean(shifts) <= bound.delta + 1e-12


@pytest.mark.parametrize("resampling", ["subbagging", "bootstrap"])
def test_the_theorem_of_the_paper_follows_from_theorem_2(resampling):
    rows, shares, bags, classes = (2, 3, 10, 1000), (0.1, 0.5, 0.9), (1, 10, 10**4, None), (2, 10, None)
    for n, share, n_bags, n_classes in itertools.product(rows, shares, bags, classes):
        setting = {"n_samples": n, "bag_size": share, "epsilon": 0.3, "n_bags": n_bags, "n_classes": n_classes}
        ours, theirs = (
            ss.selection_stability(**setting, resampling=resampling, coupling="any", theorem=theorem).delta
            for theorem in ("second-moment", "paper")
        )
        assert ours <= theirs * (1 + 1e-12)


@pytest.mark.parametrize(("n", "t"), [(4, 1), (4, 2), (5, 2), (6, 2), (6, 3), (7, 3), (8, 3), (9, 4)])
def test_disjoint_subsets_are_hardly_anticorrelated(n, t):
    """The least correlation of a function on two disjoint t-subsets of n rows is -t/(n - t), by eigenvalues.

    This checks the mathematics only; the formula that rests on it is checked by the enumerations of Theorem 2.
    """
    subsets = [set(s) for s in itertools.combinations(range(n), t)]
    disjoint = np.array([[not (a & b) for b in subsets] for a in subsets], float)
    least = np.linalg.eigvalsh(disjoint / disjoint.sum(axis=1)[0])[0]
    assert least == pytest.approx(-t / (n - t), abs=1e-12)


SETTING = Setting(
    n=100, m=10, eps=0.4, L=5, B=30, k=1, resampling="subbagging", coupling="hash", sigma2=0.1, any_rule=False
)
KINDS = [
    {},
    {"k": 3},
    {"B": None},
    {"coupling": "any"},
    {"coupling": "independent", "sigma2": None},
    {"resampling": "bootstrap", "coupling": "any"},
    {"resampling": "bootstrap", "coupling": "independent", "B": 1, "sigma2": 0.01},
    {"resampling": "bootstrap", "coupling": "any", "B": 1, "sigma2": 0.9, "L": None},
]


def bounds(change, names=THEOREMS):
    s = replace(SETTING, **change)
    found = (THEOREMS[name](s) for name in names)
    return [math.inf if bound is None else bound for bound in found]


def falls(settings):
    names = [name for name in THEOREMS if name != "two-labels"]  # it counts rows, and has a test of its own
    values = np.array([bounds(change, names) for change in settings])
    return bool(np.all(values[1:] <= values[:-1] * (1 + 1e-10)))


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_bounds_are_monotone(kind):
    """Theorem G8 on fine grids of epsilon, bag size, rows at a fixed bag size, rows at a share, and bags."""
    assert falls([kind | {"eps": e} for e in np.geomspace(0.01, 2, 60).tolist()])
    assert falls([kind | {"m": m} for m in range(97, 0, -1)])
    assert falls([kind | {"n": n} for n in range(14, 400)])
    for share in (0.01, 0.1, 0.5, 0.9):
        first = 2 if kind.get("resampling") == "bootstrap" else math.ceil(4 / (1 - share))
        assert falls([kind | {"n": n, "m": max(1.0, share * n)} for n in range(first, 400)])
    if "B" not in kind:
        names = [name for name in THEOREMS if name not in ("two-labels", "small-bags")]
        values = np.array([bounds(kind | {"B": b}, names) for b in range(1, 200)])
        assert np.all(values[1:] <= values[:-1] * (1 + 1e-11))


@pytest.mark.parametrize("share", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("n_bags", [1, 3, 50])
def test_more_rows_never_hurt_bootstrap_bags_that_are_a_share(share, n_bags):
    """Where the solver gives a number of rows, every larger one reaches delta; else some, rounded up, do not."""
    setting = {"epsilon": 0.5, "bag_size": share, "n_bags": n_bags, "resampling": "bootstrap", "sigma2": 0.01}
    rounded_up = setting | {"bag_size": round(share * 10**15 * 33 / 32)}
    limit = ss.selection_stability(n_samples=10**15, **rounded_up).delta
    solved = refused = 0
    for delta in (0.995 * limit, 0.9999 * limit, 1.0001 * limit, 1.01 * limit):
        if delta >= 1:
            continue
        try:
            n = ss.solve_stability("n_samples", delta=delta, **setting)
        except NoSolutionError as error:
            said = str(error)
            assert delta < limit
            assert f"the bound is {limit:.3g} even" in said
            refused += 1
            continue
        solved += 1
        for more in (n, n + 1, 2 * n, 10 * n, 1000 * n, 10**9):
            assert ss.selection_stability(n_samples=more, **setting).delta <= delta
    assert (solved, refused) == (2, 2)


@pytest.mark.parametrize(("n", "m"), [(2, 1), (5, 1), (5, 4), (7, 3)])
def test_the_argmax_changes_for_all_rows_but_one(n, m):
    alpha = 0.5 + (m / n + m / (n - 1)) / 4

    def bagged(rows):
        first = np.mean([alpha - 0.5 * (0 in bag) for bag in itertools.combinations(rows, m)])
        return np.array([first, 1 - first])

    full = ss.argmax_set(bagged(range(n)))
    without = [ss.argmax_set(bagged([row for row in range(n) if row != i])) for i in range(n)]
    assert full.tolist() == [True, False]
    assert sum(not np.any(full & one) for one in without) == n - 1
    assert np.allclose(np.mean([bagged([r for r in range(n) if r != i]) for i in range(n)], axis=0), bagged(range(n)))
