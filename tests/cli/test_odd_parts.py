"""Parts and tables that somebody hostile wrote: a sentence, without a wait and without all memory."""

import gzip
import io
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import steadyset as ss
from steadyset.bags import bag_digests
from steadyset.tables import CsvFormat, _read, collect, open_probabilities, read_table, write_bags

CLASSES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def bags(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd") / "bags"
    write_bags(ss.draw_bags(30, 4, 0.5, seed=1), np.array(CLASSES), str(folder), "npz", overwrite=False)
    return folder


@pytest.fixture
def parts(bags):
    """The arrays of a part with all bags."""
    proba = np.random.default_rng(0).dirichlet(np.ones(3), (4, 5))
    return {"bag": np.arange(4), "digest": np.array(bag_digests(ss.Bags.load(bags))), "proba": proba}


@pytest.fixture
def table(parts):
    """The same as a table."""
    bag, point = np.divmod(np.arange(20), 5)
    frame = pd.DataFrame(parts["proba"].reshape(20, 3), columns=CLASSES)
    return frame.assign(bag=bag, point=point, digest=parts["digest"][bag])


def refused(bags, path):
    with pytest.raises(ValueError, match=r"^[^\n]*\.$") as caught:
        collect([str(bags)], [str(path)])
    return str(caught.value)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("name", ["bag", "point"])
def test_a_fraction_of_a_bag_or_point_is_refused(ending, name, bags, table, tmp_path):
    """It was cut off: the rows of point 1.5 would be those of point 1."""
    path = tmp_path / f"part.{ending}"
    odd = table.assign(**{name: table[name] + 0.5})
    odd.to_csv(path, index=False) if ending == "csv" else odd.to_parquet(path, index=False)
    assert f"{name} must be whole numbers; got 0.5" in refused(bags, path)


def test_whole_numbers_that_are_written_as_fractions_are_read(bags, table, parts, tmp_path):
    """As programs write a column of whole numbers with a gap somewhere."""
    table.astype({"bag": float, "point": float}).to_parquet(tmp_path / "part.parquet", index=False)
    assert np.array_equal(collect([str(bags)], [str(tmp_path / "part.parquet")]).proba, parts["proba"])


def test_a_bag_beyond_all_numbers_is_named_as_it_is(bags, parts, tmp_path):
    np.savez(tmp_path / "part.npz", **{**parts, "bag": np.array([2**64 - 1, 1, 2, 3], np.uint64)})
    assert f"must hold numbers of bags; got {2**64 - 1}." in refused(bags, tmp_path / "part.npz")


@pytest.mark.parametrize("name", ["part.csv", "part.npz", "part.parquet"])
def test_a_pipe_is_not_waited_for(name, bags, tmp_path):
    os.mkfifo(tmp_path / name)
    assert "the input must be a file; got the pipe or device" in refused(bags, tmp_path)
    with pytest.raises(ValueError, match="got the pipe or device"):
        read_table(str(tmp_path / name))


@pytest.mark.parametrize("name", ["proba.npy", "proba.parquet"])
def test_probabilities_in_a_pipe_are_csv_alone(name, tmp_path):
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match="got the pipe or device"):
        open_probabilities(str(tmp_path / name), CsvFormat())


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_digest_that_is_no_file_is_refused(kind, bags, parts, tmp_path):
    np.savez(tmp_path / "part.npz", **parts)
    (os.mkfifo if kind == "pipe" else os.mkdir)(tmp_path / "part.npz.sha256")
    assert f"the input must be a file; got the {kind}" in refused(bags, tmp_path / "part.npz")


def test_what_a_part_need_not_hold_is_not_unpacked(bags, parts, tmp_path):
    content = io.BytesIO()
    np.savez(content, **parts)
    with zipfile.ZipFile(content, "a") as file:
        file.writestr("more.npy", b"no array")
    (tmp_path / "part.npz").write_bytes(content.getvalue())
    assert np.array_equal(collect([str(bags)], [str(tmp_path / "part.npz")]).proba, parts["proba"])


def test_an_archive_larger_than_memory_is_not_unpacked(bags, parts, tmp_path, monkeypatch):
    """A few bytes of a compressed file stand for any number of zeros."""
    np.savez_compressed(tmp_path / "part.npz", **{**parts, "more": np.zeros(10**6)})
    np.savez_compressed(tmp_path / "table.npz", X=np.zeros((10**6, 1)))
    monkeypatch.setattr(_read, "physical_memory", lambda: 4 << 20)
    assert "it would unpack to 0.0 GiB, more than this machine can hold." in refused(bags, tmp_path / "part.npz")
    with pytest.raises(ValueError, match=r"as npz: it would unpack to .* GiB, more than this machine can hold\.$"):
        read_table(str(tmp_path / "table.npz"))


def test_tables_larger_than_memory_are_not_unpacked(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": pa.nulls(10**6, pa.int64())}), path)
    assert path.stat().st_size < 10_000
    with gzip.open(tmp_path / "t.csv.gz", "wt") as file:
        file.write("a\n" + "1\n" * 10**6)
    assert read_table(str(path)).num_rows == read_table(str(tmp_path / "t.csv.gz")).num_rows == 10**6
    monkeypatch.setattr(_read, "physical_memory", lambda: 10**6)
    for name, kind in (("t.parquet", "Parquet"), ("t.csv.gz", "CSV")):
        with pytest.raises(ValueError, match=rf"as {kind}: it would unpack to .* more than this machine can hold\.$"):
            read_table(str(tmp_path / name))
