"""Label sets that hold steady when a training row is dropped."""

from steadyset import metrics, plot
from steadyset.bags import Bags, draw_bags
from steadyset.guarantees import Guarantee, reseed_stability, selection_stability
from steadyset.guarantees_solver import solve_stability
from steadyset.predictions import BagPredictions
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
from steadyset.tails import tail_stability

__version__ = "0.1.0"

__all__ = [
    "NDC",
    "SVBOP",
    "Argmax",
    "BagPredictions",
    "Bags",
    "FixedMargin",
    "Guarantee",
    "InflatedArgmax",
    "MassThreshold",
    "Rule",
    "TopK",
    "argmax_set",
    "draw_bags",
    "entry_epsilons",
    "fixed_margin",
    "inflated_argmax",
    "mass_threshold",
    "metrics",
    "ndc",
    "plot",
    "reseed_stability",
    "selection_stability",
    "solve_stability",
    "stability_radius",
    "svbop",
    "tail_stability",
    "to_labels",
    "top_k",
]
