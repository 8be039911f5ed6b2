"""Which layers fine-tuning needed: the dev scores with one region of the fine-tuned model set back, drawn anew or left
out (Zhang, Bengio and Singer 2022; Phang, Liu and Bowman 2021)."""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.learning import evaluation, packing, treating
from bertxfer.learning.analysis.finished import Finished, Rows
from bertxfer.learning.heads import HeadedModel
from bertxfer.system import seeds
from bertxfer.trials.analyses import INTACT, LOSS, MODULES, WHOLE
from bertxfer.trials.families import Family, Slice, family_of, layer_prefix, locate
from bertxfer.trials.initializer import Initializer
from bertxfer.trials.regions import PARTS
from bertxfer.trials.treatment import Treatment

AS_BERT = Initializer("truncated_normal", sd=0.02, cut=2.0)  # init=bert


def measure(finished: Finished) -> Rows:
    """The dev loss and every metric of the trial, for the model as it is and after each operation on each region: a
    layer, its attention or its feed-forward part; of the embeddings (layer 0), after they are set back.

    `pretrained` and `treated` are the encoders of `references`, place by place. A region that the treatment
    reinitialized is pretrained in the one and freshly drawn in the other. Where the treatment put layers into another
    order, place 3 set back to `pretrained` has BERT's layer 3, as before the treatment, and set back to `treated` the
    layer that the treatment put there. Where it deleted layers, places are counted among those that are left, and each
    is set back to the pretrained layer that is left there.
    """
    surgery = _Surgery(finished)
    rows = [surgery.row(None, None, INTACT)]
    for name, reference in finished.references():
        rows += surgery.set_back(name, reference)
    rows += surgery.reinitialized()
    rows += surgery.skipped()
    return sorted(rows, key=lambda row: -1 if row["layer"] is None else row["layer"])


class _Surgery:
    """One operation after another on the trial's model, which is as before after each of them."""

    def __init__(self, finished: Finished) -> None:
        self.finished, self.science = finished, finished.trial.science
        self.model: HeadedModel = finished.model
        self.family: Family = family_of(self.science.model.family)
        self.tensors: dict[str, Tensor] = dict(self.model.encoder.named_parameters())

    def row(self, layer: int | None, module: str | None, operation: str) -> dict[str, Any]:
        found = evaluation.evaluate(self.model, self.finished.dev, self.finished.trial, self.finished.device)
        place = {"layer": layer, "module": module, "operation": operation}
        return {**place, LOSS: found["loss"], **{name: float(value) for name, value in found["metrics"].items()}}

    def set_back(self, name: str, reference: nn.Module) -> Rows:
        before = dict(reference.named_parameters())

        def operate(regions: tuple[str, ...]) -> None:
            for part in self._slices(regions):
                self.tensors[part.name].detach().copy_(before[part.name].detach())

        return [self._after(operate, regions, 0, "embeddings", name) for regions in [("embeddings",)]] + [
            self._after(operate, regions, layer, module, name) for layer, module, regions in self._regions()
        ]

    def reinitialized(self) -> Rows:
        """As init=bert draws them, from a stream of their own: with the trial's own seed, a region that the treatment
        reinitialized would come out as fine-tuning began with it."""
        seed = seeds.derive(self.science.seeds["order"], "surgery")

        def operate(regions: tuple[str, ...]) -> None:
            drawn = Treatment(redrawn=regions, initializer=AS_BERT)
            treating.apply(drawn, self.model.encoder, self.family, self.science.model.heads, seed)

        return [
            self._after(operate, regions, layer, module, "reinitialized") for layer, module, regions in self._regions()
        ]

    def skipped(self) -> Rows:
        """A layer is taken out, and the others close ranks, as with scheme=delete: the only one cannot be. A part adds
        nothing to what goes around it, and its LayerNorm stays."""
        rows = []
        for layer, module, regions in self._regions():
            if module != WHOLE:
                rows.append(self._after(self._silence, regions, layer, module, "skipped"))
            elif self.science.depth > 1:
                with without_layer(self.model, self.family, layer):
                    rows.append(self.row(layer, module, "skipped"))
        return rows

    def _silence(self, regions: tuple[str, ...]) -> None:
        for region in regions:
            _, layer, part = region.split(" ")
            output = self.family.output if part == "attention" else self.family.rest[2]
            for kind in ("weight", "bias"):
                self.tensors[f"{layer_prefix(self.family, int(layer))}{output}.{kind}"].detach().zero_()

    def _after(
        self,
        operate: Callable[[tuple[str, ...]], None],
        regions: tuple[str, ...],
        layer: int,
        module: str,
        operation: str,
    ) -> dict[str, Any]:
        with unchanged([self.tensors[part.name] for part in self._slices(regions)]):
            operate(regions)
            return self.row(layer, module, operation)

    def _regions(self) -> Iterator[tuple[int, str, tuple[str, ...]]]:
        """Every layer and part of one, with the regions that a treatment would name for it."""
        for layer in range(1, self.science.depth + 1):
            for module in MODULES:
                yield layer, module, tuple(f"layer {layer} {part}" for part in PARTS if module in (WHOLE, part))

    def _slices(self, regions: Iterable[str]) -> list[Slice]:
        return [part for region in regions for part in locate(region, self.family, self.tensors)]


@contextlib.contextmanager
def unchanged(tensors: list[Tensor]) -> Iterator[None]:
    """Whatever is done to these tensors is undone."""
    before = [tensor.detach().clone() for tensor in tensors]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, values in zip(tensors, before, strict=True):
                tensor.copy_(values)


@contextlib.contextmanager
def without_layer(model: HeadedModel, family: Family, layer: int) -> Iterator[None]:
    """One layer is taken out for a while."""
    encoder: Any = model.encoder
    whole, parent, name = encoder.get_submodule(family.layers), *family.layers.rsplit(".", 1)
    left = [one for place, one in enumerate(whole, start=1) if place != layer]
    packed = model.layers
    setattr(encoder.get_submodule(parent), name, nn.ModuleList(left))
    model.layers = packing.layers_of(encoder) if packed else ()
    try:
        yield
    finally:
        setattr(encoder.get_submodule(parent), name, whole)
        model.layers = packed
