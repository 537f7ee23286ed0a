"""What counts as rows and features."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from steadyset._base.rows import as_rows, known_codes


@pytest.mark.parametrize(
    "table",
    [np.eye(3), np.zeros((2, 1, 8, 8)), sp.csr_array(np.eye(3)), pd.DataFrame(np.eye(3)), pl.DataFrame(np.eye(3))],
)
def test_tables_stay_what_they_are(table):
    assert as_rows(table) is table or (sp.issparse(table) and (as_rows(table) != table).nnz == 0)


def test_what_cannot_be_sliced_by_rows_is_made_so():
    assert as_rows(sp.coo_array(np.eye(3))).format == "csr"
    assert isinstance(as_rows([[1, 2], [3, 4]]), np.ndarray)


def test_one_axis_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^X_eval must have at least two axes, rows and features; got shape \(3,\)\."):
        as_rows([1, 2, 3], "X_eval")


LABELS = {
    "in a row": np.array([3, 4, 5]),
    "with gaps": np.array([-7, 0, 2**62]),
    "the widest": np.array([-(2**63), 2**63 - 1]),
    "short": np.array([1, 2, 3], np.int8),
    "unsigned": np.array([1, 2**64 - 1], np.uint64),
    "bools": np.array([False, True]),
    "texts": np.array(["a", "bcd", "e"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_codes_of_known_labels(kind):
    space = LABELS[kind]
    codes = np.random.default_rng(0).integers(len(space), size=50)
    assert np.array_equal(known_codes(space[codes], space), codes)
    assert known_codes(space[codes], space[1:]) is None  # a label is not there
    assert known_codes(space[codes], space[::-1]) is None
    assert known_codes(space[codes].astype(object), space) is None
    assert known_codes(space[codes][:, None], space) is None
    assert known_codes(space[codes].tolist(), space) is None


def test_labels_just_beyond_those_known_are_unknown():
    space = np.array([3, 4, 5])
    for label in (2, 6, -(2**63), 2**63 - 1):
        assert known_codes(np.array([3, 4, 5, 3, 4, label]), space) is None
    assert known_codes(np.array([3, 4, 5]), space) is None  # as many labels as rows are hardly labels
