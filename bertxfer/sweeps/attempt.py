"""One attempt at a trial: a file that names its owner, is touched while the owner works, and says how it ended."""

import contextlib
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from bertxfer.system import slurm_job
from bertxfer.system.files import read_json, touch, write_json
from bertxfer.system.processes import host, is_this_process, process_lives

_let_go = set[Path]()  # attempts of this process whose end could not be written down
SHORTEST, LONGEST = 1.0, 24 * 3600.0  # seconds of silence that may lose a worker its trial


@dataclass(frozen=True)
class Rules:
    """When an attempt counts as lost, and how many lost ones a trial may cost in one launch."""

    stale_seconds: float = 60.0  # a worker that was not heard of for so long has lost its trial
    max_crashes: int = 3  # how many processes a trial may take down before it counts as failed

    @classmethod
    def of(cls, plain: Any) -> "Rules":
        """The rules as they were written down; a value that makes no sense is not believed."""
        told = plain if isinstance(plain, dict) else {}
        seconds, crashes = told.get("stale_seconds"), told.get("max_crashes")
        return cls(
            float(seconds) if _is_patience(seconds) else cls.stale_seconds,
            crashes if type(crashes) is int and crashes > 0 else cls.max_crashes,
        )

    @property
    def beat_seconds(self) -> float:
        """How often a worker shows that it lives."""
        return min(10.0, self.stale_seconds / 6)


@dataclass(frozen=True)
class Attempt:
    number: int
    path: Path
    owner: dict[str, Any]
    outcome: str | None  # done, failed, released, crashed, lost; null: running, or lost and not yet noticed
    silent_for: float  # seconds since it was last touched
    is_ahead: bool = False  # its time lies in the future: only watching tells whether it is alive

    def is_silent(self, rules: Rules, part: float = 1.0) -> bool:
        """Whether it has no end and was not heard of for too long, or for a part of that."""
        return self.outcome is None and self.silent_for > part * self.patience(rules)

    def patience(self, rules: Rules) -> float:
        """How long its owner may be silent: by the rules of whoever looks, and by those that the owner beats by."""
        own = self.owner.get("stale_seconds")
        return max(rules.stale_seconds, float(own)) if _is_patience(own) else rules.stale_seconds

    def is_gone(self) -> bool:
        """Whether it has no end and its process is known to be gone."""
        return self.outcome is None and _is_gone(self.owner)

    def is_mine(self) -> bool:
        return self.path not in _let_go and is_this_process(self.owner)


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
            _let_go.add(self.path)
            print(f"the end of {self.path} ({outcome}) could not be written down: {error}", file=sys.stderr, flush=True)

    def _beat(self, every_seconds: float) -> None:
        while not self._ended.wait(every_seconds):
            with contextlib.suppress(OSError):  # a file system that is away for a moment must not end a trial
                touch(self.path)


def _is_patience(seconds: Any) -> TypeGuard[float]:
    return type(seconds) in (int, float) and SHORTEST <= seconds <= LONGEST


def end_attempt(path: Path, outcome: str, **details: Any) -> None:
    """Writes down how an attempt of another process ended."""
    try:
        owner = read_json(path)
    except (OSError, ValueError, RecursionError):
        owner = {}
    _write_end(path, owner if isinstance(owner, dict) else {}, outcome, **details)


def _write_end(path: Path, owner: dict[str, Any], outcome: str, **details: Any) -> None:
    write_json(path, {**owner, "outcome": outcome, "ended": time.time(), **details})


def _is_gone(owner: dict[str, Any]) -> bool:
    this_job = owner.get("slurm_job") is not None and owner["slurm_job"] == slurm_job.job()
    restarts = owner.get("slurm_restarts", 0)
    if this_job and isinstance(restarts, int) and restarts < slurm_job.restarts():
        return True  # this very job, before it was requeued
    if owner.get("host") != host() or not isinstance(owner.get("pid"), int) or not 0 < owner["pid"] < 2**31:
        return False
    return not process_lives(owner["pid"], owner.get("pid_started"))
