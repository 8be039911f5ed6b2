"""Dev set evaluation: logits in the order of the dev set, whatever order they were computed in."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bertxfer import devices, metrics
from bertxfer.data import Dataset
from bertxfer.identity import TaskScience

# Fixed, because the rows that share a batch decide the padding and so the last bits of a logit.
BATCH = 64


def logits_of(model: nn.Module, dev: Dataset, device: torch.device, precision: str) -> Tensor:
    """One row of logits per dev example. Rows of like length share a batch, so that little of it is padding."""
    lengths = dev.lengths()
    order = sorted(range(len(dev)), key=lambda place: (lengths[place], place))
    parts = []
    model.eval()
    with torch.inference_mode(), devices.autocast(device, precision):
        for start in range(0, len(order), BATCH):
            batch, _ = dev.batch(order[start : start + BATCH], device)
            parts.append(model(batch).float())
    sorted_logits = torch.cat(parts).cpu()
    logits = torch.empty_like(sorted_logits)
    logits[torch.tensor(order)] = sorted_logits
    return logits


def evaluate(model: nn.Module, dev: Dataset, task: TaskScience, device: torch.device, precision: str) -> dict[str, Any]:
    """Scores and logits, as plain data and a tensor that a checkpoint can hold."""
    logits = logits_of(model, dev, device, precision)
    scores = metrics.score(task.metrics, dev.labels, logits.numpy().astype(np.float64))
    return {"score": scores[task.headline], "metrics": scores, "logits": logits}
