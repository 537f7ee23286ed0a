"""What an audit found: a frozen result that says which algorithm it measured."""

import math
import warnings
from dataclasses import dataclass, fields, replace
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from steadyset._base import notebook, optional, saved_folders, validation
from steadyset._base.words import counted
from steadyset.audit import _hypergeometric
from steadyset.audit._saved import check_audit

#: Levels at which the quantiles of the shift over the left-out rows are kept; the last is the largest shift.
SHIFT_LEVELS = (0.5, 0.9, 0.99, 1.0)

_NEAR = 1e-11  # relative distance within which rounding may decide whether a pair conflicts


@dataclass(frozen=True, eq=False, repr=False)
class StabilityAudit:
    """How label sets fare when training rows are left out, one after the other.

    Made by :func:`steadyset.audit_bags` and :func:`steadyset.audit_groups`. Two sets *conflict* where they share no
    label, and those of the inflated top k where they have fewer than k labels in common. A *unit* is what is left out
    at a time: a row, or a group of rows.

    Attributes
    ----------
    algorithm : str
        Which models were compared, in words.
    rule : str
        The selection rule.
    unit : {"row", "group"}
    epsilon : float or None
        Its epsilon, where conflicts at every epsilon are known (:meth:`at`); 0 for the argmax.
    n_samples, n_bags : int
    left_out : ndarray of shape (n_units,)
        The position of each row that was left out, or the label of each group.
    unanswered : ndarray
        Rows or groups of which every bag holds some: no bag stands for the model without them.
    sampled : bool
        Whether the rows were drawn at random from all rows.
    instability : ndarray of shape (n_points,)
        The share of units whose removal turns the point's set into a disjoint one.
    jaccard : ndarray of shape (n_points,)
        The mean over units of the sets' common labels over all their labels, with and without the unit.
    max_shift : ndarray of shape (n_points,)
        The largest Euclidean distance by which a unit moves the probabilities. NaN at settled points.
    shift_error : float
        By how much a shift may be off: shifts are found in 32-bit arithmetic. Conflicts and Jaccard indices are exact.
    shift_quantiles : ndarray of shape (n_points, 4)
        The quantiles 0.5, 0.9, 0.99 and 1 of that distance over the units. NaN at settled points.
    spread : ndarray of shape (n_points,)
        The variance of the bags' predictions, an estimate of sigma^2.
    settled : ndarray of bool, shape (n_points,)
        Points at which a bound proves, before any unit is looked at, that no set can change. Their instability is 0
        and their Jaccard index 1, exactly; an audit with ``prune=False`` measures their shifts too.
    row_influence : ndarray of int, shape (n_units,)
        At how many points leaving out the unit makes a conflict.
    row_score : ndarray of shape (n_units,)
        The unit's largest shift over the points that are not settled, in Monte Carlo standard errors.
    row_point : ndarray of int, shape (n_units,)
        The point of that shift; -1 where there is none.
    row_tail : ndarray of shape (n_units,)
        At least 1: how much wider than a Gaussian's the bound on the tail of a unit's score is.
    row_noise : ndarray of shape (n_units,)
        A shift has the Monte Carlo standard error sqrt(spread * row_noise).
    pair_starts, pair_units, pair_epsilons, pair_shifts : ndarrays
        For each point the units that make a conflict at some epsilon, the largest such epsilon (infinity for rules
        without one) and the shift. Those of point k are at pair_starts[k] to pair_starts[k + 1].
    epsilon_floor : float
        Pairs with a smaller epsilon than this were too many to keep.

    Notes
    -----
    Theory: :doc:`/theory/audit`.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=50, n_bags=200, bag_size=25)
    >>> proba = np.random.default_rng(0).dirichlet([1, 1, 1], size=(200, 4))
    >>> audit = ss.audit_bags(ss.BagPredictions(proba, bags, "abc"), ss.Argmax())
    >>> audit.instability
    array([0.62, 0.36, 0.08, 0.4 ])
    >>> audit.at(0.005)
    array([0.6 , 0.28, 0.08, 0.32])
    """

    algorithm: str
    rule: str
    unit: str
    epsilon: float | None
    n_samples: int
    n_bags: int
    sampled: bool
    left_out: NDArray[Any]
    unanswered: NDArray[Any]
    instability: NDArray[np.float64]
    jaccard: NDArray[np.float64]
    max_shift: NDArray[np.float64]
    shift_error: float
    shift_quantiles: NDArray[np.float64]
    spread: NDArray[np.float64]
    settled: NDArray[np.bool_]
    row_influence: NDArray[np.int64]
    row_score: NDArray[np.float64]
    row_point: NDArray[np.int64]
    row_noise: NDArray[np.float64]
    row_tail: NDArray[np.float64]
    pair_starts: NDArray[np.int64]
    pair_units: NDArray[np.int32]
    pair_epsilons: NDArray[np.float64]
    pair_shifts: NDArray[np.float32]
    epsilon_floor: float

    @property
    def n_points(self) -> int:
        """Number of points audited."""
        return len(self.instability)

    @property
    def n_units(self) -> int:
        """Number of rows or groups left out, one at a time."""
        return len(self.left_out)

    @property
    def n_conflicts(self) -> NDArray[np.int64]:
        """Number of units in conflict at each point."""
        return np.rint(self.instability * self.n_units).astype(np.int64)

    @property
    def max_instability(self) -> float:
        """The largest instability over the points."""
        return float(self.instability.max(initial=0.0))

    def at(self, epsilon: float) -> NDArray[np.float64]:
        """Return the instability of each point under the inflated argmax at any epsilon, from the same pass.

        Parameters
        ----------
        epsilon : float
            At least 0; 0 is the argmax.

        Returns
        -------
        ndarray of shape (n_points,)
            The share of units that conflict, exactly. Where a pair's own threshold lies within rounding of `epsilon`,
            a warning says so: there a fresh audit, which rounds sets outward, may count it differently.
        """
        wanted = validation.epsilon(epsilon)
        if self.epsilon is None:
            raise ValueError(
                f"at(epsilon) is known for the inflated argmax and the argmax; got an audit of {self.rule}."
            )
        if wanted == self.epsilon:
            return self.instability.copy()
        self._require_kept(wanted)
        near = int((np.abs(self.pair_epsilons - wanted) <= _NEAR * wanted).sum())
        if near:
            warnings.warn(
                f"up to epsilon = {wanted:g} within rounding, {counted(near, 'pair')} of a point and a {self.unit} "
                f"conflict{'s' if near == 1 else ''}; a fresh audit decides.",
                stacklevel=2,
            )
        return self.pairs_per_point(self.pair_epsilons >= wanted) / self.n_units

    def with_labels(self, labels: NDArray[Any]) -> "StabilityAudit":
        """Return the audit of groups, known by their labels instead of their places among them.

        Parameters
        ----------
        labels : ndarray
            The label of every group.

        Returns
        -------
        StabilityAudit
        """
        named = {"left_out": labels[self.left_out], "unanswered": labels[self.unanswered]}
        return replace(self, unit="group", **named)

    def survival(self, thresholds: Any = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return thresholds and the share of points whose instability exceeds each.

        Parameters
        ----------
        thresholds : array, optional
            Default: 0 and the values of instability that occur.

        Returns
        -------
        (thresholds, shares) : ndarrays
        """
        if thresholds is None:
            thresholds = np.unique(np.append(self.instability, 0.0))
        at = np.asarray(thresholds, np.float64)
        return at, survival(self.instability, at)

    def conflicts(self, epsilon: float | None = None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return which units flip which points, as (points, positions in left_out), at the rule's epsilon or another.

        Parameters
        ----------
        epsilon : float, optional
            Another epsilon of the inflated argmax.

        Returns
        -------
        (points, units) : ndarrays of the same length
        """
        if epsilon is not None and self.epsilon is None:
            raise ValueError(f"epsilon is for the inflated argmax and the argmax; got an audit of {self.rule}.")
        points, kept = self._conflicting(epsilon)
        return points[kept], self.pair_units[kept].astype(np.intp)

    def interval(
        self,
        confidence: float = 0.95,
        *,
        side: Literal["both", "upper"] = "both",
        simultaneous: bool = False,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return bounds on each point's instability over all rows, where only a sample of them was left out.

        Rows are drawn without replacement, so that the hypergeometric distribution is inverted. Rows that no bag
        leaves out count as no conflict in the lower and as conflicts in the upper bound. Without sampling the bounds
        hold with certainty, for the rows that were asked for.

        Parameters
        ----------
        confidence : float, default=0.95
            Above 0 and below 1.
        side : {"both", "upper"}, default="both"
            "upper" spends all of 1 - confidence on the upper bound; the lower one is then the trivial one.
        simultaneous : bool, default=False
            Whether the bounds are to hold at all points at once, as a bound on the maximum needs it.

        Returns
        -------
        (low, high) : ndarrays of shape (n_points,)
        """
        level = validation.level(confidence, "confidence")
        validation.choice(side, "side", ("both", "upper"))
        found, missing = self.n_conflicts, len(self.unanswered)
        asked = self.n_units + missing
        if not self.sampled:
            return found / asked, (found + missing) / asked
        alpha = (1 - level) / (2 if side == "both" else 1) / (max(self.n_points, 1) if simultaneous else 1)
        high = _hypergeometric.bounds(found + missing, asked, self.n_samples, alpha, _hypergeometric.upper_count)
        if side == "upper":
            return found / self.n_samples, high
        return _hypergeometric.bounds(found, asked, self.n_samples, alpha, _hypergeometric.lower_count), high

    def score_limit(self, alpha: float = 0.05) -> NDArray[np.float64]:
        """Return the score above which a unit stands clear of Monte Carlo noise, corrected for all pairs looked at.

        If a unit had no influence, which bags hold it would have nothing to do with what they predict. Its score then
        exceeds t with probability at most 2 exp(-(t / row_tail)^2 / 2) at a point (Theorem A3 of the theory pages), and
        all units at all points together exceed this limit with probability at most alpha.

        Parameters
        ----------
        alpha : float, default=0.05

        Returns
        -------
        ndarray of shape (n_units,)
        """
        level = validation.positive(alpha, "alpha")
        pairs = self.n_units * max(1, int((~self.settled).sum()))
        return self.row_tail * math.sqrt(2 * math.log(2 * pairs / level))

    def influential(self, alpha: float = 0.05) -> NDArray[np.intp]:
        """Return the positions in `left_out` of the units that stand clear of noise, the largest score first."""
        ordered = np.argsort(-self.row_score, kind="stable")
        return ordered[(self.row_score > self.score_limit(alpha))[ordered]]

    def to_frame(self, by: Literal["points", "rows", "conflicts"] = "points") -> Any:
        """Return a pandas DataFrame with a line for each point, each row (group) left out, or each conflict.

        Parameters
        ----------
        by : {"points", "rows", "conflicts"}, default="points"
            "conflicts": which rows flip which points at the rule's epsilon, each shift with its standard error.

        Returns
        -------
        pandas.DataFrame
        """
        validation.choice(by, "by", ("points", "rows", "conflicts"))
        pandas = optional.require("pandas", "data")
        if by == "rows":
            columns = {
                "left_out": self.left_out,
                "influence": self.row_influence,
                "score": self.row_score,
                "score_limit": self.score_limit(),
                "point": self.row_point,
            }
        elif by == "conflicts":
            points, kept = self._conflicting(None)
            units = self.pair_units[kept]
            columns = {
                "point": points[kept],
                "left_out": self.left_out[units],
                "shift": self.pair_shifts[kept],
                "standard_error": np.sqrt(self.spread[points[kept]] * self.row_noise[units]),
                "last_epsilon": self.pair_epsilons[kept],
            }
        else:
            quantiles = zip(SHIFT_LEVELS, self.shift_quantiles.T, strict=True)
            columns = {
                "instability": self.instability,
                "jaccard": self.jaccard,
                **{f"shift_{level:g}": values for level, values in quantiles},
                "spread": self.spread,
                "settled": self.settled,
            }
        return pandas.DataFrame(columns)

    def summary(self) -> str:
        """Return what was measured and found, in words."""
        unit = self.unit
        worst = int(np.argmax(self.instability)) if self.n_points else 0
        ever, settled = int((self.instability > 0).sum()), int(self.settled.sum())
        lines = [
            self.algorithm,
            f"Rule: {self.rule}. {counted(self.n_points, 'point')}, {counted(self.n_units, unit)} left out"
            + (f" (drawn at random from {self.n_samples:,})." if self.sampled else "."),
            f"Instability: largest {self.max_instability:.4g}"
            + (f" (point {worst})" if self.max_instability > 0 else "")
            + f", mean {self.instability.mean():.4g}; {counted(ever, 'point')} {'is' if ever == 1 else 'are'} ever in "
            f"conflict. Mean Jaccard index {self.jaccard.mean():.4g}.",
            f"{counted(settled, 'point')} {'is' if settled == 1 else 'are'} settled: a bound proves that no {unit} can "
            f"change {'its set' if settled == 1 else 'their sets'}.",
        ]
        if len(self.unanswered):
            shown = ", ".join(str(u) for u in self.unanswered[:5]) + (", ..." if len(self.unanswered) > 5 else "")
            lines.append(f"No answer for {counted(len(self.unanswered), unit)} that every bag holds: {shown}.")
        lines.append(self._influence_in_words(unit))
        return "\n".join(lines)

    def _influence_in_words(self, unit: str) -> str:
        rule = "shift above {:.1f} standard errors, which noise alone reaches anywhere with probability at most 0.05"
        if not np.isfinite(self.row_tail).any():
            most = int(self.row_influence.max(initial=0))
            points = counted(most, "point")
            return f"No {unit} flips more than {points}; there is no Monte Carlo error to compare with."
        clear, limit = self.influential(), self.score_limit()
        if len(clear) == 0:
            least = float(limit.min(initial=math.inf))
            return f"No {unit} stands clear of Monte Carlo noise ({rule.format(least)})."
        named = [
            f"{self.left_out[u]} ({self.row_score[u]:.1f} standard errors at point {self.row_point[u]}, "
            f"flips {self.row_influence[u]:,})"
            for u in clear[:5]
        ]
        more = f" and {len(clear) - 5:,} more" if len(clear) > 5 else ""
        those = f"{unit}{'' if len(clear) == 1 else 's'}"
        return f"Influential {those} ({rule.format(limit[clear[0]])}): {', '.join(named)}{more}."

    def save(self, folder: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write everything into a folder of plain ``.npy`` files and a JSON manifest, without pickle.

        The audit is there whole or not at all, whatever interrupts.

        Parameters
        ----------
        folder : path
            A folder that does not exist yet, or is empty.
        overwrite : bool, default=False
            Whether a saved audit that is already there may be replaced.
        """
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        header = {name: value for name, value in values.items() if name not in arrays}
        saved_folders.write_folder(folder, "StabilityAudit", {"audit": header}, arrays, overwrite=overwrite)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> "StabilityAudit":
        """Read what :meth:`save` wrote; anything else is refused.

        Parameters
        ----------
        folder : path

        Returns
        -------
        StabilityAudit
        """
        with saved_folders.read_folder(folder, "StabilityAudit", mapped=None, auto=False) as saved:
            header = saved.header("audit")
            values: dict[str, Any] = {
                f.name: header[f.name] if f.name in header else saved.array(f.name) for f in fields(cls)
            }
            loaded = cls(**values)
            check_audit(loaded, len(SHIFT_LEVELS))
            return loaded

    def pairs_per_point(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many of the chosen pairs belong to each point; `chosen` has an entry for each of `pair_units`."""
        running = np.concatenate([[0], np.cumsum(chosen)])
        return np.asarray(running[self.pair_starts[1:]] - running[self.pair_starts[:-1]])

    def _conflicting(self, epsilon: float | None) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the point of each kept pair, and which pairs conflict at an epsilon, by default the rule's."""
        wanted = validation.epsilon(epsilon) if epsilon is not None else self.epsilon or 0.0
        self._require_kept(wanted)
        return np.repeat(np.arange(self.n_points), np.diff(self.pair_starts)), self.pair_epsilons >= wanted

    def _require_kept(self, epsilon: float) -> None:
        if self.epsilon is None and self.epsilon_floor > 0:
            raise ValueError("conflicts are not known pair by pair: there were too many to keep.")
        if epsilon < self.epsilon_floor:
            raise ValueError(
                f"epsilon must be at least {self.epsilon_floor:g}, below which there were too many conflicts to keep; "
                f"got {epsilon:g}: a fresh audit at that epsilon answers."
            )

    def _repr_html_(self) -> str:
        return notebook.card(f"Largest instability {self.max_instability:.4g}", self.summary().split("\n"))

    def __repr__(self) -> str:
        return (
            f"StabilityAudit(rule={self.rule}, n_points={self.n_points}, n_units={self.n_units}, "
            f"max_instability={self.max_instability:.4g})"
        )


def survival(instability: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of points whose instability exceeds each threshold; 0 where there are no points."""
    above = len(instability) - np.searchsorted(np.sort(instability), thresholds, side="right")
    return np.asarray(above / max(len(instability), 1))
