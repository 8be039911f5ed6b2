"""A launcher inside somebody's SLURM allocation."""

import random
import signal

from tests.faults.allocation import Allocation
from tests.faults.kinds.processes import end_launcher
from tests.faults.processes import environment, send
from tests.faults.scene import Scene


def enter_allocation(scene: Scene, draw: random.Random) -> str | None:
    """The launcher and its workers are killed, and the same command is given there. Later one worker is told to end."""
    if not scene.busy() or not end_launcher(scene):
        return None
    for process in scene.processes():
        send(process.pid, signal.SIGKILL)
    allocation = Allocation(scene.common / f"{scene.folder.name}-allocation-{len(scene.witnesses)}")
    scene.witnesses.append(allocation)
    scene.launch(environment=allocation.environment)
    scene.after(draw.uniform(6, 12), lambda: _end_one(scene))
    return f"launch {scene.launches}"


def _end_one(scene: Scene) -> None:
    for process in scene.processes("supervisor"):
        try:
            inside = any(variable.startswith("SLURM_JOB_ID=") for variable in environment(process.pid))
        except OSError:
            continue
        if inside:
            send(process.pid, signal.SIGTERM)
            return
