"""What trials left beside their results, each as one table of many trials."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from bertxfer.errors import BertxferError
from bertxfer.store.results import is_score
from bertxfer.store.store import Store


def history(ids: Iterable[str], store: Store) -> pd.DataFrame:
    """history.jsonl of these trials, one after another: `id`, `step`, then `loss` and `lr`, or `epoch` and metrics."""
    events = []
    for trial_id in dict.fromkeys(ids):
        path = store.folder(trial_id) / "history.jsonl"
        if path.is_file():
            events += [{**event, "id": trial_id} for event in _events(path)]
    columns = list(dict.fromkeys(["id", "step", "loss", "lr", "epoch", *(key for event in events for key in event)]))
    return pd.DataFrame(events, columns=columns)


def course(ids: Iterable[str], store: Store) -> pd.DataFrame:
    """The dev scores of these trials after each epoch that was evaluated: `id`, `epoch`, `dev_loss` and metrics. They
    are in the history of a trial, unless it was run again for them: its history stays that of its result."""
    wanted = list(dict.fromkeys(ids))
    again = _parquets("course", wanted, store, ["epoch", "dev_loss"])
    seen = history(without_rows(wanted, again), store)
    return pd.concat([part for part in (again, seen[seen["epoch"].notna()]) if len(part)] or [again], ignore_index=True)


def _events(path: Path) -> list[dict[str, Any]]:
    """The lines of a history; every value of them is a number or null."""
    try:
        events = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
    except (ValueError, RecursionError) as error:
        raise BertxferError(f"{path} cannot be read ({error}); move the folder away to run the trial again") from error
    for number, event in enumerate(events, start=1):
        if not isinstance(event, dict) or not all(is_score(value) for value in event.values()):
            raise BertxferError(f"{path}, line {number}: it is not a mapping of names to numbers")
    return events


def predictions(ids: Iterable[str], store: Store) -> pd.DataFrame:
    """predictions.parquet of these trials: `id`, `index` (the dev row), `label`, `prediction`, and what the kind adds.

    The name of a question in a span task, `id` in its file, is `question` here.
    """
    return _parquets("predictions", ids, store, ["index", "label", "prediction"], {"id": "question"})


def weights(ids: Iterable[str], store: Store) -> pd.DataFrame:
    """weights.parquet of these trials: `id`, and distances between weights by layer and module."""
    columns = ["reference", "layer", "module", "distance", "norm", "relative"]
    return _parquets("weights", ids, store, columns)


def attention(ids: Iterable[str], store: Store) -> pd.DataFrame:
    """attention.parquet of these trials: `id`, and measures of attention by layer and head."""
    return _parquets("attention", ids, store, ["layer", "head", "measure", "model", "value", "examples"])


def surgery(ids: Iterable[str], store: Store) -> pd.DataFrame:
    """surgery.parquet of these trials: `id`, and the dev loss and every metric after each operation on a region."""
    return _parquets("surgery", ids, store, ["layer", "module", "operation", "dev_loss"])


def similarity(ids: Iterable[str], store: Store) -> pd.DataFrame:
    """similarity.parquet of these trials: `id`, and the CKA of each two encoders by layer."""
    return _parquets("similarity", ids, store, ["layer", "reference", "model", "cka", "tokens", "examples"])


def path(ids: Iterable[str], store: Store) -> pd.DataFrame:
    """path.parquet of these trials: `id`, and the dev loss and every metric at each alpha."""
    return _parquets("path", ids, store, ["alpha", "dev_loss"])


def without_rows(ids: Iterable[str], table: pd.DataFrame) -> list[str]:
    """The trials that have no row in a table that was read here."""
    present = set(table["id"]) if len(table) else set()
    return [trial_id for trial_id in dict.fromkeys(ids) if trial_id not in present]


def _parquets(
    name: str, ids: Iterable[str], store: Store, columns: list[str], renamed: dict[str, str] | None = None
) -> pd.DataFrame:
    tables = []
    for trial_id in dict.fromkeys(ids):
        path = store.folder(trial_id) / f"{name}.parquet"
        if path.is_file():
            try:
                table = pd.read_parquet(path).rename(columns=renamed or {})
            except (OSError, ValueError) as error:  # pyarrow's errors are of these
                reason = " ".join(str(error).split())
                raise BertxferError(f"{path} cannot be read ({reason}); move it away to run the trial again") from error
            table.insert(0, "id", trial_id)
            tables.append(table)
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=["id", *columns])
