"""Saved folders and groups of networks that somebody hostile made: odd values under right digests."""

import io
import json
import math

import numpy as np
from numpy.lib import format as npy

from helpers.saved_files import array_file, edit, manifest_of, put_file

NUMBERS = [-(10**9), -3, -1, 0, 1, 2, 7, 255, 256, 10**6, 2**30 - 1, 2**31 - 1, 2**31, 2**32, 2**53, 2**62, 10**30]
FLOATS = [0.0, -0.0, 0.5, 1e-320, 1e300, -1e300, 1e151, math.nan, math.inf, -math.inf]
WORDS = ["", "x", "euclidean", "cosine", "bootstrap", "subbagging", "bits", "object", "<U0", "<f8", "V8", "O", "\ud800"]
TYPES = ["i1", "u1", "i4", "u4", "i8", "u8", "f2", "f4", "f8", ">f8", ">i8", "c16", "?", "U3", "S4", "V8", "m8[s]"]


def craft(form, rng):
    """Change one thing of a saved form, and sign it again."""
    (craft_tensors if (form.target / "group.safetensors").exists() else craft_folder)(form.target, rng)


def craft_folder(folder, rng):
    names = sorted(manifest_of(folder)["files"])
    way = rng.choice(["array", "array", "array", "bytes", "swap", "manifest", "manifest"])
    if way == "manifest":
        edit(folder, lambda manifest: change_json(manifest, rng, but=("token", "format", "digest")))
    elif way == "swap":
        one, two = rng.choice(names), rng.choice(names)
        first, second = array_file(folder, one).read_bytes(), array_file(folder, two).read_bytes()
        put_file(folder, one, second)
        put_file(folder, two, first)
    else:
        name = rng.choice(names)
        array = np.load(array_file(folder, name))
        put_file(folder, name, odd_file(array, rng) if way == "bytes" else plain_file(changed(array, rng)))


def plain_file(array):
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue()


def changed(array, rng):
    """Return an array with another entry, shape or type."""
    way = rng.randrange(8)
    if way == 0:
        return array[: rng.randrange(len(array) + 1)] if array.ndim else array[None]
    if way == 1:
        return np.concatenate([array, array]) if array.ndim else array
    if way == 2:
        return array.reshape(*array.shape, 1) if rng.random() < 0.5 else array.ravel()
    if way == 3:
        return np.asfortranarray(array) if array.ndim > 1 else array[::-1]
    if way == 4:
        with np.errstate(all="ignore"):
            try:
                return array.astype(rng.choice(TYPES))
            except (TypeError, ValueError):
                return array[:0]
    out = array.copy()
    for _ in range(rng.choice([1, 1, 2, 50])):
        if out.size:
            with np.errstate(all="ignore"):
                value = rng.choice(FLOATS) if out.dtype.kind == "f" else rng.choice(NUMBERS) % 2**64
                out.flat[rng.randrange(out.size)] = np.array(value).astype(out.dtype)
    return out


def odd_file(array, rng):
    """Return an .npy file whose header is not one that np.save writes."""
    shape, code = array.shape, npy.dtype_to_descr(array.dtype)
    about = {"descr": code, "fortran_order": False, "shape": shape}
    way = rng.randrange(6)
    if way == 0:
        about["shape"] = rng.choice([(10**18,), (-1,), (0, 10**18), (2**62, 4), (), (*shape, 1), shape[::-1], (1.5,)])
    elif way == 1:
        about["descr"] = rng.choice(["|O", "<U0", "|V0", "<f16", "|S0", [("a", "<f8")], ("<f8", (2,)), "<M8[us]", 7])
    elif way == 2:
        about["fortran_order"] = rng.choice([True, 1, None])
    elif way == 3:
        about["more"] = 1
    text = repr(about)
    if way == 4:
        text = "(" * 400 + text + ")" * 400
    # The header's end is where the numbers begin: not at a multiple of 64.
    text += " " * (rng.randrange(1, 9) if way == 5 else -(len(text) + 11) % 64) + "\n"
    version = rng.choice([b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\x09\0"])
    length = len(text).to_bytes(2 if version == b"\1\0" else 4, "little")
    return b"\x93NUMPY" + version + length + text.encode() + array.tobytes()


def change_json(value, rng, but=()):
    """Change one thing somewhere in a tree of JSON."""
    places = list(places_of(value, but))
    holder, key = rng.choice(places)
    old, way = holder[key], rng.randrange(7)
    if way == 0 and isinstance(holder, dict):
        del holder[key]
    elif way == 1:
        holder[key] = [old] if rng.random() < 0.5 else {"a": old}
    elif way == 2:
        holder[key] = rng.choice([None, True, False, [], {}, "", "x" * 5000])
    elif way == 3:
        other, there = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[there]))
    elif way == 4:
        for _ in range(rng.choice([10, 300])):
            holder[key] = [holder[key]]
    else:
        holder[key] = rng.choice([NUMBERS, FLOATS, WORDS][rng.randrange(3)])


def places_of(value, but=()):
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        if key in but:
            continue
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places_of(value[key])


def craft_tensors(folder, rng):
    import safetensors.numpy

    from steadyset.lanes import _persist

    path = folder / "group.safetensors"
    data = path.read_bytes()
    about = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["steadyset"])
    tensors = dict(safetensors.numpy.load(data))
    if rng.random() < 0.5:
        change_json(about, rng)
    else:
        name = rng.choice(sorted(tensors))
        array = np.ascontiguousarray(changed(tensors[name], rng))
        simple = array.dtype.kind in "iuf" and array.dtype.isnative  # what the format has
        tensors[rng.choice([name, name, name, "more"])] = array if simple else array[:0].view("u1")
    said = json.dumps(about)
    signed = {"steadyset": said, "digest": _persist._digest(said, tensors)}
    path.write_bytes(safetensors.numpy.save(tensors, signed))
