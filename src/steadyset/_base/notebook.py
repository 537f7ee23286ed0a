"""Results as a notebook shows them: a heading, sentences, a table; every text is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

# Colours come from the notebook, so that a dark one stays dark.
_CARD = "border-left:3px solid #0072B2;padding:0.2em 0.9em;margin:0.4em 0;max-width:60em"
_CELL = "padding:0.15em 0.6em;border-bottom:1px solid rgba(128,128,128,0.35)"


def card(heading: str, sentences: Iterable[str] = (), table: str = "") -> str:
    """Return a result: what it is in a few words, what is to be said of it, and its numbers.

    Examples
    --------
    >>> card("At most 5 in 100", ["Because a < b."]).endswith(">Because a &lt; b.</p></div>")
    True
    """
    said = "".join(f'<p style="margin:0.3em 0">{escape(sentence)}</p>' for sentence in sentences)
    return f'<div style="{_CARD}"><strong>{escape(heading)}</strong>{table}{said}</div>'


def table(header: Sequence[str], body: Iterable[Sequence[str]]) -> str:
    """Return a table whose first column names its rows; a number stays on one line, a wide table scrolls."""
    # A heading may go on below after an underscore; its arrow stays with its last word.
    heads = [escape(text).replace("_", "_<wbr>").replace(" ↑", "&nbsp;↑").replace(" ↓", "&nbsp;↓") for text in header]
    lines = [_line("th", heads), *(_line("td", [escape(text) for text in row], "white-space:nowrap;") for row in body)]
    inner = f'<table style="border-collapse:collapse;margin:0.4em 0">{"".join(lines)}</table>'
    return f'<div style="overflow-x:auto">{inner}</div>'


def _line(tag: str, escaped: Sequence[str], style: str = "") -> str:
    sides = ["left", *["right"] * (len(escaped) - 1)]
    cells = (
        f'<{tag} style="{style}{_CELL};text-align:{side}">{text}</{tag}>'
        for side, text in zip(sides, escaped, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"
