"""Dev set evaluation: predictions in the order of the dev set, whatever order they were computed in."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.errors import TrialError
from bertxfer.learning import devices, kinds
from bertxfer.learning.data import Dataset
from bertxfer.learning.finite import is_finite
from bertxfer.tasks import metrics
from bertxfer.tasks.task import TaskScience

# Fixed, because the rows that share a batch decide the padding and so the last bits of a logit. Tokens are
# counted with padding: 21 windows of 384 are as many as 64 sentences of 128. A CPU is no faster with more than its
# 1,024, and takes more memory.
BATCH_TOKENS, CPU_TOKENS = 64 * 128, 8 * 128


def outputs_of(model: nn.Module, dev: Dataset, device: torch.device, precision: str) -> list[Tensor]:
    """The model's output for each input. Inputs of similar length share a batch, so that little of it is padding."""
    outputs: dict[int, Tensor] = {}
    model.eval()
    with torch.inference_mode(), devices.autocast(device, precision):
        for rows in _batches(dev.lengths(), CPU_TOKENS if device.type == "cpu" else BATCH_TOKENS):
            batch, _ = dev.batch(rows, device)
            outputs |= zip(rows, model(batch).float().cpu(), strict=True)
    return [outputs[row] for row in range(len(dev))]


Evaluation = dict[str, Any]  # score, metrics, and the columns of the predictions


def evaluate(model: nn.Module, dev: Dataset, task: TaskScience, device: torch.device, precision: str) -> Evaluation:
    """What a model achieves on the dev set."""
    return judged(outputs_of(model, dev, device, precision), dev, task)


def judged(outputs: list[Tensor], dev: Dataset, task: TaskScience) -> Evaluation:
    """Scores, why some are not defined, and the columns of the predictions, all of which a checkpoint can hold."""
    _refuse_non_finite(outputs, dev)
    predictions, references, columns = kinds.of(task.kind).predicted(outputs, dev, task)
    scores = metrics.score(task.kind, task.metrics, references, predictions)
    undefined = metrics.why_undefined(scores, references, predictions)
    columns = {"index": dev.indices, **columns}
    return {"score": scores[task.headline], "metrics": scores, "undefined": undefined, "predictions": columns}


def _refuse_non_finite(outputs: list[Tensor], dev: Dataset) -> None:
    """The largest of NaNs is a class like any other, and its accuracy would look like a score."""
    bad = sum(not is_finite(output) for output in outputs)
    if bad:
        raise TrialError(
            f"the model's output for {bad} of {len(dev)} dev inputs is not a finite number; "
            "a lower optimizer.lr may help"
        )


def _batches(lengths: list[int], most: int) -> Iterator[list[int]]:
    """Inputs of similar length, the longest first: what follows fits into the memory that they took."""
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    start = 0
    while start < len(order):
        size = max(1, most // lengths[order[start]])
        yield order[start : start + size]
        start += size
