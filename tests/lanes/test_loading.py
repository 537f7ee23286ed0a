"""Rows reach their lanes whole, whatever their width, padding and dtype."""

import numpy as np
import pytest
from scipy.special import softmax

from steadyset import _native
from steadyset.lanes import Conv2d, Flatten, Linear, NetClassifier
from steadyset.lanes._architecture import architecture

WIDTHS = [1, 2, 7, 15, 16, 17, 28, 31, 32, 33, 50]


def images(height, width, n=21):
    rng = np.random.default_rng(width)
    return rng.integers(256, size=(n, 2, height, width), dtype=np.uint8), np.arange(n) % 3


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_every_feature_reaches_its_weight(isa, width, dtype):
    x, _ = images(3, width)
    network = architecture([Flatten(), Linear()], (2, 3, width), 4).network()
    parameters = np.random.default_rng(0).normal(size=(1, network.n_parameters)).astype(np.float32)
    weights, bias = parameters[0, :-4].reshape(4, -1).astype(float), parameters[0, -4:]
    out = np.empty((1, len(x), 4))
    network.predict(x.astype(dtype), parameters, None, None, 1 / 255, -0.5, out, 0, _native.LanesWatch())
    expected = softmax((x.reshape(len(x), -1) / 255 - 0.5) @ weights.T + bias, axis=1)
    np.testing.assert_allclose(out[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("padding", [0, 2])
@pytest.mark.parametrize("scale", ["standard", None])
def test_bytes_and_floats_train_alike(isa, width, padding, scale):
    x, y = images(4, width)
    layers = [Conv2d(3, 1, padding=padding), Flatten(), Linear()]
    byte, single = (
        NetClassifier(layers, epochs=2, scale=scale, learning_rate=1e-6, random_state=0).fit(x.astype(dtype), y)
        for dtype in (np.uint8, np.float32)
    )
    np.testing.assert_array_equal(byte.parameters_, single.parameters_)
