"""Applying a treatment to a loaded encoder: exactly the tensors it names change, and no other."""

from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.learning import initializers
from bertxfer.system import seeds
from bertxfer.trials.families import Family, Slice, layer_prefix, locate
from bertxfer.trials.treatment import Treatment


def apply(treatment: Treatment, encoder: nn.Module, family: Family, heads: int, seed: int | None) -> set[str]:
    """Moves, deletes and reinitializes layers in place; returns the names of the reinitialized tensors."""
    tensors: dict[str, Tensor] = dict(encoder.named_parameters())
    if treatment.order:
        _move_layers(treatment.order, tensors, family)
        shorten(encoder, family, len(treatment.order))
    redrawn: set[str] = set()
    for region in treatment.redrawn:
        assert treatment.initializer is not None and seed is not None
        slices = locate(region, family, tensors)
        assert slices or region == "pooler", f"{region} is not in this model"  # a head may do without a pooler
        for part in slices:
            # One stream per tensor and head: layer 9 is drawn the same whether or not layer 8 is reinitialized.
            stream = seeds.derive(seed, "redraw", part.name, *(() if part.dim is None else (part.head,)))
            generator = torch.Generator().manual_seed(stream)
            values = _values(tensors[part.name], part, heads)
            initializers.redraw(values, part.name, treatment.initializer, generator)
            redrawn.add(part.name)
    return redrawn


def shorten(encoder: nn.Module, family: Family, layers: int) -> None:
    """Leaves the first so many layers; the others are gone, from the encoder's config too."""
    whole: Any = encoder
    del whole.get_submodule(family.layers)[layers:]
    whole.config.num_hidden_layers = layers


def _move_layers(order: tuple[int, ...], tensors: dict[str, Tensor], family: Family) -> None:
    originals = {name: tensor.detach().clone() for name, tensor in tensors.items() if name.startswith(family.layers)}
    with torch.no_grad():
        for position, layer in enumerate(order, start=1):
            target, source = layer_prefix(family, position), layer_prefix(family, layer)
            for name in originals:
                if name.startswith(target):
                    tensors[name].copy_(originals[source + name.removeprefix(target)])


def _values(tensor: Tensor, part: Slice, heads: int) -> Tensor:
    if part.dim is None:
        return tensor.detach()
    width = tensor.shape[part.dim] // heads
    return tensor.detach().narrow(part.dim, part.head * width, width)
