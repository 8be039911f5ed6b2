"""How the training of a stack of probes went."""

import math
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from bertxfer.errors import TrialError


@dataclass
class Course:
    """The training, probe by probe: the losses of every epoch, and which epoch's weights count."""

    steps: int
    losses: Tensor  # (epoch, probe)
    held_losses: Tensor | None
    counted: list[int]
    epochs: list[int]  # that each probe was trained for

    def refuse_non_finite(self, probe: int) -> None:
        total = float(self.losses[: self.epochs[probe], probe].sum())
        if not math.isfinite(total):
            raise TrialError(f"the training loss is {total}; a lower optimizer.lr may help")
        if self.counted[probe] == 0:  # else the probe as it was drawn would be scored
            raise TrialError("the loss on the held-out rows was never a number; a lower optimizer.lr may help")

    def history(self, probe: int) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for epoch in range(self.epochs[probe]):
            events.append({"epoch": epoch + 1, "loss": float(self.losses[epoch, probe])})
            if self.held_losses is not None:
                events[-1]["holdout_loss"] = float(self.held_losses[epoch, probe])
        return events
