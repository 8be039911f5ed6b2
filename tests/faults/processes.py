"""The processes of a scene, found by what is in their environment."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What forked processes are called: their command lines are all one.
DRAINING, SUPERVISING = "bertxfer trials", "bertxfer worker"
MARK = "BERTXFER_FAULTS"  # in the environment of all processes of a scene


@dataclass(frozen=True)
class Process:
    pid: int
    role: str  # launcher, supervisor (of a worker), worker (the process that runs trials), other


def marked(mark: str) -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}" not in environment(int(folder.name)):
                continue
            words = (folder / "cmdline").read_bytes().decode().split("\0")[:-1]
            name = (folder / "comm").read_text().strip()
        except OSError:
            continue
        if not words:
            continue  # has ended, and nobody has asked how
        yield Process(int(folder.name), _role(words, name))


def environment(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")


def send(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def space(pid: int, kind: str) -> str:
    """The namespace that a process is in: `uts` is that of host names."""
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return ""


def is_elsewhere(pid: int) -> bool:
    """Whether the process takes itself to be on another machine."""
    return space(pid, "uts") not in ("", space(os.getpid(), "uts"))


def _role(words: list[str], name: str) -> str:
    if words[-1] == "bertxfer.sweeps.worker" or name == DRAINING:
        return "worker"
    if "together" in words and name != SUPERVISING:
        return "other"  # the process that others are forked from
    told_on_its_command_line = "bertxfer.sweeps.worker" in words and "submitit.local._local" not in words
    if told_on_its_command_line or "submitit.core._submit" in words or words[2:4] == ["bertxfer", "worker"]:
        return "supervisor"
    return "launcher" if words[1:3] == ["-m", "bertxfer"] else "other"
