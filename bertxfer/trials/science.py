"""A trial's scientific config: everything that can change its result and nothing else, and the id that hashes it."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast, get_args, get_type_hints

from bertxfer.config.keys import later, left_out, until
from bertxfer.config.schema import Optimizer, Training
from bertxfer.errors import BertxferError
from bertxfer.system import seeds
from bertxfer.tasks.task import TaskScience
from bertxfer.trials.treatment import Treatment

# Raised when the code computes another result from the same config. Old results then belong to other trials. Other
# last bits do not count: they also depend on the versions, the processor and the threads, which a result names.
# 2: batches are packed, which draws other dropout masks.
# 3: a classifier is drawn from the seed and the task, so that no stage of a chain begins with another's; a probe's
# pooler is frozen; what is only looked at is no part of an id.
# 4: models and rows are known by what a trial reads of them, whatever they are called and wherever they come from.
SEMANTICS = 4

T = TypeVar("T")


@dataclass(frozen=True)
class ModelScience:
    name: str  # what it is called; since semantics 4 no part of an id
    version: str  # the digest of what a trial reads of it
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
    dev_n: int | None = later(None)  # null: the whole dev set


@dataclass(frozen=True)
class StageScience:
    """One fine-tuning: its data and how it is trained."""

    task: TaskScience
    data: DataScience
    optimizer: Optimizer
    training: Training
    pooling: str
    frozen: tuple[str, ...] = later(())  # regions that are not trained


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
    holdout: float | None  # null where nothing is held out
    half: bool
    pooler: bool | None = until(3)  # BERT's own, trained with the probe


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
    chain: Chain | None = later(None)
    probe: ProbeScience | None = later(None)
    frozen: tuple[str, ...] = later(())

    @property
    def depth(self) -> int:
        """How many layers the encoder has when it is trained."""
        return self.treatment.depth(self.model.layers)

    def as_dict(self) -> dict[str, Any]:
        """Plain data. What was added later and is not used leaves no mark, so that older ids stay what they were."""
        # json and not asdict, which copies every value and takes ten times as long; sweeps have thousands of trials.
        plain: dict[str, Any] = json.loads(json.dumps(self, default=lambda part: _marked(part, self.semantics)))
        return plain

    @property
    def id(self) -> str:
        return identify(self.as_dict())

    def company(self) -> str | None:
        """Trials with the same answer are computed together: probes of all layers and seeds. None: alone."""
        if self.probe is None:
            return None
        plain = self.as_dict()
        plain["probe"].pop("layer")
        # Seeds that change the features keep trials apart: of reinitialized weights, and after a chain all of them.
        plain["seeds"] = self.seeds if self.chain is not None else {"redraw": self.seeds.get("redraw")}
        return identify(plain)

    @staticmethod
    def from_dict(plain: dict[str, Any]) -> "Science":
        """What `as_dict` gave, perhaps in an earlier version."""
        return _build(Science, plain, plain["semantics"])


def assemble(
    model: ModelScience,
    stage: StageScience,
    treatment: Treatment,
    chain: Chain | None,
    probe: ProbeScience | None,
    seed_of: Callable[[str], int],
) -> Science:
    """The scientific config of a trial: a model, its last stage, and what comes before that. It has the seeds of those
    streams of randomness that such a trial draws from, and of no others."""
    science = Science(
        model=dataclasses.replace(model, pooling=stage.pooling),
        task=stage.task,
        data=stage.data,
        treatment=treatment,
        optimizer=stage.optimizer,
        training=stage.training,
        seeds={},
        chain=chain,
        probe=probe,
        frozen=stage.frozen,
    )
    wanted = streams_of(science)
    return dataclasses.replace(science, seeds={name: seed_of(name) for name in seeds.STREAMS if name in wanted})


def streams_of(science: Science) -> set[str]:
    """The streams of randomness that a trial draws from."""
    streams = {"head", "order"} if science.probe is not None and science.chain is None else {"head", "order", "dropout"}
    samples = [science.data, *(stage.data for stage in (science.chain.stages if science.chain else ()))]
    if any(sample.n is not None or sample.fraction is not None for sample in samples):
        streams.add("subsample")
    if science.treatment.draws:
        streams.add("redraw")
    return streams


def identify(plain: dict[str, Any]) -> str:
    """The id of a scientific config given as plain data."""
    canonical = json.dumps(_normal(nameless(plain)), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def nameless(plain: dict[str, Any]) -> dict[str, Any]:
    """Without what models are called: their versions say which they are."""
    semantics, model, treatment = (_part(plain, key) for key in ("semantics", "model", "treatment"))
    changed = dict(plain) if isinstance(plain, dict) else plain
    if isinstance(semantics, int) and semantics >= 4 and isinstance(model, dict):
        changed["model"] = {key: value for key, value in model.items() if key != "name"}
    if isinstance(treatment, dict) and isinstance(operations := treatment.get("operations"), list):
        bare = [{key: value for key, value in one.items() if key != "donor_name"} for one in operations]
        changed["treatment"] = {**treatment, "operations": bare}
    return changed


def _part(plain: Any, key: str) -> Any:
    return plain.get(key) if isinstance(plain, dict) else None


def _marked(part: Any, semantics: int) -> dict[str, Any]:
    """The fields of a dataclass without those that were added later and have their defaults."""
    unmarked = left_out(type(part), semantics)
    if not unmarked:
        return vars(part)
    return {name: value for name, value in vars(part).items() if name not in unmarked or value != unmarked[name]}


def _build(kind: type[T], plain: dict[str, Any], semantics: int) -> T:
    """A dataclass from what JSON made of it; an extra or missing key is an error, never a guess."""
    types = _types(kind)  # type: ignore[arg-type]
    whole = {**left_out(kind, semantics), **plain}
    if unknown := sorted(set(whole) - set(types)):
        raise BertxferError(
            f"its config has keys that this version does not know ({', '.join(unknown)}); a newer one wrote it"
        )
    if missing := sorted(set(types) - set(whole)):
        raise BertxferError(f"its config has no {', '.join(missing)}, so it is not the config of a trial")
    return kind(**{name: _value(types[name], value, semantics) for name, value in whole.items()})


def _value(kind: Any, value: Any, semantics: int) -> Any:
    inner = next((option for option in (kind, *get_args(kind)) if dataclasses.is_dataclass(option)), None)
    if isinstance(value, (list, tuple)):  # a tuple is the default of a field that came later
        return tuple(value if inner is None else (_build(cast(type, inner), item, semantics) for item in value))
    return value if inner is None or value is None else _build(cast(type, inner), value, semantics)


@lru_cache(maxsize=32)
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


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
