"""Model files as skops writes them, read with suspicion: what a file would make is looked at before any of it is made.

`_archive` holds the bytes and their digest, `_plan` reads them into plain values, `_types` lists the types that load
without asking, each with its check, and the other modules check what compiled code follows without looking.
"""

from steadyset.tables._model_files._archive import Archive, packed
from steadyset.tables._model_files._load import AskingError, asking_types, load

__all__ = ["Archive", "AskingError", "asking_types", "load", "packed"]
