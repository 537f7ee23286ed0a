"""Arrays that were cut out of bytes: their numbers lie anywhere, and give the same answers as aligned ones."""

import numpy as np
import pytest

import steadyset as ss
from steadyset import _native


def moved(array, by=1):
    """Return the same numbers, contiguous, at an address that is no multiple of their size."""
    buffer = np.zeros(array.nbytes + 16, np.uint8)
    start = -buffer.ctypes.data % 16 + by
    out = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    out[...] = array
    assert not out.flags.aligned
    assert out.flags.c_contiguous
    return out


@pytest.fixture(params=["float64", "float32"])
def proba(request):
    return np.random.default_rng(0).dirichlet(np.ones(7), (40, 30)).astype(request.param)


def test_predictions_of_bags(proba):
    bags = ss.draw_bags(50, 40, 0.5, seed=0, sample_ids=np.arange(50))
    one, other = (ss.BagPredictions(values, bags, range(7)) for values in (proba, moved(proba)))
    assert np.array_equal(one.mean(), other.mean())
    for rule in (ss.InflatedArgmax(0.05), ss.TopK(2)):
        first, second = ss.audit_bags(one, rule), ss.audit_bags(other, rule)
        assert np.array_equal(first.instability, second.instability)
        assert np.array_equal(first.jaccard, second.jaccard)
    first, second = (ss.certify(made, ss.InflatedArgmax(0.05)) for made in (one, other))
    assert np.array_equal(first.spread_bound, second.spread_bound)


def test_scores(proba):
    for select in (lambda x: ss.inflated_argmax(x, 0.1), lambda x: ss.ndc(x), ss.entry_epsilons):
        assert np.array_equal(select(proba[0]), select(moved(proba[0])))
    wide = np.tile(proba[0], 10)
    assert np.array_equal(ss.inflated_argmax(wide, 0.1), ss.inflated_argmax(moved(wide), 0.1))


def test_rows_and_ids():
    rows = np.random.default_rng(0).random((20, 3))
    assert np.array_equal(ss.content_ids(rows).values, ss.content_ids(moved(rows)).values)
    ids = np.arange(20, dtype=np.int64) ** 3
    drawn = [ss.draw_bags(20, 4, 0.5, seed=1, sample_ids=given) for given in (ids, moved(ids))]
    assert all(np.array_equal(a, b) for a, b in zip(*drawn, strict=True))


def test_networks():
    rng = np.random.default_rng(0)
    x, y = rng.random((30, 4)).astype(np.float32), np.arange(30) % 3
    net = ss.lanes.NetClassifier(epochs=2, random_state=0)
    assert np.array_equal(net.fit(x, y).predict_proba(x), net.fit(moved(x), y).predict_proba(moved(x)))


def test_an_unaligned_output_is_refused():
    out = moved(np.zeros(5))
    with pytest.raises(ValueError, match="an array to be written must be aligned"):
        _native.sum_bags(np.ones((3, 5)), None, 16, out, 1)
