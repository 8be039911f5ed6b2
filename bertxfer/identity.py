"""A trial's scientific config, everything that can change its result and nothing else, and the id that hashes it."""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, TypeVar

from bertxfer import pretrained, seeds
from bertxfer.checks import check
from bertxfer.config import Config, Optimizer, Training
from bertxfer.errors import BertxferError, ConfigError
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
class TaskScience:
    name: str
    source: str
    text: tuple[str, ...]
    label: str
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    headline: str


@dataclass(frozen=True)
class DataScience:
    n: int | None  # null with a null fraction: the whole training set
    fraction: float | None
    max_length: int


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
        plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(self)))
        return plain

    @property
    def id(self) -> str:
        return identify(self.as_dict())

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> "Science":
        treatment = dict(plain["treatment"])
        if treatment["initializer"] is not None:
            treatment["initializer"] = Initializer(**treatment["initializer"])
        return Science(
            model=_build(ModelScience, plain["model"]),
            task=_build(TaskScience, plain["task"]),
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


def trial_of(config: Config) -> Trial:
    """The trial that a config means; ConfigError where it means none."""
    check(config)
    model = pretrained.find(config.model)
    if (config.data.max_length or 0) > model.positions:
        raise ConfigError(
            "data.max_length",
            f"{config.data.max_length} is more than the {model.positions} tokens {model.name} takes",
        )
    science = _science(config, model, treatment_of(config, model.layers, model.heads))
    return Trial(science.id, science, model.where)


def identify(plain: dict[str, Any]) -> str:
    """The id of a scientific config given as plain data."""
    canonical = json.dumps(_normal(plain), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _science(config: Config, model: Pretrained, treatment: Treatment) -> Science:
    task, data = config.task, config.data
    n = task.default_n if data.n is None and data.fraction is None else data.n
    max_length = data.max_length or min(128, model.positions)
    sample = DataScience(None if n == "all" else n, data.fraction, max_length)
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
            config.model.pooling,
            config.model.dropout,
        ),
        task=TaskScience(
            task.name,
            task.source,
            tuple(task.text),
            task.label,
            tuple(task.labels),
            tuple(task.metrics),
            task.headline,
        ),
        data=sample,
        treatment=treatment,
        optimizer=config.optimizer,
        training=config.training,
        seeds={stream: stream_seed(config, stream) for stream in seeds.STREAMS if stream in streams},
    )


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
