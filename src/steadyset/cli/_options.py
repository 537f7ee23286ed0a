"""Options that several commands share; a group of them is a frozen dataclass, whose fields are the options."""

import difflib
import functools
import inspect
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from steadyset.selection import RULES_BY_NAME, Rule

if TYPE_CHECKING:
    from steadyset.tables import CsvFormat

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A model file of `steadyset fit`.")]
Source = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model file of `steadyset fit`, or a folder of `steadyset collect`.")
]
PointData = Annotated[
    str | None,
    typer.Argument(metavar="DATA", help="CSV, Parquet or npz, or - for CSV; for a folder, the points it is at."),
]
Data = Annotated[str, typer.Argument(metavar="DATA", help="CSV, Parquet or npz, or - for CSV.")]
Sets = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help=".csv, .parquet, .npy, or -.")]
NewEpsilon = Annotated[float | None, typer.Option(metavar="NUMBER", help="Another epsilon than the model's.")]
Coverage = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Sets that hold the true label about that often, such as 0.9, and hold steady."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of what is drawn at random.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no notes.")]
Jobs = Annotated[
    int, typer.Option(metavar="N", help="Processes or threads; -1 for all CPUs. Results do not depend on it.")
]
Form = Annotated[
    str,
    typer.Option(metavar="KIND", help="labels (joined, in one column), columns (one per label) or both."),
]
Joiner = Annotated[str, typer.Option(metavar="TEXT", help="What joins the labels of a set.")]

_RULES = list(RULES_BY_NAME)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command take groups of options: each field of a group becomes an option of the command."""
    parameters = inspect.signature(command).parameters
    groups: dict[str, Any] = {name: p.annotation for name, p in parameters.items() if is_dataclass(p.annotation)}
    options: list[inspect.Parameter] = []
    for name, parameter in parameters.items():
        members = inspect.signature(groups[name]).parameters.values() if name in groups else [parameter]
        options += [member.replace(kind=parameter.kind) for member in members]
    signature = inspect.Signature(options)

    @functools.wraps(command)
    def flat(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        made = {name: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for name, kind in groups.items()}
        command(**given, **made)

    flat.__signature__ = signature  # type: ignore[attr-defined]
    flat.__annotations__ = {option.name: option.annotation for option in options}
    return flat


@dataclass(frozen=True)
class RuleOptions:
    """A rule by its name, with its parameter."""

    rule: Annotated[
        str,
        typer.Option(
            metavar="NAME", help=f"{', '.join(_RULES[:-1])} or {_RULES[-1]}.", autocompletion=lambda: list(_RULES)
        ),
    ] = "inflated_argmax"
    epsilon: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="For inflated_argmax (default: 0.05), fixed_margin and inflated_top_k."),
    ] = None
    k: Annotated[
        int | None, typer.Option("--k", metavar="N", help="For top_k and inflated_top_k: how many labels.")
    ] = None
    tau: Annotated[float | None, typer.Option(metavar="NUMBER", help="For mass_threshold: the mass to reach.")] = None
    beta: Annotated[float | None, typer.Option(metavar="NUMBER", help="For ndc: the beta of the F-measure.")] = None
    utility: Annotated[
        str | None, typer.Option(metavar="NAME", help="For svbop: u65, u80, or two numbers as 1.6,0.6.")
    ] = None

    def make(self) -> Rule:
        """Return the rule; a parameter of another rule is refused."""
        name = self.rule.replace("-", "_")
        if name not in RULES_BY_NAME:
            near = difflib.get_close_matches(name, _RULES, n=1, cutoff=0.4)
            hint = f", near {near[0]}" if near else ""
            raise ValueError(f"rule must be one of {', '.join(_RULES)}; got {self.rule!r}{hint}.")
        kind: Any = RULES_BY_NAME[name]
        own = [field.name for field in fields(kind)]
        given = {**asdict(self), "rule": None, "utility": _utility(self.utility)}
        given = {parameter: value for parameter, value in given.items() if value is not None}
        for parameter, value in given.items():
            if parameter not in own:
                takes = f"takes --{own[0]}" if own else "takes no parameter"
                raise ValueError(f"--{parameter} must be left out with the rule {name}, which {takes}; got {value}.")
        made: Rule = kind(**given)
        return made


def _utility(text: str | None) -> str | tuple[float, float] | None:
    if text is None or "," not in text:
        return text
    try:
        alpha, beta = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"utility must be u65, u80, or two numbers as 1.6,0.6; got {text!r}.") from None
    return alpha, beta


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is written."""

    separator: Annotated[
        str | None, typer.Option(metavar="CHARACTER", help="CSV: what separates the columns; `tab` for a tab.")
    ] = None
    decimal: Annotated[str, typer.Option(metavar="CHARACTER", help="CSV: the decimal point.")] = "."
    encoding: Annotated[str, typer.Option(metavar="NAME", help="CSV: the encoding, such as latin-1.")] = "utf-8"

    def format(self, *missing: str) -> "CsvFormat":
        """Return the format, with texts that stand for a missing value."""
        from steadyset.tables import CsvFormat

        separator = "\t" if self.separator in ("tab", "\\t") else self.separator
        return CsvFormat(separator, self.decimal, self.encoding, missing)


@dataclass(frozen=True)
class TableOptions(CsvOptions):
    """How a table is read, and how a command answers."""

    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT", help="CSV: a text that stands for a missing value, besides NA, null and the like."
        ),
    ] = None
    as_json: Json = False
    quiet: Quiet = False


@dataclass(frozen=True)
class _TrustOptions:
    """How a model is read and run."""

    n_jobs: Jobs = -1
    trust: Annotated[
        list[str] | None, typer.Option(metavar="TYPE", help="Trust this type in the model file, by its full name.")
    ] = None
    trust_joblib: Annotated[
        bool,
        typer.Option("--trust-joblib", help="Read a joblib file, which may run any code: only from those you trust."),
    ] = False


@dataclass(frozen=True)
class ModelOptions(TableOptions, _TrustOptions):
    """What every command on a model and a table takes."""


def whole(text: str, name: str, others: str = "") -> int:
    """Return a whole number; `others` are words that a command takes too."""
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} must be a whole number{others}; got {text!r}.") from None


def number(text: str, problem: str) -> int | float:
    """Return a whole number or one with a point; raise a ValueError of `problem` where the text is neither."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise ValueError(problem)
