"""Applying a treatment to a loaded encoder: exactly the tensors it names change, and no other."""

import torch
from torch import Tensor, nn

from bertxfer.learning import initializers
from bertxfer.system import seeds
from bertxfer.trials.families import Family, Slice, layer_prefix, locate
from bertxfer.trials.treatment import Treatment


def apply(treatment: Treatment, encoder: nn.Module, family: Family, heads: int, seed: int | None) -> set[str]:
    """Moves and redraws the encoder's weights in place; returns the names of the redrawn tensors."""
    tensors: dict[str, Tensor] = dict(encoder.named_parameters())
    if treatment.order:
        _move_layers(treatment.order, tensors, family)
    redrawn: set[str] = set()
    for region in treatment.redrawn:
        assert treatment.initializer is not None and seed is not None
        places = locate(region, family, tensors)
        assert places or region == "pooler", f"{region} is nowhere in this model"  # a head may stand without a pooler
        for place in places:
            # One stream per tensor and head: what is drawn for layer 9 is the same whether layer 8 is redrawn or not.
            stream = seeds.derive(seed, "redraw", place.name, *(() if place.dim is None else (place.head,)))
            generator = torch.Generator().manual_seed(stream)
            values = _values(tensors[place.name], place, heads)
            initializers.redraw(values, place.name, treatment.initializer, generator)
            redrawn.add(place.name)
    return redrawn


def _move_layers(order: tuple[int, ...], tensors: dict[str, Tensor], family: Family) -> None:
    originals = {name: tensor.detach().clone() for name, tensor in tensors.items() if name.startswith(family.layers)}
    with torch.no_grad():
        for position, layer in enumerate(order, start=1):
            here, there = layer_prefix(family, position), layer_prefix(family, layer)
            for name in originals:
                if name.startswith(here):
                    tensors[name].copy_(originals[there + name.removeprefix(here)])


def _values(tensor: Tensor, place: Slice, heads: int) -> Tensor:
    if place.dim is None:
        return tensor.detach()
    width = tensor.shape[place.dim] // heads
    return tensor.detach().narrow(place.dim, place.head * width, width)
