"""What launchers share: missing workers are started, and watched until every trial has ended."""

import json
import sys
import time
import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock
from rich.console import Console
from rich.live import Live

from bertxfer.config.keys import ranged, whole
from bertxfer.errors import TrialError
from bertxfer.sweeps import tracking
from bertxfer.sweeps.draining import Stop, drain
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.queue import Queue, Rules
from bertxfer.sweeps.status import Watch, counts_line
from bertxfer.sweeps.worker import Post
from bertxfer.system import leftovers
from bertxfer.system.files import PATIENCE, write_json

Job = dict[str, Any]  # its "id", and what else tells whether it lives


@dataclass(frozen=True)
class Launched:
    """How a launch was left."""

    queue: Queue
    waited_for: bool = True
    stopped: bool = False


@dataclass
class Launcher(ABC):
    """Settings that every launcher has."""

    stale_seconds: float = ranged(
        Rules.stale_seconds, 0, open=True
    )  # a worker that was not heard of for so long has lost its trial
    max_crashes: int = whole(Rules.max_crashes)  # how many processes a trial may take down before it counts as failed

    @property
    def rules(self) -> Rules:
        return Rules(self.stale_seconds, self.max_crashes)

    @abstractmethod
    def run(self, sweep: Manifest) -> Launched:
        """Has the sweep's missing trials run."""


@dataclass
class Inline(Launcher):
    """Trials one after another in this process, for a debugger."""

    def run(self, sweep: Manifest) -> Launched:
        queue, stop = Queue(sweep.store, new_launch(sweep, "inline"), self.rules), Stop()
        with stop.on_signals():
            drain(sweep.trials, queue, sweep.runtime, stop)
        return Launched(queue, stopped=stop())


@dataclass
class Submitted(Launcher):
    """Workers in processes of their own, started through submitit."""

    wait: bool = True
    threads: int = whole(1)
    workers: int | None = whole(None)
    poll_seconds: float = 1.0

    @abstractmethod
    def wanted(self, open_trials: int) -> int:
        """How many workers so many unfinished trials deserve."""

    @abstractmethod
    def submit(self, sweep: Manifest, post: Post, workers: int) -> Iterable[list[Job]]:
        """Starts workers; jobs are handed over as soon as they are submitted, so that none goes unrecorded."""

    @abstractmethod
    def living(self, jobs: list[Job]) -> list[Job]:
        """Those of the jobs that run or will."""

    def strays(self, sweep: Manifest) -> dict[str, list[Job]]:
        """Jobs by their launch, those among them that were not written down: their launcher died too soon."""
        return {}

    @abstractmethod
    def interrupted(self, sweep: Manifest, queue: Queue) -> Launched:
        """What Ctrl-C means."""

    def run(self, sweep: Manifest) -> Launched:
        with FileLock(sweep.folder / "launch.lock"):  # or two launchers at once would both start all workers
            for name, jobs in self.strays(sweep).items():
                write_down(sweep, name, self._kind, jobs)
            launch = self._living_launch(sweep) or new_launch(sweep, self._kind)
            queue = Queue(sweep.store, launch, self.rules)
            self._start_lacking(sweep, launch, Watch(sweep, queue).look())
        if not self.wait:
            print(f"submitted; `python -m bertxfer status {sweep.name}` shows how far it is")
            return Launched(queue, waited_for=False)
        try:
            self._watch(sweep, launch, queue)
        except KeyboardInterrupt:
            return self.interrupted(sweep, queue)
        return Launched(queue)

    @property
    def _kind(self) -> str:
        return type(self).__name__.lower()

    def _living_launch(self, sweep: Manifest) -> str | None:
        """The launch that is under way, if there is one: it is joined instead of beginning another."""
        alive = [name for name, told in launches(sweep, self._kind) if self.living(told["jobs"])]
        return max(alive, default=None)

    def _start_lacking(self, sweep: Manifest, launch: str, counts: Counter[str]) -> None:
        jobs = [job for _, told in launches(sweep, self._kind) for job in told["jobs"]]
        lacking = self.wanted(counts["waiting"]) - len(self.living(jobs))
        if lacking <= 0:
            return
        for jobs in self.submit(sweep, Post(str(sweep.folder), launch, self.rules, self.threads), lacking):
            write_down(sweep, launch, self._kind, jobs)

    def _watch(self, sweep: Manifest, launch: str, queue: Queue) -> None:
        """Until every trial has ended. Where trials wait and all workers are gone, others are started."""
        watch, pace = Watch(sweep, queue), Pace()
        fruitless, done_then = 0, -1
        with Report() as report:
            while True:
                looked = time.monotonic()
                counts = watch.look()
                report.show(f"{counts_line(counts, len(sweep.trials))}{pace.words(counts)}")
                if not counts["waiting"] + counts["running"]:
                    break
                if _cancelled(sweep, launch).exists():
                    raise TrialError("the sweep was cancelled; the same command goes on where it was")
                jobs = [job for _, told in launches(sweep, self._kind) for job in told["jobs"]]
                if counts["waiting"] and not self.living(jobs) and (counts := watch.look())["waiting"]:
                    fruitless = fruitless + 1 if counts["done"] == done_then else 0
                    done_then = counts["done"]
                    if fruitless == 3:
                        raise TrialError(f"all workers ended before their trials; their logs: {sweep.folder / 'logs'}")
                    with FileLock(sweep.folder / "launch.lock"):
                        self._start_lacking(sweep, launch, counts)
                # A store that is slow to look at is looked at less often.
                time.sleep(max(self.poll_seconds, 5 * (time.monotonic() - looked)))
            if sweep.runtime.track:
                report.show(f"all trials have ended; {', '.join(sweep.runtime.track)} is told of the last ones", True)
                _until_logged(sweep, queue)


class Pace:
    """Trials an hour since the launch, and the time left at that pace."""

    def __init__(self) -> None:
        self.since: tuple[float, int] | None = None

    def words(self, counts: Counter[str]) -> str:
        if self.since is None:
            self.since = (time.monotonic(), counts["done"])
        seconds, done = time.monotonic() - self.since[0], counts["done"] - self.since[1]
        if done == 0:
            return ""
        left = (counts["waiting"] + counts["running"]) * seconds / done
        return f"; {3600 * done / seconds:.0f} an hour, {left / 60:.0f} min left"


class Report:
    """One line that is kept up to date on a terminal, and printed now and then into a log."""

    def __init__(self) -> None:
        self.live = Live(console=Console(stderr=True, markup=False), transient=True) if sys.stderr.isatty() else None
        self.told, self.told_at = "", -1e9

    def __enter__(self) -> "Report":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.live.stop()

    def show(self, line: str, at_once: bool = False) -> None:
        if self.live:
            self.live.update(line)
        elif line != self.told and (at_once or time.monotonic() - self.told_at > 15):
            print(line, flush=True)
            self.told, self.told_at = line, time.monotonic()


def _until_logged(sweep: Manifest, queue: Queue) -> None:
    """While trackers lack trials and workers live that could tell them, but a tracker that hangs holds nobody up."""
    cards, given_up = sweep.folder / "workers", time.monotonic() + PATIENCE
    done = [trial.id for trial in sweep.trials if sweep.store.complete(trial.id)]
    lacking = tracking.lacking(done, sweep.store, sweep.runtime.track)
    while lacking and time.monotonic() < given_up:
        leftovers.remove_cards(cards, queue.now() - queue.rules.stale_seconds)
        if not any(cards.glob("[!.]*.json")):
            return
        time.sleep(0.2)
        lacking = [(trial, name) for trial, name in lacking if not tracking.is_logged(trial, sweep.store, name)]


def new_launch(sweep: Manifest, kind: str) -> str:
    """A launch's name sorts by time."""
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:6]}"
    (sweep.folder / "launches").mkdir(parents=True, exist_ok=True)
    write_json(sweep.folder / "launches" / f"{name}.json", {"kind": kind, "jobs": []})
    return name


def mark_cancelled(sweep: Manifest) -> None:
    """Tells the commands that wait for the sweep's launches not to replace the workers that end."""
    for path in (sweep.folder / "launches").glob("*.json"):
        _cancelled(sweep, path.stem).touch()


def _cancelled(sweep: Manifest, launch: str) -> Path:
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
