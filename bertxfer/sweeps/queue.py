"""Who runs which trial: numbered attempts on disk, each taken by creating its file, kept alive by touching it.

Attempt n of a trial belongs to whoever created `attempts/<n>.json`; creating a file that must not exist is atomic on
network file systems too. A trial is taken over by creating attempt n+1, so no lock is held and nothing is renamed.
"""

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertxfer.store.store import Store
from bertxfer.system import leftovers, slurm_job
from bertxfer.system.files import write_json
from bertxfer.system.processes import host, process_lives, whoami


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


@dataclass(frozen=True)
class Situation:
    """Where a trial stands: done, failed, running or waiting; and the number its next attempt would have."""

    state: str
    next_number: int = 1
    latest: Attempt | None = None
    crashes: int = 0  # in this launch


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
            print(f"it was not written down that {self.path} ended ({outcome}): {error}", file=sys.stderr, flush=True)

    def _beat(self, every_seconds: float) -> None:
        while not self._ended.wait(every_seconds):
            with contextlib.suppress(OSError):  # a file system that is away for a moment must not end a trial
                os.utime(self.path)


class Queue:
    """The attempts of the trials of a store, as one launch of a sweep sees them."""

    def __init__(self, store: Store, launch: str | None, rules: Rules | None = None) -> None:
        self.store, self.launch, self.rules = store, launch, rules or Rules()
        self._clock_offset: float | None = None

    def situation(self, trial_id: str, outputs: Sequence[str] = ()) -> Situation:
        if self.store.complete(trial_id, outputs):
            return Situation("done")
        attempts = self._attempts(trial_id)
        if not attempts:
            return Situation("waiting")
        latest, number = attempts[-1], attempts[-1].number + 1
        if latest.outcome is None and not latest.lost(self.rules):
            return Situation("running", number, latest)
        mine = [attempt for attempt in attempts if attempt.owner.get("launch") == self.launch]
        if any(attempt.outcome == "failed" for attempt in mine):
            return Situation("failed", number, latest)
        crashes = sum(attempt.outcome in ("crashed", "lost") or attempt.lost(self.rules) for attempt in mine)
        if crashes >= self.rules.max_crashes or _stuck(mine):
            return Situation("failed", number, latest)
        return Situation("waiting", number, latest, crashes)

    def take(self, trial_id: str, outputs: Sequence[str] = ()) -> Held | None:
        """The trial's next attempt, if it waits for one and nobody else was faster."""
        situation = self.situation(trial_id, outputs)
        if situation.state != "waiting":
            return None
        folder = self.store.folder(trial_id) / "attempts"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{situation.next_number}.json"
        owner = {**whoami(), "launch": self.launch, "started": time.time()}
        try:
            file = path.open("x", encoding="utf-8")
        except FileExistsError:
            return None
        try:
            with file:
                json.dump(owner, file)
        except OSError:  # the disk is full: nobody is to wait for an attempt that says nothing
            path.unlink(missing_ok=True)
            raise
        if self.store.complete(trial_id, outputs):  # ended between the look and the taking
            path.unlink()
            return None
        if situation.next_number > 1:
            self._clean(trial_id)
        return Held(path, situation.next_number, owner, self.rules.stale_seconds / 6)

    def tidy(self, trial_id: str, outputs: Sequence[str] = ()) -> None:
        """Removes what lost processes have left of a trial that nobody runs."""
        if self.situation(trial_id, outputs).state != "running" and self.store.folder(trial_id).is_dir():
            self._clean(trial_id)
            if self.store.complete(trial_id):
                self.store.clear(trial_id)

    def _clean(self, trial_id: str) -> None:
        """A lost attempt is written down as such. One that was only suspended finds its half-written files gone, and
        that it was taken over."""
        for attempt in self._attempts(trial_id):
            if attempt.lost(self.rules):
                end_attempt(attempt.path, "lost")
        folder = self.store.folder(trial_id)
        for part in (folder, folder / "attempts", self.store.checkpoint(trial_id)):
            leftovers.remove_temporaries(part, self.now() - self.rules.stale_seconds)

    def _attempts(self, trial_id: str) -> list[Attempt]:
        folder = self.store.folder(trial_id) / "attempts"
        try:
            names = [path.name for path in folder.iterdir()]
        except FileNotFoundError:
            return []
        numbers = sorted(int(name.removesuffix(".json")) for name in names if name.removesuffix(".json").isdecimal())
        found = (self._read(folder / f"{number}.json", number) for number in numbers)
        return [attempt for attempt in found if attempt is not None]

    def _read(self, path: Path, number: int) -> Attempt | None:
        try:
            touched = path.stat().st_mtime
            owner = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:  # just created, cut short or damaged: its age decides
            owner = {}
        owner = owner if isinstance(owner, dict) else {}
        return Attempt(number, path, owner, owner.get("outcome"), self.now() - touched)

    def now(self) -> float:
        """Time by the clock of the file system, which may be another machine's."""
        if self._clock_offset is None:
            self._clock_offset = 0.0
            with contextlib.suppress(OSError):  # a folder that may only be read
                self.store.root.mkdir(parents=True, exist_ok=True)
                with tempfile.TemporaryFile(dir=self.store.root) as probe:
                    self._clock_offset = os.fstat(probe.fileno()).st_mtime - time.time()
        return time.time() + self._clock_offset


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


def _stuck(attempts: list[Attempt]) -> bool:
    """Three times in a row the time was up before the first step: the limit is too short for this trial."""
    last = [attempt.owner for attempt in attempts[-3:]]
    return len(last) == 3 and all(a.get("time_was_up") and a.get("steps") == 0 for a in last)
