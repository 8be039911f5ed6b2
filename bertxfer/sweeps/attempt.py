"""One attempt at a trial: a file that names its owner, is touched while the owner works, and says how it ended."""

import contextlib
import json
import os
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertxfer.system import slurm_job
from bertxfer.system.files import write_json
from bertxfer.system.processes import host, process_lives


@dataclass(frozen=True)
class Rules:
    """When an attempt counts as lost, and how many lost ones a trial may cost in one launch."""

    stale_seconds: float = 60.0  # a worker that was not heard of for so long has lost its trial
    max_crashes: int = 3  # how many processes a trial may take down before it counts as failed


@dataclass(frozen=True)
class Attempt:
    number: int
    path: Path
    owner: dict[str, Any]
    outcome: str | None  # done, failed, released, crashed, lost; null: running, or lost and not yet noticed
    silent_for: float  # seconds since it was last touched

    def lost(self, rules: Rules) -> bool:
        """Its process is known to be gone, or has not been heard of for too long."""
        return self.outcome is None and (self.silent_for > rules.stale_seconds or _is_gone(self.owner))


class Held:
    """An attempt that this process owns. A thread touches it until it is ended."""

    def __init__(self, path: Path, number: int, owner: dict[str, Any], every_seconds: float) -> None:
        self.path, self.number, self.owner = path, number, owner
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, args=(every_seconds,), daemon=True)
        self._thread.start()

    def superseded(self) -> bool:
        """Another worker took this trial for lost, as after a long suspension, and has begun the next attempt."""
        return self.path.with_name(f"{self.number + 1}.json").exists()

    def end(self, outcome: str, **details: Any) -> None:
        self._ended.set()
        self._thread.join()
        try:
            _write_end(self.path, self.owner, outcome, **details)
        except OSError as error:  # its silence will tell the others
            print(f"the end of {self.path} ({outcome}) could not be written down: {error}", file=sys.stderr, flush=True)

    def _beat(self, every_seconds: float) -> None:
        while not self._ended.wait(every_seconds):
            with contextlib.suppress(OSError):  # a file system that is away for a moment must not end a trial
                os.utime(self.path)


def end_attempt(path: Path, outcome: str, **details: Any) -> None:
    """Writes down how an attempt of another process ended."""
    try:
        owner = json.loads(path.read_bytes())
    except (OSError, ValueError):
        owner = {}
    _write_end(path, owner if isinstance(owner, dict) else {}, outcome, **details)


def _write_end(path: Path, owner: dict[str, Any], outcome: str, **details: Any) -> None:
    write_json(path, {**owner, "outcome": outcome, "ended": time.time(), **details})


def _is_gone(owner: dict[str, Any]) -> bool:
    this_job = owner.get("slurm_job") is not None and owner["slurm_job"] == slurm_job.job()
    if this_job and owner.get("slurm_restarts", 0) < slurm_job.restarts():
        return True  # this very job, before it was requeued
    if owner.get("host") != host() or not isinstance(owner.get("pid"), int) or not 0 < owner["pid"] < 2**31:
        return False
    return not process_lives(owner["pid"], owner.get("pid_started"))
