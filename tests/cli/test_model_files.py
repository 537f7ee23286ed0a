"""Model files: a digest over all of them, bags that are what they say, and nothing left behind."""

import dataclasses
import os
import re
import signal
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_iris

import steadyset as ss
from steadyset.tables import Column, TableModel, Target, load_model, save_model

X, Y = load_iris(return_X_y=True)


@pytest.fixture
def model():
    fitted = ss.StableClassifier(n_estimators=4, random_state=0).fit(X, Y)
    return TableModel(fitted, tuple(Column(f"x{j}", "number", ()) for j in range(4)), Target("y", "number"))


def test_a_model_file_is_a_plain_archive_with_a_digest(tmp_path, model):
    path = tmp_path / "m.skops"
    save_model(model, str(path))
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert "steadyset.sha256" in archive.namelist()
    assert np.array_equal(load_model(str(path)).classifier.predict_proba(X), model.classifier.predict_proba(X))


def test_flipped_bits_are_refused_or_change_nothing(tmp_path, model):
    path = tmp_path / "m.skops"
    save_model(model, str(path))
    whole, wanted, refusals = path.read_bytes(), model.classifier.predict_proba(X), []
    rng = np.random.default_rng(0)
    for at in rng.integers(len(whole), size=60):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << int(rng.integers(8))]) + whole[at + 1 :])
        try:
            found = load_model(str(path))
        except ValueError as error:
            refusals.append(str(error))
        else:  # the time of a part, say, which nobody reads
            assert np.array_equal(found.classifier.predict_proba(X), wanted)
    assert len(refusals) > 40
    assert all(re.search(r"m\.skops' (could not be read as|is not) a skops", refusal) for refusal in refusals)


def with_bags(model, **changes):
    model.classifier.bags_ = dataclasses.replace(model.classifier.bags_, **changes)
    return model


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"parts": (ss.bags.Part(7, 0, 4),)}, "bags must be those that seed 7 draws; got others."),
        ({"bag_size": -3}, "('it holds bags whose parts contradict each other')."),
        ({"n_bags": 5}, "('it holds an ensemble whose parts contradict each other')."),
        ({"ids": ss.bags.RowIds("given", np.zeros(150, np.int64))}, "ids must be distinct; got one more than once."),
    ],
)
def test_bags_that_contradict_themselves_are_refused(tmp_path, model, changes, sentence):
    path = tmp_path / "m.skops"
    save_model(with_bags(model, **changes), str(path))
    with pytest.raises(ValueError, match=re.escape(sentence) + "$"):
        load_model(str(path))


def test_damaged_joblib_files_are_refused_before_they_are_interpreted(tmp_path, model):
    path = tmp_path / "m.joblib"
    save_model(model, str(path), joblib_format=True)
    assert load_model(str(path), trust_joblib=True).columns == model.columns
    whole = path.read_bytes()
    for at in np.random.default_rng(0).integers(len(whole), size=40):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(ValueError, match=r"could not be read as joblib: "):
            load_model(str(path), trust_joblib=True)


DIES = """
import os, signal, sys
from steadyset._base import whole_files
with whole_files.replacing(sys.argv[1]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_opening_a_model_removes_what_a_killed_writer_left(tmp_path, model):
    path = tmp_path / "m.skops"
    save_model(model, str(path))
    done = subprocess.run([sys.executable, "-c", DIES, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 2
    load_model(str(path))
    assert os.listdir(tmp_path) == ["m.skops"]
