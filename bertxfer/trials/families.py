"""Families of encoders: where layers, parts and heads are, by tensor name, and what else sets a family apart."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from bertxfer.errors import ConfigError


class Inside(NamedTuple):
    """An atom within its area."""

    module: str
    role: str  # weight, bias; layernorm: both tensors of one


class Atom(NamedTuple):
    """What no region divides further: a weight, a bias or a LayerNorm of one sub-module, by names that all families
    share."""

    area: str  # "embeddings", "layer 3", "pooler"
    module: str
    role: str

    @property
    def inside(self) -> Inside:
        return Inside(self.module, self.role)

    @property
    def layer(self) -> int | None:
        return int(self.area.removeprefix("layer ")) if self.area.startswith("layer ") else None

    @property
    def part(self) -> str:
        return self.module.partition(".")[0]

    @property
    def called(self) -> str:
        """What it is called within its area."""
        if self.area == "pooler":
            return self.role
        alone = self.role == "layernorm" or self.module in ("word", "position", "type")
        return self.module if alone else f"{self.module}.{self.role}"


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

    @property
    def embedding_atoms(self) -> tuple[Atom, ...]:
        modules = ["word", "position", *(["type"] if self.embeds_token_types else [])]
        tables = tuple(Atom("embeddings", module, "weight") for module in modules)
        projected = len(self.embeddings) > 1
        projection = tuple(Atom("embeddings", "projection", role) for role in ("weight", "bias") if projected)
        return (*tables, Atom("embeddings", "layernorm", "layernorm"), *projection)

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
_BOTH = ("weight", "bias")
# A layer, a head of it and the pooler, in atoms.
LAYER_ATOMS = tuple(
    Inside(module, role)
    for module in SUBMODULES
    for role in (("layernorm",) if module.endswith("layernorm") else _BOTH)
)
HEAD_ATOMS = (*(Inside(m, role) for m in SUBMODULES[:3] for role in _BOTH), Inside("attention.output", "weight"))
POOLER_ATOMS = tuple(Atom("pooler", "", role) for role in _BOTH)
_EMBEDDINGS = {
    "word_embeddings": "word",
    "position_embeddings": "position",
    "token_type_embeddings": "type",
    "layernorm": "layernorm",
    "embeddings_project": "projection",
}
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


def atom_of(name: str, family: Family) -> Atom:
    """The atom that a tensor belongs to."""
    layer, module = submodule(name, family, layers=0)
    role = "layernorm" if module.endswith("layernorm") else name.rpartition(".")[2]
    if name.startswith("pooler."):
        return Atom("pooler", "", role)
    if name.startswith(family.embeddings):
        return Atom("embeddings", _EMBEDDINGS[module.removeprefix("embeddings.")], role)
    return Atom(f"layer {layer}", module, role)


def locate(region: str, family: Family, names: Iterable[str]) -> list[Slice]:
    """The tensors among `names`, or the slices of them, that a region means, by the name that regions.py gives it."""
    return [piece for name in names if (piece := _piece(region, name, atom_of(name, family))) is not None]


def _piece(region: str, name: str, atom: Atom) -> Slice | None:
    """What a region has of a tensor."""
    area, _, within = region.partition(" ") if not region.startswith("layer ") else _area(region)
    if area != atom.area:
        return None
    head = None
    if within.startswith("head "):
        number, _, within = within.removeprefix("head ").partition(" ")
        head = int(number) - 1
        if atom.inside not in HEAD_ATOMS:
            return None
    if within not in ("", atom.part, atom.module, atom.called):
        return None
    if head is None:
        return Slice(name)
    return Slice(name, 1 if atom.module == "attention.output" else 0, head)


def _area(region: str) -> tuple[str, str, str]:
    layer, number, *within = region.split(" ", 2)
    return f"{layer} {number}", " ", within[0] if within else ""
