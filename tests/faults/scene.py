"""What faults happen to: a sweep of tiny trials in a folder, its launcher, its workers, its files."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.claims import Claims
from tests.faults.disk import Disk
from tests.faults.network import Network
from tests.faults.processes import MARK, Process, marked, send
from tests.faults.witness import Bystander, Witness

STALE_SECONDS = 3
# How each of the two sweeps is launched. They share trials, and differ in what they take for lost by so much that one
# of them could take the other's workers for gone between two signs of life.
HOW = {
    "faults": ("hydra.launcher.workers=2", f"hydra.launcher.stale_seconds={STALE_SECONDS}"),
    "shared": ("hydra.launcher.workers=1", f"hydra.launcher.stale_seconds={8 * STALE_SECONDS}"),
}


@dataclass
class Scene:
    common: Path  # what `prepare` made
    folder: Path  # what is on the disk
    disk: Disk | None = None
    network: Network | None = None
    launchers: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict)  # by their experiment
    later: list[tuple[float, Callable[[], object]]] = field(default_factory=list)
    seen: dict[str, tuple[int, int]] = field(default_factory=dict)  # results: which file each was when it appeared
    failures: dict[str, str] = field(default_factory=dict)
    witnesses: list[Witness] = field(default_factory=list)
    launches: int = 0
    begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.claims = Claims(self.out / "trials")

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def place(self) -> Path:
        """The output folder as the sweep's own processes see it."""
        return (self.network.here if self.network else self.folder) / "out"

    @property
    def launcher(self) -> "subprocess.Popen[bytes] | None":
        return self.launchers.get("faults")

    def launch(
        self, experiment: str = "faults", how: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
    ) -> "subprocess.Popen[bytes]":
        """The command of a sweep; what it prints goes into a log of its own."""
        self.launches += 1
        words = [*self._words(), f"experiment={experiment}", *(how or HOW[experiment])]
        self.launchers[experiment] = self._start([*_PYTHON, *words], environment or {}, self.log(self.launches))
        return self.launchers[experiment]

    def _words(self) -> list[str]:
        return [
            *("model=mini", f"model.name={self.common / 'model'}"),
            f"runtime.output_dir={self.place}",
            *("runtime.device=cpu", "runtime.threads=1", "runtime.checkpoint_seconds=0.05"),
            *("training.epochs=1", "data.dev_n=32", "-m", "--config-dir", str(self.common / "conf")),
        ]

    def join(self, host: str | None = None, environment: Mapping[str, str] | None = None) -> bool:
        """One more worker; with a name, on what it takes for another host, which there may be in the network."""
        if (sweep := self.sweep()) is None:
            return False
        command = [*_PYTHON, "worker", sweep.name, "--output-dir", str(self.place)]
        if host is not None:
            command = ["unshare", "--uts", "bash", "-c", 'hostname "$1"; shift; exec "$@"', "_", host, *command]
            command = self.network.seen_from_there(command) if self.network else command
        self._start(command, environment or {}, self.log("joined"))
        return True

    def cancel(self) -> int:
        """Ends the workers of the sweep, and says with what status the command that does so ended."""
        sweep = self.sweep()
        command = [*_PYTHON, "cancel", sweep.name if sweep else "faults", "--output-dir", str(self.place)]
        return self._start(command, {}, self.log("cancels")).wait(timeout=120)

    def _start(self, command: list[str], environment: Mapping[str, str], log: Path) -> "subprocess.Popen[bytes]":
        ours = {**os.environ, **environment, MARK: str(self.folder), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
        with log.open("ab") as said:
            return subprocess.Popen(command, cwd=self.common, env=ours, stdout=said, stderr=said)

    def log(self, of: object) -> Path:
        return self.common / f"{self.folder.name}-{of}.log"  # not on the disk that may be full

    def logs(self) -> list[Path]:
        return sorted(self.common.glob(f"{self.folder.name}-*.log"))

    def sweep(self) -> Path | None:
        return next(iter((self.out / "sweeps").glob("faults-*/")), None)

    def wanted(self) -> list[str]:
        """The trials that the sweep has still to do, as far as its manifest can be read."""
        sweep = self.sweep()
        try:
            assert sweep is not None
            ids = [trial["id"] for trial in json.loads((sweep / "manifest.json").read_bytes())["trials"]]
            return [trial for trial in ids if not (self.out / "trials" / trial / "result.json").exists()]
        except (AssertionError, OSError, ValueError, KeyError, TypeError):
            return []

    def processes(self, role: str | None = None) -> list[Process]:
        found = [process for process in marked(str(self.folder)) if role in (None, process.role)]
        return sorted(found, key=lambda process: process.pid)

    def busy(self) -> list[Process]:
        """Workers that are in the midst of a trial."""
        owners = {owner.get("pid") for _, owner in self.claims.held()}
        return [process for process in self.processes("worker") if process.pid in owners]

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
        self.claims.look()

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        self.later.append((time.monotonic() + seconds, action))

    def heal(self) -> None:
        """Ends all that was to last for a while."""
        for _, action in self.later:
            action()
        self.later = []

    def end(self) -> None:
        """Kills what is left of the scene, and takes its disk away."""
        for _ in range(3):
            for process in self.processes():
                send(process.pid, signal.SIGKILL)
        for launcher in self.launchers.values():
            launcher.wait()
        for witness in self.witnesses:
            if isinstance(witness, Bystander):
                witness.process.kill()
                witness.process.wait()
        for place in (self.disk, self.network):
            if place is not None:
                place.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


_PYTHON = [sys.executable, "-m", "bertxfer"]


def stamp(path: Path) -> tuple[int, int]:
    """Which file this is, and when it was last changed."""
    told = path.stat()
    return told.st_ino, told.st_mtime_ns


def _reason(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_text())["reason"])
    except (OSError, ValueError, KeyError):
        return None
