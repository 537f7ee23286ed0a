"""Stable neighbours: k-nearest neighbours averaged over infinitely many bags, exactly."""

from steadyset.neighbors._blocks import audit_run, model_blocks, rounding_of
from steadyset.neighbors._certificates import NeighborCertificates
from steadyset.neighbors._classifier import StableNeighborsClassifier
from steadyset.neighbors._saved import check_saved
from steadyset.neighbors._weights import NeighborWeights, neighbor_weights

__all__ = [
    "NeighborCertificates",
    "NeighborWeights",
    "StableNeighborsClassifier",
    "audit_run",
    "check_saved",
    "model_blocks",
    "neighbor_weights",
    "rounding_of",
]
