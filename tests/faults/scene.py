"""What faults happen to: a sweep of tiny trials in a folder, its launcher, its workers, its files."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.disk import Disk
from tests.helpers.models import bert

STALE_SECONDS = 3
MARK = "BERTXFER_FAULTS"  # in the environment of all processes of a scene, by which they are found

TASK = """\
name: own
text: [text]
labels: [bad, good]
metrics: [accuracy]
headline: accuracy
files: {train: own.csv, dev: own.csv}
"""

# Plain trials long enough to be hit, a task whose tokens are cached, chains of one and two stages, probes.
EXPERIMENT = """\
# @package _global_
grids:
  - {task: mini_sst2, data.n: 800, seed: "range(%d)"}
  - {task: own, data.n: 16, seed: "range(%d)"}
  - {task: own, intermediate: mini_cola, data.n: 16, seed: "range(%d)"}
  - {task: mini_sst2, intermediate: [[mini_cola, own]], data.n: 16, seed: "range(%d)"}
  - {task: mini_cola, training: probe, probe.layer: [0, 1], data.n: 16, seed: "range(%d)"}
"""
SEEDS = (4, 4, 3, 2, 2)  # of each grid, for a sweep of size 1


def prepare(folder: Path, size: int) -> None:
    """The model, the data and the experiment of all scenes."""
    from bertxfer.tasks.mini import lexicon

    bert(1, folder / "model")
    words, draw = [word for word in lexicon.vocabulary() if word.isalpha()], random.Random(0)
    rows = [f"{' '.join(draw.choices(words, k=6))},{('bad', 'good')[i % 2]}\n" for i in range(64)]
    experiment = EXPERIMENT % tuple(size * seeds for seeds in SEEDS)
    (folder / "own.csv").write_text("text,label\n" + "".join(rows))
    for group, name, text in (("task", "own", TASK), ("experiment", "faults", experiment)):
        (folder / "conf" / group).mkdir(parents=True)
        (folder / "conf" / group / f"{name}.yaml").write_text(text)


@dataclass(frozen=True)
class Process:
    pid: int
    role: str  # launcher, supervisor (of a worker), worker (the process that runs trials), other


@dataclass
class Scene:
    common: Path  # what `prepare` made
    folder: Path
    disk: Disk | None = None
    launcher: "subprocess.Popen[bytes] | None" = None
    later: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)  # results: which file each was when it appeared
    failures: dict[str, str] = field(default_factory=dict)
    launches: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def log(self) -> Path:
        return self.common / f"{self.folder.name}.log"  # not on the disk that may be full

    def launch(self, *how: str) -> "subprocess.Popen[bytes]":
        """The command of the sweep; what it prints goes into the log."""
        how = how or ("hydra.launcher.workers=2", f"hydra.launcher.stale_seconds={STALE_SECONDS}")
        with self.log.open("ab") as log:
            self.launcher = subprocess.Popen(
                [*_PYTHON, *self.words(), *how], cwd=self.common, env=self.environment(), stdout=log, stderr=log
            )
        self.launches += 1
        return self.launcher

    def words(self) -> list[str]:
        return [
            f"model.name={self.common / 'model'}",
            f"runtime.output_dir={self.out}",
            *("runtime.device=cpu", "runtime.threads=1", "runtime.checkpoint_seconds=0.05"),
            *("training.epochs=1", "data.dev_n=32", "-m", "experiment=faults"),
            *("--config-dir", str(self.common / "conf")),
        ]

    def environment(self) -> dict[str, str]:
        return {**os.environ, MARK: str(self.folder), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}

    def join(self, host: str) -> None:
        """One more worker, on what it takes for another host."""
        if (sweep := self.sweep()) is None:
            return
        command = [*_PYTHON, "worker", str(sweep), "--output-dir", str(self.out), "--stale-seconds", str(STALE_SECONDS)]
        renamed = ["unshare", "--uts", "bash", "-c", 'hostname "$1"; shift; exec "$@"', "_", host, *command]
        with self.log.open("ab") as log:
            subprocess.Popen(renamed, cwd=self.common, env=self.environment(), stdout=log, stderr=log)

    def sweep(self) -> Path | None:
        return next(iter((self.out / "sweeps").glob("*/")), None)

    def processes(self, role: str | None = None) -> list[Process]:
        found = [process for process in _all_processes(str(self.folder)) if role in (None, process.role)]
        return sorted(found, key=lambda process: process.pid)

    def held(self) -> list[tuple[Path, dict[str, Any]]]:
        """Attempts that have not ended, and who made them."""
        found = []
        for path in (self.out / "trials").glob("*/attempts/[!.]*.json"):
            try:
                owner = json.loads(path.read_text())
            except (OSError, ValueError):
                continue
            if isinstance(owner, dict) and owner.get("outcome") is None:
                found.append((path, owner))
        return sorted(found, key=lambda one: one[0])

    def busy(self) -> list[Process]:
        """Workers that are in the midst of a trial."""
        owners = {owner.get("pid") for _, owner in self.held()}
        return [process for process in self.processes("worker") if process.pid in owners]

    def files(self, pattern: str) -> list[Path]:
        return sorted(path for path in self.out.glob(pattern) if path.stat().st_size)

    def tick(self) -> None:
        """What is due is done, and what came to pass is noted."""
        now = time.monotonic()
        due = [action for when, action in self.later if when <= now]
        self.later = [(when, action) for when, action in self.later if when > now]
        for action in due:
            action()
        for path in (self.out / "trials").glob("*/result.json"):
            if path.parent.name not in self.seen:
                self.seen[path.parent.name] = stamp(path)
        for path in (self.out / "trials").glob("*/failure.json"):
            with_reason = _reason(path)
            if with_reason:
                self.failures[f"{path.parent.name} {with_reason}"] = with_reason

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        self.later.append((time.monotonic() + seconds, action))

    def heal(self) -> None:
        """Ends all that was to last for a while."""
        for _, action in self.later:
            action()
        self.later = []

    def end(self) -> None:
        """Kills what is left of the scene."""
        for _ in range(3):
            for process in self.processes():
                send(process.pid, signal.SIGKILL)
        if self.launcher is not None:
            self.launcher.wait()


_PYTHON = [sys.executable, "-m", "bertxfer"]


def send(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def stamp(path: Path) -> tuple[int, int]:
    """Which file this is, and when it was last changed."""
    told = path.stat()
    return told.st_ino, told.st_mtime_ns


def _reason(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_text())["reason"])
    except (OSError, ValueError, KeyError):
        return None


def _all_processes(mark: str) -> Iterator[Process]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            words = (folder / "cmdline").read_bytes().decode().split("\0")[:-1]
        except OSError:
            continue
        if not words:
            continue  # has ended, and nobody has asked how
        yield Process(int(folder.name), _role(words))


def _role(words: list[str]) -> str:
    if words[-1] == "bertxfer.sweeps.worker":
        return "worker"
    told_on_its_command_line = "bertxfer.sweeps.worker" in words and "submitit.local._local" not in words
    if told_on_its_command_line or "submitit.core._submit" in words or words[2:4] == ["bertxfer", "worker"]:
        return "supervisor"
    return "launcher" if words[1:3] == ["-m", "bertxfer"] else "other"
