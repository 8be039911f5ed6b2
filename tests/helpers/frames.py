"""Frames of results with rows that the test chooses, for tables and statistics that need no store."""

from typing import Any

import pandas as pd


def results(*rows: dict[str, Any]) -> pd.DataFrame:
    """Trials that are done, unless they say otherwise."""
    usual: dict[str, Any] = {
        "state": "done",
        "undefined": False,
        "task": "cola",
        "headline": "accuracy",
        "model.name": "some",
    }
    made = [
        {**usual, "id": f"trial{i}", "seed": 0, "treatment": row.get("treatment_text"), **row}
        for i, row in enumerate(rows)
    ]
    return grouped(pd.DataFrame(made))


def grouped(table: pd.DataFrame) -> pd.DataFrame:
    """With the columns that a frame gives every trial: its streams of randomness, settings and replicates."""
    names = [name for name in table if name.startswith(("training.", "factor"))]
    settings = [tuple(zip(names, map(str, row), strict=True)) for row in table[names].itertuples(index=False)]
    groups = zip(table["task"], table["treatment"], map(str, settings), strict=True)
    more = {
        "group": [" ".join(map(str, group)) for group in groups],
        "settings": settings,
        "model": table["model.name"],
    }
    return table.assign(**more, **{"seeds.order": table["seed"]})
