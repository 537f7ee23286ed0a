"""Fashion-MNIST: from a folder, from the system's package, from the cache, or downloaded."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steadyset._base import optional, whole_files
from steadyset.paper.fashion_mnist import _idx

#: The labels' names, in their order.
CLASSES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")

SYSTEM_FOLDER = Path("/usr/share/datasets/fashion-mnist")  # where Debian's package dataset-fashion-mnist puts it
_ADDRESS = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"


@dataclass(frozen=True)
class _File:
    name: str
    n_dimensions: int
    sha256: str  # of the unpacked file: packers differ
    packed_md5: str  # of the file at the address, as its publishers print it


_FILES = (
    _File(
        "train-images-idx3-ubyte",
        3,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    ),
    _File(
        "train-labels-idx1-ubyte",
        1,
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "25c81989df183df01b3e8a0aad5dffbe",
    ),
    _File(
        "t10k-images-idx3-ubyte",
        3,
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "bef4ecab320f06d8554ea6380940ec79",
    ),
    _File(
        "t10k-labels-idx1-ubyte",
        1,
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ),
)


@dataclass(frozen=True)
class Images:
    """Images and labels to train on and to test on, and where they come from."""

    X_train: NDArray[np.uint8]
    y_train: NDArray[np.uint8]
    X_test: NDArray[np.uint8]
    y_test: NDArray[np.uint8]
    source: str
    checked: bool


def load_images(folder: str | os.PathLike[str] | None = None, *, checked: bool = True) -> Images:
    """Return Fashion-MNIST.

    Parameters
    ----------
    folder : path, optional
        Where the four IDX files are, plain or gzipped. None looks into the cache and the system's package, and
        downloads them where neither has them.
    checked : bool, default=True
        Whether every file must have Fashion-MNIST's checksum. Without it, a named folder may hold any images in the
        same format.
    """
    if folder is not None:
        named = Path(folder)
        if not named.is_dir():
            raise ValueError(f"the data folder must exist; got {str(named)!r}.")
        return _read(named, f"the folder {named.name}", checked)
    if not checked:
        raise ValueError("unchecked data must come from a named folder; got none.")
    cache = whole_files.cache_folder() / "fashion-mnist"
    if _complete(SYSTEM_FOLDER):
        return _read(SYSTEM_FOLDER, "Debian's package dataset-fashion-mnist", True)
    if not _complete(cache):
        _download(cache)
    return _read(cache, "the publishers' files", True)


def _find(folder: Path, file: _File) -> Path | None:
    return next((path for path in (folder / f"{file.name}.gz", folder / file.name) if path.is_file()), None)


def _complete(folder: Path) -> bool:
    return all(_find(folder, file) for file in _FILES)


def _read(folder: Path, source: str, checked: bool) -> Images:
    arrays: list[NDArray[np.uint8]] = []
    for file in _FILES:
        path = _find(folder, file)
        if path is None:
            raise ValueError(f"the data folder must hold {file.name}[.gz]; got {str(folder)!r} without it.")
        arrays.append(_idx.read(path, file.n_dimensions, sha256=file.sha256 if checked else None))
    for images, labels, name in ((arrays[0], arrays[1], "train"), (arrays[2], arrays[3], "t10k")):
        if len(images) != len(labels) or len(labels) == 0:
            raise ValueError(
                f"the {name} files must hold one label per image; got {len(labels)} labels for {len(images)} images."
            )
    if arrays[0].shape[1:] != arrays[2].shape[1:]:
        raise ValueError(
            f"the test images must have the training images' size {arrays[0].shape[1:]}; got {arrays[2].shape[1:]}."
        )
    return Images(arrays[0], arrays[1], arrays[2], arrays[3], source, checked)


def _download(cache: Path) -> None:
    """Fetch the four files, each checked before it gets its name."""
    try:
        pooch = optional.require("pooch", "data")
        cache.mkdir(parents=True, exist_ok=True)
        for file in _FILES:
            name = f"{file.name}.gz"
            with tempfile.TemporaryDirectory(dir=cache) as scratch:
                fetched = pooch.retrieve(
                    _ADDRESS + name, known_hash=f"md5:{file.packed_md5}", fname=name, path=scratch, progressbar=False
                )
                with whole_files.replacing(cache / name) as unfinished:
                    shutil.copyfile(fetched, unfinished)
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            "Fashion-MNIST must be in a folder named with --data, in Debian's package dataset-fashion-mnist, in the "
            f"cache, or within reach of the network; got none of these ({reason})."
        ) from error
