"""The images are read with suspicion, and found where they may be."""

import functools
import gzip
import hashlib
import http.server
import threading
from dataclasses import replace

import numpy as np
import pytest

from helpers import toy_images
from steadyset.paper.fashion_mnist import _data, _idx

LABELS = np.arange(6, dtype=np.uint8)
GOOD = toy_images.idx(LABELS)


def written(folder, content, name="labels"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_idx_reads_what_was_written(tmp_path, packed):
    content = gzip.compress(GOOD) if packed else GOOD
    path = written(tmp_path, content, "labels.gz" if packed else "labels")
    read = _idx.read(path, 1, sha256=hashlib.sha256(GOOD).hexdigest())
    assert np.array_equal(read, LABELS)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("labels", b"", r"^labels must begin with the bytes 00 00 08 01; got an empty file\.$"),
        ("labels", b"\x00\x00\x0d\x01" + GOOD[4:], r"must begin with the bytes 00 00 08 01; got 00 00 0d 01\.$"),
        ("labels", b"\x00\x00\x08\x03" + GOOD[4:], r"must begin with the bytes 00 00 08 01; got 00 00 08 03\.$"),
        ("labels", GOOD[:6], r"must hold a header of 8 bytes; got a file of 6\.$"),
        ("labels", GOOD[:-1], r"must hold 14 bytes for its sizes \(6,\); got 13\.$"),
        ("labels", GOOD + b"\x00", r"must hold 14 bytes for its sizes \(6,\); got 15\.$"),
        ("labels", b"\x00\x00\x08\x01\xff\xff\xff\xff" + GOOD[8:], r"must hold 4294967303 bytes"),
        ("labels.gz", gzip.compress(GOOD, mtime=0)[:-9], r"must be a whole gzip file; got a damaged one"),
        ("labels.gz", GOOD, r"must be a whole gzip file; got a damaged one"),
    ],
    ids=["empty", "floats", "images", "header", "short", "long", "size", "cut gzip", "no gzip"],
)
def test_idx_refuses_what_is_wrong(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        _idx.read(written(tmp_path, content, name), 1)


def test_idx_refuses_another_checksum(tmp_path):
    with pytest.raises(ValueError, match=r"must have the SHA-256 checksum 0{64}; got [0-9a-f]{64}: it is another file"):
        _idx.read(written(tmp_path, GOOD), 1, sha256="0" * 64)


@pytest.mark.parametrize("packed", [False, True])
def test_folder_without_checksums(tmp_path, packed):
    folder = toy_images.write(tmp_path / "images", packed=packed)
    images = _data.load_images(folder, checked=False)
    for found, expected in zip(
        (images.X_train, images.y_train, images.X_test, images.y_test), toy_images.arrays(), strict=True
    ):
        assert np.array_equal(found, expected)
    assert not images.checked


def test_folder_is_checked(tmp_path):
    with pytest.raises(ValueError, match="train-images-idx3-ubyte must have the SHA-256 checksum c59f46"):
        _data.load_images(toy_images.write(tmp_path))


def test_folder_must_exist_and_be_whole(tmp_path):
    with pytest.raises(ValueError, match="the data folder must exist; got"):
        _data.load_images(tmp_path / "nowhere")
    folder = toy_images.write(tmp_path)
    (folder / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(ValueError, match=r"must hold t10k-labels-idx1-ubyte\[\.gz\]"):
        _data.load_images(folder, checked=False)


def test_labels_must_fit_the_images(tmp_path):
    folder = toy_images.write(tmp_path)
    (folder / "t10k-labels-idx1-ubyte").write_bytes(GOOD)
    with pytest.raises(ValueError, match="the t10k files must hold one label per image; got 6 labels for 200 images"):
        _data.load_images(folder, checked=False)


def test_unchecked_data_needs_a_folder():
    with pytest.raises(ValueError, match="unchecked data must come from a named folder"):
        _data.load_images(checked=False)


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Serve packed toy files at a local address that stands in for the publishers', with their checksums."""
    folder = toy_images.write(tmp_path / "served", packed=True)
    handler = functools.partial(_Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    files = []
    for file in _data._FILES:
        packed = (folder / f"{file.name}.gz").read_bytes()
        sums = {
            "sha256": hashlib.sha256(gzip.decompress(packed)).hexdigest(),
            "packed_md5": hashlib.md5(packed).hexdigest(),
        }
        files.append(replace(file, **sums))
    monkeypatch.setattr(_data, "_ADDRESS", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setattr(_data, "_FILES", tuple(files))
    monkeypatch.setattr(_data, "SYSTEM_FOLDER", tmp_path / "no-package")
    monkeypatch.setenv("STEADYSET_CACHE", str(tmp_path / "cache"))
    yield folder
    server.shutdown()
    server.server_close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


def test_download_is_kept_in_the_cache(served):
    first = _data.load_images()
    for path in served.iterdir():
        path.unlink()
    again = _data.load_images()
    assert np.array_equal(first.X_train, again.X_train)
    assert np.array_equal(first.X_train, toy_images.arrays()[0])


def test_download_with_another_checksum_is_refused(served, tmp_path):
    (served / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"something else"))
    with pytest.raises(ValueError, match=r"^Fashion-MNIST must be in a folder named with --data, .* got none of these"):
        _data.load_images()
    kept = [path.name for path in (tmp_path / "cache" / "fashion-mnist").iterdir()]
    assert set(kept) == {"train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"}


def test_system_package_is_found(served, monkeypatch):
    monkeypatch.setattr(_data, "SYSTEM_FOLDER", served)
    assert _data.load_images().source == "Debian's package dataset-fashion-mnist"


@pytest.mark.skipif(not _data._complete(_data.SYSTEM_FOLDER), reason="the package is not installed")
def test_the_real_images():
    images = _data.load_images()
    assert images.X_train.shape == (60000, 28, 28)
    assert np.array_equal(np.bincount(images.y_test), np.full(10, 1000))
