"""A trial's scientific config, everything that can change its result and nothing else, and the id that hashes it."""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, TypeVar

from bertxfer import seeds
from bertxfer.checks import check
from bertxfer.config import Config, Optimizer, Training
from bertxfer.errors import BertxferError, ConfigError
from bertxfer.inputs import Inputs
from bertxfer.origins import Origin
from bertxfer.pretrained import Pretrained
from bertxfer.schemes import Initializer, Treatment, stream_seed, treatment_of

# Raised when the code computes another result from the same config. Old results then belong to other trials.
SEMANTICS = 1

T = TypeVar("T")


@dataclass(frozen=True)
class ModelScience:
    name: str
    version: str
    family: str
    layers: int
    heads: int
    pooling: str
    dropout: float | None


@dataclass(frozen=True)
class SpanScience:
    question_length: int
    answer_length: int
    n_best: int
    null_threshold: float


@dataclass(frozen=True)
class TaskScience:
    name: str
    kind: str
    source: str  # mini, files, hub
    dataset: str | None  # the hub's name for it, and the part of it that is meant
    subset: str | None
    train: str  # a file or a split
    dev: str
    version: str | None  # the digest of the files, or the hub revision
    header: tuple[str, ...]
    text: tuple[str, ...]
    label: str
    labels: tuple[str, ...]
    skip_broken: bool
    metrics: tuple[str, ...]
    headline: str
    span: SpanScience | None  # null where nothing is looked for in a passage


@dataclass(frozen=True)
class DataScience:
    n: int | None  # null with a null fraction: the whole training set
    fraction: float | None
    max_length: int
    stride: int | None  # null where a text is not cut into windows


@dataclass(frozen=True)
class Science:
    """What a trial is run from. It is also what the id hashes, so nothing outside it can reach the result."""

    model: ModelScience
    task: TaskScience
    data: DataScience
    treatment: Treatment
    optimizer: Optimizer
    training: Training
    seeds: dict[str, int]  # only of the streams that this trial draws from
    semantics: int = SEMANTICS

    def as_dict(self) -> dict[str, Any]:
        # vars and not asdict, which copies every value and takes ten times as long; sweeps have thousands of trials.
        plain: dict[str, Any] = json.loads(json.dumps(vars(self), default=vars))
        return plain

    @property
    def id(self) -> str:
        return identify(self.as_dict())

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> "Science":
        treatment = dict(plain["treatment"])
        if treatment["initializer"] is not None:
            treatment["initializer"] = Initializer(**treatment["initializer"])
        task = dict(plain["task"])
        if task["span"] is not None:
            task["span"] = _build(SpanScience, task["span"])
        return Science(
            model=_build(ModelScience, plain["model"]),
            task=_build(TaskScience, task),
            data=_build(DataScience, plain["data"]),
            treatment=_build(Treatment, treatment),
            optimizer=_build(Optimizer, plain["optimizer"]),
            training=_build(Training, plain["training"]),
            seeds=dict(plain["seeds"]),
            semantics=plain["semantics"],
        )


@dataclass(frozen=True)
class Trial:
    """One scientific config with one seed, and where its inputs lie on this machine."""

    id: str
    science: Science
    model_at: str
    data_at: str | None = None  # the folder of the task's files, or the hub's name for them


def trial_of(config: Config, inputs: Inputs | None = None) -> Trial:
    """The trial that a config means; ConfigError where it means none. `inputs` is for who asks for many."""
    check(config)
    inputs = inputs or Inputs()
    model = inputs.model(config.model)
    origin = inputs.rows(config.task, config.data)
    science = _science(config, model, origin, treatment_of(config, model.layers, model.heads))
    return Trial(science.id, science, model.where, origin.where)


def identify(plain: dict[str, Any]) -> str:
    """The id of a scientific config given as plain data."""
    canonical = json.dumps(_normal(plain), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _science(config: Config, model: Pretrained, origin: Origin, treatment: Treatment) -> Science:
    task = config.task
    sample = _sample(config, model)
    streams = {"head", "order", "dropout"}
    if sample.n is not None or sample.fraction is not None:
        streams.add("subsample")
    if treatment.redrawn:
        streams.add("redraw")
    return Science(
        model=ModelScience(
            model.name,
            model.version,
            model.family,
            model.layers,
            model.heads,
            "none" if task.kind == "span" else config.model.pooling,
            config.model.dropout,
        ),
        task=TaskScience(
            name=task.name,
            kind=task.kind,
            source=origin.source,
            dataset=origin.dataset,
            subset=origin.subset,
            train=origin.train,
            dev=origin.dev,
            version=origin.version,
            header=origin.header,
            text=origin.text,
            label=origin.label,
            labels=tuple(task.labels),
            skip_broken=task.skip_broken,
            metrics=tuple(task.metrics),
            headline=task.headline,
            span=SpanScience(**vars(task.span)) if task.kind == "span" else None,
        ),
        data=sample,
        treatment=treatment,
        optimizer=config.optimizer,
        training=config.training,
        seeds={stream: stream_seed(config, stream) for stream in seeds.STREAMS if stream in streams},
    )


def _sample(config: Config, model: Pretrained) -> DataScience:
    data, task = config.data, config.task
    n = task.default_n if data.n is None and data.fraction is None else data.n
    longest = min(384 if task.kind == "span" else 128, model.positions) if data.max_length is None else data.max_length
    if longest > model.positions:
        raise ConfigError("data.max_length", f"{longest} is more than the {model.positions} tokens {model.name} takes")
    stride = None
    if task.kind == "span":
        stride = longest // 3 if data.stride is None else data.stride
        room = longest - task.span.question_length - 4  # the special tokens: RoBERTa has four
        if stride >= room:
            raise ConfigError(
                "data.stride",
                f"{stride} leaves no new tokens to a window of data.max_length={longest} beside a question of "
                f"task.span.question_length={task.span.question_length}; it must be below {room}",
            )
    return DataScience(None if n == "all" else n, data.fraction, longest, stride)


def _build(kind: type[T], plain: dict[str, Any]) -> T:
    """A dataclass from what JSON made of it; a key more or less is an error, never a guess."""
    names = {f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if set(plain) != names:
        odd = ", ".join(sorted(set(plain) ^ names))
        raise BertxferError(f"{kind.__name__}: a stored config differs in its keys ({odd}); it is of another version")
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in plain.items()})


def _normal(value: Any) -> Any:
    """One spelling for one value: 1 and 1.0, -0.0 and 0.0 hash alike."""
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_normal(item) for item in value]
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return int(value)
    return value
