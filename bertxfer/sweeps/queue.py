"""Who runs which trial: numbered attempts on disk, each taken by creating its file, kept alive by touching it.

Attempt n of a trial belongs to whoever created `attempts/<n>.json`; creating a file that must not exist is atomic on
network file systems too. A trial is taken over by creating attempt n+1, so no lock is held and nothing is renamed.
"""

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertxfer.store.store import Store
from bertxfer.sweeps.attempt import Attempt, Held, Rules, end_attempt
from bertxfer.system import leftovers
from bertxfer.system.processes import whoami


@dataclass(frozen=True)
class Situation:
    """Where a trial stands: done, failed, running or waiting; and the number its next attempt would have."""

    state: str
    next_number: int = 1
    latest: Attempt | None = None
    crashes: int = 0  # in this launch


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
        """A lost attempt is written down as such. A worker that was only suspended finds its half-written files gone,
        and its trial taken over."""
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
        attempts = (self._read(folder / f"{number}.json", number) for number in numbers)
        return [attempt for attempt in attempts if attempt is not None]

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


def _stuck(attempts: list[Attempt]) -> bool:
    """Three times in a row the time was up before the first step: the limit is too short for this trial."""
    last = [attempt.owner for attempt in attempts[-3:]]
    return len(last) == 3 and all(a.get("time_was_up") and a.get("steps") == 0 for a in last)
