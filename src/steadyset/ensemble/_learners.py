"""Which learners are accepted: classifiers, by what scikit-learn's tags say of them, or else by their methods."""

from typing import Any

from sklearn.utils import get_tags

from steadyset._base.validation import shown

_ALLOWED = "a classifier, with fit and predict_proba or predict"


def check(learner: Any, name: str = "estimator") -> None:
    """Refuse what is no classifier before it is fitted."""
    alone = hasattr(learner, "fit") and (hasattr(learner, "predict_proba") or hasattr(learner, "predict"))
    if isinstance(learner, type) or not hasattr(learner, "get_params"):
        raise TypeError(f"{name} must be {_ALLOWED}; got {shown(learner)}.")
    if not alone and not hasattr(learner, "fit_bags"):
        raise TypeError(f"{name} must be {_ALLOWED}; got {type(learner).__name__}, which lacks one of them.")
    found = tags(learner)
    kind = getattr(learner, "_estimator_type", None) if found is None else found.estimator_type
    if kind not in (None, "classifier"):
        raise TypeError(f"{name} must be {_ALLOWED}; got {type(learner).__name__}, whose type is {kind!r}.")


def tags(learner: Any) -> Any:
    """Return scikit-learn's tags of a learner; None where it, or a part of it, has none."""
    if not hasattr(learner, "__sklearn_tags__"):
        return None
    try:
        return get_tags(learner)
    except (AttributeError, TypeError):
        return None
