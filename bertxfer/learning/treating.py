"""Applying a treatment to a loaded encoder: exactly the tensors it names change, and no other."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.errors import ConfigError
from bertxfer.learning import initializers
from bertxfer.system import seeds
from bertxfer.trials.families import Family, Slice, layer_prefix, locate
from bertxfer.trials.treatment import (
    DRAWING,
    FRESH,
    REINITIALIZE,
    STATS,
    TRANSPLANT,
    Operation,
    Treatment,
)

Tensors = Mapping[str, Tensor]


def apply(
    treatment: Treatment,
    encoder: nn.Module,
    family: Family,
    heads: int,
    seed: int | None,
    donors: Mapping[str, Callable[[], Tensors]] | None = None,
) -> set[str]:
    """Moves and deletes layers in place and gives regions new values; returns the names of the tensors that were drawn
    anew. `donors` have the tensors of other models, by version."""
    tensors: dict[str, Tensor] = dict(encoder.named_parameters())
    if treatment.order:
        _move_layers(treatment.order, tensors, family)
        shorten(encoder, family, len(treatment.order))
        tensors = dict(encoder.named_parameters())
    fresh: set[str] = set()
    rewritten: Counter[Slice] = Counter()
    for step in treatment.steps:
        theirs = donors[step.donor]() if donors and step.donor else {}
        for region in step.regions:
            slices = locate(region, family, tensors)
            # A head may do without a pooler, and a model whose embeddings are as wide as its layers has no projection.
            assert slices or region.startswith(("pooler", "embeddings projection")), f"{region} is not in this model"
            for part in slices:
                values = _values(tensors[part.name], part, heads)
                with torch.no_grad():
                    if step.kind in DRAWING:
                        _draw(step, values, part, _generator(step, part, seed, rewritten[part]))
                    else:
                        _mix(step, values, _values(_given(part.name, step, theirs, family), part, heads))
                rewritten[part] += step.initializer is None or not initializers.keeps(part.name, step.initializer)
                if step.kind in FRESH:
                    fresh.add(part.name)
    return fresh


def _generator(step: Operation, part: Slice, seed: int | None, earlier: int) -> torch.Generator:
    """One stream per tensor and head: layer 9 is drawn the same whether or not layer 8 is reinitialized. What is drawn
    in another way, or after something else, has one of its own."""
    if not step.draws:
        return torch.Generator()
    assert seed is not None
    kind = () if step.kind == REINITIALIZE and not earlier else (step.kind, earlier)
    stream = seeds.derive(seed, "redraw", part.name, *(() if part.dim is None else (part.head,)), *kind)
    return torch.Generator().manual_seed(stream)


def _draw(step: Operation, values: Tensor, part: Slice, generator: torch.Generator) -> None:
    if step.kind == REINITIALIZE:
        assert step.initializer is not None
        initializers.redraw(values, part.name, step.initializer, generator)
        return
    noise = values.std(correction=0) * torch.randn(values.shape, generator=generator)
    if step.kind == STATS:
        values.copy_(values.mean() + noise)
    else:
        assert step.amount is not None
        values.copy_(math.sqrt(1 - step.amount**2) * values + step.amount * noise)


def _mix(step: Operation, values: Tensor, theirs: Tensor) -> None:
    if theirs.shape != values.shape:
        raise ConfigError(
            "donor", f"{step.donor_name} has tensors of shape {list(theirs.shape)} for {list(values.shape)}"
        )
    if step.kind == TRANSPLANT:
        values.copy_(theirs)
    else:
        assert step.amount is not None
        values.copy_((1 - step.amount) * values + step.amount * theirs)


def _given(name: str, step: Operation, theirs: Tensors, family: Family) -> Tensor:
    """The tensor of the donor: that of the same name, unless layers were moved after the operation."""
    if step.donor_layer is not None and name.startswith(family.layers):
        name = layer_prefix(family, step.donor_layer) + name.removeprefix(f"{family.layers}.").partition(".")[2]
    if name not in theirs:
        raise ConfigError("donor", f"{step.donor_name} has no {name}; leave it out of the region: `except pooler`")
    return theirs[name]


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
