"""Texts of CSV cells that a spreadsheet would run as a formula: written so that it does not, read back as they were.

A text that begins with one of ``= + - @``, a tab, a line break or an apostrophe gets an apostrophe in front of it,
which spreadsheets take for text; reading takes it off again. Numbers stay as they are.
"""

import re
from typing import Any

from steadyset._base.optional import require

_RUN = r"=+\-@\t\r\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}"  # the last four are the wide forms that some keyboards give
_TO_MARK = rf"^[{_RUN}']"
_MARKED = rf"^'[{_RUN}']"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def marked_table(table: Any) -> Any:
    """Return a pyarrow Table whose texts and names of columns are safe to be opened in a spreadsheet."""
    arrow, compute = require("pyarrow", "data"), require("pyarrow.compute", "data")

    def mark(texts: Any) -> Any:
        number = compute.match_substring_regex(texts, _NUMBER)
        wanted = compute.and_not(compute.match_substring_regex(texts, _TO_MARK), number)
        if not compute.any(wanted).as_py():
            return texts
        mark, nothing = arrow.scalar("'", texts.type), arrow.scalar("", texts.type)
        return compute.if_else(wanted, compute.binary_join_element_wise(mark, texts, nothing), texts)

    return _changed(table, mark, marked_name)


def unmarked_table(table: Any) -> Any:
    """Return a pyarrow Table with the texts and names that `marked_table` was given."""
    compute = require("pyarrow.compute", "data")

    def unmark(texts: Any) -> Any:
        wanted = compute.match_substring_regex(texts, _MARKED)
        if not compute.any(wanted).as_py():
            return texts
        return compute.if_else(wanted, compute.utf8_slice_codeunits(texts, 1), texts)

    return _changed(table, unmark, unmarked_name)


def marked_name(text: str) -> str:
    """Return one text as it is written."""
    wanted = re.match(_python(_TO_MARK), text) and not re.match(_python(_NUMBER), text)
    return f"'{text}" if wanted else text


def unmarked_name(text: str) -> str:
    """Return one text as it was before it was written."""
    return text[1:] if re.match(_python(_MARKED), text) else text


def _python(pattern: str) -> str:
    return re.sub(r"\\x\{(\w{4})\}", r"\\u\1", pattern).replace("$", r"\Z")


def _changed(table: Any, change: Any, rename: Any) -> Any:
    types = require("pyarrow", "data").types
    for j, field in enumerate(table.schema):
        if types.is_string(field.type) or types.is_large_string(field.type):
            table = table.set_column(j, field, change(table.column(j)))
    names = [rename(name) for name in table.column_names]
    return table if names == table.column_names else table.rename_columns(names)
