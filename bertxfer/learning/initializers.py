"""Reinitializing tensors in place: new values are drawn, for each tensor from its own stream."""

import torch
from torch import Tensor

from bertxfer.trials.initializer import Initializer


def is_layernorm(name: str) -> bool:
    return "LayerNorm" in name or "layer_norm" in name


def keeps(name: str, initializer: Initializer) -> bool:
    """Whether a tensor of that name stays as it is."""
    return _rule(name, initializer) == "keep"


def _rule(name: str, initializer: Initializer) -> str:
    if is_layernorm(name):
        return initializer.layernorm
    return initializer.biases if name.endswith("bias") else "draw"


def redraw(values: Tensor, name: str, initializer: Initializer, generator: torch.Generator) -> None:
    """Reinitializes `values`, a parameter or a slice of one, as the initializer says for a tensor of that name."""
    rule, constant = _rule(name, initializer), 1.0 if is_layernorm(name) and name.endswith("weight") else 0.0
    if initializer.distribution == "shuffle" and rule == "draw":  # of a weight; biases and LayerNorm say so themselves
        rule = "shuffle"
    with torch.no_grad():
        if rule in ("reset", "zero"):
            values.fill_(constant)
        elif rule == "shuffle":
            order = torch.randperm(values.numel(), generator=generator)
            values.copy_(values.flatten()[order].view_as(values))
        elif rule == "draw":
            values.copy_(_drawn(values, initializer, generator))


def _drawn(like: Tensor, initializer: Initializer, generator: torch.Generator) -> Tensor:
    """New weights. torch.nn.init and not the model's own _init_weights, which skips loaded tensors silently."""
    assert initializer.sd is not None
    new = torch.empty(like.shape)
    if initializer.distribution == "normal":
        return torch.nn.init.normal_(new, std=initializer.sd, generator=generator)
    assert initializer.cut is not None
    bound = initializer.cut * initializer.sd  # torch takes the bounds as values, scipy in units of sd
    return torch.nn.init.trunc_normal_(new, std=initializer.sd, a=-bound, b=bound, generator=generator)
