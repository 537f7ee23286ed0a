"""StableClassifier: bag any classifier, average, select a set; and the audits that train."""

from steadyset.ensemble._checkpoint import fingerprint, open_folder
from steadyset.ensemble._classifier import StableClassifier
from steadyset.ensemble._refit import audit_refit
from steadyset.ensemble._tasks import AllButOne, RowSets, Task, learner_seed, resume_and_train
from steadyset.ensemble._trusted_types import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "AllButOne",
    "RowSets",
    "StableClassifier",
    "Task",
    "audit_refit",
    "fingerprint",
    "learner_seed",
    "open_folder",
    "resume_and_train",
]
