"""Families of encoders: where layers, parts and heads are, by tensor name, and what else sets a family apart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from bertxfer.errors import ConfigError


@dataclass(frozen=True)
class WholeModel:
    """A class of transformers with a head, and its names for the parts of ours."""

    class_name: str
    names: Mapping[str, str]

    def name_of(self, ours: str) -> str:
        prefix = next(prefix for prefix in self.names if ours.startswith(prefix))
        return self.names[prefix] + ours.removeprefix(prefix)


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
    dropout_key: str = "hidden_dropout_prob"  # in its config: the dropout of a head too
    token_types: bool = True  # it tells the two texts of a pair apart
    embeds_token_types: bool = True  # and has an embedding for them, if only of one type
    positions_after_padding: bool = False  # positions are counted from the padding's number on
    # The classes of transformers that compute exactly what our heads do, by how a head pools: BERT's and RoBERTa's,
    # where a text is read from its first token through a dense layer and tanh. ELECTRA's have gelu there, DistilBERT's
    # relu; none takes a mean.
    whole: Mapping[str, WholeModel] = field(default_factory=dict)

    def positions(self, declared: int) -> int:
        """How many tokens a text may have, of the positions that its config declares."""
        return declared - 2 if self.positions_after_padding else declared


_BERT = Family(
    layers="encoder.layer",
    attention=("attention.",),
    projections=("attention.self.query", "attention.self.key", "attention.self.value"),
    output="attention.output.dense",
    rest=("attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm"),
    activation="intermediate.intermediate_act_fn",
    dropouts=("attention.self.dropout", "attention.output.dropout", "output.dropout"),
    whole={
        "cls": WholeModel(
            "BertForSequenceClassification",
            {"encoder.": "bert.", "pooler.": "bert.pooler.", "classifier.": "classifier."},
        ),
        "none": WholeModel("BertForQuestionAnswering", {"encoder.": "bert.", "classifier.": "qa_outputs."}),
    },
)
_ROBERTA = replace(
    _BERT,
    token_types=False,
    positions_after_padding=True,
    whole={
        "cls": WholeModel(
            "RobertaForSequenceClassification",
            {"encoder.": "roberta.", "pooler.dense.": "classifier.dense.", "classifier.": "classifier.out_proj."},
        ),
        "none": WholeModel("RobertaForQuestionAnswering", {"encoder.": "roberta.", "classifier.": "qa_outputs."}),
    },
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
    "roberta": _ROBERTA,
    "electra": replace(_BERT, embeddings=("embeddings.", "embeddings_project."), whole={}),
    "distilbert": Family(
        layers="transformer.layer",
        attention=("attention.", "sa_layer_norm."),
        projections=("attention.q_lin", "attention.k_lin", "attention.v_lin"),
        output="attention.out_lin",
        rest=("sa_layer_norm", "ffn.lin1", "ffn.lin2", "output_layer_norm"),
        activation="ffn.activation",
        dropouts=("attention.dropout", None, "ffn.dropout"),
        dropout_key="dropout",
        token_types=False,
        embeds_token_types=False,
    ),
}


@dataclass(frozen=True)
class Slice:
    """A tensor, or the part of it along `dim` that belongs to one head (numbered from 0)."""

    name: str
    dim: int | None = None
    head: int = 0


def family_of(model_type: str, key: str = "model.name") -> Family:
    """The family of a model type; ConfigError where it is not supported."""
    if model_type == "albert":
        raise ConfigError(
            key, "ALBERT shares one set of weights between its layers, so no single layer can be reinitialized"
        )
    if model_type not in FAMILIES:
        raise ConfigError(key, f"a model of type {model_type!r} is not supported; choose one of {', '.join(FAMILIES)}")
    return FAMILIES[model_type]


def layer_prefix(family: Family, layer: int) -> str:
    """The start of the tensor names of layer 1..L."""
    return f"{family.layers}.{layer - 1}."


def submodule(name: str, family: Family, layers: int) -> tuple[int, str]:
    """The layer and the sub-module that a tensor belongs to: embeddings are layer 0, the pooler is layer L + 1."""
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
    _, layer, part = region.split(" ", 2)
    prefix = layer_prefix(family, int(layer))
    if part.startswith("head "):
        return _head_slices(prefix, int(part.removeprefix("head ")) - 1, family)
    inside = [name for name in names if name.startswith(prefix)]
    attention = [name for name in inside if name.removeprefix(prefix).startswith(family.attention)]
    chosen = attention if part == "attention" else [name for name in inside if name not in attention]
    return [Slice(name) for name in chosen]


def _head_slices(prefix: str, head: int, family: Family) -> list[Slice]:
    rows = [
        Slice(f"{prefix}{projection}.{kind}", 0, head)
        for projection in family.projections
        for kind in ("weight", "bias")
    ]
    return [*rows, Slice(f"{prefix}{family.output}.weight", 1, head)]
