"""A small untrained encoder of every family, of whatever shape a test needs."""

from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    ElectraConfig,
    ElectraModel,
    RobertaConfig,
    RobertaModel,
)

from bertxfer.tasks.mini import lexicon
from bertxfer.trials.families import FAMILIES
from tests.helpers.models import saved

WORDS = len(lexicon.vocabulary())


def small(family: str, folder: Path, layers: int, heads: int, width: int, seed: int = 0) -> Path:
    """One of them, saved in a folder of the family's name; it speaks the mini language."""
    return saved(*_MODELS[family](layers, heads, width), folder / family, seed)


def _bert(layers: int, heads: int, width: int) -> tuple[Any, Any]:
    return BertModel, BertConfig(**_shape(layers, heads, width))


def _roberta(layers: int, heads: int, width: int) -> tuple[Any, Any]:
    # Two positions are taken off, as for the usual padding index.
    shape = _shape(layers, heads, width) | {"max_position_embeddings": 130}
    return RobertaModel, RobertaConfig(**shape, pad_token_id=0, type_vocab_size=1)


def _electra(layers: int, heads: int, width: int) -> tuple[Any, Any]:
    return ElectraModel, ElectraConfig(**_shape(layers, heads, width), embedding_size=width // 2)


def _distilbert(layers: int, heads: int, width: int) -> tuple[Any, Any]:
    shape = {"n_layers": layers, "n_heads": heads, "dim": width, "hidden_dim": 2 * width}
    return DistilBertModel, DistilBertConfig(vocab_size=WORDS, max_position_embeddings=128, **shape)


def _shape(layers: int, heads: int, width: int) -> dict[str, int]:
    return {
        "vocab_size": WORDS,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "max_position_embeddings": 128,
    }


_MODELS = {"bert": _bert, "roberta": _roberta, "electra": _electra, "distilbert": _distilbert}
assert _MODELS.keys() == FAMILIES.keys()


def loud(folder: Path) -> Path:
    """The same with eight times the weights of a new one: else all attention is alike, and layers hardly matter."""
    tensors = load_file(folder / "model.safetensors")
    large = {name: 8 * tensor if "layer" in name and tensor.ndim == 2 else tensor for name, tensor in tensors.items()}
    save_file(large, folder / "model.safetensors", {"format": "pt"})
    return folder
