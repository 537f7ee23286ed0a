"""Tables in, models and label sets out: what the command line is made of.

A table becomes a frame of numbers, dates and categories; an estimator is put behind encoders that every bag fits for
itself; a model file remembers which columns it was made from.
"""

from steadyset.tables._columns import Column, choose_columns, to_frame
from steadyset.tables._encoders import TableNumbers, with_encoders
from steadyset.tables._estimators import make_estimator
from steadyset.tables._model import TableModel, load_model, save_model
from steadyset.tables._read import CsvFormat, read_table
from steadyset.tables._target import Target, choose_target, to_labels

__all__ = [
    "Column",
    "CsvFormat",
    "TableModel",
    "TableNumbers",
    "Target",
    "choose_columns",
    "choose_target",
    "load_model",
    "make_estimator",
    "read_table",
    "save_model",
    "to_frame",
    "to_labels",
    "with_encoders",
]
