"""Certificates: what is proved of each prediction, from the bags that were drawn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steadyset._base import cpu, notebook, validation
from steadyset._base.words import counted
from steadyset.audit import _theorem_4, _theorem_6
from steadyset.bags import BagPredictions, Bags, checked_predictions
from steadyset.guarantees import SAME_FIT, row_influence
from steadyset.selection import Rule, rule_name


@dataclass(frozen=True, eq=False, repr=False)
class Certificates:
    """What is proved of the label set of each point, by which theorem, and what it is compared with.

    Made by :func:`steadyset.certify`. Three statements stand side by side. Each is about disjoint sets; none is about a
    single label.

    Attributes
    ----------
    rule : str
    alpha : float
        The level of the probabilistic statements.
    n_samples, n_bags, bag_size : int
    resampling, coupling : str
        How the bags were drawn.
    ids : {"given", "content", "position"}
        Where the row ids come from. Statements about changed rows need given ones: with ids made of the rows' content a
        changed row is another row.
    radius : ndarray of shape (n_points,)
        rho(p): probabilities closer than this to the point's own get a set that shares a label with its set (Lemma 3).
        Infinite where the set holds all labels.
    influence : float
        The constant K of Lemma 1: dropping a row moves the limit by at most K sigma^2 in mean square over the rows.
    bound, simultaneous_bound : ndarray of shape (n_points,)
        Theorem 4: with probability at least 1 - alpha over the draw of the bags, at most this share of the rows has a
        leave-one-out set, in the limit of infinitely many bags, that is disjoint from the deployed set. `bound` holds
        at any one point, `simultaneous_bound` at all points at once. 1 is vacuous.
    spread_bound, distance_bound : ndarray of shape (n_points,)
        What `bound` is made of: upper bounds on sigma^2 and on the distance to the limit of infinitely many bags.
    unsafe_rows : ndarray of int, shape (n_points,), or None
        Theorem 6, hash bags only: how many rows are not cleared; deleting any other row, or changing it where ids were
        given, leaves a set of the refitted ensemble that shares a label with this one. No probability is involved. For
        the argmax, the inflated argmax and the fixed margin the count is exact: for every row that is not cleared there
        are votes of the bags that hold it which make the sets disjoint. Where the set holds all labels it is 0.
    poisoning_radius : ndarray of int, shape (n_points,), or None
        Hash bags only: deleting any set of up to this many rows, or changing them where ids were given, cannot make
        the sets disjoint, as long as enough rows for a bag are left. At least 1 where no row is unsafe.
    unit : {"row", "group"}
        What everything above counts: rows, or groups of rows that were dropped together.

    Notes
    -----
    Theory: :doc:`/theory/certificates`.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=1000, n_bags=500, bag_size=20, sample_ids=range(1000))
    >>> proba = np.random.default_rng(0).dirichlet([8, 1, 1], size=(500, 2))
    >>> certificates = ss.certify(ss.BagPredictions(proba, bags, "abc"), ss.InflatedArgmax(0.1))
    >>> certificates.bound, certificates.unsafe_rows
    (array([0., 0.]), array([0, 0]))
    >>> print(certificates.status(0))
    Deleting or changing any one row cannot make the refitted set disjoint (Theorem 6, certain); ...
    """

    rule: str
    alpha: float
    n_samples: int
    n_bags: int
    bag_size: int
    resampling: str
    coupling: str
    ids: str
    radius: NDArray[np.float64]
    influence: float
    spread_bound: NDArray[np.float64]
    distance_bound: NDArray[np.float64]
    bound: NDArray[np.float64]
    simultaneous_bound: NDArray[np.float64]
    unsafe_rows: NDArray[np.int64] | None
    poisoning_radius: NDArray[np.int64] | None
    unit: str = "row"

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.bound)

    def certified(self, delta: float = 0.0, *, simultaneous: bool = False) -> NDArray[np.bool_]:
        """Return at which points at most a share `delta` of the rows can make a conflict, by Theorem 4.

        Parameters
        ----------
        delta : float, default=0.0
        simultaneous : bool, default=False
            Whether the statement is to hold at all points at once.

        Returns
        -------
        ndarray of bool, shape (n_points,)
        """
        share = validation.delta(delta)
        return np.asarray((self.simultaneous_bound if simultaneous else self.bound) <= share)

    def status(self, point: int) -> str:
        """Return in words what is proved at a point."""
        k = validation.row_position(point, self.n_points, "point")
        sentences = []
        if self.unsafe_rows is not None and self.poisoning_radius is not None:
            unsafe, radius = int(self.unsafe_rows[k]), int(self.poisoning_radius[k])
            cannot = "cannot make the refitted set disjoint (Theorem 6, certain)"
            if unsafe == 0:
                sentences.append(f"{self._harm.capitalize()} any one {self.unit} {cannot}")
            elif unsafe < self.n_samples:
                sentences.append(
                    f"{self._harm.capitalize()} one of {self.n_samples - unsafe:,} of the {self.n_samples:,} "
                    f"{self.unit}s {cannot}; nothing is proved of the other {unsafe:,}"
                )
            else:
                sentences.append(f"Theorem 6 clears no {self.unit}")
            if radius > 1:
                sentences.append(f"{self._harm} up to {radius:,} {self.unit}s cannot either (poisoning, certain)")
            sentences.append(f"the refit has {self._same_fit}")
        bound = float(self.bound[k])
        if bound >= 1:
            sentences.append("Theorem 4 is vacuous here: more bags, or a larger epsilon, are needed")
        else:
            most = round(bound * self.n_samples)
            sentences.append(
                f"at most {most:,} of the {self.n_samples:,} {self.unit}s {'has' if most == 1 else 'have'} an ideal "
                f"leave-one-out set (infinitely many bags) disjoint from this one (Theorem 4, confidence "
                f"{1 - self.alpha:g})"
            )
        text = "; ".join(sentences)
        return text[0].upper() + text[1:] + "."

    @property
    def _same_fit(self) -> str:
        return SAME_FIT.replace("row ids", f"{self.unit} ids")

    @property
    def _harm(self) -> str:
        """What the certain statements are about: a row that is changed keeps its id only where ids were given."""
        return "deleting or changing" if self.ids == "given" else "deleting"

    @property
    def overview(self) -> "CertificateOverview":
        """What is proved of all points, as shares of them."""
        points, rows = max(self.n_points, 1), None
        cleared, robust = None, None
        if self.unsafe_rows is not None and self.poisoning_radius is not None:
            cleared = int((self.unsafe_rows == 0).sum()) / points
            rows = float(1 - self.unsafe_rows.mean() / self.n_samples)
            robust = int(np.median(self.poisoning_radius)), int(self.poisoning_radius.max(initial=0))
        return CertificateOverview(
            no_row=int((self.bound == 0).sum()) / points,
            vacuous=int((self.bound >= 1).sum()) / points,
            median=float(np.median(self.bound)),
            no_row_at_once=int((self.simultaneous_bound == 0).sum()) / points,
            vacuous_at_once=int((self.simultaneous_bound >= 1).sum()) / points,
            cleared_points=cleared,
            cleared_rows=rows,
            median_poisoning=None if robust is None else robust[0],
            most_poisoning=None if robust is None else robust[1],
        )

    def summary(self) -> str:
        """Return what is proved of all points, in words."""
        found, unit = self.overview, self.unit
        lines = [
            f"Certificates of {counted(self.n_points, 'point')} under {self.rule}, from {self.n_bags:,} bags of "
            f"{self.bag_size:,} of {self.n_samples:,} {self.unit}s ({self.resampling}).",
            f"Theorem 4, confidence {1 - self.alpha:g}, against the ideal leave-one-out sets of infinitely many bags: "
            f"at {found.no_row:.1%} of points no {unit} conflicts, at {found.vacuous:.1%} the bound is vacuous, the "
            f"median bound is {found.median:.3g} of the {unit}s; at all points at once {found.no_row_at_once:.1%} and "
            f"{found.vacuous_at_once:.1%}.",
        ]
        if found.cleared_points is not None and found.median_poisoning is not None:
            lines.append(
                f"Theorem 6, certain, against the refitted ensemble without the {unit}: at {found.cleared_points:.1%} "
                f"of points no {unit} conflicts, on average {found.cleared_rows:.1%} of the {unit}s are cleared."
            )
            lines.append(
                f"Poisoning, certain: {self._harm} up to {counted(found.median_poisoning, unit)} does no harm at the "
                f"median point, up to {found.most_poisoning:,} at the most robust one."
            )
        lines.append(self.compared)
        return "\n".join(lines)

    @property
    def compared(self) -> str:
        """With which refit the certain statements compare, in a sentence; or why there are none."""
        if self.coupling == "hash":
            unit = self.unit
            kind = (
                "given" if self.ids == "given" else f"made of the {unit}s' content: a changed {unit} is another {unit}"
            )
            return f"The refit has {self._same_fit}; {unit} ids are {kind}."
        wanted = "Theorem 6 and the poisoning radius need hash bags"
        if self.resampling != "subbagging":
            return f"{wanted}: bootstrap bags have no such coupling."
        return f"{wanted}: these {self.unit}s are known by their positions, which a dropped {self.unit} changes."

    def _repr_html_(self) -> str:
        heading, *sentences = self.summary().split("\n")
        return notebook.card(heading, sentences)

    def __repr__(self) -> str:
        return f"Certificates(rule={self.rule}, n_points={self.n_points}, alpha={self.alpha:g})"


@dataclass(frozen=True)
class CertificateOverview:
    """What is proved of all points: shares of them, but for the median bound, a share of the rows, and counts of rows.

    The last four, by Theorem 6 and poisoning, are None for bags that are not hash bags.
    """

    no_row: float
    vacuous: float
    median: float
    no_row_at_once: float
    vacuous_at_once: float
    cleared_points: float | None
    cleared_rows: float | None  # on average over the points
    median_poisoning: int | None
    most_poisoning: int | None


def certify(bag_predictions: BagPredictions, rule: Rule, alpha: float = 0.05) -> Certificates:
    """Prove what can be proved of the label set of each point, from the bags that were drawn.

    Epsilon and the rule may be chosen after looking at the predictions.

    Parameters
    ----------
    bag_predictions : BagPredictions
        At least 4 bags, drawn by :func:`steadyset.draw_bags`: adopted bags cannot be certified.
    rule : Rule
        A rule with a stability radius: the argmax, or a rule that a theorem makes compatible.
    alpha : float, default=0.05
        Above 0 and below 1. "Add bags until certified" needs a smaller one at each look:
        ``steadyset.audit.anytime_alpha``.

    Returns
    -------
    Certificates

    See Also
    --------
    audit_bags : What is measured, not proved.

    Notes
    -----
    Theory: :doc:`/theory/certificates`.

    Examples
    --------
    >>> import numpy as np
    >>> import steadyset as ss
    >>> bags = ss.draw_bags(n_samples=1000, n_bags=500, bag_size=500)
    >>> proba = np.random.default_rng(0).dirichlet([8, 1, 1], size=(500, 2))
    >>> certificates = ss.certify(ss.BagPredictions(proba, bags, "abc"), ss.InflatedArgmax(0.1))
    >>> certificates.bound
    array([0., 0.])
    """
    predictions = _checked(bag_predictions)
    run = CertifyRun(predictions.bags, rule, alpha, predictions.n_points)
    run.add(predictions)
    return run.result()


class CertifyRun:
    """Certificates whose points come block by block: whatever the blocks, the result is the same to the bit."""

    def __init__(self, bags: Bags, rule: Rule, alpha: float, n_points: int) -> None:
        self._level = validation.level(alpha, "alpha")
        _check_bags(bags)
        if not isinstance(rule, Rule):
            raise TypeError(f"rule must be one of steadyset's rule objects; got {rule_name(rule)}.")
        self._bags, self._rule, self._n_points = bags, rule, n_points
        self._influence = row_influence(
            n_samples=bags.n_samples, bag_size=bags.bag_size or 0, resampling=bags.resampling or "subbagging"
        )
        hash_bags = bags.coupling == "hash"
        self._theorem_6 = _theorem_6.Theorem6(bags, rule, cpu.allowed_threads()) if hash_bags else None
        self._found: list[dict[str, NDArray[Any] | None]] = []

    def add(self, predictions: BagPredictions) -> None:
        """Certify the next points."""
        mean = predictions.mean()
        radius = np.asarray(self._rule.stability_radius(mean), np.float64)
        pairs, levels = _theorem_4.compared_pairs(predictions), (self._level, self._level / max(self._n_points, 1))
        per_point, at_once = (_theorem_4.bounds(predictions, pairs, radius, self._influence, share) for share in levels)
        certain = None if self._theorem_6 is None else self._theorem_6.at(predictions, self._rule(mean), radius)
        self._found.append(
            {
                "radius": radius,
                "spread_bound": per_point.spread,
                "distance_bound": per_point.distance,
                "bound": per_point.share,
                "simultaneous_bound": at_once.share,
                "unsafe_rows": None if certain is None else certain.unsafe_rows,
                "poisoning_radius": None if certain is None else certain.poisoning_radius,
            }
        )

    def result(self) -> Certificates:
        """Return what is proved, once all points are there."""
        bags = self._bags
        joined: dict[str, Any] = {
            name: None if first is None else np.concatenate([block[name] for block in self._found])
            for name, first in self._found[0].items()
        }
        return Certificates(
            rule=repr(self._rule),
            alpha=self._level,
            n_samples=bags.n_samples,
            n_bags=bags.n_bags,
            bag_size=bags.bag_size or 0,
            resampling=bags.resampling or "",
            coupling=bags.coupling or "",
            ids=bags.ids.kind,
            influence=self._influence,
            unit=bags.ids.unit,
            **joined,
        )


def anytime_alpha(alpha: float, check: int) -> float:
    """Return the level of the k-th look at growing bags, alpha / (k (k + 1)), which sum to alpha over all looks.

    Notes
    -----
    Theory: :doc:`/theory/certificates`.

    Examples
    --------
    >>> from steadyset.audit import anytime_alpha
    >>> anytime_alpha(0.06, 2)
    0.01
    """
    k = validation.count(check, "check")
    return alpha / (k * (k + 1))


def _checked(bag_predictions: Any) -> BagPredictions:
    predictions = checked_predictions(bag_predictions)
    _check_bags(predictions.bags)
    return predictions


def _check_bags(bags: Bags) -> None:
    if bags.resampling is None:
        raise ValueError(
            "bag_predictions must have bags drawn by steadyset.draw_bags to be certified; got adopted bags, of which "
            "it is not known how they were drawn: they can be audited."
        )
    if bags.n_bags < 4:
        raise ValueError(f"bag_predictions must have at least 4 bags to be certified; got {bags.n_bags}.")
