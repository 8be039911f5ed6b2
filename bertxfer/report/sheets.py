"""Tables as CSV that spreadsheets open: no text of them is run as a formula."""

import re
from typing import Any

import pandas as pd

# What spreadsheets take for a formula. A sign before a number, or alone, is none.
_FORMULA = re.compile(r"[=@\t\r]|[+-](?![\d.]*$)")


def csv(table: pd.DataFrame) -> str:
    """The table as CSV; a text that begins like a formula has an apostrophe before it."""
    texts = table.select_dtypes(exclude=["number", "bool"])
    safe = table.assign(**{name: texts[name].map(_plain) for name in texts})
    return safe.rename(columns=_plain).to_csv(index=False)


def _plain(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return (f"'{value}" if _FORMULA.match(value) else value).replace("\r", " ")  # pandas would not quote it
