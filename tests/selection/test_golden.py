"""The 600 exact cases, and 300 of the inflated top k, for every rule, on every implementation."""

import numpy as np
import pytest

from helpers.golden import CASES, TOP_K_CASES, batches, wrong_batches, wrong_cases
from steadyset import _native
from steadyset.selection import _arrays


def test_there_are_900_cases():
    assert (len(CASES), len(TOP_K_CASES)) == (600, 300)
    assert sum(len(rows) for _, rows, _ in batches()) == 4 * 600 + 4 * sum("tau" in case for case in CASES) + 300


def test_native(isa):
    assert wrong_cases(np.asarray, np.asarray) == []


def test_array_api_on_numpy(monkeypatch):
    monkeypatch.setattr(_arrays, "is_foreign", lambda proba: True)
    assert wrong_batches(np.asarray, np.asarray) == []


def test_array_api_strict():
    xp = pytest.importorskip("array_api_strict")
    assert wrong_batches(lambda w: xp.asarray(w, dtype=xp.float64), np.asarray) == []


def test_torch():
    torch = pytest.importorskip("torch")
    assert wrong_batches(torch.tensor, lambda mask: mask.numpy()) == []


def test_jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        assert wrong_batches(jax.numpy.asarray, np.asarray) == []


def as_stored_without_x64(rule, rows):
    """The set of a row's numbers as 32 bits hold them; 35 to 61 rows of a rule have another one than before."""
    return rule(rows.astype(np.float32))


def test_jax_without_x64(full_trials):
    jax = pytest.importorskip("jax")
    with jax.enable_x64(False):
        for rule, rows, sets in batches(None if full_trials else {2, 3, 10, 100}):
            got = np.asarray(rule(jax.numpy.asarray(rows)))
            assert np.array_equal(got, as_stored_without_x64(rule, rows)), rule
            kept = (rows.astype(np.float32) == rows).all(axis=1)
            assert np.array_equal(got[kept], sets[kept]), rule


@pytest.mark.trial
def test_jax_traced_without_x64(full_trials):
    """Nothing is missing, and what is more lies within the tolerance of 32 bits."""
    jax = pytest.importorskip("jax")
    with jax.enable_x64(False):
        for rule, rows, _ in batches()[:: 8 if full_trials else 400]:
            got, least = np.asarray(jax.jit(rule)(jax.numpy.asarray(rows))), as_stored_without_x64(rule, rows)
            assert np.all(got >= least), rule
            odd = (got != least).any(axis=1)
            if odd.any():
                assert np.all(got[odd] <= type(rule)(rule.epsilon * (1 + 1e-4))(rows[odd].astype(np.float32))), rule


ALL_LEVELS = """
import numpy as np
from helpers.golden import wrong_cases
from steadyset import _native

for level in _native.isa_levels():
    _native.use_isa(level)
    assert wrong_cases(np.asarray, np.asarray) == [], level
print(*_native.isa_levels())
"""


def test_native_elsewhere(place):
    assert place.run(ALL_LEVELS).split() == (["baseline"] if place.emulated else _native.isa_levels())
