"""Files that a release wrote are read by every later one, with the same numbers."""

import json
import warnings

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning

pytest.importorskip("skops")
pytest.importorskip("safetensors")
released = pytest.importorskip("helpers.released_files")

VERSIONS = sorted(path.name for path in released.FOLDER.iterdir())


def test_there_are_files_of_the_first_release():
    assert "0.1.0" in VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", released.FORMS)
def test_files_of_a_release_are_read_for_ever(version, name):
    folder, form = released.FOLDER / version, released.FORMS[name]
    expected = json.loads((folder / "read.json").read_text())
    if name not in expected:
        pytest.skip(f"{version} had no such form")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InconsistentVersionWarning)  # parts of scikit-learn's, by another release of it
        found = form.numbers(form.read(folder / name))
    for one, other in zip(found, expected[name], strict=True):
        if name == "networks":  # rounded as the CPU does
            np.testing.assert_allclose(one, other, rtol=0, atol=2e-4)
        else:
            assert one == other
