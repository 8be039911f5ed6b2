"""Processes: which one this is, and whether another one, here or on another machine, is still alive."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from bertxfer.system import slurm_job


def whoami() -> dict[str, Any]:
    """This process, so that others can tell whether it still lives."""
    pid = os.getpid()
    job = {"slurm_job": slurm_job.job(), "slurm_restarts": slurm_job.restarts()}
    return {"host": host(), "pid": pid, "pid_started": started_at(pid), **job}


def signature() -> str:
    """This process as one word that can be part of a file name."""
    return _signature(os.getpid())


def is_alive(signature: str) -> bool | None:
    """Whether the process with this signature lives; None where this machine cannot tell."""
    machine, _, process = signature.partition("-")
    pid, _, started = process.partition("-")
    if machine != _host_word() or not (pid.isdecimal() and started.isdecimal()):
        return None
    return process_lives(int(pid), int(started))


def process_lives(pid: int, started: int | None) -> bool:
    """Whether a process has this number and is still the one that started at that time."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return started is None or started_at(pid) == started


def started_at(pid: int) -> int | None:
    """When a process was started, in the kernel's ticks: tells a reused number from the recorded process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def command_of(pid: int) -> list[str]:
    """The command line of a process, as words; empty where it cannot be told."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        pass
    try:  # no /proc, as on macOS; words that have spaces come apart
        told = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False)
    except OSError:
        return []
    return told.stdout.split()


def is_this_process(owner: Mapping[str, Any]) -> bool:
    """Whether what `whoami` said is this very process."""
    return owner.get("pid") == os.getpid() and {**owner, **whoami()} == owner


def host() -> str:
    """The machine since it was last started: process numbers mean nothing beyond that."""
    return f"{platform.node()} {_boot()}"


@lru_cache(maxsize=1)
def _boot() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
        space = str(Path("/proc/self/ns/pid").readlink())  # containers may share a name, but not their process numbers
    except OSError:
        boot = space = "-"
    return f"{boot} {space}"


@lru_cache(maxsize=1)
def _signature(pid: int) -> str:
    return f"{_host_word()}-{pid}-{started_at(pid) or 0}"


@lru_cache(maxsize=1)
def _host_word() -> str:
    return hashlib.sha256(host().encode()).hexdigest()[:8]


def say_at_once(line: str) -> None:
    """Prints a line unbuffered, for a log that others read while this process runs."""
    print(line, flush=True)
