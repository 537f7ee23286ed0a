"""StableClassifier: bag any classifier, average, select a set; and the audits that train."""

from steadyset.ensemble._classifier import StableClassifier
from steadyset.ensemble._refit import audit_refit
from steadyset.ensemble._trusted_types import TRUSTED_TYPES

__all__ = ["TRUSTED_TYPES", "StableClassifier", "audit_refit"]
