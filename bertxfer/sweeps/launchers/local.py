"""Workers on this machine: one for each GPU, or for each few cores where there is none."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bertxfer.config.keys import whole
from bertxfer.sweeps.launch import Job, launches
from bertxfer.sweeps.launchers.launcher import Launched
from bertxfer.sweeps.launchers.submitted import Submitted
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.worker import Post, supervise
from bertxfer.system.processes import host, process_lives, started_at


@dataclass
class Local(Submitted):
    """`per_gpu` workers on each GPU; without GPUs, one for each `threads` cores."""

    per_gpu: int = whole(1)

    def wanted(self, open_trials: int) -> int:
        return min(len(self.devices()), open_trials)

    def devices(self) -> list[str | None]:
        """The CUDA_VISIBLE_DEVICES of each worker; null on the CPU."""
        gpus = visible_gpus()
        if gpus:
            count = self.workers or len(gpus) * self.per_gpu
            return [gpus[i % len(gpus)] for i in range(count)]
        return [None] * (self.workers or max(1, cpu_cores() // self.threads))

    def submit(self, sweep: Manifest, post: Post, workers: int) -> Iterable[list[Job]]:
        from bertxfer.sweeps.launchers.executors import LocalExecutor

        free = self.devices()
        for job in self.living([job for _, record in launches(sweep, "local") for job in record["jobs"]]):
            if job.get("gpu") in free:
                free.remove(job.get("gpu"))
        chosen = free[:workers]
        machine = f"{len(visible_gpus())} GPUs" if chosen[0] is not None else f"no GPU, {cpu_cores()} cores"
        print(f"workers: {len(chosen)}, CPU threads of each: {self.threads} ({machine})", flush=True)
        executor = LocalExecutor(folder=sweep.folder / "logs")
        executor.update_parameters(timeout_min=60 * 24 * 365)
        for gpu in chosen:
            executor.post = replace(post, gpu=gpu)
            with _silenced():
                worker = executor.submit(supervise, executor.post)
            pid = worker.job_id
            yield [{"id": pid, "host": host(), "pid_started": started_at(int(pid)), "gpu": gpu}]

    def living(self, jobs: list[Job]) -> list[Job]:
        this_host = host()
        mine = [job for job in jobs if job.get("host") == this_host and str(job["id"]).isdecimal()]
        return [job for job in mine if process_lives(int(job["id"]), job.get("pid_started"))]

    def interrupted(self, sweep: Manifest, queue: Queue) -> Launched:
        end_workers(sweep)
        return Launched(queue, stopped=True)


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Started processes keep the standard output they find, and `... wait=false | tee log` would wait for them all."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        for descriptor in (*kept, nowhere):
            os.close(descriptor)


def end_workers(sweep: Manifest) -> list[str]:
    """Tells the workers of a sweep on this machine, its SLURM jobs excepted, to give back their trials and end."""
    ended = []
    slurm_jobs = {job["id"] for _, record in launches(sweep, "slurm") for job in record["jobs"]}
    for path in (sweep.folder / "workers").glob("*.json"):
        try:
            worker = json.loads(path.read_bytes())["worker"]
            ours = worker["host"] == host() and worker["slurm_job"] not in slurm_jobs
            pid, started = int(worker["pid"]), worker["pid_started"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if ours and pid > 1 and process_lives(pid, started):
            os.kill(pid, signal.SIGTERM)
            ended.append(str(pid))
    return ended


def visible_gpus() -> list[str]:
    """The GPUs this process may use, without importing torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return [gpu.strip() for gpu in visible.split(",") if gpu.strip() not in ("", "-1")]
    if shutil.which("nvidia-smi") is None:
        return []
    listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, timeout=60, check=False)
    return [str(i) for i in range(sum(line.startswith("GPU ") for line in listed.stdout.splitlines()))]


def cpu_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
