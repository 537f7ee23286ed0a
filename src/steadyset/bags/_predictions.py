"""What the bags predict: the hinge between training and everything that looks at the result."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset import _native
from steadyset._base import cpu, saved_folders, validation
from steadyset.bags import _saved
from steadyset.bags._bags import Bags, concatenate

#: Bags are summed in blocks of this many consecutive numbers, then the blocks: the same bits, whoever computes them.
BLOCK = 16

#: A leave-one-out mean over fewer bags than this is mostly noise, and warns.
FEW_BAGS = 30


@dataclass(frozen=True, eq=False, repr=False)
class BagPredictions:
    """The probabilities that every bag's learner gives to every point, and the bags they come from.

    It holds no model and no training data. Any way to train can make one, and audits, certificates and reports need
    nothing else.

    Parameters
    ----------
    proba : array of shape (n_bags, n_points, n_classes)
        float32 or float64 (others become float64), a memory map included. Each row is a probability vector: finite, not
        negative, its sum within 1e-4 (float32) or 1e-6 (float64) of 1.
    bags : Bags
        The bags, in the order of the first axis.
    classes : sequence of n_classes labels
        Distinct; the label of each column.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=10, n_bags=4, bag_size=5)
    >>> proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=(4, 2))
    >>> predictions = ss.BagPredictions(proba, bags, classes=["a", "b", "c"])
    >>> predictions.mean().shape
    (2, 3)
    >>> predictions
    BagPredictions(n_bags=4, n_points=2, n_classes=3, float64)
    """

    proba: NDArray[Any]
    bags: Bags
    classes: NDArray[Any]

    def __init__(self, proba: Any, bags: Bags, classes: Sequence[Any] | NDArray[Any]) -> None:
        if not isinstance(bags, Bags):
            raise TypeError(f"bags must be a steadyset.Bags; got {validation.shown(bags)}.")
        labels = validation.classes(classes)
        array = validation.bag_probabilities(proba, len(bags), len(labels))
        self._set(array, bags, labels)

    def _set(self, proba: NDArray[Any], bags: Bags, classes: NDArray[Any]) -> None:
        for name, value in (("proba", proba), ("bags", bags), ("classes", classes)):
            object.__setattr__(self, name, value)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return int(self.proba.shape[0])

    @property
    def n_points(self) -> int:
        """Number of points predicted."""
        return int(self.proba.shape[1])

    @property
    def n_classes(self) -> int:
        """Size of the label space."""
        return int(self.proba.shape[2])

    def mean(self) -> NDArray[np.float64]:
        """Return the mean over all bags, (n_points, n_classes), summed in float64 in a fixed order.

        Blocks of 16 consecutive bags are summed in ascending order, then the blocks: the same bits for any number of
        threads.
        """
        return sum_bags(self.proba) / self.n_bags

    def leave_one_out(self, row: int) -> NDArray[np.float64]:
        """Return the mean over the bags that do not hold a training row: the model without that row.

        Given which bags hold the row, the others are bags of the data without it, drawn in the same way.

        Parameters
        ----------
        row : int
            Position of the training row. It is an error when every bag holds it, and a warning when fewer than 30
            do not.

        Returns
        -------
        ndarray of shape (n_points, n_classes)
        """
        free = ~self.bags.holds(row)
        n_free = int(free.sum())
        if n_free == 0:
            raise ValueError(
                f"row must be one that some bag does not hold; got row {row}, which all {self.n_bags} hold."
            )
        if n_free < FEW_BAGS:
            warnings.warn(
                f"only {n_free} bags do not hold row {row}: its leave-one-out mean is mostly noise.", stacklevel=2
            )
        return sum_bags(self.proba, free) / n_free

    def at_points(self, points: Any) -> "BagPredictions":
        """Return the predictions at some of the points.

        Parameters
        ----------
        points : int array
            Positions of the points, at least one.

        Returns
        -------
        BagPredictions
        """
        places = validation.row_positions(points, self.n_points, "points")
        some = BagPredictions.__new__(BagPredictions)
        some._set(self.proba[:, places], self.bags, self.classes)
        return some

    @staticmethod
    def concatenate(pieces: Sequence["BagPredictions"]) -> "BagPredictions":
        """Return the predictions of several sets of bags, of the same rows at the same points, as one.

        Parameters
        ----------
        pieces : sequence of BagPredictions
            With the same points, classes and training rows, and no bag in two of them.

        Returns
        -------
        BagPredictions
        """
        if not pieces:
            raise ValueError("pieces must hold at least one BagPredictions; got none.")
        first = pieces[0]
        for other in pieces[1:]:
            if other.n_points != first.n_points:
                raise ValueError(f"pieces must predict the same points; got {first.n_points} and {other.n_points}.")
            if not np.array_equal(other.classes, first.classes):
                raise ValueError("pieces must have the same classes in the same order; got different ones.")
        joined = BagPredictions.__new__(BagPredictions)
        bags = concatenate([piece.bags for piece in pieces])
        joined._set(np.concatenate([piece.proba for piece in pieces]), bags, first.classes)
        return joined

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False, ids: bool = True) -> None:
        """Write everything into a folder of plain ``.npy`` files and a JSON manifest, without pickle.

        The predictions are there whole or not at all, whatever interrupts: the manifest, which is replaced in one step,
        names the files that are in force. Readers and other writers may use the folder at the same time; files of
        others in it are left alone.

        Parameters
        ----------
        folder : path
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether saved predictions that are already there may be replaced.
        ids : bool, default=True
            Whether the ids of the training rows are written too. Whoever holds them can test whether a row that they
            know was among the training rows. Without them see :meth:`Bags.without_ids`.
        """
        bags = self.bags if ids else self.bags.without_ids()
        arrays = {"proba": self.proba, **_saved.bags_arrays(bags)}
        header = {"classes": saved_folders.labels_to_json(self.classes), "bags": _saved.bags_header(bags)}
        saved_folders.write_folder(folder, "BagPredictions", header, arrays, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | PathLike[str], *, mmap: bool | None = None) -> "BagPredictions":
        """Read what :meth:`save` wrote; anything else is refused, with a ValueError.

        Digests are checked over everything, and bags that come from a seed are drawn again and compared, unless their
        ids were left out: about 5 nanoseconds per bag and training row, on one core.

        Parameters
        ----------
        folder : path
        mmap : bool, optional
            Whether probabilities stay on disk as a read-only memory map. Default: where they take 256 MB or more.

        Returns
        -------
        BagPredictions
        """
        with saved_folders.read_folder(
            folder, "BagPredictions", mapped="proba" if mmap else None, auto=mmap is None
        ) as saved:
            labels = saved_folders.labels_from_json(saved.header("classes"))
            bags = _saved.bags_from(saved)
            return cls(saved.array("proba"), bags, labels)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BagPredictions):
            return NotImplemented
        return (
            self.proba.dtype == other.proba.dtype
            and np.array_equal(self.proba, other.proba)
            and np.array_equal(self.classes, other.classes)
            and self.bags == other.bags
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"BagPredictions(n_bags={self.n_bags}, n_points={self.n_points}, n_classes={self.n_classes}, "
            f"{self.proba.dtype})"
        )


def exact_predictions(proba: NDArray[np.float64], bags: Bags, classes: NDArray[Any]) -> BagPredictions:
    """Return predictions whose rows are probability vectors by construction, which nobody looks through again."""
    if proba.ndim != 3 or proba.shape[0] != len(bags) or proba.shape[2] != len(classes):
        raise ValueError(f"proba must be of {len(bags)} bags and {len(classes)} classes; got shape {proba.shape}.")
    made = BagPredictions.__new__(BagPredictions)
    made._set(proba, bags, classes)
    return made


def checked_predictions(value: Any) -> BagPredictions:
    """Return the bags' predictions, or say what came instead."""
    if not isinstance(value, BagPredictions):
        raise TypeError(f"bag_predictions must be a steadyset.BagPredictions; got {validation.shown(value)}.")
    return value


def sum_bags(proba: NDArray[Any], take: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
    """Return the float64 sum over the bags, or over those that `take` marks, in the fixed order."""
    n_bags, shape = len(proba), proba.shape[1:]
    flat = np.ascontiguousarray(proba).reshape(n_bags, math.prod(shape))
    total = np.zeros(flat.shape[1])
    threads = cpu.allowed_threads() if flat.size >= 1 << 20 else 1
    _native.sum_bags(flat, None if take is None else np.ascontiguousarray(take), BLOCK, total, threads)
    return total.reshape(shape)
