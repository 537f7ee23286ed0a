"""Selection rules: from probabilities to sets of labels. One file a rule."""

from steadyset.selection._argmax import Argmax, argmax_set
from steadyset.selection._fixed_margin import FixedMargin, fixed_margin
from steadyset.selection._inflated_argmax import InflatedArgmax, inflated_argmax, with_epsilon
from steadyset.selection._mass_threshold import MassThreshold, mass_threshold
from steadyset.selection._ndc import NDC, ndc
from steadyset.selection._path import entry_epsilons
from steadyset.selection._radius import stability_radius
from steadyset.selection._rule import Rule
from steadyset.selection._svbop import SVBOP, svbop
from steadyset.selection._top_k import TopK, top_k

__all__ = [
    "NDC",
    "SVBOP",
    "Argmax",
    "FixedMargin",
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
    "stability_radius",
    "svbop",
    "top_k",
    "with_epsilon",
]
