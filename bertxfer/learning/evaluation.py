"""Dev set evaluation: predictions in the order of the dev set, whatever order they were computed in."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.errors import TrialError
from bertxfer.learning import devices, kinds
from bertxfer.learning.data import Dataset
from bertxfer.learning.finite import is_finite
from bertxfer.learning.kinds import LearnedKind
from bertxfer.tasks import metrics
from bertxfer.trials.trial import Trial

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


Evaluation = dict[str, Any]  # score, metrics, loss, and the columns of the predictions


def evaluate(model: nn.Module, dev: Dataset, trial: Trial, device: torch.device) -> Evaluation:
    """What a model achieves on the dev set."""
    return judged(outputs_of(model, dev, device, trial.science.training.precision), dev, trial)


def judged(outputs: list[Tensor], dev: Dataset, trial: Trial) -> Evaluation:
    """Scores, the loss, why some scores are not defined, and the columns of the predictions, all of which a checkpoint
    can hold."""
    _refuse_non_finite(outputs, dev)
    task = trial.science.task
    kind = kinds.of(task.kind)
    columns = {"index": dev.indices, **kind.predicted(outputs, dev, task).columns}
    scores, undefined = metrics.from_predictions(task.kind, trial.metrics, columns)
    return {
        "score": scores[trial.metrics[0]],
        "metrics": scores,
        "loss": _mean_loss(kind, outputs, dev.labels),
        "undefined": undefined,
        "predictions": columns,
    }


def by_metrics_of(trial: Trial, found: Evaluation) -> Evaluation:
    """An evaluation as the trial asks for it now. The checkpoint that it comes from may have been written when other
    metrics were asked for, which are no part of a trial."""
    missing = [name for name in trial.metrics if name not in found["metrics"]]
    added, undefined = metrics.from_predictions(trial.science.task.kind, missing, found["predictions"])
    scores = {**found["metrics"], **added}
    why = {**found.get("undefined", {}), **undefined}
    return {**found, "metrics": scores, "undefined": why, "score": scores[trial.metrics[0]]}


def _mean_loss(kind: LearnedKind, outputs: list[Tensor], labels: list[Any]) -> float:
    """The mean over all inputs of the loss that is trained with. It does not depend on how they were batched."""
    if kind.row_losses is not None:
        losses = kind.row_losses(torch.stack(outputs).double().unsqueeze(0), torch.tensor(labels).unsqueeze(0))
        return math.fsum(losses.flatten().tolist()) / len(labels)
    # Passages have different lengths.
    both = zip(outputs, labels, strict=True)
    return math.fsum(float(kind.loss(one.double().unsqueeze(0), torch.tensor([label]))) for one, label in both) / len(
        labels
    )


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
