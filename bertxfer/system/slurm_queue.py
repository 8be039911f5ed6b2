"""What SLURM has queued for this user."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from bertxfer.errors import BertxferError

_FIELDS = "%i|%T|%r|%j|%k"


@dataclass(frozen=True)
class Queued:
    """A job that waits or runs; a task of an array has an id of its own."""

    id: str
    state: str
    reason: str  # why it waits
    name: str
    comment: str


def queued() -> list[Queued]:
    """This user's jobs that wait or run."""
    command = ["squeue", "-h", "-r", "-o", _FIELDS, "-u", str(os.getuid())]
    # SQUEUE_STATES and the like would hide jobs.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SQUEUE_")}
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
    except (OSError, subprocess.SubprocessError) as error:
        raise BertxferError(f"squeue failed: {error}") from error
    if answer.returncode:
        raise BertxferError(f"squeue failed: {answer.stderr.strip()}")
    rows = (line.split("|", 4) for line in answer.stdout.splitlines())
    return [Queued(*row) for row in rows if len(row) == 5]


def why_they_wait(jobs: Iterable[Queued]) -> str:
    """How many of the jobs have not begun, and SLURM's reasons; empty if all have."""
    # SLURM gives no reason before it has looked at a job.
    reasons = Counter(job.reason for job in jobs if job.state == "PENDING" and job.reason != "None")
    if not reasons:
        return ""
    number = reasons.total()
    waiting = "1 job waits" if number == 1 else f"{number} jobs wait"
    return f"{waiting} in SLURM's queue: {', '.join(reasons)}"
