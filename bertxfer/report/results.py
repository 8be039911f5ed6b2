"""Results for other tools: every trial of a store in one flat file that pandas, duckdb or a spreadsheet opens."""

from pathlib import Path

import pandas as pd

from bertxfer.errors import BertxferError
from bertxfer.report.frame import frame
from bertxfer.report.sheets import csv
from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from bertxfer.system.files import write_text, write_whole
from bertxfer.trials.science import Science
from bertxfer.trials.trial import Trial

FORMATS = (".parquet", ".csv")


def stored_points(store: Store) -> tuple[list[Point], list[str]]:
    """Every trial that was ever begun, and one sentence for each folder that cannot be read."""
    points, refused = [], []
    for folder in sorted((store.root / "trials").glob("[!.]*/")):
        try:
            science = Science.from_dict(store.config(folder.name))
            if science.id != folder.name:
                raise BertxferError("its config has keys that this version does not know; a newer one wrote it")
        except (BertxferError, KeyError, TypeError) as error:
            refused.append(f"{folder.name}: {error}")
            continue
        points.append(Point({}, Trial(folder.name, science, science.model.name)))
    return points, refused


def export(path: Path, store: Store) -> tuple[pd.DataFrame, list[str]]:
    """Writes one row per trial with all keys of its config flat, and returns what was left out."""
    if path.suffix not in FORMATS:
        raise BertxferError(f"{path}: the name must end in {' or '.join(FORMATS)}")
    if not path.absolute().parent.is_dir():
        raise BertxferError(f"{path}: there is no folder {path.absolute().parent}")
    points, refused = stored_points(store)
    if not points:
        raise BertxferError(f"there is no trial in {store.root}")
    table = _plain(frame(points, store))
    if path.suffix == ".csv":
        write_text(path.absolute(), csv(table))
    else:
        write_whole(path.absolute(), lambda temporary: table.to_parquet(temporary, index=False))
    return table, refused


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    """One type per column: what is a number here and a word there (data.n: 500, all) becomes text. A group has one
    headline, so that its scores can be averaged."""
    first = ["id", "group", "model", "task", "treatment", "seed", "state", "headline", "score", "undefined"]
    table = table.drop(columns="settings")
    table["group"] = table["group"] + "-" + table["headline"].fillna("?")
    table = table[[*first, *(column for column in table.columns if column not in first)]].copy()
    for column in table.columns:
        kinds = {type(value) for value in table[column].dropna()} if table[column].dtype == object else set()
        if len(kinds) > 1:
            table[column] = table[column].map(str, na_action="ignore")
    return table
