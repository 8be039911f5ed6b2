"""Every experiment of a folder of configs, place by place, as plain data: what one revision is compared by.

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
from bertxfer.sweeps.sweep import places_of
from bertxfer.trials.inputs import Inputs
from bertxfer.trials.science import SEMANTICS

FORMAT = 1
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
    """A place in an experiment's grids: the axes as typed, the trial, and what it was resolved to."""

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
        return {place.id for found in self.experiments.values() if isinstance(found, list) for place in found}


def listing(conf: Path, names: Sequence[str] | None = None) -> Listing:
    """What these experiments, or all, mean. A broken one says why, and hides no other."""
    composer, inputs = Composer(conf), Inputs(stand_ins=True)
    found: dict[str, list[ListedPoint] | Broken] = {}
    for name in experiments.names(conf) if names is None else names:
        try:
            found[name] = _places(name, composer, inputs)
        except Exception as error:  # whatever is wrong with one experiment, the others are looked at
            found[name] = why_broken(error, name, composer)
    return Listing(found, list(inputs.absent), SEMANTICS)


def _places(name: str, composer: Composer, inputs: Inputs) -> list[ListedPoint]:
    shared = _Shared()
    return [
        ListedPoint(point.axes, point.trial.id, shared.parts(point.trial.science), shared.parts(config, _NOT_SCIENCE))
        for point, config in places_of([f"experiment={name}"], composer, inputs)
    ]


def why_broken(error: Exception, experiment: str, composer: Composer) -> Broken:
    """The error in one sentence, with the file and line that it is about where these can be told."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        file, line, said = complaints.yaml_error(error)
        return Broken(said, provenance.shown(composer, Path(file)), line)
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
        found = provenance.in_grids(composer, experiment, key, axes)
        found = found or provenance.mentioned(composer, f"experiment/{experiment}", key)
        if found is None:
            found = next(iter(provenance.Provenance(composer, [f"experiment={experiment}"]).sources(key)), None)
    except Exception:  # an error that cannot be placed is reported without its place
        return None
    return found


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
        # By value where it has a hash; else by number, and the object is kept, so that no other gets its number.
        known = value if dataclasses.is_dataclass(value) and _has_hash(value) else id(value)
        if known not in self._seen:
            text = json.dumps(value, default=vars, sort_keys=True)
            self._seen[known] = (value, self._plain.setdefault(text, json.loads(text)))
        return self._seen[known][1]


def _has_hash(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # its own parts may have none, as those of a chain
        return False
    return True


def dump(found: Listing) -> str:
    """As JSON, with every part that places share written once."""
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
    for name, places in found.experiments.items():
        if isinstance(places, Broken):
            plain[name] = dataclasses.asdict(places)
        else:
            plain[name] = [[place.axes, place.id, packed(place.science), packed(place.config)] for place in places]
    return json.dumps(
        {
            "format": FORMAT,
            "experiments": plain,
            "pool": pool,
            "absent": found.absent,
            "semantics": found.semantics,
        }
    )


def load(text: str) -> Listing:
    """What `dump` wrote, perhaps in another revision; ValueError where it is of another format."""
    told = json.loads(text)
    if told.get("format") != FORMAT:
        raise ValueError(f"its listing has format {told.get('format')}, not {FORMAT}")
    pool = told["pool"]

    def unpacked(parts: Plain) -> Plain:
        return {name: pool[value[0]] if isinstance(value, list) else value for name, value in parts.items()}

    found: dict[str, list[ListedPoint] | Broken] = {}
    for name, places in told["experiments"].items():
        if isinstance(places, dict):
            found[name] = Broken(**places)
        else:
            found[name] = [ListedPoint(axes, at, unpacked(science), unpacked(cfg)) for axes, at, science, cfg in places]
    return Listing(found, told["absent"], told["semantics"])


def main(words: Sequence[str]) -> None:
    conf, *names = words
    print(dump(listing(Path(conf), [name for name in names if name != "--none"] if names else None)))


if __name__ == "__main__":
    main(sys.argv[1:])
