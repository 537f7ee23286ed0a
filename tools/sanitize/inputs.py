"""Arrays to call with: random shapes, types, strides, alignments and values."""

import numpy as np

KINDS = ["f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", ">f8", "<f4", "O", "c16", "U3"]
EXTREMES = [0.0, -0.0, 1.0, 0.5, np.nan, np.inf, -np.inf, 1e-320, 1e308, -1e308, 2.0**53, 1e-200, 1 / 3]
WHOLE = [-(2**63), -(2**31), -2, -1, 0, 1, 2, 3, 16, 17, 1000, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 2**63 - 1]
SIZES = [0, 1, 2, 3, 5, 16, 17, 48, 49, 100, 1000]
_SIZE_ODDS = np.array([1, 2, 2, 2, 2, 2, 2, 1, 1, 1, 0.3])
_KIND_ODDS = np.array([6, 6, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5])


def numbers(rng, shape):
    """Return float64 values of one of several characters."""
    way = rng.integers(6)
    if way == 0:
        return rng.random(shape)
    if way == 1:
        return rng.choice(EXTREMES, shape)
    if way == 2:
        return np.full(shape, rng.choice(EXTREMES))
    if way == 3:
        return -(rng.random(shape) ** rng.integers(1, 400))
    if way == 4:
        return rng.integers(0, 3, shape).astype(float)
    values = rng.random(shape) + 1e-9
    return values / values.sum(axis=-1, keepdims=True) if shape and 0 not in shape else values


def laid_out(rng, array):
    """Return the same numbers in another layout: strided, reversed, transposed, unaligned, read-only."""
    way = rng.integers(7)
    if way == 0 and array.ndim:
        array = np.repeat(array, 2, axis=-1)[..., ::2]
    elif way == 1 and array.ndim:
        array = np.ascontiguousarray(array[..., ::-1])[..., ::-1]
    elif way == 2:
        array = np.asfortranarray(array)
    elif way == 3 and array.dtype != object:
        array = unaligned(rng, array)
    elif way == 4 and array.ndim and array.shape[0]:
        array = np.broadcast_to(array[:1], array.shape)
    if rng.integers(5) == 0 and array.flags.owndata:
        array.flags.writeable = False
    return array


def unaligned(rng, array):
    """Return the same numbers at an address that is no multiple of their size."""
    shift = int(rng.integers(1, 8))
    buffer = np.zeros(array.nbytes + 8, np.uint8)
    moved = buffer[shift : shift + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def scores(rng, ndim=2, valid=False):
    """Return an array of scores, or of probabilities."""
    shape = tuple(int(s) for s in rng.choice(SIZES, ndim, p=_SIZE_ODDS / _SIZE_ODDS.sum()))
    if valid:
        return laid_out(rng, probabilities(rng, tuple(max(1, s) for s in shape)).astype(rng.choice(["f8", "f4"])))
    with np.errstate(all="ignore"):
        return laid_out(rng, numbers(rng, shape).astype(rng.choice(KINDS, p=_KIND_ODDS / _KIND_ODDS.sum())))


def probabilities(rng, shape, sharpness=1):
    """Return float64 probabilities."""
    values = rng.random(shape) ** sharpness + 1e-9
    return values / values.sum(axis=-1, keepdims=True)


def parameter(rng):
    """Return an epsilon, tau or beta, good or bad."""
    return float(rng.choice([0.0, 0.05, 0.3, 1.0, 1.5, 1e-12, 1e9, np.nan, np.inf, -1.0]))
