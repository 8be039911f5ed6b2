"""A trial's scientific config: everything that can change its result and nothing else, and the id that hashes it."""

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any, TypeVar

from bertxfer.config.schema import Optimizer, Training
from bertxfer.errors import BertxferError
from bertxfer.tasks.task import SpanScience, TaskScience
from bertxfer.trials.treatments import Initializer, Treatment

# Raised when the code computes another result from the same config. Old results then belong to other trials. Last
# bits are no other result: they also follow the versions, the processor and the threads, which a result names.
# 2: batches are packed, which draws other dropout masks.
SEMANTICS = 2

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
class DataScience:
    n: int | None  # null with a null fraction: the whole training set
    fraction: float | None
    max_length: int
    stride: int | None  # null where a text is not cut into windows
    dev_n: int | None = None  # null: the whole dev set


@dataclass(frozen=True)
class StageScience:
    """One fine-tuning: its data and how it is trained."""

    task: TaskScience
    data: DataScience
    optimizer: Optimizer
    training: Training
    pooling: str


@dataclass(frozen=True)
class Chain:
    """The stages in front of a trial, and which stage the treatment comes before (null: there is no treatment)."""

    mode: str  # chain, interleave
    stages: tuple[StageScience, ...]
    treated: str | None  # first, last


@dataclass(frozen=True)
class ProbeScience:
    features: str
    layer: int
    pooler: bool
    holdout: float | None  # null where nothing is held out
    half: bool


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
    chain: Chain | None = None
    probe: ProbeScience | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data. What came later and is not there leaves no mark, so that older ids stay what they were."""
        # vars and not asdict, which copies every value and takes ten times as long; sweeps have thousands of trials.
        plain: dict[str, Any] = json.loads(json.dumps(vars(self), default=vars))
        for stage in (plain, *(plain["chain"] or {}).get("stages", [])):
            if stage["data"]["dev_n"] is None:
                del stage["data"]["dev_n"]
            if stage["training"]["packed"] == _packed_by_default(self.semantics):
                del stage["training"]["packed"]
            if not stage["training"]["compiled"]:
                del stage["training"]["compiled"]
        return {key: value for key, value in plain.items() if value is not None or key not in ("chain", "probe")}

    @property
    def id(self) -> str:
        return identify(self.as_dict())

    def company(self) -> str | None:
        """Trials that give the same answer are computed together: probes of all layers and seeds. None: alone."""
        if self.probe is None:
            return None
        plain = self.as_dict()
        plain["probe"].pop("layer")
        # Seeds that change the features keep apart: those of redrawn weights, and of a chain all.
        plain["seeds"] = self.seeds if self.chain is not None else {"redraw": self.seeds.get("redraw")}
        return identify(plain)

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> "Science":
        treatment = dict(plain["treatment"])
        if treatment["initializer"] is not None:
            treatment["initializer"] = Initializer(**treatment["initializer"])
        chain = plain.get("chain")
        if chain is not None:
            stages = [_stage_from(stage, plain["semantics"]) for stage in chain["stages"]]
            chain = _build(Chain, {**chain, "stages": stages})
        return Science(
            model=_build(ModelScience, plain["model"]),
            task=_task_from(plain["task"]),
            data=_data_from(plain["data"]),
            treatment=_build(Treatment, treatment),
            optimizer=_build(Optimizer, plain["optimizer"]),
            training=_training_from(plain["training"], plain["semantics"]),
            seeds=dict(plain["seeds"]),
            semantics=plain["semantics"],
            chain=chain,
            probe=None if plain.get("probe") is None else _build(ProbeScience, plain["probe"]),
        )


def streams_of(science: Science) -> set[str]:
    """The streams of randomness that a trial draws from."""
    streams = {"head", "order"} if science.probe is not None and science.chain is None else {"head", "order", "dropout"}
    samples = [science.data, *(stage.data for stage in (science.chain.stages if science.chain else ()))]
    if any(sample.n is not None or sample.fraction is not None for sample in samples):
        streams.add("subsample")
    if science.treatment.redrawn:
        streams.add("redraw")
    return streams


def identify(plain: dict[str, Any]) -> str:
    """The id of a scientific config given as plain data."""
    canonical = json.dumps(_normal(plain), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def _task_from(plain: dict[str, Any]) -> TaskScience:
    span = plain["span"]
    return _build(TaskScience, {**plain, "span": None if span is None else _build(SpanScience, span)})


def _data_from(plain: dict[str, Any]) -> DataScience:
    return _build(DataScience, {"dev_n": None, **plain})


def _training_from(plain: dict[str, Any], semantics: int) -> Training:
    return _build(Training, {"packed": _packed_by_default(semantics), "compiled": False, **plain})


def _packed_by_default(semantics: int) -> bool:
    return semantics >= 2


def _stage_from(plain: dict[str, Any], semantics: int) -> StageScience:
    parts = {
        "task": _task_from(plain["task"]),
        "data": _data_from(plain["data"]),
        "optimizer": _build(Optimizer, plain["optimizer"]),
        "training": _training_from(plain["training"], semantics),
    }
    return _build(StageScience, {**plain, **parts})


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


def flatten(plain: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested keys joined by dots, lists as text."""
    flat: dict[str, Any] = {}
    for key, value in plain.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = cell(value)
    return flat


def cell(value: Any) -> Any:
    """A cell that can be grouped by and written to any file: a list becomes text."""
    if isinstance(value, dict) or (isinstance(value, (list, tuple)) and any(isinstance(item, dict) for item in value)):
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return ", ".join(str(cell(item)) for item in value)
    return value
