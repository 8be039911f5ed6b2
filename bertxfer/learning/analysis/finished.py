"""A trial at its end, as analyses see it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from bertxfer.learning import start
from bertxfer.learning.data import Dataset
from bertxfer.learning.heads import HeadedModel
from bertxfer.store.store import Store
from bertxfer.trials.trial import Trial

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Finished:
    trial: Trial
    model: HeadedModel  # fine-tuned
    dev: Dataset
    store: Store
    device: torch.device
    course: Rows  # the dev scores after each epoch that was evaluated

    def references(self) -> Iterator[tuple[str, nn.Module]]:
        """The encoders that the fine-tuned one is compared with: the pretrained one, and the one that fine-tuning began
        with."""
        yield "pretrained", start.pretrained(self.trial)
        yield "treated", start.start(self.trial, self.store.artifacts).encoder
