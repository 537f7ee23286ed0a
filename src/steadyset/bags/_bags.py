"""Bags: which training rows each base learner sees, drawn so that the theorems apply."""

import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu, validation
from steadyset.bags._hash import bag_key, id_words
from steadyset.bags._membership import Bits, Indices, Rows, bits_of, index_type, indices_of, joined
from steadyset.bags._row_ids import POSITIONS, RowIds, given_ids


@dataclass(frozen=True)
class Part:
    """A run of consecutive bag numbers drawn from one seed."""

    seed: int
    first: int
    n_bags: int

    def keys(self) -> NDArray[np.uint64]:
        """Return the key of each bag, (n_bags, 2)."""
        numbers = range(self.first, self.first + self.n_bags)
        return np.array([bag_key(self.seed, b) for b in numbers], np.uint64).reshape(-1, 2)


@dataclass(frozen=True, eq=False, repr=False)
class Bags:
    """The rows of every bag, and how they were drawn.

    Make one with :func:`steadyset.draw_bags`, or adopt bags drawn elsewhere with :meth:`from_rows`. ``bags[b]`` gives
    the row positions of bag b in the order of the row ids, ``len(bags)`` the number of bags. A slice such as
    ``bags[400:500]`` is these bags as a `Bags`, which knows how they were drawn.

    Attributes
    ----------
    n_samples : int
        Number of training rows.
    bag_size : int or None
        Rows per bag, repeats counted; None for adopted bags of different sizes.
    resampling : {"subbagging", "bootstrap"} or None
        None for adopted bags: they can be audited, never certified.
    coupling : {"hash", "any"} or None
        How these bags are tied to those of the data without a row. "hash", for subbags of rows with ids: only the bags
        that held the row change, each by one row.
    ids : RowIds
        The ids of the rows and where they come from: given, made of the rows' content, or positions.
    parts : tuple
        The seeds and bag numbers the bags were drawn from; empty for adopted bags.

    Examples
    --------
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=6, n_bags=3, bag_size=0.5, seed=0, sample_ids="abcdef")
    >>> len(bags), bags.bag_size, bags.coupling
    (3, 3, 'hash')
    >>> bags
    Bags(n_samples=6, n_bags=3, bag_size=3, resampling='subbagging', seed=0, ids='given')
    """

    n_samples: int
    n_bags: int
    bag_size: int | None
    resampling: Literal["subbagging", "bootstrap"] | None
    ids: RowIds
    parts: tuple[Part, ...]
    _stored: Bits | Indices = field(repr=False)

    @classmethod
    def from_rows(cls, list_of_rows: Sequence[Any], n_samples: int) -> "Bags":
        """Adopt bags that were drawn elsewhere, as lists of row positions.

        How they were drawn is not known, so that they can be audited and never certified. Repeated rows are kept.

        Parameters
        ----------
        list_of_rows : sequence of integer sequences
            The row positions of each bag, at least one bag and one row in each.
        n_samples : int
            Number of training rows.

        Returns
        -------
        Bags

        Examples
        --------
        >>> import steadyset as ss
        >>> bags = ss.Bags.from_rows([[0, 2], [1, 1, 3]], n_samples=4)
        >>> bags[1].tolist(), bags.resampling is None
        ([1, 1, 3], True)
        """
        n = validation.count(n_samples, "n_samples")
        rows = [np.sort(validation.row_positions(r, n, f"list_of_rows[{b}]")) for b, r in enumerate(list_of_rows)]
        if not rows:
            raise ValueError("list_of_rows must hold at least one bag; got none.")
        sizes = np.array([len(r) for r in rows])
        size = int(sizes[0]) if np.all(sizes == sizes[0]) else None
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(
            n, len(rows), size, None, POSITIONS, (), Indices(np.concatenate(rows).astype(index_type(n)), offsets, n)
        )

    @property
    def seed(self) -> int | None:
        """The seed of all bags, or None where there is no such one."""
        seeds = {part.seed for part in self.parts}
        return seeds.pop() if len(seeds) == 1 else None

    @property
    def sample_ids(self) -> NDArray[Any] | None:
        """The id of each row; None where ids are positions, or were left out of a file."""
        return self.ids.values

    @property
    def coupling(self) -> Literal["hash", "any"] | None:
        """How the bags with and without a row are tied together."""
        return None if self.resampling is None else coupling_of(self.resampling, self.ids)

    @property
    def nbytes(self) -> int:
        """Memory that membership takes."""
        return self._stored.nbytes

    def __deepcopy__(self, memo: Any) -> "Bags":
        return self  # nobody changes what it holds

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # without what can be worked out again

    def __len__(self) -> int:
        return self.n_bags

    def __iter__(self) -> Iterator[Rows]:
        return (self[b] for b in range(self.n_bags))

    @overload
    def __getitem__(self, bag: int) -> Rows: ...

    @overload
    def __getitem__(self, bag: slice) -> "Bags": ...

    def __getitem__(self, bag: int | slice) -> "Rows | Bags":
        """Return the row positions of a bag, in the order of the row ids; of a slice, these bags."""
        if isinstance(bag, slice):
            return self._taken(range(*bag.indices(self.n_bags)))
        number = self._number(bag)
        if self.resampling == "bootstrap" and isinstance(self._stored, Bits):
            ranks = np.sort(_draw_with_replacement(self._key(number), self.n_samples, self.bag_size or 0)[0]).astype(
                np.intp
            )
        else:
            ranks = self._stored.ranks(number)
        return ranks if self._order is None else self._order[ranks]

    def words_in_bags(self, words: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        """Return a word per row as bags first to last - 1 of one size hold the rows, (bags, bag_size)."""
        if self.resampling == "bootstrap" and isinstance(self._stored, Bits):
            return np.array([words[self[bag]] for bag in range(first, last)])
        ordered = words if self._order is None else words[self._order]
        return np.asarray(ordered[self._stored.ranks_of(first, last)])

    def holds(self, row: int) -> NDArray[np.bool_]:
        """Return, for each bag, whether it holds the row at this position."""
        position = validation.row_position(row, self.n_samples)
        return self._stored.holds(position if self._rank is None else int(self._rank[position]))

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """In how many bags each row is."""
        counts = self._stored.counts()
        return counts if self._rank is None else counts[self._rank]

    def membership(self, first: int = 0, last: int | None = None) -> NDArray[np.bool_]:
        """Return which rows bags first to last - 1 hold, as a bool array (bags, n_samples)."""
        last = self.n_bags if last is None else last
        held = self._stored.marks(first, last)
        return held if self._rank is None else held[:, self._rank]

    def next_row(self, bag: int) -> int:
        """Return the row that comes into a hash bag when one of its rows is deleted: the next smallest hash."""
        if self.coupling != "hash":
            raise ValueError(f"next_row is for hash bags only; got bags of coupling {self.coupling!r}.")
        self._require_ids("next_row")
        key = self._key(self._number(bag))
        _, following = smallest_hashes(key, self._words, self.n_samples, self.bag_size or 0)
        rank = int(following[0])
        return rank if self._order is None else int(self._order[rank])

    def without_row(self, bag: int, row: int) -> Rows:
        """Return the rows of a hash bag after deletion of a row: unchanged where it was not held, else one swapped."""
        rows = self[bag]
        gone = validation.row_position(row, self.n_samples)
        if gone not in rows:
            return rows
        swapped = np.append(rows[rows != gone], self.next_row(bag))
        return np.sort(swapped) if self._rank is None else swapped[np.argsort(self._rank[swapped])]

    def with_bags(self, n_bags: int) -> "Bags":
        """Return the first `n_bags` bags of this draw: fewer of them, or more drawn from the same seed."""
        wanted = validation.count(n_bags, "n_bags")
        if wanted <= self.n_bags:
            return self[:wanted]
        if self.seed is None or len(self.parts) != 1 or self.parts[0].first != 0:
            raise ValueError("with_bags can draw more bags only where all come from one seed, from bag 0 on.")
        self._require_ids("with_bags")
        part = Part(self.seed, self.n_bags, wanted - self.n_bags)
        return concatenate([self, _draw(self.n_samples, part, self.bag_size or 0, self.resampling, self.ids)])

    def without_ids(self) -> "Bags":
        """Return the same bags without the ids of their rows, which tell whoever holds them which rows there were.

        What is known of the bags stays, guarantee and certificates included. Without ids nobody can check that the
        bags belong to some rows, draw more of them, or fit them again without a row.
        """
        if self.ids.values is None:
            return self
        return replace(self, ids=replace(self.ids, values=None), _stored=_by_position(self))

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False, ids: bool = True) -> None:
        """Write the bags into a folder of plain ``.npy`` files and a JSON manifest, whole or not at all.

        Parameters
        ----------
        folder : path
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether saved bags that are already there may be replaced.
        ids : bool, default=True
            Whether the ids of the rows are written too. Without them see :meth:`without_ids`.

        Examples
        --------
        >>> import tempfile
        >>> import steadyset as ss
        >>> bags = ss.draw_bags(n_samples=6, n_bags=3, bag_size=3, sample_ids="abcdef")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     bags.save(folder)
        ...     ss.Bags.load(folder) == bags
        True
        """
        from steadyset.bags import _saved

        _saved.save_bags(self if ids else self.without_ids(), folder, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "Bags":
        """Read what :meth:`save` wrote; anything else is refused, with a ValueError.

        Digests are checked over everything, and bags that come from a seed are drawn again and compared, unless their
        ids were left out.

        Parameters
        ----------
        folder : path

        Returns
        -------
        Bags
        """
        from steadyset.bags import _saved

        return _saved.load_bags(folder).bags

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bags):
            return NotImplemented
        return (
            (self.n_samples, self.n_bags, self.bag_size, self.resampling, self.parts)
            == (other.n_samples, other.n_bags, other.bag_size, other.resampling, other.parts)
            and self.ids == other.ids
            and (self._can_be_drawn or all(np.array_equal(a, b) for a, b in zip(self, other, strict=True)))
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        ids = "" if self.ids.kind == "position" else f", ids={self.ids.kind!r}"
        drawn = "adopted" if self.resampling is None else f"resampling={self.resampling!r}, seed={self.seed}{ids}"
        return f"Bags(n_samples={self.n_samples}, n_bags={self.n_bags}, bag_size={self.bag_size}, {drawn})"

    @property
    def _can_be_drawn(self) -> bool:
        """Whether what is known of the bags is enough to draw them again."""
        return bool(self.parts) and (self.ids.kind == "position" or self.ids.values is not None)

    def _require_ids(self, wanted: str) -> None:
        if not self._can_be_drawn:
            raise ValueError(f"{wanted} needs the ids of the rows; got bags without them.")

    def _number(self, bag: int) -> int:
        number = operator.index(bag)
        if not -self.n_bags <= number < self.n_bags:
            raise IndexError(f"bag must be a number from 0 to {self.n_bags - 1}; got {bag}.")
        return number % self.n_bags

    def _key(self, number: int) -> NDArray[np.uint64]:
        for part in self.parts:
            if number < part.n_bags:
                return Part(part.seed, part.first + number, 1).keys()
            number -= part.n_bags
        raise IndexError("adopted bags have no seed.")

    def _taken(self, numbers: range) -> "Bags":
        if len(numbers) == 0:
            raise ValueError(f"a slice of bags must hold at least one of the {self.n_bags}; got none.")
        if numbers.step != 1:
            return concatenate([self._taken(range(number, number + 1)) for number in numbers])
        parts, at = [], 0
        for part in self.parts:
            first, last = max(numbers.start - at, 0), min(numbers.stop - at, part.n_bags)
            if first < last:
                parts.append(Part(part.seed, part.first + first, last - first))
            at += part.n_bags
        stored = self._stored.take(numbers.start, numbers.stop)
        return replace(self, n_bags=len(numbers), parts=tuple(parts), _stored=stored)

    @cached_property
    def _order(self) -> Rows | None:
        """Row positions in the order of their ids."""
        return self.ids.order

    @cached_property
    def _rank(self) -> Rows | None:
        """Each position's place in the order of the ids."""
        if self._order is None:
            return None
        rank = np.empty_like(self._order)
        rank[self._order] = np.arange(self.n_samples)
        return rank

    @cached_property
    def _words(self) -> NDArray[np.uint64] | None:
        return None if self.sample_ids is None else id_words(self.sample_ids)[self._order]


def coupling_of(resampling: str, ids: RowIds) -> Literal["hash", "any"]:
    """Return how bags of rows with such ids are tied to those of the data without a row."""
    return "hash" if resampling == "subbagging" and ids.kind != "position" else "any"


def draw_bags(
    n_samples: int,
    n_bags: int,
    bag_size: float,
    resampling: Literal["subbagging", "bootstrap"] = "subbagging",
    seed: int = 0,
    sample_ids: Any = None,
    *,
    first: int = 0,
) -> Bags:
    """Draw bags of training rows, such that deleting a row changes as little as possible.

    Subbagging takes for bag b the `bag_size` rows with the smallest hash of (seed, b, row id). A deleted row brings the
    row with the next smallest hash into the bags that held it, and changes no other bag; another order of the rows
    changes nothing. Any bag can be recomputed by itself.

    Parameters
    ----------
    n_samples : int
        Number of training rows, at least 2.
    n_bags : int
        Number of bags. Bag b is the same whatever their number.
    bag_size : int or float
        Rows per bag; a float is a share of `n_samples`, rounded to a grid that a dropped row seldom moves: the nearest
        multiple of 1, 2, 5, 10, 20, 50, ..., the largest of these up to a sixteenth of it. At most n_samples - 1 for
        subbagging. Where a row is dropped, the integer of the full data is safe.
    resampling : {"subbagging", "bootstrap"}, default="subbagging"
        Without or with replacement. Bootstrap draws `bag_size` rows, repeats counted.
    seed : int, default=0
        At least 0.
    sample_ids : sequence of int or str, or RowIds, optional
        A distinct name for each row that stays with it when others are dropped or moved, or what
        :func:`steadyset.content_ids` makes of the rows. Without ids rows are known by their positions: dropping
        one renumbers those behind it and redraws every bag, so that the coupling is "any".
    first : int, default=0
        The number of the first bag: ``first=400, n_bags=100`` draws bags 400 to 499, for one of several machines.
        :func:`steadyset.bag_seed` gives the seed of each bag's learner, and :meth:`BagPredictions.concatenate` puts
        what they predict together again.

    Returns
    -------
    Bags
        ``bags[b]`` are the row positions of bag b in the order of the ids.

    See Also
    --------
    selection_stability : What such bags guarantee.

    Notes
    -----
    Theory: :doc:`/theory/guarantees`.

    Examples
    --------
    >>> import steadyset as ss
    >>> names = ["ann", "bob", "cid", "dan", "eve"]
    >>> bags = ss.draw_bags(5, n_bags=4, bag_size=2, sample_ids=names)
    >>> fewer = ss.draw_bags(4, n_bags=4, bag_size=2, sample_ids=names[:-1])
    >>> held = bags.holds(4)  # eve
    >>> all([names[i] for i in bags[b]] == [names[i] for i in fewer[b]] for b in range(4) if not held[b])
    True
    """
    validation.choice(resampling, "resampling", ("subbagging", "bootstrap"))
    n = validation.count(n_samples, "n_samples", 2)
    wanted = validation.count(n_bags, "n_bags")
    size = validation.resolve_bag_size(bag_size, n, resampling)
    ids = POSITIONS if sample_ids is None else given_ids(sample_ids, n)
    begin = validation.count(first, "first", 0)
    return _draw(n, Part(validation.seed(seed), begin, wanted), size, resampling, ids)


def concatenate(pieces: Sequence[Bags]) -> Bags:
    """Return all bags of several draws from the same rows as one.

    Draws of one kind and size keep what is known of them, seeds of each included; others become adopted bags. Runs of
    bag numbers that follow each other become one.
    """
    first = pieces[0]
    for other in pieces[1:]:
        if other.n_samples != first.n_samples or other.ids != first.ids:
            raise ValueError("bags must be of the same rows, with the same ids, to be put together.")
    parts = tuple(part for piece in pieces for part in piece.parts)
    reject_shared_bags(parts)
    known = all(p.resampling == first.resampling and p.bag_size == first.bag_size for p in pieces)
    size = first.bag_size if all(p.bag_size == first.bag_size for p in pieces) else None
    stored = joined([piece._stored for piece in pieces], first.n_samples)
    return Bags(
        first.n_samples,
        sum(piece.n_bags for piece in pieces),
        size,
        first.resampling if known else None,
        first.ids,
        _as_runs(parts) if known and first.resampling is not None else (),
        stored,
    )


def _draw(n: int, part: Part, size: int, resampling: str | None, ids: RowIds) -> Bags:
    kind: Literal["subbagging", "bootstrap"] = "subbagging" if resampling == "subbagging" else "bootstrap"
    membership, following = _membership(n, part, size, kind, ordered_words(ids))
    bags = Bags(n, part.n_bags, size, kind, ids, (part,), membership)
    return bags if following is None else with_following(bags, following)


def with_following(bags: Bags, following: NDArray[np.int64]) -> Bags:
    """Return the bags, which then know the rank of the next smallest hash of each while this process lasts."""
    vars(bags)["_following"] = following
    return bags


def following_of(bags: Bags) -> NDArray[np.int64]:
    """Return the rank of the next smallest hash of each bag, -1 where it is not known."""
    known: NDArray[np.int64] | None = vars(bags).get("_following")
    return np.full(bags.n_bags, -1) if known is None else known


def ordered_words(ids: RowIds) -> NDArray[np.uint64] | None:
    """Return the words of the ids in the order of the ids; None for positions."""
    return None if ids.values is None else validation.distinct_words(id_words(ids.values)[ids.order])


def draw_again(bags: Bags, part: Part) -> Bits | Indices:
    """Return the membership of some of these bags as their seed draws it."""
    return _membership(bags.n_samples, part, bags.bag_size or 0, bags.resampling or "", bags._words)[0]


def _membership(
    n: int, part: Part, size: int, kind: str, words: NDArray[np.uint64] | None
) -> tuple[Bits | Indices, NDArray[np.int64] | None]:
    """Return which rows each bag holds and, of the rows of smallest hash, the rank of the one that comes next."""
    as_bits = (n + 7) // 8 <= size * np.dtype(index_type(n)).itemsize
    blocks: list[Any] = []
    following: list[Any] = []
    # Drawn in blocks, so that bags which are kept as indices never stand in memory as bits all at once.
    step = part.n_bags if as_bits and kind == "subbagging" else max(1, (64 << 20) // max(n // 8, 4 * size))
    for start in range(0, part.n_bags, step):
        keys = Part(part.seed, part.first + start, min(step, part.n_bags - start)).keys()
        if kind == "subbagging":
            packed, next_ranks = smallest_hashes(keys, words, n, size)
            following.append(next_ranks)
            blocks.append(packed if as_bits else indices_of(packed, n, size))
        else:
            draws = np.sort(_draw_with_replacement(keys, n, size), axis=1)
            blocks.append(bits_of(draws, n) if as_bits else draws)
    stacked = blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    stored = Bits(stacked, n) if as_bits else Indices(stacked.reshape(-1), np.arange(part.n_bags + 1) * size, n)
    return stored, np.concatenate(following) if following else None


def smallest_hashes(
    keys: NDArray[np.uint64], words: NDArray[np.uint64] | None, n: int, size: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the rows of the smallest hashes in each bag, as bits, and the row of the next one."""
    packed, following = np.empty((len(keys), (n + 7) // 8), np.uint8), np.empty(len(keys), np.int64)
    threads = cpu.allowed_threads() if len(keys) * n > 1 << 20 else 1
    _native.hash_bags(keys, words, n, size, packed, following, threads)
    return packed, following


def _draw_with_replacement(keys: NDArray[np.uint64], n: int, size: int) -> NDArray[np.uint32]:
    draws = np.empty((len(keys), size), np.uint32)
    threads = cpu.allowed_threads() if draws.size > 1 << 20 else 1
    _native.bootstrap_bags(keys, n, size, draws, threads)
    return draws


def reject_shared_bags(parts: tuple[Part, ...]) -> None:
    spans = sorted((p.seed, p.first, p.first + p.n_bags) for p in parts)
    for (seed, _, end), (next_seed, start, _) in itertools.pairwise(spans):
        if seed == next_seed and start < end:
            raise ValueError(f"bags must be different draws to be put together; got bag {start} of seed {seed} twice.")


def _as_runs(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts with those of one seed that go on where the one before ends in one."""
    runs: list[Part] = []
    for part in parts:
        if runs and runs[-1].seed == part.seed and runs[-1].first + runs[-1].n_bags == part.first:
            runs[-1] = replace(runs[-1], n_bags=runs[-1].n_bags + part.n_bags)
        else:
            runs.append(part)
    return tuple(runs)


def _by_position(bags: Bags) -> Bits | Indices:
    """Return which rows each bag holds as it is stored where ids are positions."""
    n = bags.n_samples
    if isinstance(bags._stored, Bits) and bags.resampling == "subbagging":
        packed = [np.packbits(bags.membership(b, b + 1), axis=1, bitorder="little") for b in range(bags.n_bags)]
        return Bits(np.concatenate(packed), n)
    rows = [np.sort(rows) for rows in bags]  # with repeats, which bits do not tell
    ends = np.cumsum([0, *(len(r) for r in rows)]).astype(np.int64)
    return Indices(np.concatenate(rows).astype(index_type(n)), ends, n)
