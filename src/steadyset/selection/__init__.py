"""Selection rules: from probabilities to sets of labels. One file per rule."""

from steadyset.selection._argmax import Argmax, argmax_set
from steadyset.selection._conformal import ConformalRule, conformal_rule, conformal_threshold, true_label_scores
from steadyset.selection._fixed_margin import FixedMargin, fixed_margin
from steadyset.selection._inflated_argmax import InflatedArgmax, chosen_rule, inflated_argmax, with_epsilon
from steadyset.selection._inflated_ranking import InflatedRanking, inflated_ranking
from steadyset.selection._inflated_top_k import InflatedTopK, inflated_top_k
from steadyset.selection._kernels import KernelArguments
from steadyset.selection._mass_threshold import MassThreshold, mass_threshold
from steadyset.selection._menu import RULES_BY_NAME, rules_side_by_side
from steadyset.selection._ndc import NDC, ndc
from steadyset.selection._path import entry_epsilons
from steadyset.selection._radius import stability_radius
from steadyset.selection._rule import Rule, rule_name
from steadyset.selection._set_predictor import SetPredictor
from steadyset.selection._svbop import SVBOP, svbop
from steadyset.selection._top_k import TopK, top_k
from steadyset.selection._union import Union, unite

__all__ = [
    "NDC",
    "RULES_BY_NAME",
    "SVBOP",
    "Argmax",
    "ConformalRule",
    "FixedMargin",
    "InflatedArgmax",
    "InflatedRanking",
    "InflatedTopK",
    "KernelArguments",
    "MassThreshold",
    "Rule",
    "SetPredictor",
    "TopK",
    "Union",
    "argmax_set",
    "chosen_rule",
    "conformal_rule",
    "conformal_threshold",
    "entry_epsilons",
    "fixed_margin",
    "inflated_argmax",
    "inflated_ranking",
    "inflated_top_k",
    "mass_threshold",
    "ndc",
    "rule_name",
    "rules_side_by_side",
    "stability_radius",
    "svbop",
    "top_k",
    "true_label_scores",
    "unite",
    "with_epsilon",
]
