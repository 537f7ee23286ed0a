"""Encoders inside the bag: what a learner needs before it can read a table, fitted on the rows of its own bag."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags

from steadyset.tables._columns import Column

#: The most categories of a column that are told apart; rare ones beyond it share one, so that the table stays narrow.
MAX_CATEGORIES = 50
_NATIVE_CATEGORIES = 254  # what HistGradientBoostingClassifier takes


class TableNumbers(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn a frame into float64 numbers row by row: categories by code, dates by days since 1970, missing as NaN.

    It learns nothing, so that it may stand in front of any bag.

    Examples
    --------
    >>> import pandas as pd
    >>> from steadyset.tables import TableNumbers
    >>> TableNumbers().fit_transform(pd.DataFrame({"size": [1.5, None], "city": pd.Categorical(["b", "a"])}))
    array([[1.5, 1. ],
           [nan, 0. ]])
    """

    def fit(self, X: Any, y: Any = None) -> "TableNumbers":
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the number, date and category columns of a frame as numbers, (n_rows, n_columns)."""
        numbers = np.empty(X.shape)
        for j in range(X.shape[1]):
            numbers[:, j] = _column_numbers(X.iloc[:, j])
        return numbers

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.requires_fit = False
        return tags


def _column_numbers(values: Any) -> NDArray[np.float64]:
    if values.dtype.kind == "M":
        days = (values.to_numpy() - np.datetime64(0, "D")) / np.timedelta64(1, "D")
        return np.asarray(days, np.float64)
    if hasattr(values.dtype, "categories"):
        codes = values.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return np.asarray(codes)
    return np.asarray(values, np.float64)


def reads_frames(estimator: Any) -> bool:
    """Return whether an estimator takes numbers, dates and categories of a frame, missing ones too, as they are."""
    tags = get_tags(estimator).input_tags
    return bool(hasattr(estimator, "fit_bags") and tags.categorical and tags.string and tags.allow_nan)


def with_encoders(estimator: Any, columns: Sequence[Column]) -> Any:
    """Return a learner that reads frames of these columns: the estimator itself, or a pipeline.

    A pipeline is fitted inside the bag, all of it. Missing numbers are left to estimators that take them; others get
    the median of the bag, a column that says which were missing, and numbers on one scale. Categories are left to
    estimators that take them, and one-hot encoded for others, where the rare ones of a long list share a column.
    """
    if reads_frames(estimator):
        return estimator
    categories = [j for j, column in enumerate(columns) if column.kind == "category"]
    numbers = [j for j, column in enumerate(columns) if column.kind != "category"]
    native = type(estimator).__name__ == "HistGradientBoostingClassifier"  # it takes categories
    if native and categories:
        estimator = estimator.set_params(categorical_features=list(range(len(categories))))
    parts = [
        ("categories", _ordinal() if native else _one_hot(), categories),
        ("numbers", "passthrough" if get_tags(estimator).input_tags.allow_nan else _imputed(), numbers),
    ]
    encoder = ColumnTransformer([part for part in parts if part[2]], sparse_threshold=0.0)
    return Pipeline([("table", TableNumbers()), ("columns", encoder), ("classifier", estimator)])


def _ordinal() -> Any:
    return OrdinalEncoder(
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
        max_categories=_NATIVE_CATEGORIES,
    )


def _one_hot() -> Any:
    return OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False)


def _imputed() -> Any:
    imputer = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return Pipeline([("imputer", imputer), ("scaler", StandardScaler())])
