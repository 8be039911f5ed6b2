"""The weights of many probes of one shape, and what they make of the states of a frozen encoder."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bertxfer.learning import heads
from bertxfer.trials.science import Science
from bertxfer.trials.trial import Trial


class Stack(nn.Module):
    """Many probes of one shape: for each a linear layer and, if asked for, BERT's own pooler before it."""

    weight: Tensor
    bias: Tensor
    pooler_weight: Tensor
    pooler_bias: Tensor

    def __init__(self, trials: Sequence[Trial], encoder: nn.Module) -> None:
        super().__init__()
        parts = [_initial(trial.science, encoder) for trial in trials]
        for name in parts[0]:
            setattr(self, name, nn.Parameter(torch.stack([part[name] for part in parts])))
        self.has_pooler = "pooler_weight" in parts[0]

    def forward(self, states: Tensor) -> Tensor:
        """Outputs (probe, row, class) for states (probe, row, width)."""
        if self.has_pooler:
            states = torch.tanh(_linear(states, self.pooler_weight, self.pooler_bias))
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


def _initial(science: Science, encoder: nn.Module) -> dict[str, Tensor]:
    """What a probe begins with: drawn from the `head` stream as any head is, and the pretrained pooler."""
    model = heads.HeadedModel(encoder, science)
    assert science.probe is not None
    tensors = {"weight": model.classifier.weight.T, "bias": model.classifier.bias}
    if model.pooler is not None:
        tensors |= {"pooler_weight": model.pooler.dense.weight.T, "pooler_bias": model.pooler.dense.bias}
        encoder.pooler = model.pooler  # a head takes it off the encoder, and the next probe wants it too
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
