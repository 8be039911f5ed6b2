"""Workers in processes of their own: missing ones are started, and all are watched until every trial has ended."""

import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from filelock import FileLock

from bertxfer.config.keys import whole
from bertxfer.errors import TrialError
from bertxfer.sweeps import tracking
from bertxfer.sweeps.launch import Job, cancelled, launches, new_launch, write_down
from bertxfer.sweeps.launchers.launcher import Launched, Launcher
from bertxfer.sweeps.launchers.pace import Line, Pace
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.status import Watch, counts_line
from bertxfer.sweeps.worker import Post
from bertxfer.system import leftovers
from bertxfer.system.files import PATIENCE


@dataclass
class Submitted(Launcher):
    """Workers in processes of their own, started through submitit."""

    wait: bool = True
    threads: int = whole(1)
    workers: int | None = whole(None)
    poll_seconds: float = 1.0

    @abstractmethod
    def wanted(self, open_trials: int) -> int:
        """How many workers this many unfinished trials call for."""

    @abstractmethod
    def submit(self, sweep: Manifest, post: Post, workers: int) -> Iterable[list[Job]]:
        """Starts workers; jobs are handed over as soon as they are submitted, so that none goes unrecorded."""

    @abstractmethod
    def living(self, jobs: list[Job]) -> list[Job]:
        """Those of the jobs that run or will run."""

    def strays(self, sweep: Manifest) -> dict[str, list[Job]]:
        """Jobs by their launch, among them those that were not written down because their launcher died too soon."""
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
            self._start_missing(sweep, launch, Watch(sweep, queue).look())
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
        alive = [name for name, record in launches(sweep, self._kind) if self.living(record["jobs"])]
        return max(alive, default=None)

    def _start_missing(self, sweep: Manifest, launch: str, counts: Counter[str]) -> None:
        jobs = [job for _, record in launches(sweep, self._kind) for job in record["jobs"]]
        missing = self.wanted(counts["waiting"]) - len(self.living(jobs))
        if missing <= 0:
            return
        for jobs in self.submit(sweep, Post(str(sweep.folder), launch, self.rules, self.threads), missing):
            write_down(sweep, launch, self._kind, jobs)

    def _watch(self, sweep: Manifest, launch: str, queue: Queue) -> None:
        """Until every trial has ended. If trials wait and all workers are gone, new ones are started."""
        watch, pace = Watch(sweep, queue), Pace()
        fruitless, done_then = 0, -1
        with Line() as line:
            while True:
                looked = time.monotonic()
                counts = watch.look()
                line.show(f"{counts_line(counts, len(sweep.trials))}{pace.words(counts)}")
                if not counts["waiting"] + counts["running"]:
                    break
                if cancelled(sweep, launch).exists():
                    raise TrialError("the sweep was cancelled; the same command goes on where it was")
                jobs = [job for _, record in launches(sweep, self._kind) for job in record["jobs"]]
                if counts["waiting"] and not self.living(jobs) and (counts := watch.look())["waiting"]:
                    fruitless = fruitless + 1 if counts["done"] == done_then else 0
                    done_then = counts["done"]
                    if fruitless == 3:
                        raise TrialError(f"all workers ended before their trials; their logs: {sweep.folder / 'logs'}")
                    with FileLock(sweep.folder / "launch.lock"):
                        self._start_missing(sweep, launch, counts)
                # A store that is slow to look at is looked at less often.
                time.sleep(max(self.poll_seconds, 5 * (time.monotonic() - looked)))
            if sweep.runtime.track:
                line.show(f"all trials have ended; the last ones are logged to {', '.join(sweep.runtime.track)}", True)
                _until_logged(sweep, queue)


def _until_logged(sweep: Manifest, queue: Queue) -> None:
    """Waits while workers live that could log missing trials, but a tracker that hangs holds nobody up."""
    cards, given_up = sweep.folder / "workers", time.monotonic() + PATIENCE
    done = [trial.id for trial in sweep.trials if sweep.store.complete(trial.id)]
    unlogged = tracking.lacking(done, sweep.store, sweep.runtime.track)
    while unlogged and time.monotonic() < given_up:
        leftovers.remove_cards(cards, queue.now() - queue.rules.stale_seconds)
        if not any(cards.glob("[!.]*.json")):
            return
        time.sleep(0.2)
        unlogged = [(trial, name) for trial, name in unlogged if not tracking.is_logged(trial, sweep.store, name)]
