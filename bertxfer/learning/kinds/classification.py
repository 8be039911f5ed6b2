"""One of several classes: cross-entropy, and the class of the largest logit."""

import torch
from torch import Tensor, nn

from bertxfer.learning.data import Dataset
from bertxfer.learning.kinds.predicted import Predicted
from bertxfer.tasks.task import TaskScience


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs, labels)


def row_losses(outputs: Tensor, labels: Tensor) -> Tensor:
    return nn.functional.cross_entropy(outputs.flatten(0, 1), labels.flatten(), reduction="none").view_as(labels)


def predicted(outputs: list[Tensor], dev: Dataset, task: TaskScience) -> Predicted:
    logits = torch.stack(outputs)
    predictions = logits.argmax(1).tolist()
    columns = {f"logit_{i}": logits[:, i].contiguous() for i in range(logits.shape[1])}
    return Predicted(predictions, dev.labels, {"label": dev.labels, "prediction": predictions, **columns})
