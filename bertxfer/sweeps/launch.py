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
    """The launches of a kind, oldest first. The workers of a damaged one are unknown; others are started."""
    of_kind = []
    for path in sorted((sweep.folder / "launches").glob("[!.]*.json")):
        record = _read(path)
        if record is not None and record["kind"] == kind:
            of_kind.append((path.stem, record))
    return of_kind


def write_down(sweep: Manifest, launch: str, kind: str, jobs: list[Job]) -> None:
    """Adds those jobs to a launch that it does not know yet."""
    path = sweep.folder / "launches" / f"{launch}.json"
    record = _read(path) or {"kind": kind, "jobs": []}
    known = {job["id"] for job in record["jobs"]}
    write_json(path, {**record, "jobs": [*record["jobs"], *(job for job in jobs if job["id"] not in known)]})


def _read(path: Path) -> dict[str, Any] | None:
    """A launch; None if its file is damaged."""
    try:
        record: dict[str, Any] = json.loads(path.read_bytes())
        return record if record["kind"] and all(job["id"] for job in record["jobs"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
