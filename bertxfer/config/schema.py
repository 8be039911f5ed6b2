"""The schema of every config: what a user may set, with its type. A key that is not here is a typo."""

import os
from dataclasses import dataclass, field, fields, make_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bertxfer.config.axes import AXES
from bertxfer.config.keys import Range, choice, counting, later, leaving, outputs, ranged
from bertxfer.system.package import PACKAGE

# Where results go unless a config or a command says otherwise.
OUTPUT_VARIABLE, OUTPUT_DIR = "BERTXFER_OUTPUT", "multirun_outputs"
# OmegaConf's word for a value that must be given. Workers, who compose nothing, import neither it nor Hydra.
MISSING: Any = "???"


def output_dir() -> str:
    """The results folder of a command that reads no config."""
    return os.environ.get(OUTPUT_VARIABLE, OUTPUT_DIR)


def conf_dir() -> Path:
    """Where the YAML lies: beside the package in a checkout, inside it in a wheel."""
    packaged = PACKAGE / "conf"
    return packaged if packaged.is_dir() else PACKAGE.parent / "conf"


@dataclass
class Model:
    name: str = MISSING  # a hub name, a folder, "mini", or "minilm" (from the extra of that name)
    revision: str | None = None  # the hub commit; a folder is identified by its content instead
    # The shape, so that a config can be checked where the model is not; null: read from its config.json.
    family: str | None = None  # one of trials/families.py
    layers: int | None = None
    heads: int | None = None
    positions: int | None = None  # the longest sequence it takes
    pooling: str = choice("cls", "cls", "mean")  # cls: first token through the pooler, as BERT does; mean: all tokens
    dropout: float | None = ranged(None, 0, 1)  # null: the model's own
    lr: float = 2e-5  # the learning rate that suits this model; optimizer.lr follows it
    # Tasks that take the place of others in an experiment's grids, for a model that cannot read those.
    stand_ins: dict[str, str] = field(default_factory=dict)


@dataclass
class Files:
    """A task's rows in files: TSV (without quoting), CSV, JSONL, Parquet, or SQuAD's JSON."""

    folders: list[str] = field(default_factory=lambda: ["."])  # where they may be within data.root
    train: str | None = None
    dev: str | None = None
    header: list[str] = field(default_factory=list)  # names of the columns of a file that does not name them
    columns: dict[str, str] = field(
        default_factory=dict
    )  # what the files call a column, where that is not the task's name for it


@dataclass
class Hub:
    """A task's rows on the Hugging Face hub, or in a folder laid out as the hub's repository is."""

    path: str | None = None
    config: str | None = None
    revision: str | None = None
    train: str = "train"
    dev: str = "validation"


@dataclass
class Span:
    """How answers are looked for in a passage."""

    question_length: int = ranged(64, 1)  # tokens; a longer question is cut
    answer_length: int = ranged(30, 1)  # tokens; a longer answer is not considered
    n_best: int = ranged(20, 1)  # starts and ends that are combined
    # No answer is given where the null score is more than this above the best answer's.
    null_threshold: float = ranged(0.0, -1e9)


@dataclass
class Task:
    name: str = MISSING
    kind: str = "classification"  # what is predicted, so head, loss and metrics: one of tasks/kinds.py
    source: str = choice("rows", "rows", "mini")  # rows: from files or the hub, as below; mini: the generated language
    text: list[str] = MISSING  # one or two columns
    label: str = "label"
    labels: list[str] = field(default_factory=list)  # names of the classes, in the order of their numbers
    metrics: list[str] = MISSING  # names in tasks/metrics.py, of the task's kind
    headline: str = MISSING  # the metric that is a trial's score
    train_size: int | None = None  # rows, where it is known beforehand
    default_n: int | None = None  # data.n when neither n nor fraction is given; null: all rows
    skip_broken: bool = False  # leave out rows with too few cells or an empty text, instead of refusing the file
    files: Files = field(default_factory=Files)
    hub: Hub = field(default_factory=Hub)
    span: Span = field(default_factory=Span)


@dataclass
class Init:
    distribution: str = choice(MISSING, "truncated_normal", "normal", "shuffle")
    sd: float | None = ranged(None, 0, above=True)
    cut: float | None = ranged(None, 0, above=True)  # where truncated_normal is cut, in units of sd
    biases: str = choice("zero", "zero", "keep", "draw", "shuffle")  # draw: from the distribution, as weights are
    layernorm: str = choice("reset", "reset", "keep", "draw", "shuffle")  # reset: to 1 and 0


@dataclass
class Data:
    n: Any = None  # rows of the training set drawn at random; "all" for all of them
    fraction: float | None = ranged(None, 0, 1, above=True)
    dev_n: int | None = ranged(None, 1)  # only the first rows of the dev set; null: all of it
    max_length: int | None = ranged(
        None, 3
    )  # in tokens; null: 128 (span tasks: 384), or what the model takes if that is less
    # Tokens that neighbouring windows of a passage share; null: a third of max_length, if it has room.
    stride: int | None = ranged(None, 0)
    root: str | None = "${oc.env:BERTXFER_DATA,null}"  # a folder of data sets; null: the hub


# Where steps are counted from without the correction of Adam's bias: float32 still counts them one by one from here.
UNCORRECTED_FROM = 2.0**23


@dataclass
class Optimizer:
    name: str = choice(MISSING, "adam", "adamw")
    lr: float = ranged(MISSING, 0, above=True)
    beta1: float = ranged(0.9, 0, 1, below=True)
    beta2: float = ranged(0.999, 0, 1, below=True)
    eps: float = ranged(1e-8, 0, above=True)
    weight_decay: float = ranged(0.0, 0)  # never on biases and LayerNorm
    # Each layer learns at this share of the rate of the layer above it, embeddings as if they were layer 0.
    layer_decay: float = later(1.0, limits=Range(0, 1, above=True))
    bias_correction: bool = later(True)  # false: BERT's original Adam, whose first steps are larger


@dataclass
class Training:
    epochs: int = ranged(5, 0)
    batch_size: int = ranged(8, 1)
    accumulate: int = ranged(1, 1)  # batches per optimizer step
    clip: float | None = ranged(1.0, 0, above=True)
    schedule: str = choice("linear", "linear", "cosine", "constant")
    warmup: float = ranged(0.0, 0, 1)  # fraction of all steps
    # Training stops when this no longer improves; holdout_loss is for probes only.
    stop: str | None = choice(None, None, "dev_score", "train_loss", "holdout_loss")
    patience: int | None = ranged(None, 1)  # epochs to wait for an improvement
    report: str = choice("last", "last", "best")  # the epoch whose dev score counts: last (the papers) or best
    # When the dev set is evaluated: after the last epoch, or after each one, which leaves the course of the dev scores.
    # No number of a result depends on it. Where scores decide (report=best, stop=dev_score) each epoch is evaluated.
    evaluate: str = leaving("last", last=None, every="course")
    precision: str = choice("fp32", "fp32", "bf16", "tf32")
    # Sequences laid end to end instead of padded: the same numbers, but other dropout masks.
    packed: bool = later(True, before={2: False})
    compiled: bool = later(False)  # layers through torch.compile; docs/speed.md has the verdict


@dataclass
class Probe:
    """A small classifier on the frozen encoder, in place of fine-tuning. `training=probe` turns it on."""

    # mean: over the tokens of a layer; cls: its first token; pooled: that through BERT's own pooler, which stays frozen
    features: str | None = choice(None, None, "mean", "cls", "pooled")
    layer: int | None = counting(None, "layers")  # the layer that is read, 1..L; 0: the embeddings
    removed: int | None = counting(None, "layers")  # the same from above: layers that are taken off the top
    holdout: float = ranged(0.2, 0, 0.9, above=True)  # the part of the training rows that early stopping looks at
    half: bool = False  # features are kept in 16 bits


@dataclass
class ArtifactSettings:
    """What trials share: encoders after the stages of chains, features of probes."""

    max_gb: float | None = ranged(20.0, 0, above=True)  # on disk; the least recently used goes first. null: no limit


@dataclass
class Seeds:
    """Seeds of single streams of randomness; null: the stream follows `seed`."""

    subsample: int | None = None
    redraw: int | None = None  # of the weights that are reinitialized
    head: int | None = None
    order: int | None = None
    dropout: int | None = None
    permutation: int | None = None


@dataclass
class Runtime:
    """How and where a trial runs. Nothing here may change its result, so nothing here is in its id."""

    device: str = choice("auto", "auto", "cuda", "mps", "cpu", numbered="cuda")  # auto: CUDA, else MPS, else CPU
    threads: int | None = ranged(None, 1)  # CPU threads; null: what the machine gives
    checkpoint_seconds: float = ranged(60.0, 0)  # 0: after every step
    output_dir: str = f"${{oc.env:{OUTPUT_VARIABLE},{OUTPUT_DIR}}}"
    track: list[str] = field(default_factory=list)  # where finished trials are also logged: names in sweeps/trackers/


@dataclass
class Config:
    """All keys but the axes of the schemes, which `schema` adds."""

    model: Model = field(default_factory=Model)
    task: Task = field(default_factory=Task)
    scheme: str = MISSING
    # Tasks to be fine-tuned on first, in front of any scheme: a task's name or a list. A stage with settings of its own
    # is {task: rte, data: {n: 500}, training: {epochs: 2}, optimizer: {lr: 1e-5}}; the rest is as for the trial itself.
    intermediate: Any = None
    # chain: one after another; interleave: all tasks' batches in one training
    intermediate_mode: str = choice("chain", "chain", "interleave")
    treat_before: str = choice("first", "first", "last")  # the stage of a chain that the treatment comes before
    # What is done to the weights after what the scheme does, one after another: {stats: layers 1-6},
    # {reinitialize: pooler}, {corrupt: layers, amount: 0.3}, {permute: drawn}, and more (docs/treatments.md).
    treatments: Any = None
    frozen: Any = None  # regions that are not trained, such as `layers 1-6`
    # Options of every scheme that reinitializes.
    part: str = choice("all", "all", "attention", "feedforward")
    init: Init = field(default_factory=Init)
    keep_layernorm: bool = False
    reinit_lr_factor: float = ranged(1.0, 0, above=True)
    data: Data = field(default_factory=Data)
    optimizer: Optimizer = field(default_factory=Optimizer)
    training: Training = field(default_factory=Training)
    probe: Probe = field(default_factory=Probe)
    seed: int = 0
    seeds: Seeds = field(default_factory=Seeds)
    # What a trial leaves beside its result: not part of its id.
    # What fine-tuning changed, and where: names in learning/analysis/.
    analysis: Any = outputs("weights", "attention", "surgery", "similarity", "path")
    keep: Any = outputs("model")  # the fine-tuned model, as a Hugging Face folder
    artifacts: ArtifactSettings = field(default_factory=ArtifactSettings)
    runtime: Runtime = field(default_factory=Runtime)
    # What an experiment says about itself. None of it is in an id.
    description: str | None = None
    grids: Any = None  # its union of grids, read by the sweeper
    scale: str | None = None  # tiny: its grids made so small that they run in seconds
    readings: list[str] = field(default_factory=list)  # where its paper's text and published code differ: text, code
    reading: str = "text"  # the one that is chosen
    claims: Any = None  # what it sets out to decide (claims/claim.py)
    figure: Any = None  # how its results are drawn, read by the report
    error_bars: str | None = None  # the interval of every figure; null: each has its own


@lru_cache(maxsize=1)
def schema() -> type[Config]:
    """The whole schema: a config with a key for every axis of every scheme."""
    assert AXES, "the schemes declare their axes when bertxfer.trials.schemes is imported"
    shadowing = {one.name for one in fields(Config)} & set(AXES)
    assert not shadowing, f"{shadowing}: these axes have the names of other keys"
    axes = [(axis.name, axis.type, field(default=None, metadata={"counts": axis.counts})) for axis in AXES.values()]
    return make_dataclass("Config", axes, bases=(Config,))


def register() -> None:
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name="schema", node=schema())


def keys() -> list[str]:
    """Every key that a config may have, for guessing what a typo meant."""
    from omegaconf import DictConfig, OmegaConf

    names: list[str] = []
    pending = [("", OmegaConf.structured(schema()))]
    while pending:
        prefix, node = pending.pop()
        for key in node:
            names.append(f"{prefix}{key}")
            if not OmegaConf.is_missing(node, key) and isinstance(node._get_node(key), DictConfig):
                pending.append((f"{prefix}{key}.", node[key]))
    return names
