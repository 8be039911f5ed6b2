"""Pretrained encoders, loaded once a process, and the classifier that is put on top."""

import copy
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from bertxfer import seeds
from bertxfer.errors import ConfigError
from bertxfer.identity import ModelScience

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()


@lru_cache(maxsize=4)
def tokenizer(where: str) -> Any:
    return AutoTokenizer.from_pretrained(where)


def load(where: str, model: ModelScience) -> nn.Module:
    """A fresh copy of the pretrained encoder, with the dropout that the trial asks for."""
    encoder, untrained_pooler = _pretrained(where, model.version)
    encoder = copy.deepcopy(encoder)
    if untrained_pooler or model.pooling == "mean":
        encoder.pooler = None
    if model.dropout is not None:
        for module in encoder.modules():
            if isinstance(module, nn.Dropout):
                module.p = model.dropout
    return encoder


@lru_cache(maxsize=2)
def _pretrained(where: str, version: str) -> tuple[Any, bool]:
    """The encoder as it is stored, and whether its pooler has no stored weights (RoBERTa's has none)."""
    revision = None if Path(where).is_dir() else version
    encoder, report = AutoModel.from_pretrained(where, revision=revision, dtype=torch.float32, output_loading_info=True)
    missing = [name for name in report["missing_keys"] if not name.startswith("pooler.")]
    if missing:
        raise ConfigError("model.name", f"{where} has no weights for {', '.join(sorted(missing)[:3])}")
    return encoder, len(report["missing_keys"]) > 0


class Pooler(nn.Module):
    """The first token through a dense layer and tanh, as BERT's own."""

    def __init__(self, dense: nn.Linear) -> None:
        super().__init__()
        self.dense = dense

    def forward(self, states: Tensor) -> Tensor:
        return torch.tanh(self.dense(states[:, 0]))


class Classifier(nn.Module):
    """An encoder, a way to pool its last layer, dropout, and a linear layer."""

    def __init__(self, encoder: nn.Module, model: ModelScience, outputs: int, seed: int) -> None:
        super().__init__()
        config: Any = encoder.config
        width = config.hidden_size
        generator = torch.Generator().manual_seed(seeds.derive(seed, "head"))
        self.classifier = _linear(width, outputs, generator)
        self.pooler: Pooler | None = None
        if model.pooling == "cls":
            pretrained: Any = getattr(encoder, "pooler", None)
            self.pooler = Pooler(_linear(width, width, generator) if pretrained is None else pretrained.dense)
        encoder.pooler = None  # type: ignore[assignment]
        self.encoder = encoder
        own = config.dropout if config.model_type == "distilbert" else config.hidden_dropout_prob
        self.dropout = nn.Dropout(own if model.dropout is None else model.dropout)

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        states = self.encoder(**batch).last_hidden_state
        if self.pooler is not None:
            pooled = self.pooler(states)
        else:
            mask = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
            pooled = (states * mask).sum(1) / mask.sum(1)
        logits: Tensor = self.classifier(self.dropout(pooled))
        return logits

    @staticmethod
    def name_of(encoder_tensor: str) -> str:
        """What a tensor of the encoder is called in the classifier."""
        return encoder_tensor if encoder_tensor.startswith("pooler.") else f"encoder.{encoder_tensor}"


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A new layer as BERT draws one, from the `head` stream."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.02, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer
