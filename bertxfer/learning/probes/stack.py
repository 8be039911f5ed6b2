"""The weights of many probes of one shape, and what they make of the states of a frozen encoder."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bertxfer.learning import heads
from bertxfer.trials.trial import Trial


class Stack(nn.Module):
    """Many probes of one shape: for each a linear layer, and nothing else. All that it reads is frozen."""

    def __init__(self, trials: Sequence[Trial], encoder: nn.Module) -> None:
        super().__init__()
        classifiers = [heads.classifier(encoder, trial.science) for trial in trials]
        self.weight = nn.Parameter(torch.stack([one.weight.T for one in classifiers]).detach())
        self.bias = nn.Parameter(torch.stack([one.bias for one in classifiers]).detach())

    def forward(self, states: Tensor) -> Tensor:
        """Outputs (probe, row, class) for states (probe, row, width)."""
        return _linear(states, self.weight, self.bias)

    @torch.no_grad()
    def on(self, states: Tensor, layers: Tensor, rows: Tensor) -> Tensor:
        """Outputs for some rows of each probe, a thousand at a time."""
        return torch.cat([self(states[layers, part]) for part in rows.to(states.device).split(1024, dim=1)], 1)

    def weights(self, probe: int) -> dict[str, Tensor]:
        """One probe of the stack."""
        return {name: tensor[probe] for name, tensor in self.state_dict().items()}


def _linear(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """For every probe. All sums over rows, the bias's gradient included, are products of matrices: those come out the
    same to the bit however many probes are stacked (measured for 1 to 40), while torch's sums do not."""
    ones = states.new_ones(*states.shape[:2], 1)
    return torch.bmm(states, weight) + torch.bmm(ones, bias.unsqueeze(1))
