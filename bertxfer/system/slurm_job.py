"""The SLURM job that a process runs in: its name, how long it has left, and whether it is queued again."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator

# Set by people for all that they submit, and not by SLURM for a job.
_PEOPLES = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT", "SLURM_TIME_FORMAT")
# What a job's environment says about the job. Of sbatch's own variables SLURM sets only those that bind.
_JOBS = (
    *("SLURM", "SRUN_", "SBATCH_CPU_BIND", "SBATCH_MEM_BIND", "SUBMITIT_", "PMI"),
    *("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"),
)
# What sbatch would take from the environment before what our script says of it.
_OURS = [f"SBATCH_{name}" for name in ("JOB_NAME", "COMMENT", "ARRAY_INX", "OUTPUT", "ERROR", "SIGNAL", "WAIT")]


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


def requeue_if_called(name: str) -> bool:
    """Has this job run again later, if it is the one of that name: others that a worker may run in are not ours.

    A preempted job that ends by itself during its grace would count as completed, and not be requeued. Preemption
    and scancel send the same SIGTERM, but squeue reports only the preempted job as still running.
    """
    this = job()
    if this is None:
        return False
    state, _, called = _squeue("%T %j").partition(" ")
    if called != name:
        return False
    if state != "RUNNING":
        print(f"SLURM says this job is {state or 'unknown'}, so it is not queued again", flush=True)
        return False
    return _run("scontrol", "requeue", this) is not None


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """Within it the environment is as if this process ran in no job, and says nothing that our scripts say otherwise.

    A job that is submitted from within another one would inherit what that one was given, and its srun would ask for
    the memory and the tasks of both.
    submitit's `clean_env` drops SLURM_CONF too, by which sbatch finds the cluster, and the SBATCH_* that people set.
    """
    inside = job() is not None
    names = [name for name in os.environ if name in _OURS or (inside and _is_jobs(name))]
    gone = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(gone)


def _is_jobs(name: str) -> bool:
    return name.startswith(_JOBS) and name not in _PEOPLES


def seconds_left(text: str) -> float | None:
    """squeue's [days-][hours:]minutes:seconds; None for UNLIMITED, INVALID and the like."""
    days, _, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdecimal() for part in (*parts, days or "0")) or len(parts) < 2:
        return None
    hours, minutes, seconds = ([0] * (3 - len(parts)) + [int(part) for part in parts])[-3:]
    return float(((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + seconds)


def _squeue(field: str) -> str:
    """Fields of squeue about this job; empty outside SLURM or where squeue cannot be asked.

    A task of an array is asked for by its own name: the number of the first one means the whole array.
    """
    this = job()
    return "" if this is None else _run("squeue", "-h", "-j", this, "-o", field) or ""


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
