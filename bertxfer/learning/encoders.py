"""Pretrained encoders and their tokenizers, loaded once per process from the folder that they were brought to."""

import copy
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
import transformers.modeling_utils  # noqa: F401  else AutoModel imports it in the middle of the first trial
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging as transformers_logging

from bertxfer.errors import ConfigError
from bertxfer.trials import model_files
from bertxfer.trials.science import ModelScience

# Otherwise a model without safetensors makes transformers ask the hub, in the background, for a converted one.
os.environ.setdefault("DISABLE_SAFETENSORS_CONVERSION", "1")
transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()


@lru_cache(maxsize=4)
def tokenizer(where: str, version: str) -> Any:
    refuse_changed(where, version)
    return AutoTokenizer.from_pretrained(where, local_files_only=True, trust_remote_code=False)


def load(where: str, model: ModelScience) -> nn.Module:
    """A fresh copy of the pretrained encoder, with the dropout that the trial asks for."""
    refuse_changed(where, model.version)
    encoder, untrained_pooler = _pretrained(where, model.version)
    encoder = copy.deepcopy(encoder)
    if untrained_pooler or model.pooling != "cls":
        encoder.pooler = None
    if model.dropout is not None:
        for module in encoder.modules():
            if isinstance(module, nn.Dropout):
                module.p = model.dropout
    return encoder


def tensors(where: str, version: str) -> dict[str, Tensor]:
    """The pretrained tensors of a model, by name: read them, never write to them. A pooler that has no stored weights
    is not among them: what transformers puts there is random."""
    refuse_changed(where, version)
    encoder, untrained_pooler = _pretrained(where, version)
    named = [(name, tensor.detach()) for name, tensor in encoder.named_parameters()]
    return {name: tensor for name, tensor in named if not (untrained_pooler and name.startswith("pooler."))}


def words(where: str, model: ModelScience) -> Tensor:
    """The pretrained word embeddings that all trials' copies are made from: read them, never write to them."""
    embeddings: nn.Embedding = _pretrained(where, model.version)[0].get_input_embeddings()
    return embeddings.weight.detach()


def refuse_changed(where: str, version: str) -> None:
    """Called before a trial and after it: loaded weights are a mapping of their file, so a file that is overwritten in
    place changes what a worker has loaded."""
    if not Path(where).is_dir():
        raise ConfigError("model.name", f"there is no folder {where} any more; launch the trial again")
    if model_files.version(Path(where)) != version:
        raise ConfigError("model.name", f"{where} has changed since this trial was planned; launch it again")


@lru_cache(maxsize=2)
def _pretrained(where: str, version: str) -> tuple[Any, bool]:
    """The encoder as it is stored, and whether its pooler has no stored weights (RoBERTa's has none)."""
    encoder, report = AutoModel.from_pretrained(
        where,
        local_files_only=True,
        dtype=torch.float32,
        output_loading_info=True,
        trust_remote_code=False,
        weights_only=True,
    )
    missing = [name for name in report["missing_keys"] if not name.startswith("pooler.")]
    if missing:
        raise ConfigError("model.name", f"{where} has no weights for {', '.join(sorted(missing)[:3])}")
    return encoder, len(report["missing_keys"]) > 0
