"""The shifts of the rows that a point sees: the kernel that ranks them."""

import numpy as np
import pytest

from steadyset import _native


def asked(rows, unit_of, number, shift, n_units=3, levels=(0, 1, 2), threads=1):
    points = len(rows)
    return {
        "rows": rows,
        "unit_of": np.array(unit_of, np.int32),
        "number": np.array(number, np.int32),
        "shift": np.array(shift, np.float32),
        "first": 7,
        "score": np.zeros(n_units, np.float32),
        "leader": np.full(n_units, -1, np.int64),
        "levels": np.array(levels, np.int64),
        "quantiles": np.empty((points, len(levels)), np.float32),
        "threads": threads,
    }


def test_each_unit_keeps_its_largest_shift_and_the_first_point_that_has_it():
    wide = np.array([[0, 1, 9], [2, 0, 9], [0, 3, 9]], np.int32)  # the rows are a part of a wider table
    given = asked(wide[:, :2], [0, -1, 1, 2], [[0, 1, 2], [3, 4, 5], [6, 7, 8]], [3, 8, 1, 2, 3, 5, 1, 4, 2])
    _native.near_shifts(**given)
    assert given["quantiles"].tolist() == [[1, 1, 3], [2, 3, 5], [1, 2, 4]]
    assert given["score"].tolist() == [3, 2, 4]
    assert given["leader"].tolist() == [7, 8, 9]


@pytest.mark.parametrize("seed", range(40))
def test_quantiles_and_scores_are_those_of_all_shifts_written_out_for_any_threads(seed):
    rng = np.random.default_rng(seed)
    points, near, n_rows = int(rng.integers(1, 30)), int(rng.integers(0, 12)), 15
    rows = np.array([rng.permutation(n_rows)[:near] for _ in range(points)], np.int32).reshape(points, near)
    unit_of = np.full(n_rows, -1)
    left_out = rng.permutation(n_rows)[: rng.integers(1, n_rows + 1)]
    unit_of[left_out] = np.arange(len(left_out))
    number = rng.integers(0, 40, (points, near + 1))
    shift = rng.choice([0, 0.25, 0.5, 0.75, 1.5], 40)  # many are equal
    levels = np.sort(rng.integers(0, len(left_out), 4))
    score, leader = rng.choice([0, 0.5], len(left_out)), np.full(len(left_out), 3)
    for threads in (1, 2, 5):
        given = asked(rows, unit_of, number, shift, len(left_out), levels, threads)
        given["score"][:], given["leader"][:] = score, leader
        _native.near_shifts(**given)
        best, at = score.copy(), leader.copy()
        for i in range(points):
            seen = dict(zip(rows[i].tolist(), shift[number[i]], strict=False))
            every = sorted(seen.get(row, shift[number[i, near]]) for row in left_out.tolist())
            assert given["quantiles"][i].tolist() == [every[level] for level in levels]
            for unit, row in enumerate(left_out.tolist()):
                if seen.get(row, -1) > best[unit]:
                    best[unit], at[unit] = seen[row], 7 + i
        assert given["score"].tolist() == best.tolist()
        assert given["leader"].tolist() == at.tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": np.array([[0, 4]], np.int32)},
        {"rows": np.array([[0, -1]], np.int32)},
        {"unit_of": np.array([0, 3, 1, 2], np.int32)},
        {"number": np.array([[0, 1, 3]], np.int32)},
        {"number": np.array([[0, 1]], np.int32)},
        {"rows": np.array([[0, 1]], np.int64)},
        {"rows": np.array([[0, 5, 1, 5]], np.int32)[:, ::2]},
        {"leader": np.empty(2, np.int64)},
        {"levels": np.array([0, 1, 3])},
        {"levels": np.array([0, -1, 2])},
        {"levels": np.array([2, 1, 0])},
        {"levels": np.array([0, 1])},
    ],
)
def test_places_that_are_none_and_arrays_that_do_not_fit_are_refused(wrong):
    given = asked(np.array([[0, 1]], np.int32), [0, 1, 2, -1], [[0, 1, 2]], [1, 2, 1.5])
    with pytest.raises(ValueError):  # noqa: PT011
        _native.near_shifts(**(given | wrong))
