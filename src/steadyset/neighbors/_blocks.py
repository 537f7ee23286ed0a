"""Audits of several rules in one pass over the points, for whoever reports on a model."""

from collections.abc import Iterator
from typing import Any

from steadyset._base import cpu
from steadyset.audit import NearAudit, NearAuditRun, NearModels, drawn_rows
from steadyset.neighbors._classifier import StableNeighborsClassifier
from steadyset.neighbors._weights import rounding


def model_blocks(model: StableNeighborsClassifier, X: Any) -> Iterator[NearModels]:
    """Yield the models without each training row, some points at a time."""
    return model._near_models(model._points(X), cpu.threads(model.n_jobs))


def audit_run(model: StableNeighborsClassifier, rule: Any, n_points: int, threads: int) -> NearAuditRun:
    """Return an audit of all training rows that takes those blocks."""
    n = model.n_samples_fit_
    asked = NearAudit(n_points, n, drawn_rows("all", n, 0), model._algorithm(), threads=threads)
    return NearAuditRun(rule, asked)


def rounding_of(model: StableNeighborsClassifier) -> float:
    """Return by how much epsilon is lowered for a guarantee (Theorem N5)."""
    return 4 * rounding(len(model.weights_), model.n_neighbors)
