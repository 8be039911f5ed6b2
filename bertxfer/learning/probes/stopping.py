"""Early stopping of a stack, probe by probe."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from bertxfer.learning.probes.losses import mean_losses
from bertxfer.learning.probes.probe_rows import ProbeRows, layers_of
from bertxfer.learning.probes.stack import Stack


class Stopping:
    """Stops each probe by its loss on the rows held out. A tie is not an improvement."""

    def __init__(self, stack: Stack, states: Tensor, probes: Sequence[ProbeRows], kind: str, patience: int) -> None:
        self.stack, self.states, self.kind, self.patience = stack, states, kind, patience
        self.layers = layers_of(probes, states.device)
        self.rows = torch.stack([rows.held for rows in probes])
        self.labels = torch.stack([rows.held_labels for rows in probes]).to(states.device)
        self.best = torch.full((len(probes),), math.inf, device=states.device)
        self.best_epoch = torch.zeros(len(probes), dtype=torch.long, device=states.device)
        self.kept = {name: tensor.detach().clone() for name, tensor in stack.named_parameters()}
        self.losses: list[Tensor] = []

    def all_after_epoch(self) -> bool:
        """Looks at the held-out losses; true when no probe has reason to go on."""
        losses = mean_losses(self.kind, self.stack.on(self.states, self.layers, self.rows), self.labels)
        better = self._running() & (losses < self.best)
        self.losses.append(losses)
        self.best = torch.where(better, losses, self.best)
        self.best_epoch = torch.where(better, len(self.losses), self.best_epoch)
        for name, tensor in self.stack.named_parameters():
            self.kept[name][better] = tensor.detach()[better]
        return not bool(self._running().any())

    def _running(self) -> Tensor:
        return len(self.losses) - self.best_epoch < self.patience

    def epochs(self) -> list[int]:
        """How many epochs each probe was trained for before it had stopped; the stack went on without counting it."""
        return [min(len(self.losses), best + self.patience) for best in self.best_epoch.tolist()]

    @torch.no_grad()
    def restore_best(self) -> None:
        for name, tensor in self.stack.named_parameters():
            tensor.copy_(self.kept[name])
