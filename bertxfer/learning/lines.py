"""The straight line between two sets of weights of one model, and what the model achieves along it."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.learning import evaluation
from bertxfer.learning.data import Dataset
from bertxfer.trials.analyses import LOSS
from bertxfer.trials.trial import Trial

Weights = Mapping[str, Tensor]


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """A copy of all that was trained, the classifier included."""
    return {name: tensor.detach().cpu().clone() for name, tensor in model.named_parameters()}


def along(
    model: nn.Module,
    ends: tuple[Weights, Weights],
    alphas: Sequence[float],
    dev: Dataset,
    trial: Trial,
    device: torch.device,
) -> list[dict[str, Any]]:
    """The dev loss and every metric at each alpha: the first weights at 0, the others at 1, exactly. The model is left
    with whichever were the last."""
    first, last = ends
    rows = []
    for alpha in alphas:
        with torch.no_grad():
            for name, tensor in model.named_parameters():
                tensor.copy_(_between(first[name], last[name], alpha))
        found = evaluation.evaluate(model, dev, trial, device)
        metrics = {name: float(value) for name, value in found["metrics"].items()}
        rows.append({"alpha": alpha, LOSS: found["loss"], **metrics})
    return rows


def _between(first: Tensor, last: Tensor, alpha: float) -> Tensor:
    """Arithmetic would turn the sign of a zero."""
    return first if alpha == 0 else last if alpha == 1 else torch.lerp(first, last, alpha)
