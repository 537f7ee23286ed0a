"""Digits as IDX files: a small stand-in with Fashion-MNIST's format and image size."""

import gzip
import struct

import numpy as np
from sklearn.datasets import load_digits

NAMES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def idx(array):
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def arrays(n_train=400, n_test=200):
    digits = load_digits()
    images = np.kron(digits.images / 16 * 255, np.ones((3, 3))).astype(np.uint8)
    images = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    labels = digits.target.astype(np.uint8)
    test = slice(n_train, n_train + n_test)
    return images[:n_train], labels[:n_train], images[test], labels[test]


def write(folder, *, packed=False):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(NAMES, arrays(), strict=True):
        if packed:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array)))
        else:
            (folder / name).write_bytes(idx(array))
    return folder
