"""What programs of any kind predicted for some bags: read, checked against the bags, and put together."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import validation, whole_files
from steadyset.bags import BagPredictions, Bags, SavedBags, bag_digests, bag_numbers, concatenate, load_bags
from steadyset.tables._read import arrays_of_npz, check_regular, file_format, read_table, reading

_ENDINGS = (".csv", ".npz", ".parquet")


@dataclass(frozen=True, eq=False)
class _Part:
    """The predictions of some bags, by number; `digests` are those of the bags as they were written."""

    path: str
    bags: NDArray[np.int64]
    digests: Sequence[str]
    proba: NDArray[Any]  # bags, points, classes
    classes: NDArray[Any] | None  # None where the file does not name its columns


def collect(folders: Sequence[str], paths: Sequence[str]) -> BagPredictions:
    """Return the predictions of all bags in these folders from the parts at these paths, or say which part is bad."""
    saved = _together([load_bags(folder) for folder in folders])
    bags, space = saved.bags, saved.classes
    places = {number: place for place, number in enumerate(bag_numbers(bags))}
    digests = bag_digests(bags)
    held_by: dict[int, str] = {}
    shapes: dict[str, tuple[int, ...]] = {}
    proba = np.empty(0)
    for path in _files(paths):
        part = _read_part(path, space)
        _check_bags(part, places, digests, held_by)
        if space is None:
            if part.classes is None:
                raise ValueError(f"{_named(part)} must name its classes, which the saved bags do not; got none.")
            space = part.classes
        _check_classes(part, space)
        checked = _on_simplex(part)
        if not held_by:
            proba = np.empty((len(bags), *checked.shape[1:]), checked.dtype)
        shapes[path] = checked.shape[1:]
        held_by |= dict.fromkeys(part.bags.tolist(), part.path)
        if checked.shape[1:] == proba.shape[1:]:
            proba = proba.astype(np.result_type(proba, checked), copy=False)
            proba[[places[int(number)] for number in part.bags]] = checked
    _check_points(shapes)
    missing = [number for number in places if number not in held_by]
    if missing:
        raise ValueError(f"the parts must hold each of the {len(bags):,} bags once; got none of bag {_runs(missing)}.")
    return BagPredictions(proba, bags, np.asarray(space))


def _check_points(shapes: dict[str, tuple[int, ...]]) -> None:
    """Refuse a part at other points than most of the parts, and of two at as many the one with fewer points."""
    found = Counter(shapes.values())
    usual = max(found, key=lambda shape: (found[shape], shape))
    for path, shape in shapes.items():
        if shape != usual:
            raise ValueError(f"part {path!r} must predict {usual[0]:,} points, as most do; got {shape[0]:,}.")


def _together(saved: Sequence[SavedBags]) -> SavedBags:
    ordered = sorted(saved, key=lambda each: bag_numbers(each.bags)[0])
    spaces = [each.classes for each in ordered if each.classes is not None]
    if any(not np.array_equal(space, spaces[0]) for space in spaces):
        raise ValueError("the saved bags must be of the same labels; got different ones.")
    bags: Bags = ordered[0].bags if len(ordered) == 1 else concatenate([each.bags for each in ordered])
    if bags.parts and bags.seed is None:
        raise ValueError("the saved bags must come from one seed, so that numbers tell them apart; got several.")
    return SavedBags(bags, spaces[0] if spaces else None)


def _files(paths: Sequence[str]) -> list[str]:
    """Return the files, and those of parts in the folders, in the order of their names."""
    found: list[str] = []
    for path in paths:
        if Path(path).is_dir():
            found += sorted(str(file) for file in Path(path).iterdir() if file.suffix in _ENDINGS)
        elif not Path(path).exists():
            raise FileNotFoundError(f"there is no part {path!r}.")
        else:
            found.append(path)
    if not found:
        raise ValueError(f"parts must be files that end in {', '.join(_ENDINGS)}, or folders of them; got none.")
    return found


def _read_part(path: str, space: NDArray[Any] | None) -> _Part:
    check_regular(path)
    _check_sum(path)
    kind = file_format(path)
    try:
        if kind == "npz":
            return _of_npz(path)
        return _of_table(path, space)
    except ValueError as error:
        words = str(error).rstrip(".")
        raise ValueError(f"part {words}." if words.startswith(repr(path)) else f"part {path!r}: {words}.") from None


def _check_sum(path: str) -> None:
    """Compare a part with the digest that sha256sum wrote beside it, where there is one."""
    beside = Path(f"{path}.sha256")
    if not beside.exists():
        return
    check_regular(str(beside))
    with whole_files.open_regular(Path(path)) as file, whole_files.open_regular(beside) as words:
        found = hashlib.file_digest(file, "sha256").hexdigest()
        said = words.read(1024).split()[:1]
    if said != [found.encode()]:
        raise ValueError(f"part {path!r} must have the digest in {beside.name!r}; got another: it is damaged.")


def _of_npz(path: str) -> _Part:
    arrays = arrays_of_npz(path, ("bag", "digest", "proba", "classes"))
    for name in ("bag", "digest", "proba"):
        if name not in arrays:
            raise ValueError(f"{path!r} must hold the arrays bag, digest and proba; got none called {name!r}.")
    bags, digests, proba = np.atleast_1d(arrays["bag"]), np.atleast_1d(arrays["digest"]), arrays["proba"]
    if bags.ndim != 1 or bags.dtype.kind not in "iu" or digests.shape != bags.shape:
        raise ValueError(f"{path!r} must hold a number and a digest per bag; got {bags.shape} and {digests.shape}.")
    if bags.max(initial=0) > np.iinfo(np.int64).max:
        raise ValueError(f"{path!r} must hold numbers of bags; got {bags.max()}.")
    if proba.ndim == 2 and len(bags) == 1:
        proba = proba[None]
    if proba.ndim != 3 or len(proba) != len(bags):
        raise ValueError(f"{path!r} must hold proba of shape ({len(bags)}, points, classes); got {proba.shape}.")
    return _Part(path, bags.astype(np.int64), [str(digest) for digest in digests], proba, arrays.get("classes"))


def _of_table(path: str, space: NDArray[Any] | None) -> _Part:
    """Read a table with a row per bag and point: columns bag, digest, point, and one per label."""
    table = read_table(path, text=["digest"])
    for name in ("bag", "digest", "point"):
        if name not in table.column_names:
            raise ValueError(f"{path!r} must have the columns bag, digest and point; got none called {name!r}.")
    names = [name for name in table.column_names if name not in ("bag", "digest", "point")]
    labels = names if space is None else [str(label) for label in space.tolist()]
    if sorted(names) != sorted(labels):
        raise ValueError(f"{path!r} must have a column for each label, {labels}; got {names}.")
    with reading(path, "a table of whole numbers and probabilities"):
        bag, point = (_whole_numbers(table[name].to_pylist(), name) for name in ("bag", "point"))
        values = np.stack([table[name].to_numpy() for name in labels], axis=1).astype(np.float64, copy=False)
    bags, start = np.unique(bag, return_index=True)
    n_points = int(point.max()) + 1
    order = np.lexsort((point, bag))
    counts = np.bincount(np.searchsorted(bags, bag))
    whole = len(point) == n_points * len(bags)  # a number of points that is not there would ask for all memory
    if not whole or not np.array_equal(point[order], np.tile(np.arange(n_points), len(bags))):
        short = int(bags[np.argmin(counts)])
        raise ValueError(
            f"{path!r} must have points 0 to {n_points - 1} of every bag, each once; got {counts.min():,} rows of bag "
            f"{short}."
        )
    digest = np.asarray(table["digest"].to_pylist())
    if np.any(digest != digest[start][np.searchsorted(bags, bag)]):
        raise ValueError(f"{path!r} must have one digest per bag; got several for one of them.")
    proba = values[order].reshape(len(bags), n_points, len(labels))
    return _Part(path, bags, digest[start].tolist(), proba, np.array(labels) if space is None else None)


def _whole_numbers(values: list[Any], name: str) -> NDArray[np.int64]:
    """Return a column as integers; a fraction would be cut off without a word."""
    numbers = np.asarray(values, np.int64)
    for value, number in zip(values, numbers.tolist(), strict=True):
        if not isinstance(value, str) and value != number:
            raise ValueError(f"{name} must be whole numbers; got {value!r}")
    return numbers


def _check_bags(part: _Part, places: dict[int, int], digests: Sequence[str], held_by: dict[int, str]) -> None:
    seen: set[int] = set()
    for number, digest in zip(part.bags.tolist(), part.digests, strict=True):
        if number not in places:
            raise ValueError(f"{_named(part)} must hold bags {_runs(sorted(places))}; got bag {number}.")
        if number in held_by or number in seen:
            other = held_by.get(number, part.path)
            raise ValueError(f"{_named(part)} must hold bags of its own; got bag {number}, which {other!r} holds too.")
        if digest != digests[places[number]]:
            raise ValueError(
                f"{_named(part)} must carry the digests of the bags as they were written; got {digest!r} for bag "
                f"{number}, which is {digests[places[number]]!r}: it belongs to other rows or another seed."
            )
        seen.add(number)


def _check_classes(part: _Part, space: NDArray[Any]) -> None:
    named = part.classes
    if named is not None and (named.shape != space.shape or [*map(str, named)] != [*map(str, space)]):
        raise ValueError(f"{_named(part)} must have the classes {space.tolist()}, in this order; got {named.tolist()}.")
    if part.proba.shape[2] != len(space):
        raise ValueError(
            f"{_named(part)} must have a probability for each of {len(space)} labels; got {part.proba.shape[2]}."
        )


def _on_simplex(part: _Part) -> NDArray[Any]:
    try:
        return validation.member_probabilities(part.proba, part.proba.shape, part.bags.tolist())
    except ValueError as error:
        raise ValueError(f"{_named(part)} must hold probabilities: {error}") from None


def _named(part: _Part) -> str:
    return f"part {part.path!r}"


def _runs(numbers: Sequence[int]) -> str:
    """Return ascending numbers in words, the first few runs of them."""
    runs = list(_as_runs(numbers))
    words = [str(first) if first == last else f"{first} to {last}" for first, last in runs[:5]]
    return ", ".join(words) + (", ..." if len(runs) > 5 else "")


def _as_runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    array = np.asarray(numbers)
    for run in np.split(array, np.flatnonzero(np.diff(array) != 1) + 1):
        yield int(run[0]), int(run[-1])
