"""The SLURM job that a process runs in: its name, how long it has left, and whether it is queued again."""

import os
import subprocess
import time


def job() -> str | None:
    """The job this process runs in, as squeue names it; None outside SLURM."""
    if "SLURM_ARRAY_JOB_ID" in os.environ:
        return f"{os.environ['SLURM_ARRAY_JOB_ID']}_{os.environ['SLURM_ARRAY_TASK_ID']}"
    return os.environ.get("SLURM_JOB_ID")


def restarts() -> int:
    """How often this job was requeued."""
    return int(os.environ.get("SLURM_RESTART_COUNT", "0"))


def deadline() -> float | None:
    """When to give back what is being done: half a minute before the time limit, sooner under short limits.

    The worker watches the clock itself: SLURM's warning signal was seen to come anywhere within a minute of the time
    that was asked for, and before SLURM 23 the environment does not say when a job ends.
    """
    left = seconds_left(_squeue("%L"))
    return None if left is None else time.time() + left - min(30.0, left / 4)


def requeue_unless_cancelled() -> bool:
    """Has this job, if it is one, run again later.

    A preempted job that ends by itself during its grace would count as completed, and not be requeued. Preemption
    and scancel send the same SIGTERM, but squeue reports only the preempted job as still running.
    """
    if job() is None:
        return False
    state = _squeue("%T")
    if state != "RUNNING":
        print(f"SLURM says this job is {state or 'unknown'}, so it is not queued again", flush=True)
        return False
    return _run("scontrol", "requeue", os.environ["SLURM_JOB_ID"]) is not None


def seconds_left(text: str) -> float | None:
    """squeue's [days-][hours:]minutes:seconds; None for UNLIMITED, INVALID and the like."""
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdecimal() for part in (*parts, days or "0")) or len(parts) < 2:
        return None
    hours, minutes, seconds = ([0] * (3 - len(parts)) + [int(part) for part in parts])[-3:]
    return float(((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds)


def _squeue(field: str) -> str:
    """One field of squeue about this job; empty outside SLURM or where squeue cannot be asked."""
    if job() is None:
        return ""
    return _run("squeue", "-h", "-j", os.environ["SLURM_JOB_ID"], "-o", field) or ""


def _run(*command: str) -> str | None:
    """What a command of SLURM prints. A controller that is too busy to answer is asked again."""
    for pause in (1, 3, 0):
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError) as error:
            print(f"{command[0]}: {error}", flush=True)
            continue
        if ended.returncode == 0:
            return ended.stdout.strip()
        print(f"{command[0]}: {ended.stderr.strip()}", flush=True)
        time.sleep(pause)
    return None
