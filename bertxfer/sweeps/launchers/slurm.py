"""Workers as SLURM jobs: an array of them, each of which drains the sweep."""

import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from bertxfer.config.keys import whole
from bertxfer.errors import BertxferError, ConfigError
from bertxfer.sweeps.launch import Job, job_name, launches, write_down
from bertxfer.sweeps.launchers.launcher import Launched
from bertxfer.sweeps.launchers.submitted import Submitted
from bertxfer.sweeps.manifest import Manifest, Outline
from bertxfer.sweeps.post import Post
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.worker import supervise
from bertxfer.system import slurm_job
from bertxfer.system.slurm_queue import Queued, queued, why_they_wait

_COMMENT = "bertxfer "  # before the sweep's folder


@dataclass
class Slurm(Submitted):
    """`workers` jobs, or one for every `trials_per_worker` trials."""

    runs_here: ClassVar[bool] = False
    partition: str | None = None
    time: int = whole(60, "minutes")
    gres: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    mem: str | None = None
    trials_per_worker: int | None = whole(None)
    extra: dict[str, Any] = field(default_factory=dict)  # further sbatch lines: {nice: 100} is --nice=100
    setup: list[str] = field(default_factory=list)  # shell commands before the worker
    poll_seconds: float = 3.0

    def __post_init__(self) -> None:
        self._waiting = ""

    def wanted(self, open_trials: int) -> int:
        if self.workers is not None and self.trials_per_worker is not None:
            raise ConfigError("hydra.launcher.workers", "trials_per_worker is given too; give one of the two")
        if self.trials_per_worker is not None:
            return -(-open_trials // self.trials_per_worker)
        return min(open_trials, self.workers or 8)

    def submit(self, sweep: Manifest, post: Post, workers: int) -> Iterable[list[Job]]:
        from submitit.core.utils import FailedJobError

        from bertxfer.sweeps.launchers.executors import SlurmExecutor

        if shutil.which("sbatch") is None:
            raise ConfigError("hydra/launcher", "slurm needs sbatch, which is not on this machine; use local or inline")
        executor = SlurmExecutor(folder=sweep.folder / "logs")
        executor.post = post
        executor.update_parameters(**self._parameters(sweep, post.launch))
        for size in chunks(workers, max_array_size()):
            executor.update_parameters(array_parallelism=size)
            try:
                with slurm_job.outside(), executor.batch():
                    jobs = [executor.submit(supervise, post) for _ in range(size)]
            except FailedJobError as error:
                reason = str(error).strip().splitlines()[-1]
                of_partition = "partition name" in reason
                key, hint = (
                    ("hydra.launcher.partition", "; sinfo lists them") if of_partition else ("hydra.launcher", "")
                )
                raise BertxferError(f"{key}: SLURM refused the workers: {reason}{hint}") from error
            print(f"{size} workers submitted to SLURM as job {str(jobs[0].job_id).split('_')[0]}", flush=True)
            yield [{"id": str(job.job_id)} for job in jobs]

    def _parameters(self, sweep: Manifest, launch: str) -> dict[str, Any]:
        options = ("partition", "gres", "account", "qos", "constraint", "mem")
        chosen = {name: getattr(self, name) for name in options if getattr(self, name) is not None}
        return {
            **chosen,
            "job_name": job_name(sweep.folder, launch),
            "time": self.time,
            "cpus_per_task": self.threads,
            "setup": list(self.setup),
            "additional_parameters": {"requeue": True, "comment": f"{_COMMENT}{sweep.folder}", **self.extra},
            # A warning for clusters that do not tell a job when it ends; where they do, the worker watches the clock.
            "signal_delay_s": min(90, self.time * 60 // 3),
        }

    def living(self, sweep: Manifest, jobs: list[Job]) -> list[Job]:
        if not jobs:
            return []
        try:
            ours = {job.id: job for jobs_there in queued_for(sweep).values() for job in jobs_there}
        except BertxferError as error:  # a controller that restarts says nothing about the jobs
            print(error, file=sys.stderr)
            return jobs
        self._waiting = why_they_wait(ours.values())
        return [job for job in jobs if job["id"] in ours]

    def why_waiting(self) -> str:
        return self._waiting

    def strays(self, sweep: Manifest) -> dict[str, list[Job]]:
        return strays(sweep)

    def interrupted(self, sweep: Manifest, queue: Queue) -> Launched:
        try:
            if not queued_for(sweep):
                print("stopped; no job of this sweep waits or runs, and the same command goes on")
                return Launched(queue, stopped=True)
        except BertxferError as error:
            print(f"{error}; jobs that were submitted go on all the same")
        print(
            f"detached, the jobs go on: `python -m bertxfer status {sweep.name}` shows how far they are, "
            f"`python -m bertxfer cancel {sweep.name}` ends them, the same command attaches again"
        )
        return Launched(queue, waited_for=False)


def cancel_jobs(sweep: Manifest) -> list[str]:
    """Ends the SLURM jobs of a sweep, and only those."""
    for launch, jobs in strays(sweep).items():
        write_down(sweep, launch, "slurm", jobs)
    if not launches(sweep, "slurm"):
        return []
    ours = [job.id for jobs_there in queued_for(sweep).values() for job in jobs_there]
    if ours:
        subprocess.run(["scancel", *ours], check=True, timeout=60)
    return ours


def strays(sweep: Manifest) -> dict[str, list[Job]]:
    """The jobs of the sweep that wait or run, by their launch."""
    try:
        return {launch: [{"id": job.id} for job in jobs] for launch, jobs in queued_for(sweep).items()}
    except BertxferError:  # no cluster here, or a controller that restarts
        return {}


def queued_for(sweep: Manifest | Outline) -> dict[str, list[Queued]]:
    """The jobs in SLURM's queue that were submitted for the sweep, by their launch.

    What the sweep's files say proves nothing, since others may write there. A job's name and comment are set by whoever
    submits it: the name must be that of a launch of the sweep, and a comment of ours must name this very folder.
    """
    launched = {path.stem for path in (sweep.folder / "launches").glob("[!.]*.json")}
    names = {job_name(sweep.folder, launch): launch for launch in launched}
    found: dict[str, list[Queued]] = {}
    for job in queued() if names else ():
        if job.name in names and not _is_elsewhere(job.comment, sweep.folder):
            found.setdefault(names[job.name], []).append(job)
    return found


def _is_elsewhere(comment: str, folder: Path) -> bool:
    """Whether a comment of ours names another folder. One folder may have other names on other machines."""
    named = Path(comment.removeprefix(_COMMENT))
    return comment.startswith(_COMMENT) and named.is_dir() and not named.samefile(folder)


def max_array_size() -> int:
    answer = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, timeout=60, check=False)
    for line in answer.stdout.splitlines():
        if line.startswith("MaxArraySize"):
            return max(1, int(line.split("=")[1]))
    return 1001


def chunks(total: int, most: int) -> list[int]:
    """`total` in parts of at most `most`: a cluster refuses a larger array whole."""
    return [most] * (total // most) + ([total % most] if total % most else [])
