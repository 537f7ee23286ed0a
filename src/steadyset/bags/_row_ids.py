"""Row ids: names that stay with their rows when others are dropped or moved."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu, validation
from steadyset.bags._cells import Cells, NotHashableError, RowCells, blocks_of_rows, digest_cells, frame_rows
from steadyset.bags._hash import id_words
from steadyset.bags._known_rows import Fingerprints, KnownRows, fingerprints

_MOST_CELLS = 1 << 22  # of a frame that is held as cells all at once, 16 bytes each
_UNREADABLE = (AttributeError, LookupError, OverflowError, TypeError, ValueError)  # a table of a strange kind

IdKind = Literal["given", "content", "position"]


@dataclass(frozen=True, eq=False)
class RowIds:
    """The ids of all rows, and where they come from.

    Attributes
    ----------
    kind : {"given", "content", "position"}
        Given by the user, made of each row's own content, or just positions, which do not stay with their rows.
    values : ndarray or None
        The id of each row; None for positions, and where ids were left out of a file.
    last_equal : ndarray of int or None
        For each row the position of the last row that equals it. When one of several equal rows is dropped, it is the
        last one's id that goes. None where no two rows are equal.
    unit : {"row", "group"}
        What has the ids: rows, or groups of rows that are dropped together. Bags of groups count groups everywhere.

    Examples
    --------
    >>> import steadyset as ss
    >>> ids = ss.content_ids([[1.5], [2], [1.5]])
    >>> ids.kind, ids.last_equal.tolist()
    ('content', [2, 1, 2])
    """

    kind: IdKind
    values: NDArray[Any] | None = None
    last_equal: NDArray[np.intp] | None = None
    unit: Literal["row", "group"] = "row"

    def dropped(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the positions whose ids go when these rows are dropped, one at a time."""
        return rows if self.last_equal is None else self.last_equal[rows]

    @cached_property
    def order(self) -> NDArray[np.intp] | None:
        """Row positions in the order of their ids; None where there are none."""
        return None if self.values is None else np.argsort(self.values)  # all are distinct

    @property
    def known_rows(self) -> KnownRows | None:
        """The digests that the ids were made of, while this process lasts; None where they are not kept."""
        return vars(self).get("_known_rows")

    def __deepcopy__(self, memo: Any) -> "RowIds":
        return self  # nobody changes what it holds

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without what can be worked out again

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowIds):
            return NotImplemented
        return (
            (self.kind, self.unit) == (other.kind, other.unit)
            and _same(self.values, other.values)
            and (self.values is not None or _same(self.last_equal, other.last_equal))
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """A label per row as its place among distinct ones: one digest for each of these does for all rows."""

    values: NDArray[Any]
    codes: NDArray[np.intp]


#: Ids that do not stay with their rows.
POSITIONS = RowIds("position")


def given_ids(sample_ids: Any, n_samples: int) -> RowIds:
    """Return the user's own ids, checked."""
    if isinstance(sample_ids, RowIds):
        if sample_ids.values is not None and len(sample_ids.values) != n_samples:
            raise ValueError(f"sample_ids must be of {n_samples} rows; got those of {len(sample_ids.values)}.")
        return sample_ids
    return RowIds("given", validation.sample_ids(sample_ids, n_samples))


def content_ids(X: Any, y: Any = None, **per_row: Any) -> RowIds:
    """Return ids made of each row's own content, for :func:`steadyset.draw_bags`.

    Numbers count by value: the integer 3 is 3.0, float32 is widened, -0 is 0, and there is one NaN, for all that is
    missing. Categories, texts, times and labels count by value too, never by code. Sparse rows count without the zeros
    that happen to be stored. Rows that are equal are told apart by a counter, and are interchangeable.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (n_samples, ...)
    y : array of shape (n_samples,), optional
        The labels.
    **per_row : array of shape (n_samples, ...)
        Whatever else belongs to a row, such as its weight.

    Returns
    -------
    RowIds

    Raises
    ------
    TypeError
        Where a value is of a type that cannot be hashed by value.

    Notes
    -----
    Give all that the learner sees of a row: rows that are equal here are taken for interchangeable, and certificates of
    such bags rest on it. :meth:`StableClassifier.fit` makes these ids itself.

    An id is a digest of the row, a public function without a key: whoever holds the ids can test whether a row that
    they know was among these.

    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 2
    >>> ss.draw_bags(100, n_bags=10, bag_size=50, sample_ids=ss.content_ids(X, y)).coupling
    'hash'
    >>> kept = ss.content_ids(X[1:].astype("O"), y[1:]).values
    >>> bool((kept == ss.content_ids(X, y).values[1:]).all())
    True
    """
    return content_ids_after(None, X, y, **per_row)


def content_ids_after(before: RowIds | None, X: Any, y: Any, **per_row: Any) -> RowIds:
    """Return the ids of :func:`content_ids`; rows whose digests the ids of an earlier table know are not digested."""
    found = _digests_after(before, X, y, per_row)
    ids = None
    if before is not None and found.places is not None and found.places.min() >= 0:
        ids = _taken(before, found.places)
    ids = ids or _told_apart(found.digests)
    _remember(ids, found)
    return ids


def content_words_after(before: RowIds | None, ids: RowIds, X: Any, y: Any, **per_row: Any) -> NDArray[np.uint64]:
    """Return the words of :func:`content_words` for rows with ids that were given, which then know their digests.

    Rows whose digests the ids of an earlier table know are not digested.
    """
    found = _digests_after(before, X, y, per_row)
    if ids.kind == "given":
        _remember(ids, found)
    return found.digests[:, 0].copy()


def group_ids(digests: NDArray[np.uint64], codes: NDArray[np.intp], kind: IdKind) -> RowIds:
    """Return ids of groups of rows, each made of the digests (n_rows, 2) of its rows; `codes` number the groups.

    The order of the rows does not matter, nor do the rows of other groups. Groups of equal rows are interchangeable.
    """
    order = np.lexsort((digests[:, 1], digests[:, 0], codes))
    ends = 2 * np.cumsum(np.bincount(codes))
    ids = _told_apart(_digest_rows(RowCells(digest_cells(digests[order]), ends)))
    return replace(ids, kind=kind, unit="group")


def content_words(X: Any, y: Any) -> NDArray[np.uint64]:
    """Return for each row the id that it has where no row before equals it: equal rows have equal words."""
    return content_digests(X, y)[:, 0]


def content_digests(X: Any, y: Any, **per_row: Any) -> NDArray[np.uint64]:
    """Return the digest of each row's content, two words; equal rows have equal digests."""
    parts = {"X": X, **({} if y is None else {"y": y}), **dict(sorted(per_row.items()))}
    try:
        digests = [_digests(name, part) for name, part in parts.items()]
    except NotHashableError as error:
        raise TypeError(f"sample_ids must be given for rows that cannot be hashed; got {error}.") from error
    if len({len(digest) for digest in digests}) != 1:
        lengths = {name: len(digest) for name, digest in zip(parts, digests, strict=True)}
        raise ValueError(f"{' and '.join(lengths)} must have as many rows; got {lengths}.")
    together = np.empty((len(digests[0]), 3 * len(parts)), np.uint64)  # of each part its name and its digest
    for place, (name, part) in enumerate(zip(parts, digests, strict=True)):
        together[:, 3 * place] = id_words(np.array([name]))
        together[:, 3 * place + 1 : 3 * place + 3] = part
    return _digest_rows(RowCells(digest_cells(together), _ends(*together.shape)))


def with_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters of a learner's fit under names that cannot meet `X` and `y`."""
    return {f"fit:{name}": value for name, value in parameters.items()}


@dataclass(frozen=True, eq=False)
class _Digested:
    """The digests of rows, where an earlier table has each of them, if it was asked, and their fingerprints."""

    digests: NDArray[np.uint64]
    places: NDArray[np.int64] | None
    prints: Fingerprints | None


def _digests_after(before: RowIds | None, X: Any, y: Any, per_row: Mapping[str, Any]) -> _Digested:
    if not isinstance(y, CodedLabels) or per_row:
        return _Digested(content_digests(X, y, **per_row), None, None)
    rows = _as_cells(X)
    prints = fingerprints(rows, y.values, y.codes)
    known = None if before is None else before.known_rows
    places = None if prints is None or known is None else known.places(prints)
    if places is None or known is None:
        return _Digested(content_digests(rows, y), None, prints)
    digests = known.digests.take(places, axis=0)  # a tenth of the time of known.digests[places]
    new = np.flatnonzero(places < 0)
    if len(new):
        some = rows.taken(new) if isinstance(rows, RowCells) else rows[new]
        digests[new] = content_digests(some, CodedLabels(y.values, y.codes[new]))
    return _Digested(digests, places, prints)


def _remember(ids: RowIds, found: _Digested) -> None:
    if found.prints is not None:
        vars(ids)["_known_rows"] = KnownRows(found.prints, found.digests)


def _as_cells(X: Any) -> Any:
    """Return the cells of a frame that is not large, all else as it is; what cannot be read is told by who digests."""
    try:
        return frame_rows(X, _MOST_CELLS) or X
    except _UNREADABLE:
        return X


def _digests(name: str, part: Any) -> NDArray[np.uint64]:
    if isinstance(part, CodedLabels):
        return _digests(name, part.values)[part.codes]
    try:
        return np.concatenate([_digest_rows(block) for block in blocks_of_rows(part)] or [np.empty((0, 2), np.uint64)])
    except NotHashableError as error:
        raise NotHashableError(f"{error} in {name.removeprefix('fit:')}") from error
    except _UNREADABLE as error:
        what = f"{name.removeprefix('fit:')} of type {type(part).__name__}"
        raise NotHashableError(f"{what}, whose rows could not be read ({error})") from error


def _digest_rows(rows: RowCells) -> NDArray[np.uint64]:
    cells: Cells = rows.cells
    digests = np.empty((len(rows.ends), 2), np.uint64)
    threads = cpu.allowed_threads() if cells.words.size > 1 << 16 else 1
    words, kinds = np.ascontiguousarray(cells.words), cells.kinds
    _native.digest_rows(words, None if kinds is None else np.ascontiguousarray(kinds), rows.ends, digests, threads)
    return digests


def _ends(n_rows: int, width: int) -> NDArray[np.int64]:
    return np.arange(1, n_rows + 1) * width


def _told_apart(digests: NDArray[np.uint64]) -> RowIds:
    """Return the first word of each digest as its row's id; a further equal row's is that of digest and counter."""
    n = len(digests)
    found = RowIds("content", digests[:, 0].copy())
    first_words = digests[found.order, 0]
    if not (first_words[1:] == first_words[:-1]).any():
        return found
    order = np.lexsort((np.arange(n), digests[:, 1], digests[:, 0]))
    same = np.zeros(n, bool)  # as the one before it, in this order
    same[1:] = (digests[order[1:]] == digests[order[:-1]]).all(axis=1)
    ids = digests[:, 0].copy()
    if not same.any():
        return RowIds("content", ids)
    starts = np.flatnonzero(~same)
    sizes = np.diff(np.append(starts, n))
    counter = np.arange(n) - np.repeat(starts, sizes)
    further = order[same]
    numbered = np.column_stack([digests[further], counter[same].astype(np.uint64)])
    ids[further] = _digest_rows(RowCells(digest_cells(numbered), _ends(*numbered.shape)))[:, 0]
    last_equal = np.empty(n, np.intp)
    last_equal[order] = np.repeat(order[starts + sizes - 1], sizes)
    return RowIds("content", ids, last_equal)


def _taken(before: RowIds, places: NDArray[np.int64]) -> RowIds | None:
    """Return the ids of some of the rows that had these, in any order; None where rows are or were equal."""
    if before.kind != "content" or before.values is None or before.order is None or before.last_equal is not None:
        return None
    now = np.full(len(before.values), -1)
    now[places] = np.arange(len(places))
    order = now.take(before.order)
    order = order[order >= 0]
    if len(order) < len(places):
        return None
    ids = RowIds("content", before.values.take(places))
    vars(ids)["order"] = order
    return ids


def _same(one: NDArray[Any] | None, other: NDArray[Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))
