"""Tables in, models and label sets out: what the command line is made of.

A table becomes a frame of numbers, dates and categories; an estimator is put behind encoders that every bag fits for
itself, unless it reads frames as they are; a model file remembers which columns it was made from.
"""

from steadyset.tables._bag_parts import collect
from steadyset.tables._bag_work import write_bags
from steadyset.tables._blocks import Probabilities, check_block, open_probabilities
from steadyset.tables._columns import Column, as_text, choose_columns, to_frame
from steadyset.tables._encoders import TableNumbers, reads_frames, with_encoders
from steadyset.tables._estimators import SHORT_NAMES, make_estimator, parse_params
from steadyset.tables._model import TableModel, current_versions, load_model, save_model
from steadyset.tables._read import CsvFormat, index_columns, read_table, some_names
from steadyset.tables._target import Target, choose_target, require_all_known, require_column, target_labels
from steadyset.tables._write import SetOutput, as_table, open_writer, output_format

__all__ = [
    "SHORT_NAMES",
    "Column",
    "CsvFormat",
    "Probabilities",
    "SetOutput",
    "TableModel",
    "TableNumbers",
    "Target",
    "as_table",
    "as_text",
    "check_block",
    "choose_columns",
    "choose_target",
    "collect",
    "current_versions",
    "index_columns",
    "load_model",
    "make_estimator",
    "open_probabilities",
    "open_writer",
    "output_format",
    "parse_params",
    "read_table",
    "reads_frames",
    "require_all_known",
    "require_column",
    "save_model",
    "some_names",
    "target_labels",
    "to_frame",
    "with_encoders",
    "write_bags",
]
