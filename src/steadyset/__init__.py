"""Label sets that hold steady when a training row is dropped."""

from steadyset.guarantees import Guarantee, reseed_stability, selection_stability
from steadyset.guarantees_solver import solve_stability
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

__version__ = "0.1.0"

__all__ = [
    "NDC",
    "SVBOP",
    "Argmax",
    "FixedMargin",
    "Guarantee",
    "InflatedArgmax",
    "MassThreshold",
    "Rule",
    "TopK",
    "argmax_set",
    "entry_epsilons",
    "fixed_margin",
    "inflated_argmax",
    "mass_threshold",
    "ndc",
    "reseed_stability",
    "selection_stability",
    "solve_stability",
    "stability_radius",
    "svbop",
    "to_labels",
    "top_k",
]
