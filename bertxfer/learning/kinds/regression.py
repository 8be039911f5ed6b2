"""A score: squared error, and the output itself."""

import torch
from torch import Tensor, nn

from bertxfer.learning.data import Dataset
from bertxfer.learning.kinds.predicted import Predicted
from bertxfer.tasks.task import TaskScience


def loss(outputs: Tensor, labels: Tensor) -> Tensor:
    return nn.functional.mse_loss(outputs.squeeze(-1).float(), labels.float())


def row_losses(outputs: Tensor, labels: Tensor) -> Tensor:
    return (outputs.squeeze(-1) - labels.float()).square()


def predicted(outputs: list[Tensor], dev: Dataset, task: TaskScience) -> Predicted:
    predictions = torch.cat(outputs).double().tolist()
    return Predicted(predictions, dev.labels, {"label": dev.labels, "prediction": predictions})
