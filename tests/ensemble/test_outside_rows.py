"""Tables that are not in memory: Dask arrays and Parquet files give the bits of the same rows in memory."""

import copy
import pickle

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression

import steadyset as ss
from steadyset import lanes
from steadyset._base.outside_rows import DaskRows
from steadyset.ensemble import _few_rows

RNG = np.random.default_rng(0)
N = 400
Y = RNG.integers(3, size=N)
X = RNG.normal(size=(N, 4)) + Y[:, None]
NAMES = ["a", "b", "c", "d"]
LEARNERS = {
    "trees": lambda: None,
    "lanes": lambda: lanes.NetClassifier([lanes.Linear(4), lanes.ReLU(), lanes.Linear()], epochs=1),
    "logistic": LogisticRegression,
}


@pytest.fixture
def folder(tmp_path):
    """Return a folder of three files with row groups of 50 rows."""
    for part, rows in enumerate(np.array_split(np.arange(N), 3)):
        table = pa.table({"label": Y[rows], **{name: X[rows, k] for k, name in enumerate(NAMES)}})
        path = tmp_path / "rows" / f"year={part}"
        path.mkdir(parents=True)
        pq.write_table(table, path / "part.parquet", row_group_size=50)
    return tmp_path / "rows"


@pytest.fixture(params=["dask", "dask, chunks of columns", "parquet"])
def outside(request, folder):
    if request.param == "parquet":
        return ss.ParquetRows(folder, NAMES)
    return da.from_array(X, chunks=(70, 3 if "columns" in request.param else -1))


def model(learner="trees", **parameters):
    return ss.StableClassifier(LEARNERS[learner](), 70, max_samples=20, random_state=5, **parameters)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fit_is_that_of_the_rows_in_memory(learner, outside, monkeypatch):
    at_home = model(learner).fit(X, Y)
    for most in (1 << 28, 32 * 200):  # all bags at once, or sixteen at a time
        monkeypatch.setattr(_few_rows, "_READ_BYTES", most)
        found = model(learner).fit(outside, Y)
        assert found.bags_ == at_home.bags_  # ids are made of the rows' content
        assert found.n_features_in_ == 4
        assert np.array_equal(found.bag_predictions(X).proba, at_home.bag_predictions(X).proba)
        assert np.array_equal(found.predict_proba(outside), at_home.predict_proba(X))
        assert np.array_equal(found.predict_set(outside), at_home.predict_set(X))
    bags = model(learner).fit_predict_bags(outside, Y, outside)
    assert np.array_equal(bags.proba, at_home.bag_predictions(X).proba)


def test_weights_groups_and_ids_go_along(outside):
    weights, groups, ids = RNG.random(N), np.arange(N) // 2, [f"row {k}" for k in range(N)]
    for given in ({"sample_weight": weights}, {"groups": groups}, {"sample_ids": ids}):
        found, at_home = (model().fit(rows, Y, **given) for rows in (outside, X))
        assert found.bags_ == at_home.bags_
        assert np.array_equal(found.predict_proba(X), at_home.predict_proba(X))


def test_audits_certificates_and_refits_of_them(outside):
    found, at_home = model().fit(outside, Y), model().fit(X, Y)
    assert pickle.dumps(found.audit(outside)) == pickle.dumps(at_home.audit(X))
    assert pickle.dumps(found.certify(outside)) == pickle.dumps(at_home.certify(X))
    relabelled = Y.copy()
    relabelled[7] = (Y[7] + 1) % 3
    again, expected = found.refit(outside, relabelled), copy.deepcopy(at_home).refit(X, relabelled)
    assert again.changes_ == expected.changes_
    assert 0 < again.changes_.n_trained < 20
    assert np.array_equal(again.predict_proba(X), expected.predict_proba(X))


def test_a_checkpoint_knows_the_rows(outside, tmp_path):
    first = model(checkpoint=tmp_path).fit(outside, Y)
    (name,) = [path.name for path in tmp_path.iterdir() if path.is_dir() and path.name != "rows"]
    assert first.checkpoint_name_ == name
    again = model(checkpoint=tmp_path).fit(outside, Y)
    assert again.checkpoint_name_ == name
    changed = da.from_array(np.where(np.arange(N)[:, None] == 3, X + 1, X), chunks=70)
    assert model(checkpoint=tmp_path).fit(changed, Y).checkpoint_name_ != name


def test_only_pieces_that_hold_the_rows_are_read(folder, monkeypatch):
    read = []
    for rows in (ss.ParquetRows(folder, NAMES), DaskRows(da.from_array(X, chunks=50))):
        whole = type(rows).read_piece
        monkeypatch.setattr(
            type(rows), "read_piece", lambda self, piece, whole=whole: read.append(piece) or whole(self, piece)
        )
        positions = np.array([399, 3, 51, 3, 398])
        assert np.array_equal(rows[positions], X[positions])
        assert read == [0, 1, len(rows.piece_ends) - 1]
        read.clear()


def test_a_run_of_bags_reads_a_piece_once(folder, monkeypatch):
    rows = ss.ParquetRows(folder, NAMES)
    read = []
    whole = ss.ParquetRows.read_piece
    monkeypatch.setattr(ss.ParquetRows, "read_piece", lambda self, piece: read.append(piece) or whole(self, piece))
    model().fit(rows, Y, sample_ids=np.arange(N))
    # Once for the digest of each row, which a refit compares, and once for all bags.
    assert sorted(read) == sorted(2 * list(range(len(rows.piece_ends))))


def test_no_more_rows_are_read_than_memory_is_to_hold(folder, monkeypatch):
    read = []
    part = _few_rows._part

    def noted(*arguments):
        found = part(*arguments)
        read.append(found[0].X.nbytes)
        return found

    monkeypatch.setattr(_few_rows, "_part", noted)
    most = 32 * 240  # of the rows of 70 bags, which are 385 or so
    monkeypatch.setattr(_few_rows, "_READ_BYTES", most)
    model().fit(ss.ParquetRows(folder, NAMES), Y)
    assert len(read) == 5  # of sixteen bags each, and the rest
    assert max(read) <= most


def test_rows_of_whole_numbers_and_pickles(tmp_path):
    frame = pd.DataFrame({"a": np.arange(20, dtype=np.int16), "b": np.arange(20, dtype=np.int32)})
    frame.to_parquet(tmp_path / "whole.parquet")
    rows = ss.ParquetRows(tmp_path / "whole.parquet")
    assert (rows.dtype, rows.shape, rows.ndim, len(rows)) == (np.int32, (20, 2), 2, 20)
    assert repr(rows) == "ParquetRows(20 rows, 2 columns of int32)"
    assert np.array_equal(rows[:], frame.to_numpy())
    joblib.dump(rows, tmp_path / "pickled")
    assert np.array_equal(joblib.load(tmp_path / "pickled")[5:8], frame.to_numpy()[5:8])


def test_gaps_are_nan_in_floats_alone(tmp_path):
    pq.write_table(pa.table({"a": [1.0, None], "b": [1, None]}), tmp_path / "gaps.parquet")
    found = ss.ParquetRows(tmp_path, ["a"])[:]
    assert np.array_equal(found, [[1.0], [np.nan]], equal_nan=True)
    with pytest.raises(
        ValueError, match=r"^column 'b' of whole numbers must have no gaps; got some in '.*gaps.parquet'\.$"
    ):
        ss.ParquetRows(tmp_path)[:]


def test_what_cannot_be_read_is_said(folder, tmp_path):
    pq.write_table(pa.table({"a": ["x"], "b": [1.0]}), tmp_path / "texts.parquet")
    with pytest.raises(ValueError, match=r"^columns must hold numbers; got 'a' of type string in .*: name others\.$"):
        ss.ParquetRows(tmp_path / "texts.parquet")
    with pytest.raises(ValueError, match=r"^columns must be of '.*'; got 'z', which it does not have\.$"):
        ss.ParquetRows(folder, ["z"])
    with pytest.raises(ValueError, match=r"^columns must name at least one column; got none\.$"):
        ss.ParquetRows(folder, [])
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        ValueError, match=r"^path must be a Parquet file, or a folder of files that end in .parquet; got"
    ):
        ss.ParquetRows(tmp_path / "empty")
    (tmp_path / "broken.parquet").write_bytes(b"no")
    with pytest.raises(ValueError, match=r"broken.parquet' must be a Parquet file that can be read; got: "):
        ss.ParquetRows(tmp_path / "broken.parquet")
    pq.write_table(pa.table({name: np.zeros(3, np.float32) for name in NAMES}), folder / "z.parquet")
    with pytest.raises(
        ValueError, match=r"^the files must hold columns of the same types; got float32 in .* and float64"
    ):
        ss.ParquetRows(folder, NAMES)


def test_tables_of_dask_that_have_no_rows_to_ask_for():
    array = da.from_array(X, chunks=70)
    with pytest.raises(
        ValueError, match=r"^X must be a Dask array of known shape; got .*: call compute_chunk_sizes\(\) first\.$"
    ):
        model().fit(array[array[:, 0] > 0], Y)
    with pytest.raises(ValueError, match=r"^X must hold numbers where it is a Dask array; got <U1\.$"):
        model().fit(da.from_array(np.full((N, 2), "a")), Y)
    with pytest.raises(ValueError, match=r"^oob_score must be False for rows that are not in memory"):
        model(oob_score=True).fit(array, Y)
