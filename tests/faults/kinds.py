"""The kinds of faults. Each does its harm to a scene and says to what; none where there is nothing to harm just now."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.scene import STALE_SECONDS, Scene, send

Fault = Callable[[Scene, random.Random], str | None]
FILES = {
    "checkpoint": "trials/*/checkpoint/[!.]*.pt",
    "artifact": "artifacts/*/*/[!.]*.safetensors",
    "tokenized cache": "artifacts/tokens/*/[!.]*.arrow",
    "attempt": "trials/*/attempts/[!.]*.json",
    "config": "trials/*/config.yaml",
    "manifest": "sweeps/*/manifest.json",
    "launch": "sweeps/*/launches/[!.]*.json",
    "card": "sweeps/*/workers/[!.]*.json",
}


def kill_worker(scene: Scene, draw: random.Random) -> str | None:
    return _signalled(scene, draw, "worker", signal.SIGKILL)


def kill_supervisor(scene: Scene, draw: random.Random) -> str | None:
    return _signalled(scene, draw, "supervisor", signal.SIGKILL)


def lose_node(scene: Scene, draw: random.Random) -> str | None:
    """All processes of all workers at once, as when a machine loses its power."""
    busy = scene.busy()
    for process in scene.processes():
        if busy and process.role != "launcher":
            send(process.pid, signal.SIGKILL)
    return f"{len(busy)} busy workers" if busy else None


def preempt(scene: Scene, draw: random.Random) -> str | None:
    return _signalled(scene, draw, "supervisor", signal.SIGTERM)


def end_worker(scene: Scene, draw: random.Random) -> str | None:
    return _signalled(scene, draw, "worker", signal.SIGTERM)


def suspend(scene: Scene, draw: random.Random) -> str | None:
    """For long enough that another worker may take the trial over, or not quite."""
    seconds = draw.uniform(0.3, 2.5) * STALE_SECONDS
    told = _signalled(scene, draw, "worker", signal.SIGSTOP)
    if told is None:
        return None
    pid = int(told.split()[1])
    scene.after(seconds, lambda: send(pid, signal.SIGCONT))
    return f"{told} for {seconds:.1f} s"


def kill_launcher(scene: Scene, draw: random.Random) -> str | None:
    """A round starts it again as soon as it is gone."""
    return _signalled(scene, draw, "launcher", signal.SIGKILL)


def silence(scene: Scene, draw: random.Random) -> str | None:
    """The heartbeat of a living worker, an hour ago."""
    attempts = scene.held()
    if not attempts:
        return None
    path, _ = draw.choice(attempts)
    try:
        os.utime(path, (time.time() - 3600,) * 2)
    except OSError:
        return None
    return _named(path)


def cut(scene: Scene, draw: random.Random) -> str | None:
    """A file loses its end, whichever it is."""
    path = _victim(scene, draw, draw.choice(list(FILES)))
    if path is None:
        return None
    try:
        content = path.read_bytes()
        os.truncate(path, draw.randrange(len(content)))
        if path.name == "config.yaml" and _finished(path):  # just now
            path.write_bytes(content)
            return None
    except (OSError, ValueError):
        return None
    return _named(path)


def flip(what: str) -> Fault:
    """One byte of a file becomes another one."""

    def fault(scene: Scene, draw: random.Random) -> str | None:
        path = _victim(scene, draw, what)
        if path is None:
            return None
        change = draw.randrange(1, 256)
        try:
            place = draw.randrange(path.stat().st_size)
            _change(path, place, change)
            if what == "config" and _finished(path):  # just now
                _change(path, place, change)
                return None
        except (OSError, ValueError, IndexError):
            return None
        return f"{_named(path)}, byte {place}"

    return fault


def _change(path: Path, place: int, change: int) -> None:
    """Twice the same change is none."""
    with path.open("r+b") as file:
        file.seek(place)
        old = file.read(1)
        file.seek(place)
        file.write(bytes([old[0] ^ change]))


def fill_disk(scene: Scene, draw: random.Random) -> str | None:
    assert scene.disk is not None
    if scene.disk.filler.exists() or not scene.busy():
        return None
    seconds = draw.uniform(0.5, 4)
    scene.disk.fill()
    scene.after(seconds, scene.disk.free)
    return f"for {seconds:.1f} s"


def protect_disk(scene: Scene, draw: random.Random) -> str | None:
    assert scene.disk is not None
    seconds = draw.uniform(0.5, 4)
    if not scene.busy() or not scene.disk.protect():
        return None
    scene.after(seconds, scene.disk.unprotect)
    return f"for {seconds:.1f} s"


def rename_host(scene: Scene, draw: random.Random) -> str | None:
    """A worker that sees its host under another name: a new one, or one that runs, whose next process notices."""
    name = f"other-{draw.randrange(1000)}"
    joined = [p for p in scene.processes("supervisor") if _host_space(p.pid) != _host_space(os.getpid())]
    if joined and draw.random() < 0.5:
        pid = draw.choice(joined).pid
        told = subprocess.run(["nsenter", "-t", str(pid), "-u", "hostname", name], capture_output=True, check=False)
        return f"of process {pid} to {name}" if told.returncode == 0 else None
    if len(joined) > 1 or scene.sweep() is None:
        return None
    scene.join(name)
    return f"one more worker, on {name}"


EVERYWHERE: dict[str, Fault] = {
    "SIGKILL of a worker": kill_worker,
    "SIGKILL of a supervisor": kill_supervisor,
    "SIGKILL of all workers at once": lose_node,
    "SIGTERM of a worker": end_worker,
    "SIGTERM of a supervisor": preempt,
    "SIGSTOP, SIGCONT later": suspend,
    "SIGKILL of the launcher": kill_launcher,
    "stale heartbeat": silence,
    "file cut short": cut,
    **{f"byte flipped: {what}": flip(what) for what in FILES if what != "card"},
}
ENDING = [kind for kind in EVERYWHERE if "SIGKILL" in kind or "SIGTERM" in kind]
# These need namespaces of their own.
ENCLOSED: dict[str, Fault] = {
    "disk full": fill_disk,
    "folder read-only": protect_disk,
    "host name changed": rename_host,
}


def _signalled(scene: Scene, draw: random.Random, role: str, number: signal.Signals) -> str | None:
    """Mostly one that is in the midst of a trial: what takes seconds is its start, where there is little to break."""
    there = scene.busy() if role == "worker" and draw.random() < 0.8 else scene.processes(role)
    if not there:
        return None
    process = draw.choice(there)
    return f"process {process.pid}" if send(process.pid, number) else None


def _victim(scene: Scene, draw: random.Random, what: str) -> Path | None:
    """A file of that kind. The config of a finished trial is left alone: that it was altered is for people to judge."""
    try:
        found = scene.files(FILES[what])
    except OSError:  # one of them was replaced just now
        return None
    if what == "config":
        found = [path for path in found if not _finished(path)]
    return draw.choice(found) if found else None


def _finished(config: Path) -> bool:
    return (config.parent / "result.json").exists()


def _named(path: Path) -> str:
    return "/".join(path.parts[-4:])


def _host_space(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/uts").readlink())
    except OSError:
        return ""
