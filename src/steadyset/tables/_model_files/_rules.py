"""Rules of this library: a file sets their fields past the checks of their constructors, so those are run here."""

from dataclasses import fields
from typing import Any

import numpy as np

from steadyset.selection import (
    NDC,
    SVBOP,
    Argmax,
    ConformalRule,
    FixedMargin,
    InflatedArgmax,
    InflatedTopK,
    MassThreshold,
    Rule,
    TopK,
    Union,
)
from steadyset.tables._model_files._plan import Made
from steadyset.tables._model_files._refusal import RefusedError, insist

_ODD = "a rule with settings that it cannot have"
_KINDS = (Argmax, ConformalRule, FixedMargin, InflatedArgmax, InflatedTopK, MassThreshold, NDC, SVBOP, TopK, Union)
#: By the name of their type in a file.
RULES: dict[str, type[Rule]] = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in _KINDS}


def check_rule(made: Made) -> None:
    """Refuse a rule that its constructor would refuse."""
    _rebuilt(made)


def _rebuilt(made: Any) -> Any:
    insist(isinstance(made, Made) and made.type in RULES, _ODD)
    kind, state = RULES[made.type], made.state or {}
    insist(set(state) == {field.name for field in fields(kind)}, _ODD)  # type: ignore[arg-type]
    if kind is Union:
        insist(isinstance(state["rules"], tuple), _ODD)
        return Union(*map(_rebuilt, state["rules"]))
    given = {name: value[()] if isinstance(value, np.ndarray) else value for name, value in state.items()}
    try:
        return kind(**given)
    except (TypeError, ValueError, ArithmeticError):
        raise RefusedError(f"it holds {_ODD}") from None
