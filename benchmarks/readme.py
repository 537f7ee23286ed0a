"""Write the README's table of speeds from the last run: ``make bench``, then ``python -m benchmarks.readme``."""

import json
import re
from pathlib import Path

from benchmarks.harness import RESULTS

README = Path(__file__).parent.parent / "README.md"
START, END = "<!-- speed table -->\n", "<!-- end of the speed table -->"
LEVELS = {"avx512": "AVX-512", "avx2": "AVX2"}

# What is said, the table that it comes from, and its cell: names of lines stand for their values.
ROWS = [
    (
        "`inflated_argmax` over `numpy.argmax`, float32, 1,000,000 x 10",
        "selection",
        "{inflated_argmax / numpy.argmax, float32, classifier rows 1,000,000 x 10} of the time",
    ),
    (
        "the same, 20,000 x 1,000 and 200 x 128,000",
        "selection",
        "{inflated_argmax / numpy.argmax, float32, classifier rows 20,000 x 1,000} and "
        "{inflated_argmax / numpy.argmax, float32, classifier rows 200 x 128,000}",
    ),
    (
        "flat rows, nearly every label a candidate, 200 x 128,000; the closed form in NumPy over it",
        "selection",
        "{inflated_argmax / numpy.argmax, flat rows 200 x 128,000, epsilon 0.05}; "
        "{closed form in NumPy / inflated_argmax, flat rows 200 x 128,000, epsilon 0.05}",
    ),
    ("one row of ten labels, end to end", "selection", "{one row of 10 labels, end to end} us"),
    (
        "1,000 bags of 30,000 of 60,000 rows, one core; `permutation(n)[:m]` over it",
        "bags",
        "{drawing 1,000 bags of 30,000 from 60,000 rows on one core} s; "
        "{permutation(n)[:m] / draw_bags, per bag, one core}",
    ),
    (
        "audit of 60,000 rows at 10,000 points, 1,000 bags, two cores; a NumPy loop over it",
        "audit",
        "{inflated argmax: all 60,000 rows at 10,000 points} s; {inflated argmax: NumPy loop / audit, per row}",
    ),
    (
        "steps of LeNet per second over eager PyTorch, one core",
        "lanes",
        "{  model-steps per second over eager PyTorch, one core}",
    ),
    (
        "16 bags of 30,000 Fashion-MNIST images, 5 epochs, one core",
        "lanes",
        "{16 bags of 30,000 Fashion-MNIST images, 5 epochs, one core} s",
    ),
    (
        "`predict_proba` of 500 trees at 20,000 points over `RandomForestClassifier`, one core; 26 and 3 classes",
        "trees",
        "{predict_proba: faster than RandomForestClassifier, 16 values, 26 classes} and "
        "{predict_proba: faster than RandomForestClassifier, 30 features, 3 classes} times faster",
    ),
]


def values(table: str, level: str) -> dict[str, float]:
    """The measured lines of a table at a level; none where it was not run."""
    path = RESULTS / f"{table}-{level}.json"
    return {line["what"]: line["value"] for line in json.loads(path.read_text())["lines"]} if path.exists() else {}


def cell(pattern: str, measured: dict[str, float], before: str) -> str:
    """The pattern with two digits for each name; a name that is not among the lines is an error.

    Where the table was not run at a level, what the README said before is kept: it says itself which run that was.
    """
    if not measured:
        return before
    return re.sub(r"\{([^}]*)\}", lambda found: f"{float(f'{measured[found[1]]:.2g}'):g}", pattern)


def cells_of(table: str) -> dict[str, list[str]]:
    """The cells of a table in Markdown by the first one of their row."""
    rows = [[one.strip() for one in line.strip("| ").split(" | ")] for line in table.splitlines()]
    return {row[0]: row[1:] for row in rows}


def table(before: str) -> str:
    """The table, as Markdown."""
    lines = ["| what | " + " | ".join(LEVELS.values()) + " | table |", "|---" * (len(LEVELS) + 2) + "|"]
    known = cells_of(before)
    for words, name, pattern in ROWS:
        old = known.get(words, ["not run"] * len(LEVELS))
        cells = [cell(pattern, values(name, level), was) for level, was in zip(LEVELS, old, strict=False)]
        lines.append(f"| {words} | {' | '.join(cells)} | {name} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    head, rest = text.split(START)
    before, tail = rest.split(END)
    README.write_text(f"{head}{START}{table(before)}{END}{tail}", encoding="utf-8")
