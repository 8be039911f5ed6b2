"""Workers as SLURM jobs: an array of them, each of which drains the sweep."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bertxfer.config.keys import whole
from bertxfer.errors import BertxferError, ConfigError
from bertxfer.sweeps.launch import Job, launches, write_down
from bertxfer.sweeps.launchers.launcher import Launched
from bertxfer.sweeps.launchers.submitted import Submitted
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.worker import Post, supervise


@dataclass
class Slurm(Submitted):
    """`workers` jobs, or one for every `trials_per_worker` trials."""

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
                with executor.batch():
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
            "job_name": f"{_job_name(sweep)}{launch}",  # by which a job is known even if it was not written down
            "time": self.time,
            "cpus_per_task": self.threads,
            "setup": list(self.setup),
            "additional_parameters": {"requeue": True, **self.extra},
            # A warning for clusters that do not tell a job when it ends; where they do, the worker watches the clock.
            "signal_delay_s": min(90, self.time * 60 // 3),
        }

    def living(self, jobs: list[Job]) -> list[Job]:
        if not jobs:
            return []
        try:
            queued = set(slurm_queue())
        except BertxferError as error:  # a controller that restarts says nothing about the jobs
            print(error, file=sys.stderr)
            return jobs
        return [job for job in jobs if job["id"] in queued]

    def strays(self, sweep: Manifest) -> dict[str, list[Job]]:
        return strays(sweep)

    def interrupted(self, sweep: Manifest, queue: Queue) -> Launched:
        print(
            f"detached, the jobs go on: `python -m bertxfer status {sweep.name}` shows how far they are, "
            f"`python -m bertxfer cancel {sweep.name}` ends them, the same command attaches again"
        )
        return Launched(queue, waited_for=False)


def cancel_jobs(sweep: Manifest) -> list[str]:
    """Ends the SLURM jobs of a sweep, and only those."""
    for launch, jobs in strays(sweep).items():
        write_down(sweep, launch, "slurm", jobs)
    mine = {job["id"] for _, record in launches(sweep, "slurm") for job in record["jobs"]}
    queued = [job for job in slurm_queue() if job in mine] if mine else []
    if queued:
        subprocess.run(["scancel", *queued], check=True, timeout=60)
    return queued


def strays(sweep: Manifest) -> dict[str, list[Job]]:
    """The jobs that wait or run, by the launch that they carry in their names; those of other folders are not ours."""
    by_launch: dict[str, list[Job]] = {}
    try:
        queued = slurm_queue()
    except BertxferError:  # no cluster here, or a controller that restarts
        return by_launch
    for job, name in queued.items():
        launch = name.removeprefix(_job_name(sweep))
        if launch != name and (sweep.folder / "launches" / f"{launch}.json").exists():
            by_launch.setdefault(launch, []).append({"id": job})
    return by_launch


def _job_name(sweep: Manifest) -> str:
    return f"bertxfer-{sweep.name}-"


def slurm_queue() -> dict[str, str]:
    """This user's jobs that wait or run, each array task by its own id, and their names."""
    command = ["squeue", "-h", "-r", "-o", "%i %j", "-u", str(os.getuid())]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise BertxferError(f"squeue failed: {error}") from error
    if answer.returncode:
        raise BertxferError(f"squeue failed: {answer.stderr.strip()}")
    return {job: name for job, _, name in (line.partition(" ") for line in answer.stdout.splitlines())}


def max_array_size() -> int:
    answer = subprocess.run(["scontrol", "show", "config"], capture_output=True, text=True, timeout=60, check=False)
    for line in answer.stdout.splitlines():
        if line.startswith("MaxArraySize"):
            return max(1, int(line.split("=")[1]))
    return 1001


def chunks(total: int, most: int) -> list[int]:
    """`total` in parts of at most `most`: a cluster refuses a larger array whole."""
    return [most] * (total // most) + ([total % most] if total % most else [])
