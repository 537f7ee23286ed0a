"""What counts as rows and features."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from steadyset._base.rows import as_rows


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
