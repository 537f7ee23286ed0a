"""The rules side by side: the one list that tables, figures and the command line take their rules from."""

from steadyset.selection._argmax import Argmax
from steadyset.selection._fixed_margin import FixedMargin
from steadyset.selection._inflated_argmax import InflatedArgmax
from steadyset.selection._inflated_top_k import InflatedTopK
from steadyset.selection._mass_threshold import MassThreshold
from steadyset.selection._ndc import NDC
from steadyset.selection._rule import Rule
from steadyset.selection._svbop import SVBOP
from steadyset.selection._top_k import TopK


def rules_side_by_side(epsilon: float) -> tuple[Rule, ...]:
    """Return the rules that tables compare, the paper's seven and the fixed margin, at one epsilon."""
    return (
        Argmax(),
        InflatedArgmax(epsilon),
        FixedMargin(epsilon),
        TopK(2),
        MassThreshold(0.8),
        NDC(),
        SVBOP("u65"),
        SVBOP("u80"),
    )


#: Every rule by the name of its function, as the command line knows it.
RULES_BY_NAME = {
    rule.kernel.rule.name.lower(): type(rule) for rule in (*rules_side_by_side(0.05), InflatedTopK()) if rule.kernel
}
