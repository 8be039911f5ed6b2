"""How far each sub-module's weights moved."""

import math
from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from bertxfer.learning.analysis.finished import Finished, Rows
from bertxfer.learning.heads import HeadedModel
from bertxfer.trials import families
from bertxfer.trials.science import Science


def measure(finished: Finished) -> Rows:
    return [
        {"reference": name, **row}
        for name, encoder in finished.references()
        for row in distances(encoder, finished.model, finished.trial.science)
    ]


def distances(reference: nn.Module, model: HeadedModel, science: Science) -> Iterator[dict[str, Any]]:
    """L2 distance, absolute and relative to the reference's norm, of every sub-module of every layer.

    A sub-module is its weight and its bias together; one that has both stands there once more with its weight alone, as
    `feedforward.output.weight`. Embeddings are layer 0, the pooler comes after the last layer.
    """
    family = families.family_of(science.model.family)
    tuned = {name: tensor.detach().cpu().double() for name, tensor in model.named_parameters()}
    names = {name for name, _ in reference.named_parameters()}
    modules: dict[tuple[int, str], list[tuple[Tensor, Tensor]]] = {}
    for name, tensor in reference.named_parameters():
        fine_tuned = tuned.get(model.name_of(name))
        if fine_tuned is not None:  # a head that reads all tokens, or their mean, has no pooler
            layer, module = families.submodule(name, family, science.depth)
            both = (tensor.detach().cpu().double(), fine_tuned)
            modules.setdefault((layer, module), []).append(both)
            if name.removesuffix("weight") + "bias" in names and tensor.dim() == 2:
                modules[layer, f"{module}.weight"] = [both]
    for (layer, module), pairs in sorted(modules.items(), key=lambda item: item[0][0]):
        distance = math.sqrt(sum(float((after - before).square().sum()) for before, after in pairs))
        norm = math.sqrt(sum(float(before.square().sum()) for before, _ in pairs))
        relative = distance / norm if norm else math.nan
        yield {"layer": layer, "module": module, "distance": distance, "norm": norm, "relative": relative}
