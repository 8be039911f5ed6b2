"""Tasks: where the rows of a task come from, as texts and labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from bertxfer.errors import ConfigError
from bertxfer.identity import TaskScience


@dataclass(frozen=True)
class Rows:
    """Some rows of a split: the texts of each, and its class."""

    texts: list[tuple[str, ...]]
    labels: list[int]


class Source(Protocol):
    def size(self, split: str) -> int: ...

    def rows(self, split: str, indices: Sequence[int]) -> Rows: ...


class MiniSource:
    """The generated language: every row is made when it is asked for, and nothing is stored."""

    def __init__(self, task: str) -> None:
        self.task = task

    def size(self, split: str) -> int:
        from bertxfer.mini import language

        return language.SIZES[self.task][split]

    def rows(self, split: str, indices: Sequence[int]) -> Rows:
        from bertxfer.mini import language

        examples = [language.example(self.task, split, index) for index in indices]
        texts: list[tuple[str, ...]] = [(e.text_a,) if e.text_b is None else (e.text_a, e.text_b) for e in examples]
        return Rows(texts, [e.label for e in examples])


def source_of(task: TaskScience) -> Source:
    if task.source == "mini":
        return MiniSource(task.name)
    raise ConfigError("task.source", f"{task.source!r} is not a source of data; choose mini")
