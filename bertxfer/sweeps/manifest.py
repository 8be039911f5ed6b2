"""A sweep on disk: its trials are frozen when it is launched, so that a later edit of conf/ changes none of them."""

import contextlib
import dataclasses
import hashlib
import json
import re
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bertxfer.claims.case import Case, case_of
from bertxfer.config import command_line
from bertxfer.config.schema import OUTPUT_DIR, ArtifactSettings, Runtime
from bertxfer.errors import BertxferError
from bertxfer.store import portable
from bertxfer.store.store import Store
from bertxfer.sweeps.deciding import Deciding
from bertxfer.sweeps.sweep import Point, Sweep, distinct
from bertxfer.system.files import read_json, refuse_links, write_json
from bertxfer.system.formats import FORMAT, refuse_newer
from bertxfer.trials import pretrained
from bertxfer.trials.inputs import stands_in
from bertxfer.trials.science import SEMANTICS, Science, identify
from bertxfer.trials.trial import Trial


@dataclass(frozen=True)
class Manifest:
    folder: Path
    points: list[Point]
    runtime: Runtime
    artifacts: ArtifactSettings
    cases: tuple[Case, ...] = ()  # of claims, where the sweep runs until they are decided

    @property
    def name(self) -> str:
        return self.folder.name

    @cached_property
    def trials(self) -> list[Trial]:
        """The distinct trials."""
        return distinct(point.trial for point in self.points)

    @property
    def store(self) -> Store:
        return Store(self.folder.parent.parent, self.artifacts.max_gb)

    @cached_property
    def deciding(self) -> Deciding | None:
        """What its claims still need; None where all of its trials are run."""
        return Deciding(self.cases, self.trials, self.store) if self.cases else None


@dataclass(frozen=True)
class Named:
    """A trial of a frozen sweep by its id, and what is wanted beside its result."""

    id: str
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Outline:
    """A frozen sweep reduced to the names of its trials, which is all that counting takes.

    `status` of 10,000 trials took 1.4 s of CPU with it, and 4.5 s with `read`.
    """

    folder: Path
    trials: list[Named]


def name_of(sweep: Sweep) -> str:
    """The name of a sweep's folder, which follows from its trials."""
    ids = hashlib.sha256(" ".join(sorted(trial.id for trial in sweep.trials)).encode()).hexdigest()[:8]
    return f"{re.sub('[^A-Za-z0-9_.]+', '-', sweep.name)}-{ids}"


def freeze(sweep: Sweep) -> Manifest:
    """Writes the sweep down. The name follows from the trials, so the same command finds the same sweep again."""
    if any(stands_in(trial.science) for trial in sweep.trials):
        raise BertxferError("some of its inputs are not on this machine, so it can be planned but not launched")
    root = Path(sweep.runtime.output_dir).absolute()
    folder = root / "sweeps" / name_of(sweep)
    for part in ("launches", "workers", "logs"):
        refuse_links(root, "sweeps", folder.name, part)
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError, ValueError, RecursionError):  # a damaged one is written again
        refuse_newer(folder / "manifest.json", read_json(folder / "manifest.json", follow=True))
    # Every launch rewrites it: equal ids are equal science, but the runtime and the paths of inputs may differ.
    content = {
        "format": FORMAT,
        "name": folder.name,
        "command": command_line.with_absolute_dirs(sys.argv[1:]),
        "launched": time.time(),
        "runtime": {**dataclasses.asdict(sweep.runtime), "output_dir": str(root)},
        "artifacts": dataclasses.asdict(sweep.artifacts),
        "trials": [_as_dict(trial) for trial in sweep.trials],
        # Two points may look at one trial by different metrics.
        "points": [
            {"axes": point.axes, "trial": point.trial.id, "headline": point.trial.headline} for point in sweep.points
        ],
        "until_decided": [case.as_dict() for case in sweep.cases] if sweep.until_decided else [],
    }
    write_json(folder / "manifest.json", {**content, "digest": _digest(content)})
    return read(folder)


def read(folder: Path) -> Manifest:
    """A frozen sweep; every trial must still hash to its id."""
    path = folder / "manifest.json"
    try:
        content = read_json(path, follow=True)
        _refuse_newer(path, content)
        trials = {plain["id"]: _trial(plain) for plain in content["trials"]}
        if content.get("digest", now := _digest(content)) != now:
            raise ValueError("it was changed after it was written")
        points = [
            Point(point["axes"], trials[point["trial"]].scored_by(point.get("headline"))) for point in content["points"]
        ]
        runtime, artifacts = Runtime(**content["runtime"]), ArtifactSettings(**content["artifacts"])
        cases = tuple(case_of(plain) for plain in content.get("until_decided", []))
    except FileNotFoundError:
        raise BertxferError(f"there is no sweep at {folder}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _unreadable(path, error) from error
    return Manifest(
        folder, points, dataclasses.replace(runtime, output_dir=str(folder.parent.parent)), artifacts, cases
    )


def outline(folder: Path) -> "Outline | Manifest":
    """A frozen sweep by the names of its trials alone, which are not checked here; whole where its claims say which of
    them are needed."""
    path = folder / "manifest.json"
    try:
        content = read_json(path, follow=True)
        _refuse_newer(path, content)
        if content.get("until_decided"):
            return read(folder)
        return Outline(folder, [Named(plain["id"], tuple(plain["outputs"])) for plain in content["trials"]])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(path, error) from error


def find(root: Path, name: str) -> Path:
    """The folder of the sweep called `name`, or of the only one whose name begins so."""
    if (Path(name) / "manifest.json").is_file():
        return Path(name).absolute()
    names = sorted(path.parent.name for path in (root / "sweeps").glob("[!.]*/manifest.json"))
    matches = [known for known in names if known == name] or [known for known in names if known.startswith(name)]
    if len(matches) != 1:
        known, number = ", ".join(matches or names) or "none", "more than one" if matches else "not a"
        raise BertxferError(f"{name!r} is {number} sweep; there are: {known}")
    return (root / "sweeps" / matches[0]).absolute()


def _refuse_newer(path: Path, content: dict[str, Any]) -> None:
    """Raises if a newer version has frozen the sweep, or trials whose results this one does not compute."""
    refuse_newer(path, content)
    newest = max((plain["science"]["semantics"] for plain in content["trials"]), default=SEMANTICS)
    if newest > SEMANTICS:
        raise BertxferError(
            f"{path} is of a newer version (semantics {newest}, this one computes {SEMANTICS}): update this checkout"
        )


def _unreadable(path: Path, error: Exception) -> BertxferError:
    return BertxferError(f"{path} cannot be read ({error}); move it away and launch the sweep again")


def _digest(content: dict[str, Any]) -> str:
    """Covers all but the trials' science, which their ids stand for: one more thread would change results unseen."""
    plain = {key: value for key, value in content.items() if key != "digest"}
    plain["trials"] = [{key: value for key, value in one.items() if key != "science"} for one in content["trials"]]
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:32]


def _as_dict(trial: Trial) -> dict[str, Any]:
    others = {field.name: getattr(trial, field.name) for field in dataclasses.fields(trial) if field.name != "science"}
    return {**others, "science": trial.science.as_dict()}


def _trial(plain: dict[str, Any]) -> Trial:
    lists = {key: _tuple(value) for key, value in plain.items() if isinstance(value, list)}
    science = Science.from_dict(plain["science"])
    model_at = pretrained.still_at(plain["model_at"], science.model.name, science.model.version)
    donors_at = pretrained.donors_still_at(plain.get("donors_at", []), science.treatment)
    trial = Trial(**{**plain, **lists, "science": science, "model_at": model_at, "donors_at": donors_at})
    if (identified := identify(plain["science"])) != trial.id:
        raise ValueError(f"trial {trial.id} hashes to {identified}")
    return trial


def _tuple(value: Any) -> Any:
    """What JSON made a list."""
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def packed(folder: Path) -> bytes:
    """The manifest as it may leave this machine: what was asked for, without paths, and without what only says how and
    where it was run. Its digest is made anew."""
    content = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    flags, overrides = command_line.apart(content["command"])
    ours, _ = command_line.ours_and_hydras(overrides)
    told = [word for word in ours if word.lstrip("+~").split(".")[0] not in ("runtime", "artifacts")]
    content["command"] = [*(flag for flag in flags if flag in ("-m", "--multirun")), *map(portable.word, told)]
    content["runtime"]["output_dir"] = OUTPUT_DIR
    # The science is what the ids hash, and names no place.
    content["trials"] = [{**portable.without_places(one), "science": one["science"]} for one in content["trials"]]
    content["points"] = [{**one, "axes": portable.without_places(one["axes"])} for one in content["points"]]
    content["digest"] = _digest(content)
    return (json.dumps(content, indent=2, allow_nan=False) + "\n").encode()
