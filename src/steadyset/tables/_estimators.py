"""Estimators by a short or a dotted name, with parameters as they are typed in a terminal."""

import ast
import difflib
import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import is_classifier

from steadyset._base.validation import shown

#: Short name: the class, the parameters it gets unless others are given, and the extra that installs it.
SHORT_NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "tree": ("steadyset.trees.TreeClassifier", {}),
    "forest": ("steadyset.trees.TreeClassifier", {"max_features": "sqrt"}),
    "extra-trees": ("sklearn.ensemble.ExtraTreesClassifier", {}),
    "hist-boosting": ("sklearn.ensemble.HistGradientBoostingClassifier", {}),
    "logistic": ("sklearn.linear_model.LogisticRegression", {"max_iter": 1000}),
    "knn": ("sklearn.neighbors.KNeighborsClassifier", {}),
    "svm": ("sklearn.svm.SVC", {}),
    "naive-bayes": ("sklearn.naive_bayes.GaussianNB", {}),
    "mlp": ("sklearn.neural_network.MLPClassifier", {}),
    "net": ("steadyset.lanes.NetClassifier", {}),
    "neighbors": ("steadyset.neighbors.StableNeighborsClassifier", {}),
    "lightgbm": ("lightgbm.LGBMClassifier", {"verbose": -1, "n_jobs": 1}),
    "xgboost": ("xgboost.XGBClassifier", {"n_jobs": 1}),
}


def make_estimator(name: str, params: Mapping[str, Any] | None = None) -> Any:
    """Return a classifier by its short name or by the dotted name of its class.

    Parameters
    ----------
    name : str
        Such as ``tree``, or ``sklearn.svm.SVC``.
    params : mapping, optional
        Parameters of the class.

    Returns
    -------
    classifier

    Examples
    --------
    >>> from steadyset.tables import make_estimator
    >>> make_estimator("tree", {"max_depth": 3})
    TreeClassifier(max_depth=3)
    """
    dotted, defaults = SHORT_NAMES.get(name, (name, {}))
    kind = _find(dotted, name)
    given = dict(params or {})
    known = _parameters(kind)
    for param in given:
        if known is not None and param not in known:
            raise ValueError(f"{kind.__name__} has no parameter {param!r}; {_nearest(param, known)}.")
    try:
        estimator = kind(**{**defaults, **given})
    except Exception as error:
        raise ValueError(f"{kind.__name__} could not be made: {shown(str(error))}.") from None
    if not hasattr(estimator, "fit") or not (hasattr(estimator, "predict") or hasattr(estimator, "predict_proba")):
        raise ValueError(f"estimator must be a scikit-learn classifier; got {dotted}, which has no fit and predict.")
    if not is_classifier(estimator):
        raise ValueError(f"estimator must be a classifier; got {dotted}, which is not one.")
    return estimator


def parse_params(texts: Sequence[str]) -> dict[str, Any]:
    """Read parameters typed as ``name=value``; a value is a number, a JSON or Python literal, or else a text."""
    params: dict[str, Any] = {}
    for text in texts:
        name, mark, value = text.partition("=")
        if not mark or not name.strip():
            raise ValueError(f"param must be written as name=value; got {shown(text)}.")
        if name.strip() in params:
            raise ValueError(f"param {name.strip()!r} must be given once; got it more often.")
        params[name.strip()] = _value(value.strip())
    return params


def _value(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text


def _find(dotted: str, name: str) -> Any:
    module, _, attribute = dotted.rpartition(".")
    if not module:
        near = difflib.get_close_matches(name, SHORT_NAMES, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else "known names are " + ", ".join(SHORT_NAMES) + "."
        raise ValueError(
            f"there is no estimator {name!r}; {hint} A class goes by its dotted name, such as sklearn.svm.SVC."
        )
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        missing = getattr(error, "name", None)
        if missing == package:
            raise ImportError(
                f"estimator {name!r} needs {package}, which is not installed: pip install {package}."
            ) from None
        raise ImportError(f"estimator {name!r} could not be imported: {error}.") from None
    kind = getattr(found, attribute, None)
    if not inspect.isclass(kind):
        classes = [key for key, value in vars(found).items() if inspect.isclass(value)]
        near = difflib.get_close_matches(attribute, classes, n=3, cutoff=0.5)
        hint = f"; near names are {', '.join(near)}" if near else ""
        raise ValueError(f"there is no class {attribute!r} in {module}{hint}.")
    return kind


def _parameters(kind: Any) -> list[str] | None:
    """Return the names of the parameters, or None where any name may be one."""
    try:
        signature = inspect.signature(kind)
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        return None
    return list(signature.parameters)


def _nearest(param: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(param, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?".rstrip("?") if near else "it has " + ", ".join(known)
