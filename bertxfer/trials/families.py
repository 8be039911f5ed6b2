"""Where layers, their parts and their heads are in each family of encoders, by tensor name."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from bertxfer.errors import ConfigError


@dataclass(frozen=True)
class Family:
    """Names within a Hugging Face encoder. What a layer has beyond `attention` is its feed-forward part."""

    layers: str
    attention: tuple[str, ...]
    projections: tuple[str, ...]  # query, key, value: a head is some of their rows
    output: str  # a head is some of its columns
    rest: tuple[str, ...]  # attention's LayerNorm, the two layers of the feed-forward part, its LayerNorm
    activation: str
    dropouts: tuple[str, str | None, str]  # of the attention, of its output, of the feed-forward part's
    embeddings: tuple[str, ...] = ("embeddings.",)


_BERT = Family(
    layers="encoder.layer",
    attention=("attention.",),
    projections=("attention.self.query", "attention.self.key", "attention.self.value"),
    output="attention.output.dense",
    rest=("attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
    activation="intermediate.intermediate_act_fn",
    dropouts=("attention.self.dropout", "attention.output.dropout", "output.dropout"),
)
# The names that sub-modules have in results, whatever the family: first the projections, the output, then the rest.
SUBMODULES = (
    "attention.query",
    "attention.key",
    "attention.value",
    "attention.output",
    "attention.layernorm",
    "feedforward.intermediate",
    "feedforward.output",
    "feedforward.layernorm",
)
FAMILIES = {
    "bert": _BERT,
    "roberta": _BERT,
    "electra": replace(_BERT, embeddings=("embeddings.", "embeddings_project.")),
    "distilbert": Family(
        layers="transformer.layer",
        attention=("attention.", "sa_layer_norm."),
        projections=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        output="attention.out_lin",
        rest=("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
        activation="ffn.activation",
        dropouts=("attention.dropout", None, "ffn.dropout"),
    ),
}


@dataclass(frozen=True)
class Slice:
    """A tensor, or the part of it along `dim` that belongs to one head (numbered from 0)."""

    name: str
    dim: int | None = None
    head: int = 0


def family_of(model_type: str, key: str = "model.name") -> Family:
    if model_type == "albert":
        raise ConfigError(key, "ALBERT shares one set of weights between its layers, so no single layer can be redrawn")
    if model_type not in FAMILIES:
        raise ConfigError(key, f"a model of type {model_type!r} is not supported; choose one of {', '.join(FAMILIES)}")
    return FAMILIES[model_type]


def layer_prefix(family: Family, layer: int) -> str:
    """The start of the tensor names of layer 1..L."""
    return f"{family.layers}.{layer - 1}."


def submodule(name: str, family: Family, layers: int) -> tuple[int, str]:
    """The layer and the sub-module that a tensor is of: embeddings are layer 0, the pooler is layer L + 1."""
    module = name.rpartition(".")[0]
    if name.startswith(family.embeddings):
        return 0, f"embeddings.{module.split('.')[-1]}".lower()
    if name.startswith("pooler."):
        return layers + 1, "pooler"
    number, _, inside = module.removeprefix(f"{family.layers}.").partition(".")
    return int(number) + 1, SUBMODULES[(*family.projections, family.output, *family.rest).index(inside)]


def locate(region: str, family: Family, names: Iterable[str]) -> list[Slice]:
    """The tensors among `names`, or the slices of them, that a region of a treatment means."""
    if region == "embeddings":
        return [Slice(name) for name in names if name.startswith(family.embeddings)]
    if region == "pooler":
        return [Slice(name) for name in names if name.startswith("pooler.")]
    _, layer, what = region.split(" ", 2)
    prefix = layer_prefix(family, int(layer))
    if what.startswith("head "):
        return _head_slices(prefix, int(what.removeprefix("head ")) - 1, family)
    inside = [name for name in names if name.startswith(prefix)]
    attention = [name for name in inside if name.removeprefix(prefix).startswith(family.attention)]
    chosen = attention if what == "attention" else [name for name in inside if name not in attention]
    return [Slice(name) for name in chosen]


def _head_slices(prefix: str, head: int, family: Family) -> list[Slice]:
    rows = [
        Slice(f"{prefix}{projection}.{kind}", 0, head)
        for projection in family.projections
        for kind in ("weight", "bias")
    ]
    return [*rows, Slice(f"{prefix}{family.output}.weight", 1, head)]
