"""The first and last token of an answer in a passage: cross-entropy of both, and the best answer over all windows."""

from typing import Any

from torch import Tensor, nn

from bertxfer.learning.data import Dataset
from bertxfer.learning.kinds.predicted import Predicted
from bertxfer.tasks import answers
from bertxfer.tasks.task import TaskScience


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs, labels)


def predicted(outputs: list[Tensor], dev: Dataset, task: TaskScience) -> Predicted:
    assert dev.windows is not None and dev.rows is not None and task.span is not None
    windows: list[list[tuple[Any, list[int], list[int]]]] = [[] for _ in dev.indices]  # of each row
    for i, row in enumerate(dev.windows.row):
        starts, ends = dev.windows.starts[i], dev.windows.ends[i]
        windows[row].append((outputs[i][: len(starts)].numpy(), starts, ends))
    chosen = [answers.choose(texts[1], windows[row], task.span) for row, texts in enumerate(dev.rows.texts)]
    predictions, golds = [choice.text for choice in chosen], [list(label.texts) for label in dev.rows.labels]
    both = list(zip(predictions, golds, strict=True))
    columns = {
        "id": [label.id for label in dev.rows.labels],
        "label": golds,
        "prediction": predictions,
        "best_answer": [choice.best for choice in chosen],
        "best_score": [choice.score for choice in chosen],
        "null_score": [choice.null_score for choice in chosen],
        "exact_match": [answers.exact_match(text, gold) for text, gold in both],
        "f1": [answers.f1(text, gold) for text, gold in both],
    }
    return Predicted(predictions, golds, columns)
