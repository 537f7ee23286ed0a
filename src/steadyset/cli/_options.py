"""Options that several commands share."""

from typing import Annotated

import typer

from steadyset.selection import NDC, SVBOP, Argmax, FixedMargin, InflatedArgmax, MassThreshold, Rule, TopK

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar and no notes.")]
Jobs = Annotated[
    int, typer.Option(metavar="N", help="Processes or threads; -1 for all CPUs. Results do not depend on it.")
]
Separator = Annotated[
    str | None, typer.Option(metavar="CHARACTER", help="CSV: what separates the columns; `tab` for a tab.")
]
Decimal = Annotated[str, typer.Option(metavar="CHARACTER", help="CSV: the decimal point.")]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="CSV: the encoding, such as latin-1.")]
Missing = Annotated[
    list[str] | None,
    typer.Option(metavar="TEXT", help="CSV: a text that stands for a missing value, besides NA, null and the like."),
]
Trust = Annotated[
    list[str] | None, typer.Option(metavar="TYPE", help="Trust this type in the model file, by its full name.")
]
TrustJoblib = Annotated[
    bool, typer.Option("--trust-joblib", help="Read a joblib file, which may run any code: only from those you trust.")
]

RuleName = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="argmax, inflated_argmax, fixed_margin, top_k, mass_threshold, ndc or svbop.",
        autocompletion=lambda: list(RULES),
    ),
]
Epsilon = Annotated[
    float | None, typer.Option(metavar="NUMBER", help="For inflated_argmax (default: 0.05) and fixed_margin.")
]
K = Annotated[int | None, typer.Option("--k", metavar="N", help="For top_k: how many labels.")]
Tau = Annotated[float | None, typer.Option(metavar="NUMBER", help="For mass_threshold: the mass to reach.")]
Beta = Annotated[float | None, typer.Option(metavar="NUMBER", help="For ndc: the beta of the F-measure.")]
Utility = Annotated[str | None, typer.Option(metavar="NAME", help="For svbop: u65, u80, or two numbers as 1.6,0.6.")]
Form = Annotated[
    str,
    typer.Option(metavar="KIND", help="labels (joined, in one column), columns (one per label) or both."),
]
Joiner = Annotated[str, typer.Option(metavar="TEXT", help="What joins the labels of a set.")]

RULES: dict[str, tuple[type[Rule], str | None]] = {
    "argmax": (Argmax, None),
    "inflated_argmax": (InflatedArgmax, "epsilon"),
    "fixed_margin": (FixedMargin, "epsilon"),
    "top_k": (TopK, "k"),
    "mass_threshold": (MassThreshold, "tau"),
    "ndc": (NDC, "beta"),
    "svbop": (SVBOP, "utility"),
}


def make_rule(
    name: str, epsilon: float | None, k: int | None, tau: float | None, beta: float | None, utility: str | None
) -> Rule:
    """Return a rule by its name; a parameter of another rule is refused."""
    import difflib

    plain = name.replace("-", "_")
    if plain not in RULES:
        near = difflib.get_close_matches(plain, RULES, n=1, cutoff=0.4)
        hint = f", near {near[0]}" if near else ""
        raise ValueError(f"rule must be one of {', '.join(RULES)}; got {name!r}{hint}.")
    kind, own = RULES[plain]
    given = {"epsilon": epsilon, "k": k, "tau": tau, "beta": beta, "utility": _utility(utility)}
    for parameter, value in given.items():
        if value is not None and parameter != own:
            takes = f"takes --{own}" if own else "takes no parameter"
            raise ValueError(f"--{parameter} must be left out with the rule {plain}, which {takes}; got {value}.")
    value = given.get(own or "")
    return kind() if value is None else kind(value)  # type: ignore[call-arg]


def _utility(text: str | None) -> str | tuple[float, float] | None:
    if text is None or "," not in text:
        return text
    try:
        alpha, beta = map(float, text.split(","))
    except ValueError:
        raise ValueError(f"utility must be u65, u80, or two numbers as 1.6,0.6; got {text!r}.") from None
    return alpha, beta


def check_form(form: str) -> None:
    """Refuse an unknown form."""
    if form not in ("labels", "columns", "both"):
        raise ValueError(f"form must be labels, columns or both; got {form!r}.")


def separator(text: str | None) -> str | None:
    """Return the separator that a word stands for."""
    return {"tab": "\t", "\\t": "\t"}.get(text, text) if text is not None else None
