"""Processes that are killed, told to end, suspended, or are to be on another host."""

import random
import signal
import subprocess

from tests.faults.processes import is_elsewhere, send
from tests.faults.scene import STALE_SECONDS, Scene


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
    scene.claims.suspended.add(pid)
    scene.after(seconds, lambda: send(pid, signal.SIGCONT))
    return f"{told} for {seconds:.1f} s"


def kill_launcher(scene: Scene, draw: random.Random) -> str | None:
    """A round starts it again as soon as it is gone."""
    return _signalled(scene, draw, "launcher", signal.SIGKILL)


def rename_host(scene: Scene, draw: random.Random) -> str | None:
    """A worker that sees its host under another name: a new one, or one that runs, whose next process notices."""
    name = f"other-{draw.randrange(1000)}"
    joined = [process for process in scene.processes("supervisor") if is_elsewhere(process.pid)]
    if joined and draw.random() < 0.5:
        pid = draw.choice(joined).pid
        told = subprocess.run(["nsenter", "-t", str(pid), "-u", "hostname", name], capture_output=True, check=False)
        return f"of process {pid} to {name}" if told.returncode == 0 else None
    if len(joined) > 1 or not scene.join(name):
        return None
    return f"one more worker, on {name}"


def end_launcher(scene: Scene) -> bool:
    """Kills the command of the sweep, where it runs, so that another one can take its place."""
    launcher = scene.launcher
    if launcher is None or launcher.poll() is not None:
        return False
    launcher.kill()
    launcher.wait()
    return True


def _signalled(scene: Scene, draw: random.Random, role: str, number: signal.Signals) -> str | None:
    """Mostly one that is in the midst of a trial: what takes seconds is its start, where there is little to break."""
    there = scene.busy() if role == "worker" and draw.random() < 0.8 else scene.processes(role)
    if not there:
        return None
    process = draw.choice(there)
    return f"process {process.pid}" if send(process.pid, number) else None
