"""What a skops file would make, as plain values: nothing is imported, called or unpickled to see it.

skops describes each object by a node of JSON: its type, its loader and its parts. A plan is the same without the
objects: containers, numbers and arrays are themselves, and everything else is a `Made`.
"""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from steadyset.tables._model_files._archive import Archive

#: Versions of skops' format whose nodes are understood here.
PROTOCOLS = (2,)


@dataclass(frozen=True)
class Made:
    """An object that is to be made: of a type, by one of skops' loaders, from its state and arguments."""

    type: str
    loader: str
    state: Any = None
    args: Any = ()

    def __getitem__(self, name: str) -> Any:
        """Return an attribute of the object."""
        return self.state[name]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute of the object, or else the default."""
        return self.state.get(name, default) if isinstance(self.state, dict) else default


def read_schema(archive: Archive) -> dict[str, Any]:
    """Return the root node without the identities of nodes, so that each node is what stands at its place.

    How many processes to start is not for a file to say: every `n_jobs` in it is None.
    """
    schema = json.loads(archive.read("schema.json"), object_pairs_hook=_without_repeats)
    if not isinstance(schema, dict) or schema.get("protocol") not in PROTOCOLS:
        raise ValueError(f"it must be of skops' format version {' or '.join(map(str, PROTOCOLS))}")
    numbers: dict[tuple[str, str], int] = {}
    _forget_identities(schema, numbers)
    return schema


def plan(node: Any, archive: Archive) -> Any:
    """Return what a node stands for."""
    loader = node["__loader__"]
    read = _READERS.get(loader)
    if read is not None:
        return read(node, archive)
    parts = {key: _loosely(value, archive) for key, value in node.items() if not key.startswith("__")}
    return Made(_type(node), loader, parts)


def everything(value: Any) -> Iterator[Made]:
    """Yield every object in a plan, outer ones first."""
    if isinstance(value, Made):
        yield value
        yield from everything(value.state)
        yield from everything(value.args)
    elif isinstance(value, dict):
        for part in value.values():
            yield from everything(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from everything(part)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from everything(value.ravel().tolist())


def _type(node: Any) -> str:
    return f"{node['__module__']}.{node['__class__']}"


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it names one thing twice")
    return found


def _forget_identities(value: Any, numbers: dict[tuple[str, str], int]) -> None:
    """Drop the ids by which skops takes a later node for an earlier one; equal ones for the same array stay."""
    if isinstance(value, dict):
        value.pop("__id__", None)
        if value.get("__loader__") == "NdArrayNode" and value.get("type") == "numpy":
            value["__id__"] = numbers.setdefault((_type(value), str(value["file"])), len(numbers) + 1)
        if value.get("__loader__") == "DictNode" and "n_jobs" in value["content"]:
            value["content"]["n_jobs"] = {**_NONE}
        for part in value.values():
            _forget_identities(part, numbers)
    elif isinstance(value, list):
        for part in value:
            _forget_identities(part, numbers)


def _loosely(value: Any, archive: Archive) -> Any:
    """Return the plan of what a loader that is not known may hold: nodes inside of it are found."""
    if isinstance(value, dict):
        if "__loader__" in value:
            return plan(value, archive)
        return {key: _loosely(part, archive) for key, part in value.items()}
    return [_loosely(part, archive) for part in value] if isinstance(value, list) else value


def _dict(node: Any, archive: Archive) -> Any:
    content = {key: plan(part, archive) for key, part in node["content"].items()}
    types = plan(node["key_types"], archive)
    plain = isinstance(types, list) and all(
        isinstance(one, Made) and one.loader == "TypeNode" and one.type in _KEY_TYPES for one in types
    )
    if _type(node) != "builtins.dict" or not plain or len(types) != len(content):
        return Made(_type(node), "DictNode", content, types)
    return {_KEY_TYPES[one.type](key): part for one, (key, part) in zip(types, content.items(), strict=True)}


def _sequence(kind: Callable[[Any], Any], name: str) -> Callable[[Any, Archive], Any]:
    def read(node: Any, archive: Archive) -> Any:
        content = [plan(part, archive) for part in node["content"]]
        return kind(content) if _type(node) == name else Made(_type(node), node["__loader__"], content)

    return read


def _array(node: Any, archive: Archive) -> Any:
    if node["type"] == "numpy":
        if _type(node) != "numpy.ndarray" and _type(node) not in _SCALARS:
            return Made(_type(node), "NdArrayNode")
        return np.load(io.BytesIO(archive.read(node["file"])), allow_pickle=False)
    shape, items = plan(node["shape"], archive), [plan(part, archive) for part in node["content"]]
    if _type(node) != "numpy.ndarray" or not isinstance(shape, tuple):
        return Made(_type(node), "NdArrayNode", items, shape)
    if len(shape) != 1:
        return np.array(items, dtype=object)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def _json(node: Any, archive: Archive) -> Any:
    return json.loads(node["content"])


def _object(node: Any, archive: Archive) -> Any:
    content = node.get("content")
    return Made(_type(node), node["__loader__"], None if content is None else plan(content, archive))


def _reduced(node: Any, archive: Archive) -> Any:
    args = plan(node["__reduce__"]["args"], archive)
    return Made(_type(node), node["__loader__"], plan(node["content"], archive), args)


def _by_parts(node: Any, archive: Archive) -> Any:
    content = {name: _loosely(part, archive) for name, part in node["content"].items()}
    return Made(_type(node), node["__loader__"], content)


def _bare(node: Any, archive: Archive) -> Any:
    return Made(_type(node), node["__loader__"])


_NONE = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null", "is_json": True}
_KEY_TYPES: dict[str, Callable[[str], Any]] = {"builtins.str": str, "builtins.int": int, "builtins.float": float}
_SCALARS = {f"numpy.{name}" for name in ("bool", "bool_", "float16", "float32", "float64", "str_")}
_SCALARS |= {f"numpy.{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_READERS: dict[str, Callable[[Any, Archive], Any]] = {
    "DictNode": _dict,
    "ListNode": _sequence(list, "builtins.list"),
    "TupleNode": _sequence(tuple, "builtins.tuple"),
    "SetNode": _sequence(list, "builtins.set"),
    "NdArrayNode": _array,
    "JsonNode": _json,
    "ObjectNode": _object,
    "DTypeNode": _object,
    "RandomStateNode": _object,
    "TreeNode": _reduced,
    "LossNode": _reduced,
    "RandomGeneratorNode": _by_parts,
    "PartialNode": _by_parts,
    "SliceNode": _by_parts,
    "TypeNode": _bare,
    "FunctionNode": _bare,
}

#: The loaders of skops whose nodes are read here part by part.
LOADERS = frozenset(_READERS)
