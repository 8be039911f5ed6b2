"""Every experiment of a folder of configs, point by point, as plain data: what `diff` compares revisions by.

`python -m bertxfer.review.listing CONF [experiment ... | --none]` prints it as JSON. Another revision may
read it, so a change of what is printed raises FORMAT.
"""

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException

from bertxfer.config import complaints, experiments, schema
from bertxfer.config.composer import Composer
from bertxfer.errors import BertxferError, ConfigError
from bertxfer.review import provenance
from bertxfer.sweeps.wanted import places_of
from bertxfer.trials.inputs import Inputs
from bertxfer.trials.science import SEMANTICS

FORMAT = 1
_READING = ", reading="
_NOT_SCIENCE = ("runtime", "grids")  # of a config
Plain = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Broken:
    """Why an experiment means no trials."""

    reason: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return self.reason if self.file is None else f"{where}: {self.reason}"


@dataclasses.dataclass(frozen=True)
class ListedPoint:
    """A point of an experiment's grids: the axes as typed, the trial, and the config that they were resolved to."""

    axes: Plain
    id: str
    science: Plain
    config: Plain


@dataclasses.dataclass(frozen=True)
class Listing:
    experiments: dict[str, list[ListedPoint] | Broken]
    absent: list[str]  # inputs that are not on this machine, and have a stand-in version
    semantics: int

    @property
    def ids(self) -> set[str]:
        return {point.id for points in self.experiments.values() if isinstance(points, list) for point in points}


def listing(conf: Path, names: Sequence[str] | None = None) -> Listing:
    """What these experiments, or all, mean. A broken one says why, and hides no other."""
    composer, inputs = Composer(conf), Inputs(stand_ins=True)
    listed: dict[str, list[ListedPoint] | Broken] = {}
    for name in experiments.names(conf) if names is None else names:
        try:
            listed[name] = _points([f"experiment={name}"], composer, inputs)
            for reading in composer.compose([f"experiment={name}"]).readings:
                if reading != "text":
                    words = [f"experiment={name}", f"reading={reading}"]
                    listed[f"{name}{_READING}{reading}"] = _points(words, composer, inputs)
        except Exception as error:  # whatever is wrong with one experiment, the others are looked at
            listed[name] = why_broken(error, name, composer)
    return Listing(listed, list(inputs.absent), SEMANTICS)


def experiment_of(listed: str) -> str:
    """The experiment's own name, of one that is listed once for each reading."""
    return listed.partition(_READING)[0]


def _points(words: Sequence[str], composer: Composer, inputs: Inputs) -> list[ListedPoint]:
    shared = _Shared()
    return [
        ListedPoint(point.axes, point.trial.id, shared.parts(point.trial.science), shared.parts(config, _NOT_SCIENCE))
        for point, config in places_of(words, composer, inputs)
    ]


def why_broken(error: Exception, experiment: str, composer: Composer) -> Broken:
    """The error in one sentence, with the file and line that it is about where these are known."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        file, line, problem = complaints.yaml_error(error)
        return Broken(problem, provenance.shown(composer, Path(file)), line)
    if isinstance(error, BertxferError):
        reason = str(error)
    elif isinstance(error, (HydraException, OmegaConfBaseException)):
        reason = complaints.one_sentence(error, schema.keys())
    else:
        reason = f"{type(error).__name__}: {error}"
    key, axes = (error.key, error.axes) if isinstance(error, ConfigError) else (reason.split(":")[0], None)
    source = _source(composer, experiment, key, axes)
    return Broken(reason, *((source.file, source.line) if source else (f"conf/experiment/{experiment}.yaml", None)))


def _source(
    composer: Composer, experiment: str, key: str, axes: Mapping[str, Any] | None
) -> provenance.Statement | None:
    """Where the key that an error is about is set for an experiment, as far as the broken configs can be read."""
    try:
        statement = provenance.in_grids(composer, experiment, key, axes)
        statement = statement or provenance.mentioned(composer, f"experiment/{experiment}", key)
        if statement is None:
            statement = next(iter(provenance.Provenance(composer, [f"experiment={experiment}"]).sources(key)), None)
    except Exception:  # an error that cannot be traced is reported without a line
        return None
    return statement


class _Shared:
    """Equal parts of thousands of configs as one object each."""

    def __init__(self) -> None:
        self._seen: dict[Any, tuple[Any, Any]] = {}
        self._plain: dict[str, Any] = {}

    def parts(self, whole: Any, without: Sequence[str] = ()) -> Plain:
        names = [field.name for field in dataclasses.fields(whole) if field.name not in without]
        return {name: self._part(getattr(whole, name)) for name in names}

    def _part(self, value: Any) -> Any:
        if value is None or isinstance(value, (str, int, float)):
            return value
        # By value where it has a hash; else by `id()`, and the object is kept, so that no other gets the same `id()`.
        key = value if dataclasses.is_dataclass(value) and _has_hash(value) else id(value)
        if key not in self._seen:
            text = json.dumps(value, default=vars, sort_keys=True)
            self._seen[key] = (value, self._plain.setdefault(text, json.loads(text)))
        return self._seen[key][1]


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # its parts may have none, as those of a chain
        return False
    return True


def dump(listed: Listing) -> str:
    """As JSON, with every part that points share written once."""
    numbers: dict[int, int] = {}
    pool: list[Any] = []

    def number(part: Any) -> int:
        if id(part) not in numbers:
            numbers[id(part)] = len(pool)
            pool.append(part)
        return numbers[id(part)]

    def packed(parts: Plain) -> Plain:
        return {name: [number(value)] if isinstance(value, (dict, list)) else value for name, value in parts.items()}

    plain: Plain = {}
    for name, points in listed.experiments.items():
        if isinstance(points, Broken):
            plain[name] = dataclasses.asdict(points)
        else:
            plain[name] = [[point.axes, point.id, packed(point.science), packed(point.config)] for point in points]
    return json.dumps(
        {
            "format": FORMAT,
            "experiments": plain,
            "pool": pool,
            "absent": listed.absent,
            "semantics": listed.semantics,
        }
    )


def load(text: str) -> Listing:
    """What `dump` wrote, perhaps in another revision; ValueError where it is of another format."""
    plain = json.loads(text)
    if plain.get("format") != FORMAT:
        raise ValueError(f"its listing has format {plain.get('format')}, not {FORMAT}")
    pool = plain["pool"]

    def unpacked(parts: Plain) -> Plain:
        return {name: pool[value[0]] if isinstance(value, list) else value for name, value in parts.items()}

    listed: dict[str, list[ListedPoint] | Broken] = {}
    for name, points in plain["experiments"].items():
        if isinstance(points, dict):
            listed[name] = Broken(**points)
        else:
            listed[name] = [
                ListedPoint(axes, at, unpacked(science), unpacked(cfg)) for axes, at, science, cfg in points
            ]
    return Listing(listed, plain["absent"], plain["semantics"])


def main(words: Sequence[str]) -> None:
    conf, *names = words
    print(dump(listing(Path(conf), [name for name in names if name != "--none"] if names else None)))


if __name__ == "__main__":
    main(sys.argv[1:])
