"""Launches of a sweep, written down beside it: its rules, which workers each started, and whether it was cancelled."""

import time
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bertxfer.sweeps.attempt import Rules
from bertxfer.sweeps.manifest import Manifest
from bertxfer.system.files import mark, read_json, refuse_links, write_json
from bertxfer.system.formats import FORMAT, is_newer, refuse_newer

Job = dict[str, Any]  # its "id", and what else tells whether it lives


_DEFAULT = Rules()


def new_launch(sweep: Manifest, kind: str, rules: Rules = _DEFAULT) -> str:
    """A launch's name begins with its time (UTC), so that names sort by it whoever launches from wherever."""
    name = f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:6]}"
    _refuse_links(sweep.folder)
    (sweep.folder / "launches").mkdir(parents=True, exist_ok=True)
    write_json(
        sweep.folder / "launches" / f"{name}.json",
        {"format": FORMAT, "kind": kind, "rules": asdict(rules), "jobs": []},
    )
    return name


def job_name(folder: Path, launch: str) -> str:
    """What the SLURM jobs of a launch are called. By it they are known to be ours, even if nobody wrote them down."""
    return f"bertxfer-{folder.name}-{launch}"


def rules_of(folder: Path, launch: str | None) -> Rules:
    """The rules that a launch was begun with; all who join it follow them."""
    record = None if launch is None else _read(folder / "launches" / f"{launch}.json")
    return Rules.of((record or {}).get("rules"))


def latest(folder: Path) -> str | None:
    """The newest launch of a sweep: the one whose failures count."""
    names = sorted(path.stem for path in (folder / "launches").glob("[!.]*.json"))
    return names[-1] if names else None


def mark_cancelled(sweep: Manifest) -> None:
    """Tells the commands that wait for the sweep's launches not to replace the workers that end."""
    for path in (sweep.folder / "launches").glob("*.json"):
        mark_one_cancelled(sweep.folder, path.stem)


def mark_one_cancelled(folder: Path, launch: str) -> None:
    _refuse_links(folder)
    mark(cancelled(folder, launch))


def cancelled(folder: Path, launch: str) -> Path:
    return folder / "launches" / f"{launch}.cancelled"


def launches(sweep: Manifest, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """The launches of a kind, oldest first. The workers of a damaged one are unknown; others are started."""
    of_kind = []
    for path in sorted((sweep.folder / "launches").glob("[!.]*.json")):
        record = _read(path)
        if record is not None and record["kind"] == kind:
            of_kind.append((path.stem, record))
    return of_kind


def jobs_of(sweep: Manifest, kind: str, also_cancelled: bool = True) -> list[Job]:
    """The jobs of all launches of a kind. Those of a cancelled launch may still be ending."""
    return [
        job
        for name, record in launches(sweep, kind)
        if also_cancelled or not cancelled(sweep.folder, name).exists()
        for job in record["jobs"]
    ]


def write_down(sweep: Manifest, launch: str, kind: str, jobs: list[Job]) -> None:
    """Adds those jobs to a launch that it does not know yet."""
    _refuse_links(sweep.folder)
    path = sweep.folder / "launches" / f"{launch}.json"
    record = _read(path) or {"format": FORMAT, "kind": kind, "jobs": []}
    known = {job["id"] for job in record["jobs"]}
    write_json(path, {**record, "jobs": [*record["jobs"], *(job for job in jobs if job["id"] not in known)]})


def refuse_newer_launches(folder: Path) -> None:
    """Raises if a newer version has launched the sweep: what its workers do is not known here."""
    for path in sorted((folder / "launches").glob("[!.]*.json")):
        try:
            content = read_json(path)
        except (OSError, ValueError, RecursionError):
            continue
        refuse_newer(path, content)


def _refuse_links(folder: Path) -> None:
    refuse_links(folder.parent.parent, folder.parent.name, folder.name, "launches")


def _read(path: Path) -> dict[str, Any] | None:
    """A launch; None if its file is damaged or of a newer version."""
    try:
        record: dict[str, Any] = read_json(path)
        known = record["kind"] and all(job["id"] for job in record["jobs"]) and not is_newer(record)
        return record if known else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
