"""Workers on this machine: one for each GPU, or for each few cores where there is none."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from bertxfer.config.keys import whole
from bertxfer.sweeps import nursery
from bertxfer.sweeps.card import cards, is_worker, living_worker
from bertxfer.sweeps.launch import Job, jobs_of, launches, mark_one_cancelled
from bertxfer.sweeps.launchers.launcher import Launched
from bertxfer.sweeps.launchers.submitted import Submitted
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.post import Post
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.worker import supervise
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
        devices = self.devices()
        free = list(devices)
        for job in self._living(sweep):
            if job.get("gpu") in free:
                free.remove(job.get("gpu"))
        chosen = [*free, *devices][:workers]  # one that replaces a silent worker shares its device
        machine = f"{len(visible_gpus())} GPUs" if chosen[0] is not None else f"no GPU, {cpu_cores()} cores"
        print(f"workers: {len(chosen)}, CPU threads of each: {self.threads} ({machine})", flush=True)
        posts = [replace(post, gpu=gpu) for gpu in chosen]
        pids = nursery.workers(posts)
        for one in posts:
            pid = next(pids, None)
            yield [_job(_started_alone(one, sweep) if pid is None else pid, one)]

    def living(self, sweep: Manifest, jobs: list[Job]) -> list[Job]:
        this_host = host()
        mine = [job for job in jobs if job.get("host") == this_host and str(job["id"]).isdecimal()]
        alive = [job for job in mine if process_lives(int(job["id"]), job.get("pid_started"))]
        return [job for job in alive if is_worker(int(job["id"]), sweep.folder)]

    def _living_of_all(self, sweep: Manifest) -> list[Job]:
        return self.living(sweep, jobs_of(sweep, "local"))

    def unheard(self, sweep: Manifest, queue: Queue) -> list[str]:
        """A worker that was stopped (SIGSTOP) lives, and does nothing."""
        silent, before = [], queue.now() - queue.rules.stale_seconds
        for path, card in cards(sweep.folder):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < before and (pid := living_worker(card, sweep.folder)) is not None:
                    silent.append(str(pid))
        return silent

    def interrupted(self, sweep: Manifest, queue: Queue) -> Launched:
        """Waits until the workers have saved what they were doing; a second Ctrl-C does not."""
        living = self._living_of_all(sweep)
        local = launches(sweep, "local")
        for name, record in local:  # for workers that are just beginning, and have no card yet
            ours = name == local[-1][0] and all(job.get("host") == host() for job in record["jobs"])
            if ours or self.living(sweep, record["jobs"]):
                mark_one_cancelled(sweep.folder, name)
        if living:
            print(f"{len(living)} workers are told to stop; they save what they have", flush=True)
        end_workers(sweep)
        try:
            while self._living_of_all(sweep):
                time.sleep(0.1)
        except KeyboardInterrupt:
            print("not waited for: they end when they have saved", flush=True)
        return Launched(queue, stopped=True)


def _job(pid: int, post: Post) -> Job:
    return {"id": str(pid), "host": host(), "pid_started": started_at(pid), "gpu": post.gpu}


def _started_alone(post: Post, sweep: Manifest) -> int:
    """A worker in a process that imports for itself."""
    from bertxfer.sweeps.launchers.executors import LocalExecutor

    executor = LocalExecutor(folder=sweep.folder / "logs")
    executor.update_parameters(timeout_min=60 * 24 * 365)
    executor.post = post
    with _silenced():
        return int(executor.submit(supervise, post).job_id)


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
    slurm_jobs = {job["id"] for job in jobs_of(sweep, "slurm")}
    for _, card in cards(sweep.folder):
        pid = living_worker(card, sweep.folder)
        if pid is not None and card.worker.get("slurm_job") not in slurm_jobs:
            with contextlib.suppress(ProcessLookupError, PermissionError):  # just ended; another user's
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
