"""Saved folders, opened up: what a test changes in one, with digests that are right again."""

import hashlib
import io
import json

import numpy as np


def manifest_of(folder):
    return json.loads((folder / "steadyset.json").read_text())


def array_file(folder, name):
    """Return the file of an array that is in force."""
    return folder / f"{name}-{manifest_of(folder)['token']}.npy"


def sign(folder, manifest):
    """Write a manifest with the digest that it ought to have."""
    said = {name: value for name, value in manifest.items() if name != "digest"}
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
    (folder / "steadyset.json").write_text(json.dumps({**said, "digest": digest}))


def edit(folder, change):
    """Change what a manifest says, and sign it."""
    manifest = manifest_of(folder)
    change(manifest)
    sign(folder, manifest)


def put_file(folder, name, data):
    """Replace the file of an array by these bytes, and sign them."""
    array_file(folder, name).write_bytes(data)
    said = {"bytes": len(data), "digest": hashlib.sha256(data).hexdigest()}
    edit(folder, lambda manifest: manifest["files"].__setitem__(name, said))


def put_array(folder, name, array, *, allow_pickle=False):
    """Replace an array by another, and sign it."""
    content = io.BytesIO()
    np.save(content, array, allow_pickle=allow_pickle)
    put_file(folder, name, content.getvalue())


def change_array(folder, name, change):
    """Change the values of an array in place, and sign it."""
    array = np.load(array_file(folder, name))
    change(array)
    put_array(folder, name, array)


def flip(path, at=-3, bit=0):
    data = bytearray(path.read_bytes())
    data[at] ^= 1 << bit
    path.write_bytes(data)


def truncate(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
