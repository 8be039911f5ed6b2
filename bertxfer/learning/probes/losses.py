"""The loss of each probe of a stack."""

import torch
from torch import Tensor

from bertxfer.learning import kinds


def mean_losses(kind: str, outputs: Tensor, labels: Tensor) -> Tensor:
    """The mean loss of each probe."""
    row_losses = kinds.of(kind).row_losses
    assert row_losses is not None, f"a task of kind {kind} cannot be probed"
    losses = row_losses(outputs, labels)
    return torch.bmm(losses.unsqueeze(1), losses.new_ones(*losses.shape, 1)).flatten() / losses.shape[1]
