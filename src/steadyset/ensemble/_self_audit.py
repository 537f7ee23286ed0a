"""What a fitted ensemble measures and proves of itself."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from steadyset._base import validation
from steadyset.audit import Certificates, StabilityAudit, anytime_alpha, audit_bags, certify


class SelfAudit:
    """The audit and certificate methods of StableClassifier."""

    n_estimators: int
    warm_start: bool
    bag_predictions: Any
    fit: Any
    get_params: Any
    set_params: Any
    _rule: Any

    def audit(self, X: Any, rule: Any = None, **options: Any) -> StabilityAudit:
        """Measure how many training rows turn each point's set into a disjoint one when left out, without refitting.

        Parameters
        ----------
        X : as in `fit`
            The points to audit.
        rule : rule object or callable, optional
            Default: the model's own.
        **options
            Those of :func:`steadyset.audit_bags`.

        Returns
        -------
        StabilityAudit
        """
        return audit_bags(self.bag_predictions(X), self._rule() if rule is None else rule, **options)

    def certify(self, X: Any, alpha: float = 0.05) -> Certificates:
        """Prove what can be proved of the set of each point.

        Parameters
        ----------
        X : as in `fit`
            The points.
        alpha : float, default=0.05
            The level of the probabilistic statements.

        Returns
        -------
        Certificates
        """
        check_is_fitted(self)
        return certify(self.bag_predictions(X), self._rule(), alpha)

    def fit_until(
        self,
        X: Any,
        y: Any,
        X_eval: Any,
        delta: float = 0.0,
        alpha: float = 0.05,
        max_estimators: int = 10_000,
        *,
        share: float = 1.0,
        **fit_params: Any,
    ) -> Any:
        """Double the bags until enough points are certified, then stop.

        The first look is at `n_estimators` bags. At the k-th look the level is alpha / (k (k + 1)), so that the
        certificates of the last look hold at level `alpha` however many looks there were
        (:doc:`/theory/certificates`).

        Parameters
        ----------
        X, y : as in `fit`
        X_eval : as in `fit`
            The points to certify.
        delta : float, default=0.0
            A point is certified where at most this share of the rows can make a conflict (Theorem 4).
        alpha : float, default=0.05
        max_estimators : int, default=10_000
            Stop at so many bags, certified or not.
        share : float, default=1.0
            The share of points that has to be certified.
        **fit_params
            As in :meth:`fit`.

        Returns
        -------
        self
            With ``certificates_``, those of the last look, and ``certified_``, whether they reached `share`.
        """
        limit = validation.count(max_estimators, "max_estimators")
        wanted = validation.real_number(share, "share", "a number above 0 and at most 1")
        if not 0 < wanted <= 1:
            raise ValueError(f"share must be a number above 0 and at most 1; got {share!r}.")
        validation.delta(delta)
        given = self.get_params(deep=False)
        n_bags = min(validation.count(self.n_estimators, "n_estimators", 4), limit)
        try:
            look, self.warm_start = 0, given["warm_start"]
            while True:
                look += 1
                self.set_params(n_estimators=n_bags).fit(X, y, **fit_params)
                self.certificates_ = self.certify(X_eval, anytime_alpha(alpha, look))
                self.certified_ = bool(self.certificates_.certified(delta).mean() >= wanted)
                if self.certified_ or n_bags == limit:
                    return self
                n_bags, self.warm_start = min(2 * n_bags, limit), True
        finally:
            self.set_params(n_estimators=given["n_estimators"], warm_start=given["warm_start"])
