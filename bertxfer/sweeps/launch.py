"""Launches of a sweep, written down beside it: which workers each started, and whether it was cancelled."""

import json
import time
import uuid
from pathlib import Path
from typing import Any

from bertxfer.sweeps.manifest import Manifest
from bertxfer.system.files import write_json

Job = dict[str, Any]  # its "id", and what else tells whether it lives


def new_launch(sweep: Manifest, kind: str) -> str:
    """A launch's name sorts by time."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}"
    (sweep.folder / "launches").mkdir(parents=True, exist_ok=True)
    write_json(sweep.folder / "launches" / f"{name}.json", {"kind": kind, "jobs": []})
    return name


def mark_cancelled(sweep: Manifest) -> None:
    """Tells the commands that wait for the sweep's launches not to replace the workers that end."""
    for path in (sweep.folder / "launches").glob("*.json"):
        cancelled(sweep, path.stem).touch()


def cancelled(sweep: Manifest, launch: str) -> Path:
    return sweep.folder / "launches" / f"{launch}.cancelled"


def launches(sweep: Manifest, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Those of a kind, the oldest first. Workers that a damaged one named are not known; others are started."""
    found = []
    for path in sorted((sweep.folder / "launches").glob("[!.]*.json")):
        told = _read(path)
        if told is not None and told["kind"] == kind:
            found.append((path.stem, told))
    return found


def write_down(sweep: Manifest, launch: str, kind: str, jobs: list[Job]) -> None:
    """Adds jobs to a launch, those that it does not know."""
    record = sweep.folder / "launches" / f"{launch}.json"
    told = _read(record) or {"kind": kind, "jobs": []}
    known = {job["id"] for job in told["jobs"]}
    write_json(record, {**told, "jobs": [*told["jobs"], *(job for job in jobs if job["id"] not in known)]})


def _read(record: Path) -> dict[str, Any] | None:
    """A launch; none where its file is damaged."""
    try:
        told: dict[str, Any] = json.loads(record.read_bytes())
        return told if told["kind"] and all(job["id"] for job in told["jobs"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
