"""Rows from the Hugging Face hub, or from a folder that is laid out as a repository there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bertxfer.errors import DataError
from bertxfer.system import hub
from bertxfer.tasks import squad
from bertxfer.tasks.rows import RawRow, Rows, StoredSource, read_rows
from bertxfer.tasks.task import TaskScience


def read(task: TaskScience, where: str) -> StoredSource:
    return StoredSource(train=_split(task, where, task.train), dev=_split(task, where, task.dev))


def _split(task: TaskScience, where: str, split: str) -> Rows:
    import datasets

    datasets.disable_progress_bars()
    data_set = f"{task.dataset}{f' ({task.subset})' if task.subset else ''}"
    if Path(where).is_dir():
        try:
            rows = datasets.load_dataset(where, task.subset, split=split)
        except (ValueError, OSError) as error:
            reason = (str(error).strip().splitlines() or [""])[0]
            raise DataError(where, f"there is no split {split} of {data_set} in it ({reason})") from error
    else:
        substitute, setting = "a folder with the official files", "data.root=FOLDER (or BERTXFER_DATA)"
        with hub.asked_for("task.hub.path", f"the data set {data_set}", substitute, setting):
            rows = datasets.load_dataset(where, task.subset, split=split, revision=task.version)
    location = f"{where}{f', {task.subset}' if task.subset else ''}, {split}"
    records = _records(rows, location)
    return squad.read_records(task, records, location) if task.kind == "span" else read_rows(task, records, location)


def _records(rows: Any, location: str) -> Iterator[RawRow]:
    for number, cells in enumerate(rows, start=1):
        yield RawRow(f"{location}, row {number}", cells)
