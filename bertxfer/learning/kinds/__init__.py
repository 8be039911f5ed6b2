"""What learning does for each kind of task: the loss it is trained with, and what its outputs predict.

A kind is declared in tasks/kinds.py; the module of its name here has the three functions that need tensors.
"""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from bertxfer.learning.data import Dataset
from bertxfer.learning.kinds import classification, regression, span
from bertxfer.learning.kinds.predicted import Predicted
from bertxfer.tasks.task import TaskScience


@dataclass(frozen=True)
class LearnedKind:
    loss: Callable[[Tensor, Tensor], Tensor]  # the mean over a batch, from outputs and labels
    row_losses: Callable[[Tensor, Tensor], Tensor] | None  # of (probe, row); none where texts cannot be probed
    predicted: Callable[[list[Tensor], Dataset, TaskScience], Predicted]


_KINDS = {
    "classification": LearnedKind(classification.loss, classification.row_losses, classification.predicted),
    "regression": LearnedKind(regression.loss, regression.row_losses, regression.predicted),
    "span": LearnedKind(span.loss, None, span.predicted),
}


def of(kind: str) -> LearnedKind:
    return _KINDS[kind]
