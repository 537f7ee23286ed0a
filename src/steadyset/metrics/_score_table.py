"""A small table of measured numbers that prints well."""

import math
from dataclasses import dataclass
from typing import Any

from steadyset._base import notebook, optional, validation
from steadyset.metrics._estimate import Estimate

_ARROWS = {"": "", "higher": " ↑", "lower": " ↓"}
_LATEX_ARROWS = {"": "", "higher": r" $\nearrow$", "lower": r" $\searrow$"}
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{c: f"\\{c}" for c in "&%$#_{}"},
    }
)


@dataclass(frozen=True)
class ScoreTable:
    """Measured numbers side by side: a row for each thing measured, its name first.

    ``table["coverage"]`` is a column as a tuple; ``print(table)`` shows values with standard errors in parentheses
    and a dash for what is undefined.

    Parameters
    ----------
    columns : tuple of str
        The names of the columns; the first names the rows.
    rows : tuple of tuples
        The cells: :class:`Estimate`, other numbers, labels.
    better : tuple of {"", "higher", "lower"}
        Which values of each column are better.

    Examples
    --------
    >>> import steadyset as ss
    >>> rows = (("argmax", ss.metrics.Estimate(0.893, 0.003)), ("top 2", ss.metrics.Estimate(0.0, 0.0)))
    >>> table = ss.metrics.ScoreTable(("rule", "correct_single"), rows, ("", "higher"))
    >>> print(table)
    rule    correct_single ↑
    argmax     0.893 (0.003)
    top 2      0.000 (0.000)
    >>> table["correct_single"]
    (0.893, 0.0)
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    better: tuple[str, ...]

    def __getitem__(self, column: str) -> tuple[Any, ...]:
        validation.choice(column, "column", self.columns)
        place = self.columns.index(column)
        return tuple(row[place] for row in self.rows)

    def __str__(self) -> str:
        lines = self._lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                text.rjust(width) if place else text.ljust(width)
                for place, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        header, *body = self._lines()
        return notebook.table(header, body)

    def _lines(self) -> list[list[str]]:
        """Return the header with its arrows, then the rows, as texts."""
        header = [name + _ARROWS[better] for name, better in zip(self.columns, self.better, strict=True)]
        return [header, *([_shown(cell) for cell in row] for row in self.rows)]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame indexed by the first column; standard errors get columns of their own.

        Examples
        --------
        >>> import steadyset as ss
        >>> table = ss.metrics.set_report([0, 1], [ss.Argmax()], [[0.9, 0.1], [0.6, 0.4]])
        >>> list(table.to_frame())[:2]
        ['correct_single', 'correct_single_se']
        """
        data: dict[str, list[Any]] = {}
        for name in self.columns[1:]:
            cells = self[name]
            data[name] = [float(cell) if isinstance(cell, Estimate) else cell for cell in cells]
            if any(isinstance(cell, Estimate) for cell in cells):
                data[f"{name}_se"] = [cell.standard_error for cell in cells]
        pandas = optional.require("pandas", "data")
        index = pandas.Index(list(self[self.columns[0]]), name=self.columns[0], tupleize_cols=False)
        return pandas.DataFrame(data, index=index)

    def to_markdown(self) -> str:
        """Return a Markdown table.

        Examples
        --------
        >>> import steadyset as ss
        >>> table = ss.metrics.set_report([0, 1], [ss.Argmax()], [[0.9, 0.1], [0.6, 0.4]])
        >>> print(table.to_markdown().splitlines()[0][:33])
        | rule | correct_single ↑ | size
        """
        header, *body = self._lines()
        ruler = ["---"] + ["---:"] * (len(header) - 1)
        lines = [header, ruler, *body]
        return "\n".join("| " + " | ".join(text.replace("|", r"\|") for text in line) + " |" for line in lines)

    def to_latex(self) -> str:
        r"""Return a LaTeX tabular with the rules of the booktabs package.

        Examples
        --------
        >>> import steadyset as ss
        >>> table = ss.metrics.set_report([0, 1], [ss.Argmax()], [[0.9, 0.1], [0.6, 0.4]])
        >>> print(table.to_latex().splitlines()[0])
        \begin{tabular}{lrrrrrr}
        """
        arrows = [_LATEX_ARROWS[better] for better in self.better]
        header = [name.translate(_LATEX) + arrow for name, arrow in zip(self.columns, arrows, strict=True)]
        body = [[_shown(cell).translate(_LATEX).replace("–", "--") for cell in row] for row in self.rows]
        return "\n".join(
            [
                rf"\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}",
                r"\toprule",
                " & ".join(header) + r" \\",
                r"\midrule",
                *(" & ".join(line) + r" \\" for line in body),
                r"\bottomrule",
                r"\end{tabular}",
            ]
        )


def _shown(cell: Any) -> str:
    if isinstance(cell, Estimate):
        error = _shown(cell.standard_error)
        return "–" if math.isnan(cell) else f"{float(cell):.3f} ({error})"
    if isinstance(cell, float):
        return "–" if math.isnan(cell) else f"{cell:.3f}"
    return str(cell)
