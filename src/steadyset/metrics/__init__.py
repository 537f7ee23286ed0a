"""What is measured of label sets.

Label sets are bool masks of shape (n_samples, n_classes). `y_true` holds the user's own labels where `classes` names
the columns, else column numbers. Every score is a float that carries its standard error.

Examples
--------
>>> import steadyset as ss
>>> sets = [[True, False], [True, True], [False, True]]
>>> score = ss.metrics.coverage_score(["cat", "dog", "cat"], sets, classes=["cat", "dog"])
>>> print(f"{score:.3f} ({score.standard_error:.3f})")
0.667 (0.272)
"""

from steadyset.metrics import _scorers
from steadyset.metrics._estimate import Estimate
from steadyset.metrics._reports import by_class, by_pair, by_size, set_report
from steadyset.metrics._score_table import ScoreTable
from steadyset.metrics._scorers import SetScorer, make_set_scorer
from steadyset.metrics._scores import (
    conflict_rate,
    correct_single_score,
    coverage_score,
    mean_set_size,
    superfluous_inflation,
    u65_score,
    u80_score,
    utility_score,
)

#: Ready scorers, as `scoring=` of cross_validate takes them; the mean set size is negated.
SCORERS: dict[str, SetScorer] = _scorers.SCORERS

__all__ = [
    "SCORERS",
    "Estimate",
    "ScoreTable",
    "SetScorer",
    "by_class",
    "by_pair",
    "by_size",
    "conflict_rate",
    "correct_single_score",
    "coverage_score",
    "make_set_scorer",
    "mean_set_size",
    "set_report",
    "superfluous_inflation",
    "u65_score",
    "u80_score",
    "utility_score",
]
