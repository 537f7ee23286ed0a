"""The stability report: one HTML file that says what was observed, what is proved, and where the doubt is."""

from steadyset.reporting._comparison import comparison_page
from steadyset.reporting._report import StabilityReport, report

__all__ = ["StabilityReport", "comparison_page", "report"]
