from . import lanes, metrics, plot
from ._trusted_types import TRUSTED_TYPES
from .audit import audit_bags, audit_groups
from .bags import Bags, draw_bags
from .certificates import Certificates, certify
from .ensemble import StableClassifier
from .guarantees import Guarantee, reseed_stability, selection_stability
from .guarantees_solver import solve_stability
from .predictions import BagPredictions
from .refit import audit_refit
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
from .sets import to_labels
from .stability_audit import StabilityAudit
from .tails import tail_stability

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
