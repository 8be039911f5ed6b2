"""Questions about passages, in SQuAD's own JSON or in the hub's columns; unanswerable ones have no answers."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from bertxfer.errors import DataError
from bertxfer.tasks.rows import Answers, RawRow, Rows
from bertxfer.tasks.task import TaskScience

Question = tuple[str, str, str, str, list[tuple[str, int]]]  # place, id, question, passage, answers with their starts


def read_json(path: Path) -> Rows:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}", f"this is no JSON ({error.msg})") from error
    return _rows(_questions(path, whole), str(path))


def read_records(task: TaskScience, records: Iterable[RawRow], file: str) -> Rows:
    """The columns that the hub has: id, question, context, and answers with `text` and `answer_start`."""
    return _rows(_hub_questions(task, records), file)


def _questions(path: Path, whole: Any) -> Iterator[Question]:
    place = str(path)
    try:
        for i, article in enumerate(whole["data"]):
            for j, paragraph in enumerate(article["paragraphs"]):
                for k, question in enumerate(paragraph["qas"]):
                    place = f"{path}, data[{i}].paragraphs[{j}].qas[{k}]"
                    unanswerable = question.get("is_impossible", False)
                    given = [] if unanswerable else question["answers"]
                    answers = [(answer["text"], int(answer["answer_start"])) for answer in given]
                    if not answers and not unanswerable:
                        raise DataError(place, "the question has no answers and is not marked is_impossible")
                    yield place, question["id"], question["question"], paragraph["context"], answers
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(
            place, f"what comes next is not as SQuAD's JSON has it ({type(error).__name__}: {error})"
        ) from error


def _hub_questions(task: TaskScience, records: Iterable[RawRow]) -> Iterator[Question]:
    for place, cells in records:
        for column in ("id", *task.text, task.label):
            if cells.get(column) is None:
                raise DataError(place, f"there is nothing in the column {column!r}, which task={task.name} needs")
        try:
            given = cells[task.label]
            answers = list(zip(given["text"], given["answer_start"], strict=True))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(place, f"the column {task.label!r} is no dict of text and answer_start lists") from error
        question, passage = (cells[column] for column in task.text)
        yield place, cells["id"], question, passage, answers


def _rows(questions: Iterable[Question], file: str) -> Rows:
    rows = Rows([], [])
    seen: set[str] = set()
    for place, name, question, passage, answers in questions:
        for what, text in (("question", question), ("passage", passage)):
            if not isinstance(text, str) or not text.strip():
                raise DataError(place, f"the {what} is empty")
        if not isinstance(name, str) or not name.strip():
            raise DataError(place, f"the id {name!r} is no text")
        if name in seen:
            raise DataError(place, f"the id {name} is there twice")
        seen.add(name)
        for text, start in answers:
            there = isinstance(text, str) and isinstance(start, int) and start >= 0
            if not there or not text or passage[start : start + len(text)] != text:
                raise DataError(place, f"the answer {text!r} does not stand at character {start} of its passage")
        rows.texts.append((question, passage))
        rows.labels.append(Answers(name, tuple(text for text, _ in answers), tuple(start for _, start in answers)))
    if not rows.texts:
        raise DataError(file, "there is no question in it")
    return rows
