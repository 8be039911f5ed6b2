"""Questions about passages, in SQuAD's own JSON or in the hub's columns; unanswerable ones have no answers."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bertxfer.errors import DataError
from bertxfer.tasks.rows import Answers, Columns, RawRow, Rows

Question = tuple[str, str, str, str, list[tuple[str, int]]]  # location, id, question, passage, answers with starts


def read_json(path: Path) -> Rows:
    try:
        whole = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}", f"this is not valid JSON ({error.msg})") from error
    return _rows(_questions(path, whole), str(path))


def read_records(task: Columns, records: Iterable[RawRow], file: str) -> Rows:
    """The columns that the hub has: id, question, context, and answers with `text` and `answer_start`."""
    return _rows(_hub_questions(task, records), file)


def _questions(path: Path, whole: Any) -> Iterator[Question]:
    location = str(path)
    try:
        for i, article in enumerate(whole["data"]):
            for j, paragraph in enumerate(article["paragraphs"]):
                for k, question in enumerate(paragraph["qas"]):
                    location = f"{path}, data[{i}].paragraphs[{j}].qas[{k}]"
                    unanswerable = question.get("is_impossible", False)
                    marked = [] if unanswerable else question["answers"]
                    answers = [(answer["text"], int(answer["answer_start"])) for answer in marked]
                    if not answers and not unanswerable:
                        raise DataError(location, "the question has no answers and is not marked is_impossible")
                    yield location, question["id"], question["question"], paragraph["context"], answers
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(
            location, f"what comes next is not as in SQuAD's JSON ({type(error).__name__}: {error})"
        ) from error


def _hub_questions(task: Columns, records: Iterable[RawRow]) -> Iterator[Question]:
    for location, cells in records:
        for column in ("id", *task.text, task.label):
            if cells.get(column) is None:
                raise DataError(location, f"there is nothing in the column {column!r}, which task={task.task} needs")
        try:
            columns = cells[task.label]
            answers = list(zip(columns["text"], columns["answer_start"], strict=True))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                location, f"the column {task.label!r} is not a dict of text and answer_start lists"
            ) from error
        question, passage = (cells[column] for column in task.text)
        yield location, cells["id"], question, passage, answers


def _rows(questions: Iterable[Question], file: str) -> Rows:
    rows = Rows([], [])
    seen: set[str] = set()
    for location, name, question, passage, answers in questions:
        for part, text in (("question", question), ("passage", passage)):
            if not isinstance(text, str) or not text.strip():
                raise DataError(location, f"the {part} is empty")
        if not isinstance(name, str) or not name.strip():
            raise DataError(location, f"the id {name!r} is not text")
        if name in seen:
            raise DataError(location, f"the id {name} occurs twice")
        seen.add(name)
        for text, start in answers:
            well_formed = isinstance(text, str) and isinstance(start, int) and start >= 0
            if not well_formed or not text or passage[start : start + len(text)] != text:
                raise DataError(location, f"the answer {text!r} is not at character {start} of its passage")
        rows.texts.append((question, passage))
        rows.labels.append(Answers(name, tuple(text for text, _ in answers), tuple(start for _, start in answers)))
    if not rows.texts:
        raise DataError(file, "it has no questions")
    return rows
