"""StableClassifier: bag any classifier, average, select a set; and the audits that train."""

from steadyset.ensemble._callbacks import bag_bar
from steadyset.ensemble._checkpoint import fingerprint, kept_seed, open_folder
from steadyset.ensemble._classifier import StableClassifier
from steadyset.ensemble._compare import Comparison, compare
from steadyset.ensemble._new_table import TableChanges
from steadyset.ensemble._out_of_bag import keep_for_covering, label_proba_for_covering
from steadyset.ensemble._parquet_rows import ParquetRows
from steadyset.ensemble._plan import Choice, Plan, plan
from steadyset.ensemble._promise import size_assumption
from steadyset.ensemble._refit import audit_refit
from steadyset.ensemble._row_ids import chosen as chosen_ids
from steadyset.ensemble._seen_rows import remember_training_rows, rows_seen_in_training, training_rows_in_words
from steadyset.ensemble._tasks import AllButOne, RowSets, Task, named_by_bag, resume_and_train, seeded
from steadyset.ensemble._thread_counts import one_thread_each
from steadyset.ensemble._trusted_types import TRUSTED_TYPES
from steadyset.ensemble._workers import in_parallel, leave_interrupts_to_the_caller, preferred, run_length

__all__ = [
    "TRUSTED_TYPES",
    "AllButOne",
    "Choice",
    "Comparison",
    "ParquetRows",
    "Plan",
    "RowSets",
    "StableClassifier",
    "TableChanges",
    "Task",
    "audit_refit",
    "bag_bar",
    "chosen_ids",
    "compare",
    "fingerprint",
    "in_parallel",
    "keep_for_covering",
    "kept_seed",
    "label_proba_for_covering",
    "leave_interrupts_to_the_caller",
    "named_by_bag",
    "one_thread_each",
    "open_folder",
    "plan",
    "preferred",
    "remember_training_rows",
    "resume_and_train",
    "rows_seen_in_training",
    "run_length",
    "seeded",
    "size_assumption",
    "training_rows_in_words",
]
