"""Checks of arguments that several rooms take: the checked value comes back, or an error of one sentence."""

import itertools
import math
import numbers
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

# The order of `Kind` in native/selection/api.hpp.
_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
_KIND_NAMES = ["float64", "float32", "float16", "bfloat16", *_INTEGERS]
_BFLOAT16 = _KIND_NAMES.index("bfloat16")  # no dtype of NumPy's own
_KINDS: dict[Any, int] = {np.dtype(name): kind for kind, name in enumerate(_KIND_NAMES) if kind != _BFLOAT16}

# Whole numbers up to here are exact as floats, and so are the formulas that take them.
_LARGEST = 2**53

#: How far the sum of a row of probabilities may lie from 1, by the width of its numbers in bits.
SUM_SLACK = {64: 1e-6, 32: 1e-4, 16: 5e-2}

# The order of `Problem` in native/selection/api.hpp.
_NOT_FINITE, _NEGATIVE, _OFF_SIMPLEX, _NO_MEMORY = 1, 2, 3, 4


def shown(value: object) -> str:
    """Return a short, printable form of what came."""
    text = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def numpy_scores(proba: Any, *, bfloat16_bits: bool = False) -> tuple[NDArray[Any], int]:
    """Return `proba` as an array that the native kernels read, and the number of its kind.

    bool and bfloat16 come back as views of their bytes; strides are kept. `bfloat16_bits` says that `proba` is such a
    view already.
    """
    if type(proba) is not np.ndarray:
        proba = _as_numpy(proba)
    if proba.ndim == 0:
        raise ValueError(f"proba must have at least one axis, the labels; got the single value {shown(proba.item())}.")
    if proba.shape[-1] == 0:
        raise ValueError(f"proba must have at least one label on its last axis; got shape {proba.shape}.")
    kind = _BFLOAT16 if bfloat16_bits else _KINDS.get(proba.dtype)
    if kind is None:
        proba, kind = _as_known_kind(proba)
    if not proba.flags.aligned:
        proba = proba.copy()
    return proba, kind


def _as_numpy(proba: Any) -> NDArray[Any]:
    if isinstance(proba, np.ma.MaskedArray):
        raise TypeError("proba must be a plain array; got a masked array, whose masked entries have no score.")
    try:
        return np.asarray(proba)
    except (ValueError, TypeError) as error:
        raise ValueError(f"proba must be a rectangular array of numbers; got {shown(proba)}.") from error


def _as_known_kind(proba: NDArray[Any]) -> tuple[NDArray[Any], int]:
    dtype = proba.dtype
    if dtype == np.bool_:
        return proba.view(np.uint8), _KINDS[np.dtype(np.uint8)]
    if dtype.name == "bfloat16":
        return proba.view(np.uint16), _BFLOAT16
    native = dtype.newbyteorder("=")
    if native in _KINDS:  # stored in the other byte order, or an alias such as the platform's long long
        return proba.astype(native), _KINDS[native]
    raise TypeError(
        f"proba must hold float64, float32, float16, bfloat16, integer or bool numbers; got an array of dtype {dtype}."
    )


def sum_slack(dtype: Any) -> float:
    """Return the tolerance on the sum of a row of probabilities of this dtype; integers count as 64 bits wide."""
    return SUM_SLACK.get(_float_bits(dtype), 1e-6)


def _float_bits(dtype: Any) -> int:
    name = str(dtype).rsplit(".", 1)[-1]  # "torch.float32" and "float32" alike
    if not name.endswith(("16", "32", "64")) or "float" not in name:
        return 64
    return int(name[-2:])


def reject_row(
    problem: int, row: int, shape: tuple[int, ...], row_values: NDArray[Any], slack: float = 0.0
) -> NoReturn:
    """Raise the error for the first row that a kernel could not answer."""
    if problem == _NO_MEMORY:
        raise MemoryError("proba needs more working memory than this process can get.")
    index = tuple(int(i) for i in np.unravel_index(row, shape[:-1])) if len(shape) > 1 else ()
    where = "proba" if not index else f"row {index[0] if len(index) == 1 else index} of proba"
    values = row_values.astype(np.float64)
    if problem == _NOT_FINITE:
        bad = values[~np.isfinite(values)][0]
        raise ValueError(f"proba must hold finite numbers only; got {bad} in {where}.")
    if problem == _NEGATIVE:
        raise ValueError(f"proba must hold probabilities, none negative; got {shown(float(values.min()))} in {where}.")
    raise ValueError(
        f"proba must hold probabilities that sum to 1 within {slack:g} over the last axis; "
        f"got a sum of {shown(float(values.sum()))} in {where}."
    )


def first_bad_row(values: NDArray[Any], *, probabilities: bool, slack: float) -> tuple[int, int] | None:
    """Return (problem, row) for the first row of a two-dimensional array that no rule can answer, or None."""
    finite = np.isfinite(values).all(axis=-1)
    problem = np.where(finite, 0, _NOT_FINITE)
    if probabilities:
        with np.errstate(invalid="ignore", over="ignore"):
            off = ~(np.abs(values.sum(axis=-1) - 1) <= slack)
        problem = np.where(finite & off, _OFF_SIMPLEX, problem)
        problem = np.where(finite & (values < 0).any(axis=-1), _NEGATIVE, problem)
    bad = np.flatnonzero(problem)
    return (int(problem[bad[0]]), int(bad[0])) if bad.size else None


def real_number(value: Any, name: str, allowed: str) -> float:
    """Return `value` as a float; bool, strings and arrays are no numbers."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {allowed}; got {shown(value)}.")
    return float(value)


def whole_number(value: Any, name: str, allowed: str) -> int:
    """Return `value` as an int; bool and floats are refused."""
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be {allowed}; got {shown(value)}.")
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be {allowed}; got {shown(value)}.") from None


def number(value: Any, name: str, allowed: str, holds: Callable[[float], bool]) -> float:
    """Return `value` as a float for which `holds`, as `allowed` says in words."""
    checked = real_number(value, name, allowed)
    if not holds(checked):
        raise ValueError(f"{name} must be {allowed}; got {shown(value)}.")
    return checked


def whole(value: Any, name: str, allowed: str, least: int, most: float = math.inf) -> int:
    """Return `value` as an int from `least` to `most`, as `allowed` says in words."""
    checked = whole_number(value, name, allowed)
    if not least <= checked <= most:
        raise ValueError(f"{name} must be {allowed}; got {shown(value)}.")
    return checked


def epsilon(value: Any) -> float:
    """Return epsilon as a float that is at least 0."""
    checked = real_number(value, "epsilon", "a number that is at least 0")
    if not checked >= 0:  # by hand: every selection of a single row pays for it
        raise ValueError(f"epsilon must be a number that is at least 0; got {shown(value)}.")
    return checked


def tau(value: Any) -> float:
    """Return the mass threshold as a float in (0, 1]."""
    return number(value, "tau", "a number above 0 and at most 1", lambda x: 0 < x <= 1)


def beta(value: Any) -> float:
    """Return beta of the F-measure as a finite float that is at least 0."""
    return number(value, "beta", "a finite number that is at least 0", lambda x: 0 <= x < math.inf)


def positive(value: Any, name: str) -> float:
    """Return a finite float above 0."""
    return number(value, name, "a finite number above 0", lambda x: 0 < x < math.inf)


def share(value: Any, name: str) -> float:
    """Return a float from 0 to 1."""
    return number(value, name, "a number from 0 to 1", lambda x: 0 <= x <= 1)


def level(value: Any, name: str) -> float:
    """Return a level or a confidence, a float above 0 and below 1."""
    return number(value, name, "a number above 0 and below 1", lambda x: 0 < x < 1)


def delta(value: Any, *, vacuous: bool = False) -> float:
    """Return a bound on a probability as a float of at least 0; 1 and more only where it may be vacuous."""
    allowed = "a finite number that is at least 0" if vacuous else "a number that is at least 0 and below 1"
    return number(value, "delta", allowed, lambda x: 0 <= x < (math.inf if vacuous else 1))


def count(value: Any, name: str, least: int = 1) -> int:
    """Return a count as an int of at least `least`."""
    return whole(value, name, f"a whole number from {least} to 2**53", least, _LARGEST)


def label_count(value: Any, name: str = "n_classes") -> int:
    """Return a number of labels as an int that is at least 1."""
    return whole(value, name, "a whole number that is at least 1", 1)


def seed(value: Any, name: str = "seed") -> int:
    """Return a seed as an int that is at least 0."""
    return whole(value, name, "a whole number that is at least 0", 0)


def word_seed(value: Any, name: str) -> int:
    """Return a seed of 64 bits."""
    return whole(value, name, "a whole number from 0 to 2^64 - 1", 0, 2**64 - 1)


def random_seed(random_state: Any) -> int:
    """Return a seed from what scikit-learn takes as random_state."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    return seed(random_state, "random_state")


def top_k(value: Any, n_labels: int | None = None) -> int:
    """Return k as an int between 1 and the number of labels."""
    if n_labels is None:
        return label_count(value, "k")
    return whole(value, "k", f"a whole number from 1 to {n_labels}, the number of labels", 1, n_labels)


def row_position(value: Any, n_samples: int, name: str = "row") -> int:
    """Return the position of a training row, from 0 to n_samples - 1."""
    return whole(value, name, f"a row position from 0 to {n_samples - 1}", 0, n_samples - 1)


UTILITIES = {"u65": (1.6, 0.6), "u80": (2.2, 1.2)}


def utility(value: Any) -> tuple[float, float]:
    """Return (alpha, beta) of the utility g(k) = alpha/k - beta/k^2."""
    allowed = '"u65", "u80" or a pair (alpha, beta) of finite numbers with alpha > beta and alpha > 0'
    refusal = f"utility must be {allowed}; got {shown(value)}."
    try:
        pair = UTILITIES.get(value, ()) if isinstance(value, str) else tuple(value)
        if len(pair) != 2:
            raise ValueError(refusal)
        alpha, discount = (real_number(v, "utility", allowed) for v in pair)
    except TypeError:
        raise TypeError(refusal) from None
    if not (math.isfinite(alpha) and math.isfinite(discount) and alpha > discount and alpha > 0):
        raise ValueError(refusal)
    return alpha, discount


def bool_mask(mask: Any, name: str = "mask") -> NDArray[np.bool_]:
    """Return a mask of label sets as a NumPy bool array with at least one axis."""
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(
            f"{name} must be a bool array whose last axis is the labels; "
            f"got dtype {array.dtype} and shape {array.shape}."
        )
    return array


def choice(value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return one of a few words."""
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(f'"{word}"' for word in choices[:-1])
        raise ValueError(f'{name} must be {words} or "{choices[-1]}"; got {shown(value)}.')
    return value


def resolve_bag_size(bag_size: Any, n_samples: int, resampling: str, name: str = "bag_size") -> int:
    """Return the number of rows per bag, which is given as that number or as a share of the rows.

    A float is a share of `n_samples`, rounded to a grid that a dropped row seldom moves: to the nearest multiple, ties
    down, of the largest of 1, 2, 5, 10, 20, 50, ... that is at most a sixteenth of the rows in a bag and, without
    replacement, of those left out. At least one row.
    """
    if resampling == "subbagging":
        most, allowed = n_samples - 1, f"a whole number from 1 to n_samples - 1 = {n_samples - 1} or a share below 1"
    else:
        most, allowed = _LARGEST, "a whole number that is at least 1 or a share of at most 1"
    number = real_number(bag_size, name, allowed)
    is_count = isinstance(bag_size, numbers.Integral)
    if not (1 <= number <= most if is_count else 0 < number < 1 or (number == 1 and resampling != "subbagging")):
        raise ValueError(f"{name} must be {allowed} for {resampling}; got {shown(bag_size)}.")
    if is_count:
        return operator.index(bag_size)
    size = number * n_samples
    spare = n_samples - size if resampling == "subbagging" else math.inf
    return min(max(1, on_grid(size, spare)), most)


def on_grid(size: float, spare: float = math.inf) -> int:
    """Return a share of the rows as a bag size on the grid; `spare` is what a bag leaves out.

    Examples
    --------
    >>> from steadyset._base.validation import on_grid
    >>> [on_grid(n / 2) for n in (30, 150, 999, 1000, 1797, 60_000)]
    [15, 74, 500, 500, 900, 30000]
    """
    *finer, step = _grid_steps(min(size, spare))
    if not finer:
        return _nearest(size, step)
    first = size * (16 * step / min(size, spare))  # of the sizes with this step: none of them below a finer one
    return max(_nearest(size, step), _nearest(first, finer[-1]))


def grid_step(size: float) -> int:
    """Return the step of the grid at a size: the largest of 1, 2, 5, 10, ... up to a sixteenth of it, or 1."""
    return _grid_steps(size)[-1]


def _grid_steps(size: float) -> list[int]:
    steps = (lead * 10**power for power in itertools.count() for lead in (1, 2, 5))
    return list(itertools.takewhile(lambda step: step == 1 or 16 * step <= size, steps))


def _nearest(size: float, step: int) -> int:
    return step * math.ceil(size / step - 0.5 - 2**-40)  # ties down, also those that rounding moved up a little


def row_positions(value: Any, n_samples: int, name: str) -> NDArray[np.intp]:
    """Return row positions as a one-dimensional array, at least one, each from 0 to n_samples - 1."""
    allowed = f"one or more row positions from 0 to {n_samples - 1}"
    rows = np.asarray(value)
    if rows.ndim != 1 or rows.size == 0 or rows.dtype.kind not in "iu":
        raise ValueError(f"{name} must be {allowed}; got {shown(value)}.")
    if rows.min() < 0 or rows.max() >= n_samples:
        bad = rows[(rows < 0) | (rows >= n_samples)][0]
        raise ValueError(f"{name} must be {allowed}; got {bad}.")
    return rows.astype(np.intp)


def sample_ids(value: Any, n_samples: int) -> NDArray[Any]:
    """Return the ids of the rows, all integers or all strings, distinct, as an array."""
    allowed = f"{n_samples} distinct ids, all integers or all strings"
    if isinstance(value, range):
        count = (value[-1] - value[0]) // value.step + 1 if value else 0  # len() has a limit
        if count != n_samples:
            raise ValueError(f"sample_ids must be {allowed}; got {count} of them.")
        if min(value[0], value[-1]) >= -(2**63) and max(value[0], value[-1]) < 2**63:
            value = np.fromiter(value, np.int64, n_samples)
    if isinstance(value, np.ndarray) and value.shape == (n_samples,) and value.dtype.kind in "iu":
        ordered = np.sort(value)  # as numbers: lists of millions of them take gigabytes
        if np.all(ordered[1:] != ordered[:-1]):
            return value.astype(np.uint64 if value.dtype.kind == "u" and int(ordered[-1]) >= 2**63 else np.int64)
    items = value.tolist() if hasattr(value, "tolist") else list(value)
    if len(items) != n_samples:
        raise ValueError(f"sample_ids must be {allowed}; got {len(items)} of them.")
    kinds = {"str" if isinstance(i, str) else "int" if is_whole(i) else type(i).__name__ for i in items}
    if kinds not in ({"str"}, {"int"}):
        raise TypeError(f"sample_ids must be {allowed}; got {' and '.join(sorted(kinds))} ids.")
    if len(set(items)) != n_samples:
        twice = Counter(items).most_common(1)[0][0]
        raise ValueError(f"sample_ids must be {allowed}; got {shown(twice)} more than once.")
    if kinds == {"str"}:
        return np.array(items)
    least, most = min(items), max(items)
    if least < -(2**63) or most >= 2**64 or (least < 0 and most >= 2**63):
        raise ValueError(f"sample_ids must be {allowed}, integers within 64 bits; got {shown(max(items, key=abs))}.")
    return np.array(items, np.int64 if most < 2**63 else np.uint64)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number, and no bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def distinct_words(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the words that stand for row ids; two strings with one digest would always share their bags."""
    rising = (words[1:] > words[:-1]).all()
    ordered = words if rising else np.sort(words)
    if (ordered[1:] == ordered[:-1]).any():
        raise ValueError("sample_ids must have distinct 64-bit digests; got two strings that share one: rename a row.")
    return words


def classes(value: Any) -> NDArray[Any]:
    """Return class labels as a one-dimensional array of distinct labels."""
    array = value if isinstance(value, np.ndarray) else _label_array(list(value))
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"classes must be one or more labels; got {shown(value)}.")
    labels = array.tolist()
    try:
        distinct = len(set(labels)) == len(labels)
    except TypeError:
        raise TypeError(f"classes must be hashable labels; got {shown(value)}.") from None
    if not distinct:
        twice = next(label for i, label in enumerate(labels) if label in labels[:i])
        raise ValueError(f"classes must be distinct; got {shown(twice)} more than once.")
    return array


def _label_array(labels: list[Any]) -> NDArray[Any]:
    kinds = {type(label) for label in labels}
    if len(kinds) == 1 and issubclass(next(iter(kinds)), str | int | float | np.generic):
        return np.array(labels)
    array = np.empty(len(labels), object)
    array[:] = labels
    return array


def bag_probabilities(value: Any, n_bags: int, n_classes: int) -> NDArray[Any]:
    """Return (n_bags, n_points, n_classes) probabilities as float32 or float64, each row checked to be on the simplex.

    The check reads block after block, so that a memory map stays one.
    """
    array = value if isinstance(value, np.ndarray) else np.asarray(value)
    if array.ndim != 3 or array.shape[0] != n_bags or array.shape[2] != n_classes:
        raise ValueError(
            f"proba must have the shape (n_bags, n_points, n_classes) = ({n_bags}, any, {n_classes}); "
            f"got {array.shape}."
        )
    if array.dtype.kind not in "fiub":
        raise TypeError(f"proba must hold numbers; got an array of dtype {array.dtype}.")
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        array = array.astype(np.float64)
    slack = sum_slack(array.dtype)
    step = max(1, (1 << 22) // max(1, array[0].size))
    for start in range(0, n_bags, step):
        block = array[start : start + step]
        if (fault := _off_simplex(block, slack, 0.0)) is not None:
            (bag, point), what = fault
            raise ValueError(f"proba must hold probability vectors, {what} from bag {start + bag} at point {point}.")
    return array


def member_probabilities(proba: NDArray[Any], shape: tuple[int, int, int], bags: Sequence[int]) -> NDArray[Any]:
    """Return what the learners of these bags predicted, checked to be probability vectors, as float32 or float64.

    A learner that computes in 32 bits may answer in 64, and its sums are off by as much: that is divided out.
    """
    if proba.shape != shape or proba.dtype.kind not in "fiub":
        raise ValueError(
            f"predict_proba of bag {bags[0]} must return numbers of shape {shape[1:]}; "
            f"got shape {proba.shape[1:]} and dtype {proba.dtype}."
        )
    rows: NDArray[Any] = proba.astype(np.float32 if proba.dtype == np.float32 else np.float64)
    slack = SUM_SLACK[16 if proba.dtype == np.float16 else 32]
    if (fault := _off_simplex(rows, slack, -1e-9)) is not None:
        (place, point), what = fault
        raise ValueError(
            f"predict_proba of bag {bags[place]} must return probability vectors, {what} at point {point}."
        )
    np.maximum(rows, 0.0, out=rows)
    sums = rows @ np.ones(rows.shape[-1])
    off = np.abs(sums - 1) > SUM_SLACK[64]
    rows[off] /= sums[off, None]
    np.minimum(rows, 1.0, out=rows)
    return rows


def _off_simplex(rows: NDArray[Any], slack: float, least: float) -> tuple[tuple[int, ...], str] | None:
    """Return the place of the first row that is no probability vector, and what it must be and is; or None."""
    with np.errstate(invalid="ignore", over="ignore"):
        good = np.abs(rows @ np.ones(rows.shape[-1]) - 1) <= slack
        if good.all() and rows.min(initial=np.inf) >= least:  # one pass over all entries beats one per short row
            return None
        good &= (rows >= least).all(axis=-1)
    if good.all():
        return None
    place = tuple(int(i) for i in np.argwhere(~good)[0])
    row = rows[place]
    if not np.isfinite(row).all():
        return place, f"finite; got {shown(row.tolist())}"
    if row.min() < 0:
        return place, f"no negative ones; got {shown(row.tolist())}"
    return place, f"a sum of 1 within {slack:g}; got {shown(row.tolist())} with a sum of {float(row.sum()):.9g}"


def rule(value: Any) -> Any:
    """Return a selection rule, or any other callable that is not a class."""
    if not callable(value) or isinstance(value, type):
        raise TypeError(f"rule must be a rule object or a callable; got {shown(value)}.")
    return value


def rule_mask(select: Any, proba: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the sets that a rule, or any callable, gives to probabilities, checked to be a mask.

    Only a rule that says so may give empty sets.
    """
    mask = np.asarray(rule(select)(proba))
    if mask.dtype != np.bool_ or mask.shape != proba.shape:
        raise ValueError(
            f"rule must return a bool mask of shape {proba.shape}; got dtype {mask.dtype} and shape {mask.shape}."
        )
    if not getattr(select, "may_be_empty", False) and not mask.any(axis=-1).all():
        raise ValueError(
            f"rule must select at least one label; got an empty set at point {int(np.argmin(mask.any(axis=-1)))}."
        )
    return mask
