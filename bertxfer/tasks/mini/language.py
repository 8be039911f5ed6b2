"""A generated language: the mini model's pretraining text and its three tasks, each item a function of its index.

Function words are English, content words are coined ("blicket", "wumbles"). Whole words are tokens, so a model
sees no morphology: it has to learn from use alone which words are plural, which are kind, which belong together.
The dev split of every task is written in content words, and partly in structures, that its training split lacks,
so that only what pretraining taught can carry over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from bertxfer.tasks.mini import agreement, opinions, questions
from bertxfer.tasks.mini.lexicon import LEXICONS, Lexicon, Written

SIZES: dict[str, dict[str, int]] = {
    task: {"train": 60_000, "dev": 1_000} for task in ("mini_sst2", "mini_qnli", "mini_cola")
}
TASKS = tuple(SIZES)


@dataclass(frozen=True)
class Example:
    """One example of a task."""

    text_a: str
    text_b: str | None
    label: int


def passage(index: int) -> list[str]:
    """Pretraining text number `index`: one segment, or two that stand apart as a pair."""
    rng = Random(f"passage/{index}")
    draw = rng.random()
    write = opinions.review if draw < 0.35 else questions.dialogue if draw < 0.8 else agreement.description
    return write(rng)


_WRITERS: dict[str, Callable[[Random, Lexicon, bool], Written]] = {
    "mini_sst2": opinions.sst2,
    "mini_qnli": questions.qnli,
    "mini_cola": agreement.cola,
}


def example(task: str, split: str, index: int) -> Example:
    """Example number `index` of a task's split.

    Labels: mini_sst2 1 = positive, mini_qnli 0 = the sentence answers the question, mini_cola 1 = acceptable.
    """
    if not 0 <= index < SIZES[task][split]:
        raise IndexError(f"{task} has {SIZES[task][split]} {split} examples, there is no number {index}")
    return Example(*_WRITERS[task](Random(f"{task}/{split}/{index}"), LEXICONS[split], split == "dev"))
