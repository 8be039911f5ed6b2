"""How alike the layers of two encoders are: linear CKA of their states, without padding (Kornblith and others 2019)."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.learning.analysis.examples import by_length, sample
from bertxfer.learning.analysis.finished import Finished, Rows
from bertxfer.trials.analyses import PAIRS

TOKENS = 2048  # of a batch


def measure(finished: Finished) -> Rows:
    """For every layer (0 is what the embeddings give) and each two of the pretrained encoder, the one that fine-tuning
    began with and the fine-tuned one: the CKA of their states at that layer, over all tokens of the examples.

    Layers are compared by their places. Where the treatment put them into another order, the pretrained encoder has the
    order of its pretraining; where it deleted some, the pretrained encoder is without them, too (start.pretrained).
    """
    dev, device = finished.dev, finished.device
    chosen = sample(len(dev), finished.trial.science.seeds["order"])
    encoders = {**dict(finished.references()), "finetuned": finished.model.encoder}
    products: list[_Products] = []
    for encoder in encoders.values():
        encoder.eval().to(device)
    with torch.inference_mode():
        for examples in by_length(chosen, dev.lengths(), lambda length: TOKENS // length):
            batch = dev.padded(examples, device)  # of one length, so without padding
            states = {name: _states(encoder, batch) for name, encoder in encoders.items()}
            products = products or [_Products() for _ in states["finetuned"]]
            for layer, product in enumerate(products):
                product.add({name: of_layer[layer] for name, of_layer in states.items()})
    return list(_rows(products, len(chosen)))


def _states(encoder: nn.Module, batch: dict[str, Tensor]) -> list[Tensor]:
    """Of every layer as (token, width)."""
    every: Any = encoder(**batch, output_hidden_states=True).hidden_states
    return [states.flatten(0, 1).double().cpu() for states in every]


class _Products:
    """Sums over tokens at one layer: of the states of each encoder, and of their products for each two of them. In
    float64, because the mean that is taken off at the end may be many times larger than what is left."""

    def __init__(self) -> None:
        self.tokens = 0
        self.sums: dict[str, Tensor] = {}
        self.products: dict[tuple[str, str], Tensor] = {}

    def add(self, states: Mapping[str, Tensor]) -> None:
        self.tokens += len(next(iter(states.values())))
        for name, of_encoder in states.items():
            self.sums[name] = self.sums.get(name, 0.0) + of_encoder.sum(0)
        for one, other in (*PAIRS, *((name, name) for name in states)):
            product = states[one].T @ states[other]
            known = self.products.get((one, other))
            self.products[one, other] = product if known is None else known.add_(product)

    def cka(self, one: str, other: str) -> float:
        """Of centred states: |X'Y|^2 / (|X'X| |Y'Y|), in Frobenius norms. Not defined where all states are the same."""
        shared, alone, apart = (self._centred(*pair) for pair in ((one, other), (one, one), (other, other)))
        return float(shared.square().sum() / (alone.norm() * apart.norm()))

    def _centred(self, one: str, other: str) -> Tensor:
        return self.products[one, other] - torch.outer(self.sums[one], self.sums[other]) / self.tokens


def _rows(products: list[_Products], examples: int) -> Iterator[dict[str, Any]]:
    for layer, product in enumerate(products):
        for reference, model in PAIRS:
            yield {
                "layer": layer,
                "reference": reference,
                "model": model,
                "cka": product.cka(reference, model),
                "tokens": product.tokens,
                "examples": examples,
            }
