from . import lanes, metrics, plot
from ._base.label_sets import to_labels
from .audit import Certificates, StabilityAudit, audit_bags, audit_groups, certify, tail_stability
from .bags import BagPredictions, Bags, draw_bags
from .ensemble import TRUSTED_TYPES, StableClassifier, audit_refit
from .guarantees import Guarantee, reseed_stability, selection_stability, solve_stability
from .reporting import report
from .selection import (
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

__version__: str

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
