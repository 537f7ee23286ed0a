"""Small images as PNG in a data address; Pillow would be one more dependency for these few lines."""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}  # channels: grey, RGB, RGBA


def data_address(values: Any) -> str:
    """Return (height, width[, channels]) as ``data:image/png;base64,...``; grey is dark on white, as ink on paper."""
    picture = _eight_bits(np.asarray(values, np.float64))
    picture = picture.reshape(*picture.shape[:2], -1)
    if picture.shape[2] == 1:
        picture = 255 - picture
    height, width, channels = picture.shape
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(picture))
    head = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    chunks = (b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")
    png = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")


def _eight_bits(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return values stretched to 0..255; a value that is not finite is 0."""
    finite = np.where(np.isfinite(values), values, 0.0)
    low, high = float(finite.min(initial=0)), float(finite.max(initial=0))
    if low >= 0 and 1 < high <= 255 and np.all(finite == np.rint(finite)) and high > 128:
        return finite.astype(np.uint8)  # bytes already
    if high - low == 0:
        return np.zeros(values.shape, np.uint8)
    return np.asarray(np.rint((finite - low) * (255 / (high - low))).astype(np.uint8))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
