"""Workers in processes of their own: missing ones are started, and all are watched until every trial has ended."""

import time
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bertxfer.config.keys import whole
from bertxfer.errors import TrialError
from bertxfer.sweeps import launch as launching
from bertxfer.sweeps import tracking
from bertxfer.sweeps.launch import Job, cancelled, jobs_of, launches, new_launch, rules_of, write_down
from bertxfer.sweeps.launchers.crew import Crew
from bertxfer.sweeps.launchers.launcher import Launched, Launcher
from bertxfer.sweeps.launchers.pace import Line, Pace
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.post import Post
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.status import Watch
from bertxfer.system import interrupts, leftovers
from bertxfer.system.files import PATIENCE, alone, refuse_links

LAUNCHING = 120.0  # seconds that one launcher waits for another that starts workers of the same sweep


@dataclass
class Submitted(Launcher):
    """Workers in processes of their own."""

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
    def living(self, sweep: Manifest, jobs: list[Job]) -> list[Job]:
        """Those of the jobs that run or will run."""

    def strays(self, sweep: Manifest) -> dict[str, list[Job]]:
        """Jobs by their launch, among them those that were not written down because their launcher died too soon."""
        return {}

    def unheard(self, sweep: Manifest, queue: Queue) -> list[str]:
        """Workers that seem to live, and have not been heard of for too long."""
        return []

    def why_waiting(self) -> str:
        """Why jobs have not begun, as of the last look at them."""
        return ""

    @abstractmethod
    def interrupted(self, sweep: Manifest, queue: Queue) -> Launched:
        """What Ctrl-C means."""

    def run(self, sweep: Manifest) -> Launched:
        launching.refuse_newer_launches(sweep.folder)
        queue = Queue(sweep.store, None, self.rules)
        with interrupts.raised():
            try:
                queue, started = self._begin(sweep)
                if not self.wait:
                    self._say_submitted(sweep, started)
                    return Launched(queue, waited_for=False)
                self._watch(sweep, queue)
            except KeyboardInterrupt:
                return self.interrupted(sweep, queue)
        return Launched(queue)

    @property
    def _kind(self) -> str:
        return type(self).__name__.lower()

    def _begin(self, sweep: Manifest) -> tuple[Queue, int]:
        """The launch that is under way, or a new one, with the workers that it lacks; how many were started."""
        with alone(sweep.folder / "launch.lock", LAUNCHING):  # or two launchers at once would both start all workers
            for name, jobs in self.strays(sweep).items():
                write_down(sweep, name, self._kind, jobs)
            launch = self._living_launch(sweep)
            if launch is None:
                launch = new_launch(sweep, self._kind, self.rules)
            queue = Queue(sweep.store, launch, rules_of(sweep.folder, launch))
            missing = self.wanted(Watch(sweep, queue).look()["waiting"]) - len(self._living(sweep))
            return queue, self._start(sweep, queue, missing)

    def _living_launch(self, sweep: Manifest) -> str | None:
        """The launch that is under way, if there is one: it is joined instead of beginning another."""
        of_kind = [(n, record) for n, record in launches(sweep, self._kind) if not cancelled(sweep.folder, n).exists()]
        return max((name for name, record in of_kind if self.living(sweep, record["jobs"])), default=None)

    def _living(self, sweep: Manifest) -> list[Job]:
        """The workers that are at work or will be; those of a cancelled launch are only ending."""
        return self.living(sweep, jobs_of(sweep, self._kind, also_cancelled=False))

    def _start(self, sweep: Manifest, queue: Queue, workers: int) -> int:
        if workers <= 0:
            return 0
        assert queue.launch is not None
        for log in (sweep.folder / "logs").glob("*_log.*"):  # their names can be guessed, and are written to
            refuse_links(log.parent, log.name)
        started = 0
        for jobs in self.submit(sweep, Post(str(sweep.folder), queue.launch, queue.rules, self.threads), workers):
            write_down(sweep, queue.launch, self._kind, jobs)
            started += len(jobs)
        return started

    def _say_submitted(self, sweep: Manifest, started: int) -> None:
        shows = f"`python -m bertxfer status {sweep.name}` shows how far it is"
        print(shows if started else f"no worker was started: {len(self._living(sweep))} are at work; {shows}")

    def _watch(self, sweep: Manifest, queue: Queue) -> None:
        """Until every trial has ended. Workers that are lost while trials wait are replaced."""
        assert queue.launch is not None
        watch, pace, looked_after = Watch(sweep, queue), Pace(), -1e9
        crew = Crew(max(1, len(self._living(sweep))), watch.look()["done"])
        silent, words = set[str](), self.why_waiting()
        with Line() as line:
            while True:
                looked = time.monotonic()
                counts = watch.look()
                line.show(f"{watch.words()}{pace.words(counts)}{words and f'; {words}'}")
                if not counts["waiting"] + counts["running"]:
                    break
                if cancelled(sweep.folder, queue.launch).exists():
                    raise TrialError("the sweep was cancelled; the same command goes on where it was")
                # squeue is a burden to a cluster: it is asked less often, unless nobody is at work or one was missing.
                urgent = crew.short or not counts["running"]
                if counts["waiting"] and (urgent or looked - looked_after > 3 * self.poll_seconds):
                    looked_after = looked
                    self._look_after(sweep, queue, watch, crew, silent)
                    words = self.why_waiting()
                # A store that is slow to look at is looked at less often.
                time.sleep(max(self.poll_seconds, 5 * (time.monotonic() - looked)))
            if sweep.runtime.track:
                line.show(f"all trials have ended; the last ones are logged to {', '.join(sweep.runtime.track)}", True)
                _until_logged(sweep, queue)

    def _look_after(self, sweep: Manifest, queue: Queue, watch: Watch, crew: Crew, silent: set[str]) -> None:
        """Replaces workers that are lost, or says why they were."""
        living = self._living(sweep)
        unheard = self.unheard(sweep, queue)
        for name in set(unheard) - silent:
            print(f"worker {name} has not been heard of for {queue.rules.stale_seconds:g} s; another one is started")
            silent.add(name)
        working = max(0, len(living) - len(unheard))
        counts = watch.look()  # a worker may have ended because it was done
        missing = self.wanted(counts["waiting"]) - working
        begun = counts["done"] > crew.done_before or _has_begun(watch, queue)
        if missing > 0 and not living and not begun and (said := self._last_words(sweep, queue)):
            logs = sweep.folder / "logs"
            raise TrialError(f"all workers ended before their first trial: {said}; their logs: {logs}")
        try:
            lacking = crew.to_start(missing, working, counts["done"])
        except TrialError as error:
            raise TrialError(f"{error}; their logs: {sweep.folder / 'logs'}") from None
        if lacking:
            with alone(sweep.folder / "launch.lock", LAUNCHING):
                self._start(sweep, queue, lacking)

    def _last_words(self, sweep: Manifest, queue: Queue) -> str:
        """The last line of the newest log of errors of this launch that has one."""
        jobs = [job for name, record in launches(sweep, self._kind) if name == queue.launch for job in record["jobs"]]
        said = (_last_line(sweep.folder / "logs" / f"{job['id']}_0_log.err") for job in reversed(jobs))
        return next(filter(None, said), "")


def _has_begun(watch: Watch, queue: Queue) -> bool:
    """Whether a worker of the launch has had a trial that is not done."""
    latest = (situation.latest for situation in watch.situations.values())
    return any(one is not None and one.owner.get("launch") == queue.launch for one in latest)


def _last_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


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
