"""The rows of one probe: those it is fitted to, those held out to stop early, and the dev set."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bertxfer.errors import TrialError
from bertxfer.learning import features
from bertxfer.learning.data import Dataset
from bertxfer.system import seeds
from bertxfer.trials.trial import Trial


@dataclass(frozen=True)
class ProbeRows:
    """The positions of a probe's rows in the stacked states, their labels, and the seed of their order."""

    layer: int  # its index among the stacked layers, not its number
    order_seed: int
    fit: Tensor
    fit_labels: Tensor
    held: Tensor
    held_labels: Tensor
    dev: Tensor


def rows_of(trial: Trial, train: Dataset, dev: Dataset, positions: dict[bytes, int], layers: list[int]) -> ProbeRows:
    """`positions` and `layers`: where each text and each layer is in the stacked states."""
    probe, order_seed = trial.science.probe, trial.science.seeds["order"]
    assert probe is not None
    held: list[int] = []
    if probe.holdout is not None:
        size = max(1, round(probe.holdout * len(train)))
        if size >= len(train):
            raise TrialError(f"data.n: {len(train)} rows leave none to train on beside those held out to stop early")
        held = sorted(seeds.permutation(len(train), order_seed, "holdout")[:size])
    fitted = sorted(set(range(len(train))) - set(held))
    rows = [positions[key] for key in features.keys_of(train)]
    return ProbeRows(
        layer=layers.index(probe.layer),
        order_seed=order_seed,
        fit=torch.tensor([rows[i] for i in fitted]),
        fit_labels=torch.tensor([train.labels[i] for i in fitted]),
        held=torch.tensor([rows[i] for i in held], dtype=torch.long),
        held_labels=torch.tensor([train.labels[i] for i in held]),
        dev=torch.tensor([positions[key] for key in features.keys_of(dev)]),
    )


def layers_of(probes: Sequence[ProbeRows], device: torch.device) -> Tensor:
    return torch.tensor([[rows.layer] for rows in probes], device=device)
