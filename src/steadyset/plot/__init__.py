"""Pictures of label sets and of their stability (needs matplotlib).

Every function draws into `ax`, or into a new figure, and returns the Axes. The numbers behind a picture come from the
function of the same name with ``compute_`` in front, which needs no matplotlib and returns frozen objects.

Examples
--------
>>> import steadyset as ss
>>> ax = ss.plot.simplex_regions(ss.InflatedArgmax(0.3))
>>> ss.plot.compute_set_size_histogram([[True, False], [True, True]]).sizes
(1, 2)
"""

from steadyset.plot._audits import (
    RowInfluence,
    SurvivalCurve,
    compute_influence,
    compute_survival_curve,
    influence,
    survival_curve,
)
from steadyset.plot._choices import (
    ChoiceShares,
    ChoiceTradeoff,
    FeatureRanks,
    choice_shares,
    choice_tradeoff,
    compute_choice_shares,
    compute_choice_tradeoff,
    compute_feature_ranks,
    feature_ranks,
)
from steadyset.plot._comparison import ComparedSets, comparison, compute_comparison
from steadyset.plot._coverage import (
    CoverageTradeoff,
    GroupedCoverage,
    SetPath,
    compute_coverage_by,
    compute_coverage_tradeoff,
    coverage_by,
    coverage_tradeoff,
)
from steadyset.plot._set_size import SetSizes, compute_set_size_by_classes, set_size_by_classes
from steadyset.plot._sets import (
    Ambiguity,
    SizeHistogram,
    ambiguity_matrix,
    compute_ambiguity_matrix,
    compute_set_size_histogram,
    plot_sets,
    set_size_histogram,
)
from steadyset.plot._simplex import Edge, Region, SimplexRegions, compute_simplex_regions, simplex_regions
from steadyset.plot._tradeoffs import (
    BagSizeTradeoff,
    EpsilonTradeoff,
    bag_size_tradeoff,
    compute_bag_size_tradeoff,
    compute_epsilon_tradeoff,
    epsilon_tradeoff,
    plan_tradeoff,
)

__all__ = [
    "Ambiguity",
    "BagSizeTradeoff",
    "ChoiceShares",
    "ChoiceTradeoff",
    "ComparedSets",
    "CoverageTradeoff",
    "Edge",
    "EpsilonTradeoff",
    "FeatureRanks",
    "GroupedCoverage",
    "Region",
    "RowInfluence",
    "SetPath",
    "SetSizes",
    "SimplexRegions",
    "SizeHistogram",
    "SurvivalCurve",
    "ambiguity_matrix",
    "bag_size_tradeoff",
    "choice_shares",
    "choice_tradeoff",
    "comparison",
    "compute_ambiguity_matrix",
    "compute_bag_size_tradeoff",
    "compute_choice_shares",
    "compute_choice_tradeoff",
    "compute_comparison",
    "compute_coverage_by",
    "compute_coverage_tradeoff",
    "compute_epsilon_tradeoff",
    "compute_feature_ranks",
    "compute_influence",
    "compute_set_size_by_classes",
    "compute_set_size_histogram",
    "compute_simplex_regions",
    "compute_survival_curve",
    "coverage_by",
    "coverage_tradeoff",
    "epsilon_tradeoff",
    "feature_ranks",
    "influence",
    "plan_tradeoff",
    "plot_sets",
    "set_size_by_classes",
    "set_size_histogram",
    "simplex_regions",
    "survival_curve",
]
