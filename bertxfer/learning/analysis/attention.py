"""What each head attends to, before and after fine-tuning, over dev examples without their padding."""

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.learning import encoders
from bertxfer.learning.analysis.examples import by_length, sample
from bertxfer.learning.analysis.finished import Finished, Rows

MAP_CELLS = 32 * 32 * 32  # of a batch's maps, in one layer and head: 300 MB in BERT-base
MEASURES = ("similarity", "to_cls", "to_sep")


def measure(finished: Finished) -> Rows:
    """For every layer and head, means over examples: the cosine similarity of its flattened map with the fine-tuned
    model's, and the attention that a token pays on average to [CLS] and to all [SEP]."""
    science, dev, device = finished.trial.science, finished.dev, finished.device
    chosen = sample(len(dev), science.seeds["order"])
    separator = encoders.tokenizer(finished.trial.model_at, science.model.version).sep_token_id
    models = {"finetuned": finished.model.encoder, **dict(finished.references())}
    shape = (len(MEASURES), science.depth, science.model.heads)
    sums = {name: torch.zeros(shape, dtype=torch.float64) for name in models}
    with _returning_attention(models.values(), device), torch.inference_mode():
        for examples in by_length(chosen, dev.lengths(), lambda length: MAP_CELLS // length**2):
            batch = dev.padded(examples, device)
            to_separators = (batch["input_ids"] == separator).double().cpu()[None, :, None, None, :]
            maps = {name: _maps(model, batch) for name, model in models.items()}
            for name, attention in maps.items():
                similarity = nn.functional.cosine_similarity(attention.flatten(3), maps["finetuned"].flatten(3), dim=3)
                to_cls, to_sep = attention[..., 0].mean(3), (attention * to_separators).sum(4).mean(3)
                sums[name] += torch.stack([similarity, to_cls, to_sep]).sum(2)
    return list(_rows({name: total / len(chosen) for name, total in sums.items()}, len(chosen)))


@contextlib.contextmanager
def _returning_attention(models: Iterable[Any], device: torch.device) -> Iterator[None]:
    """Only the eager implementation returns its attention."""
    before = {model: model.config._attn_implementation for model in models}
    for model in before:
        model.eval().to(device)
        model.set_attn_implementation("eager")
    try:
        yield
    finally:
        for model, implementation in before.items():
            model.set_attn_implementation(implementation)


def _maps(model: nn.Module, batch: dict[str, Tensor]) -> Tensor:
    """Attention as (layer, example, head, from, to)."""
    return torch.stack([layer.double().cpu() for layer in model(**batch, output_attentions=True).attentions])


def _rows(means: dict[str, Tensor], examples: int) -> Iterator[dict[str, Any]]:
    for model, values in means.items():
        for measure, heads_of_layers in zip(MEASURES, values, strict=True):
            if (model, measure) == ("finetuned", "similarity"):  # with itself
                continue
            for layer, heads in enumerate(heads_of_layers.tolist(), start=1):
                for head, value in enumerate(heads, start=1):
                    yield {
                        "layer": layer,
                        "head": head,
                        "measure": measure,
                        "model": model,
                        "value": value,
                        "examples": examples,
                    }
