"""The shifts of the rows that a point sees: the kernel that ranks them."""

import numpy as np
import pytest

from steadyset import _native


def asked(rows, unit_of, number, shift, n_units=3):
    points, near = rows.shape
    return {
        "rows": rows,
        "unit_of": np.array(unit_of, np.int32),
        "number": np.array(number, np.int32),
        "shift": np.array(shift, np.float32),
        "first": 7,
        "score": np.zeros(n_units, np.float32),
        "leader": np.full(n_units, -1, np.int64),
        "ranked": np.empty((points, near), np.float32),
        "far": np.empty(points, np.float32),
        "known": np.empty(points, np.int64),
        "below": np.empty(points, np.int64),
    }


def test_each_unit_keeps_its_largest_shift_and_the_first_point_that_has_it():
    wide = np.array([[0, 1, 9], [2, 0, 9], [0, 3, 9]], np.int32)  # the rows are a part of a wider table
    given = asked(wide[:, :2], [0, -1, 1, 2], [[0, 1, 2], [3, 4, 5], [6, 7, 8]], [3, 8, 1, 2, 3, 5, 1, 4, 2])
    _native.near_shifts(**given)
    assert given["ranked"].tolist() == [[3, np.inf], [2, 3], [1, 4]]
    assert given["far"].tolist() == [1, 5, 2]
    assert given["known"].tolist() == [1, 2, 2]
    assert given["below"].tolist() == [0, 2, 1]
    assert given["score"].tolist() == [3, 2, 4]
    assert given["leader"].tolist() == [7, 8, 9]


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
        {"known": np.empty(2, np.int64)},
    ],
)
def test_places_that_are_none_and_arrays_that_do_not_fit_are_refused(wrong):
    given = asked(np.array([[0, 1]], np.int32), [0, 1, 2, -1], [[0, 1, 2]], [1, 2, 3])
    with pytest.raises(ValueError):  # noqa: PT011
        _native.near_shifts(**(given | wrong))
