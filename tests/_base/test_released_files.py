"""Files that a release wrote are read by every later one, with the same numbers."""

import json
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import InconsistentVersionWarning

released = pytest.importorskip("helpers.released_files")

VERSIONS = sorted(path.name for path in released.FOLDER.iterdir())


def read_then(version):
    return json.loads((released.FOLDER / version / "read.json").read_text())


def test_the_first_release_has_files_of_every_form():
    forms = set(read_then("0.1.0"))
    assert forms <= set(released.FORMS)
    assert {path.name for path in (released.FOLDER / "0.1.0").iterdir()} == {*forms, "read.json", "made-with.json"}
    if released.ss.__version__ == "0.1.0":
        assert forms == set(released.FORMS)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", released.FORMS)
def test_files_of_a_release_are_read_for_ever(version, name):
    folder, form, expected = released.FOLDER / version, released.FORMS[name], read_then(version)
    if name not in expected:
        pytest.skip(f"{version} had no such form")
    for package in form.needs:
        pytest.importorskip(package)
    made_with = json.loads((folder / "made-with.json").read_text())["scikit-learn"]
    if form.foreign and [int(part) for part in sklearn.__version__.split(".")[:2]] < made_with:
        pytest.skip("it holds estimators of a newer scikit-learn")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # parts of scikit-learn's, by another release of it
        found = form.numbers(form.read(folder / name))
    for one, other in zip(found, expected[name], strict=True):
        if form.atol and not isinstance(other, str) and np.asarray(other).dtype.kind == "f":
            np.testing.assert_allclose(one, other, rtol=0, atol=form.atol)
        else:
            assert one == other
