"""Workers on this machine: one for each GPU, or for each few cores where there is none."""

import json
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, replace

from bertxfer.launchers.base import Job, Launched, Submitted
from bertxfer.manifest import Manifest
from bertxfer.queue import Queue, process_lives, started_at, whoami
from bertxfer.worker import Post, supervise


@dataclass
class Local(Submitted):
    """`per_gpu` workers on each GPU; without GPUs, one for each `threads` cores."""

    per_gpu: int = 1

    def wanted(self, open_trials: int) -> int:
        return min(len(self.places()), open_trials)

    def places(self) -> list[str | None]:
        """The CUDA_VISIBLE_DEVICES of each worker; null on the CPU."""
        gpus = visible_gpus()
        if gpus:
            count = self.workers or len(gpus) * self.per_gpu
            return [gpus[i % len(gpus)] for i in range(count)]
        return [None] * (self.workers or max(1, cpu_cores() // self.threads))

    def submit(self, sweep: Manifest, post: Post, workers: int) -> list[Job]:
        import submitit

        places = self.places()[:workers]
        there = f"{len(visible_gpus())} GPUs" if places[0] is not None else f"no GPU, {cpu_cores()} cores"
        print(f"workers: {len(places)}, CPU threads of each: {self.threads} ({there})", flush=True)
        executor = submitit.LocalExecutor(folder=sweep.folder / "logs")
        executor.update_parameters(timeout_min=60 * 24 * 365)
        jobs = [executor.submit(supervise, replace(post, gpu=place)) for place in places]
        host = whoami()["host"]
        return [{"id": job.job_id, "host": host, "pid_started": started_at(int(job.job_id))} for job in jobs]

    def living(self, jobs: list[Job]) -> list[Job]:
        host = whoami()["host"]
        return [job for job in jobs if job["host"] == host and process_lives(int(job["id"]), job["pid_started"])]

    def interrupted(self, sweep: Manifest, queue: Queue) -> Launched:
        end_workers(sweep)
        return Launched(queue, stopped=True)


def end_workers(sweep: Manifest) -> list[str]:
    """Tells the workers of a sweep that run on this machine, outside SLURM, to give back what they do and end."""
    ended = []
    for path in (sweep.folder / "workers").glob("*.json"):
        try:
            worker = json.loads(path.read_text(encoding="utf-8"))["worker"]
        except (OSError, ValueError, KeyError):
            continue
        here = worker["host"] == whoami()["host"] and worker["slurm_job"] is None
        if here and process_lives(worker["pid"], worker["pid_started"]):
            os.kill(worker["pid"], signal.SIGTERM)
            ended.append(str(worker["pid"]))
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
