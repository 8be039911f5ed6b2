"""Rows: texts with what is to be predicted of them, made from the cells of any table and refused where they are bad."""

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from bertxfer.errors import DataError


class Answers(NamedTuple):
    """What annotators gave to a question; nothing, where the passage has no answer."""

    id: str
    texts: tuple[str, ...]
    starts: tuple[int, ...]  # characters of the passage


@dataclass(frozen=True)
class Rows:
    """Some rows of a split: the texts of each, and its class, score or answers."""

    texts: list[tuple[str, ...]]
    labels: list[Any]

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, indices: Sequence[int]) -> "Rows":
        return Rows([self.texts[i] for i in indices], [self.labels[i] for i in indices])

    def digest(self) -> str:
        """A digest of their content, wherever they came from."""
        content = hashlib.sha256()
        for texts, label in zip(self.texts, self.labels, strict=True):
            content.update(json.dumps([texts, label]).encode())
        return content.hexdigest()[:32]


class Source(Protocol):
    stored: bool  # whether all rows are at hand, so that tokenizing them once for all trials is worth it

    def __hash__(self) -> int: ...

    def size(self, split: str) -> int: ...

    def rows(self, split: str, indices: Sequence[int]) -> Rows: ...


class StoredSource:
    """Rows that lie in memory, train and dev."""

    stored = True

    def __init__(self, **splits: Rows) -> None:
        self.splits = splits

    def size(self, split: str) -> int:
        return len(self.splits[split])

    def rows(self, split: str, indices: Sequence[int]) -> Rows:
        return self.splits[split].take(indices)


@dataclass(frozen=True)
class Columns:
    """What a task reads off a table."""

    task: str
    kind: str
    text: tuple[str, ...]  # by the names that the columns have there
    label: str
    labels: tuple[str, ...]  # names of the classes
    skip_broken: bool


class RawRow(NamedTuple):
    """One row of a table: where it stands, and its cells by column. None: the row ends before this cell."""

    location: str
    cells: dict[str, Any]


def read_rows(task: Columns, records: Iterable[RawRow], file: str) -> Rows:
    """The task's columns of a table. The first bad row is an error, unless the task skips those."""
    texts: list[tuple[str, ...]] = []
    labels: list[int | float] = []
    label_of = _class_reader(task) if task.kind == "classification" else _score
    for record in records:
        for column in (*task.text, task.label):
            if column not in record.cells:
                columns = ", ".join(record.cells)
                raise DataError(
                    record.location, f"task={task.task} needs a column {column!r}, but there are only {columns}"
                )
        row_texts = _texts(task, record)
        if row_texts is None:
            continue
        texts.append(row_texts)
        labels.append(label_of(task, record))
    if not texts:
        raise DataError(file, "it has no rows")
    return Rows(texts, labels)


def _texts(task: Columns, record: RawRow) -> tuple[str, ...] | None:
    """The texts of a row; None for a broken row of a task that skips those."""
    if any(record.cells[column] is None for column in (*task.text, task.label)):
        if task.skip_broken:
            return None
        column = next(c for c in (*task.text, task.label) if record.cells[c] is None)
        raise DataError(record.location, f"the row has too few cells, or none for the column {column!r}")
    texts = tuple(record.cells[column] for column in task.text)
    for column, text in zip(task.text, texts, strict=True):
        if not isinstance(text, str):
            raise DataError(record.location, f"the column {column!r} has {text!r}, which is not text")
        if not text.strip():
            if task.skip_broken:
                return None
            raise DataError(record.location, f"the column {column!r} is empty")
    return texts


def _class_reader(task: Columns) -> Callable[[Columns, RawRow], int]:
    """Reads a label given as the name of a class or, where it is not a name, as its number."""
    numbers: dict[str, int] = {str(number): number for number in range(len(task.labels))}
    numbers |= {name: number for number, name in enumerate(task.labels)}

    def label_of(task: Columns, record: RawRow) -> int:
        value = record.cells[task.label]
        word = str(value).strip()
        if word in numbers:
            return numbers[word]
        if word in ("", "-1"):  # the hub marks the hidden labels of a test set with -1
            raise DataError(
                record.location, f"the column {task.label!r} has no label ({word!r}), so nothing can be measured on it"
            )
        raise DataError(
            record.location,
            f"the label {word!r} is neither one of {', '.join(task.labels)} "
            f"nor a number from 0 to {len(task.labels) - 1}{_quoting_hint(task, word)}",
        )

    return label_of


def _quoting_hint(task: Columns, word: str) -> str:
    """YAML takes some words for truth values, so a task that lists them bare has other names than its files."""
    truths = {"True", "False"} & set(task.labels)
    taken = word.lower() in ("yes", "no", "on", "off", "true", "false")
    return (
        "; YAML reads a bare no, yes, off or on as False or True: quote them in task.labels" if truths and taken else ""
    )


def _score(task: Columns, record: RawRow) -> float:
    """With as many digits as a model is trained on: the hub has STS-B's 3.8 in 32 bits, a TSV file in three letters."""
    import numpy as np

    value = record.cells[task.label]
    try:
        with np.errstate(over="ignore"):
            score = float(str(np.float32(value)))
    except (TypeError, ValueError):
        score = math.nan
    if not math.isfinite(score):
        raise DataError(record.location, f"the column {task.label!r} has {value!r}, which is not a finite number")
    return score
