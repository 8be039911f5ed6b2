"""Who runs which trial: numbered attempts on disk, each taken by creating its file, kept alive by touching it.

Attempt n of a trial belongs to whoever created `attempts/<n>.json`; creating a file that must not exist is atomic on
network file systems too. A trial is taken over by creating attempt n+1, so no lock is held and nothing is renamed.
"""

import errno
import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertxfer.store.store import Store
from bertxfer.sweeps.attempt import Attempt, Held, Rules, end_attempt
from bertxfer.system import leftovers
from bertxfer.system.clock import FileClock
from bertxfer.system.files import read_plain, refuse_links
from bertxfer.system.formats import FORMAT
from bertxfer.system.processes import host, whoami

# Seconds for which a network file system may hide a file that another machine has written: NFS looks again for a name
# that was not there when what it knows of the folder is older than acdirmax, which is 60.
HIDDEN = 60.0
_AHEAD = 2.5  # seconds that a file may lie in the future by its file system's own clock
_LAST = 10**9 - 1  # the number of an attempt after which none can come
_NUMBERED = re.compile(r"[0-9]{1,9}\.json")
# What is wrong with one trial's files, and not with the file system.
_DAMAGE = (errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.ELOOP, errno.EINVAL, errno.ENXIO)


@dataclass(frozen=True)
class Situation:
    """Where a trial stands: done, failed, running or waiting; and the number its next attempt would have."""

    state: str
    next_number: int = 1
    latest: Attempt | None = None
    crashes: int = 0  # in this launch
    damage: str = ""  # why nobody may run it: what lies in its place is not ours


class Queue:
    """The attempts of the trials of a store, as one launch of a sweep sees them."""

    def __init__(self, store: Store, launch: str | None, rules: Rules | None = None) -> None:
        self.store, self.launch, self.rules = store, launch, rules or Rules()
        self.clock = FileClock(store.root)
        self._ahead: dict[tuple[Path, float], float] = {}  # attempts from the future: since when they have not moved

    def situation(self, trial_id: str, outputs: Sequence[str] = ()) -> Situation:
        try:
            if self.store.complete(trial_id, outputs):
                return Situation("done")
            situation = self._of_attempts(trial_id, outputs, self._attempts(trial_id))
        except OSError as error:
            if error.errno not in _DAMAGE or not os.access(self.store.root / "trials", os.R_OK | os.X_OK):
                raise  # the file system is away, not one trial damaged
            situation = Situation("failed", damage=f"{error.filename}: {error.strerror}; move it away")
        if (situation.damage or situation.state == "waiting") and (link := self.store.link(trial_id)) is not None:
            return Situation("failed", damage=f"{link} is a link, which is not followed; remove it")
        return situation

    def _of_attempts(self, trial_id: str, outputs: Sequence[str], attempts: Sequence[Attempt]) -> Situation:
        """The situation of a trial that lacks its result, or something beside it."""
        if not attempts:
            return Situation("waiting")
        latest, number = attempts[-1], attempts[-1].number + 1
        if latest.outcome is None and not self.is_lost(latest):
            return Situation("running", number, latest)
        if self._is_hidden(trial_id, outputs, latest):
            return Situation("running", number, latest)
        mine = [attempt for attempt in attempts if attempt.owner.get("launch") == self.launch]
        if any(attempt.outcome == "failed" for attempt in mine):
            return Situation("failed", number, latest)
        crashes = sum(attempt.outcome in ("crashed", "lost") or self.is_lost(attempt) for attempt in mine)
        if crashes >= self.rules.max_crashes or _stuck(mine):
            return Situation("failed", number, latest)
        if latest.number >= _LAST:
            return Situation("failed", damage=f"{latest.path}: no attempt can come after it; move it away")
        return Situation("waiting", number, latest, crashes)

    def is_lost(self, attempt: Attempt) -> bool:
        """Its process is known to be gone, or has not been heard of for too long, by a clock that was read just now."""
        if attempt.outcome is not None or attempt.is_mine():
            return False
        if attempt.is_gone():
            return True
        if not attempt.is_silent(self.rules):
            return False
        self.clock.measure()
        now = self._read(attempt.path, attempt.number)
        # If the file system's clock was set, the living are silent only until they have beaten once more.
        set_just_now = time.monotonic() - self.clock.stepped_at < attempt.patience(self.rules)
        return now is not None and now.is_silent(self.rules) and not set_just_now

    def is_running(self, trial_id: str) -> bool:
        """Whether somebody is at work on the trial, be it for something beside a result that is there."""
        attempts = self._attempts(trial_id)
        return bool(attempts) and attempts[-1].outcome is None and not self.is_lost(attempts[-1])

    def why_failed(self, trial_id: str) -> str:
        """Why the trial counts as failed, in one line."""
        return self.situation(trial_id).damage or self.store.why_failed(trial_id)

    def take(self, trial_id: str, outputs: Sequence[str] = ()) -> Held | None:
        """The trial's next attempt, if it waits for one and nobody else was faster."""
        situation = self.situation(trial_id, outputs)
        if situation.state != "waiting":
            return None
        folder = self.store.folder(trial_id) / "attempts"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{situation.next_number}.json"
        owner = {
            **whoami(),
            "format": FORMAT,
            "launch": self.launch,
            "started": time.time(),
            "stale_seconds": self.rules.stale_seconds,  # by which others that look at it may have other rules
        }
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
        return Held(path, situation.next_number, owner, self.rules.beat_seconds)

    def tidy(self, trial_id: str, outputs: Sequence[str] = ()) -> None:
        """Removes what lost processes have left of a trial that nobody runs."""
        situation = self.situation(trial_id, outputs)
        if situation.damage or self.store.link(trial_id) is not None:
            return
        if situation.state != "running" and self.store.folder(trial_id).is_dir():
            self._clean(trial_id)
            if self.store.complete(trial_id):
                self.store.clear(trial_id)

    def now(self) -> float:
        """Time by the clock of the file system."""
        return self.clock.now()

    def _clean(self, trial_id: str) -> None:
        """A lost attempt is written down as such. A worker that was only suspended finds its half-written files gone,
        and its trial taken over."""
        for attempt in self._attempts(trial_id):
            if self.is_lost(attempt):
                end_attempt(attempt.path, "lost")
        folder = self.store.folder(trial_id)
        for part in (folder, folder / "attempts", self.store.checkpoint(trial_id)):
            leftovers.remove_temporaries(part, self.now() - self.rules.stale_seconds)

    def _is_hidden(self, trial_id: str, outputs: Sequence[str], latest: Attempt) -> bool:
        """Whether another machine has just written what is not seen here yet."""
        elsewhere = latest.outcome == "done" and latest.owner.get("host") != host()
        if not elsewhere or latest.silent_for > HIDDEN:
            return False
        for _ in self.store.folder(trial_id).iterdir():  # listing a folder makes some file systems look again
            pass
        made = latest.owner.get("outputs")
        lacking = self.store.lacking(trial_id, outputs)
        return not self.store.complete(trial_id) or (isinstance(made, list) and set(lacking) <= set(map(str, made)))

    def _attempts(self, trial_id: str) -> list[Attempt]:
        folder = self.store.folder(trial_id) / "attempts"
        refuse_links(folder.parent, folder.name)
        try:
            names = [path.name for path in folder.iterdir()]
        except FileNotFoundError:
            return []
        numbers = sorted(int(name.removesuffix(".json")) for name in names if _NUMBERED.fullmatch(name))
        attempts = (self._read(folder / f"{number}.json", number) for number in numbers)
        return [attempt for attempt in attempts if attempt is not None]

    def _read(self, path: Path, number: int) -> Attempt | None:
        try:
            content, touched = read_plain(path)
            owner = json.loads(content)
        except FileNotFoundError:
            return None
        except (ValueError, RecursionError):  # just created, cut short or damaged: its age decides
            owner = {}
        owner = owner if isinstance(owner, dict) else {}
        ahead = touched - self.now() > _AHEAD
        return Attempt(number, path, owner, owner.get("outcome"), self._silent_for(path, touched), ahead)

    def _silent_for(self, path: Path, touched: float) -> float:
        """Seconds since a file was touched. One from the future is judged by whether it moves."""
        seconds = self.now() - touched
        if seconds > -_AHEAD:
            return max(0.0, seconds)
        return time.monotonic() - self._ahead.setdefault((path, touched), time.monotonic())


def _stuck(attempts: list[Attempt]) -> bool:
    """Three times in a row the time was up before the first step: the limit is too short for this trial."""
    last = [attempt.owner for attempt in attempts[-3:]]
    return len(last) == 3 and all(a.get("time_was_up") and a.get("steps") == 0 for a in last)
