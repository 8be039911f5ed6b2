"""What commands cost: seconds by the clock, and seconds of CPU of all the processes that they start."""

import contextlib
import ctypes
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORES = len(os.sched_getaffinity(0))


@dataclass
class Spent:
    """Filled in when the block that it was measured for ends."""

    wall: float = 0.0
    cpu: float = 0.0


@contextlib.contextmanager
def spending() -> Iterator[Spent]:
    """What the commands cost that are started and waited for in this block."""
    spent, started, before = Spent(), time.monotonic(), _of_children()
    yield spent
    spent.wall = time.monotonic() - started
    spent.cpu = _of_children() - before


def printed(command: Sequence[str], more: Mapping[str, str] | None = None) -> str:
    """What a command prints, which is started at the root with torch's own number of threads."""
    _adopt_orphans()
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    ended = subprocess.run(command, cwd=ROOT, env={**environment, **(more or {})}, capture_output=True, text=True)
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{ended.stderr[-2000:]}")
    return ended.stdout


def printed_at_once(commands: Sequence[Sequence[str]]) -> list[str]:
    """The same of as many commands as there are cores, all started at once, with one thread each."""
    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(lambda command: printed(command, {"OMP_NUM_THREADS": "1"}), commands))


def bertxfer(*words: str) -> str:
    """What our own command prints."""
    return printed([sys.executable, "-m", "bertxfer", *words])


def _of_children() -> float:
    """The system counts a process for its parent once that has waited for it: here also those whose parent is gone."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0):
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _adopt_orphans() -> None:
    """On Linux, processes whose parent has ended become children of this one, and not of the system's first process."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
