"""The generated language: every row is made when it is asked for, and nothing is stored."""

from collections.abc import Sequence

from bertxfer.tasks.mini import language
from bertxfer.tasks.rows import Rows


class MiniSource:
    stored = False

    def __init__(self, task: str) -> None:
        self.task = task

    def size(self, split: str) -> int:
        return language.SIZES[self.task][split]

    def rows(self, split: str, indices: Sequence[int]) -> Rows:
        examples = [language.example(self.task, split, index) for index in indices]
        texts: list[tuple[str, ...]] = [(e.text_a,) if e.text_b is None else (e.text_a, e.text_b) for e in examples]
        return Rows(texts, [e.label for e in examples])
