"""Label sets that hold steady when a training row is dropped."""

from typing import Any

from steadyset.audit import audit_bags, audit_groups
from steadyset.bags import Bags, draw_bags
from steadyset.certificates import Certificates, certify
from steadyset.ensemble import StableClassifier
from steadyset.guarantees import Guarantee, reseed_stability, selection_stability
from steadyset.guarantees_solver import solve_stability
from steadyset.predictions import BagPredictions
from steadyset.refit import audit_refit
from steadyset.selection import (
    NDC,
    SVBOP,
    Argmax,
    FixedMargin,
    InflatedArgmax,
    MassThreshold,
    Rule,
    TopK,
    argmax_set,
    entry_epsilons,
    fixed_margin,
    inflated_argmax,
    mass_threshold,
    ndc,
    stability_radius,
    svbop,
    top_k,
)
from steadyset.sets import to_labels
from steadyset.stability_audit import StabilityAudit
from steadyset.tails import tail_stability

__version__ = "0.1.0"

#: What skops has to trust to load a saved StableClassifier: plain data of this package, nothing that runs on loading.
TRUSTED_TYPES = [
    "sklearn.tree._tree.Tree",
    "steadyset._membership.Bits",
    "steadyset._membership.Indices",
    "steadyset._training.Member",
    "steadyset.bags.Bags",
    "steadyset.bags.Part",
    "steadyset.ensemble.StableClassifier",
    "steadyset.selection._argmax.Argmax",
    "steadyset.selection._fixed_margin.FixedMargin",
    "steadyset.selection._inflated_argmax.InflatedArgmax",
    "steadyset.selection._mass_threshold.MassThreshold",
    "steadyset.selection._ndc.NDC",
    "steadyset.selection._svbop.SVBOP",
    "steadyset.selection._top_k.TopK",
]

__all__ = [
    "NDC",
    "SVBOP",
    "TRUSTED_TYPES",
    "Argmax",
    "BagPredictions",
    "Bags",
    "Certificates",
    "FixedMargin",
    "Guarantee",
    "InflatedArgmax",
    "MassThreshold",
    "Rule",
    "StabilityAudit",
    "StableClassifier",
    "TopK",
    "argmax_set",
    "audit_bags",
    "audit_groups",
    "audit_refit",
    "certify",
    "draw_bags",
    "entry_epsilons",
    "fixed_margin",
    "inflated_argmax",
    "lanes",
    "mass_threshold",
    "metrics",
    "ndc",
    "plot",
    "report",
    "reseed_stability",
    "selection_stability",
    "solve_stability",
    "stability_radius",
    "svbop",
    "tail_stability",
    "to_labels",
    "top_k",
]


def __getattr__(name: str) -> Any:
    """Load the rooms that not everybody enters when they are first asked for."""
    if name in ("lanes", "metrics", "plot"):
        import importlib

        return importlib.import_module(f"steadyset.{name}")
    if name == "report":
        from steadyset.reporting import report

        return report
    raise AttributeError(f"module 'steadyset' has no attribute {name!r}")
