"""Clocks that are set, and claims from the future."""

import os
import random
import signal
from pathlib import Path

from tests.faults.kinds.files import named
from tests.faults.kinds.processes import end_launcher
from tests.faults.processes import is_elsewhere, send
from tests.faults.scene import Scene
from tests.faults.shims import shimmed

YEAR_2030 = 1_893_456_000


def step_clock(scene: Scene, draw: random.Random) -> str | None:
    """Of one more worker, or of the launcher and the workers that it starts, some seconds after they start."""
    step, seconds = draw.choice((-600, 600)), draw.uniform(3, 8)
    environment = shimmed("clock", BERTXFER_FAULTS_STEP=str(step), BERTXFER_FAULTS_STEP_AFTER=f"{seconds:.1f}")
    told = f"{step:+} s, {seconds:.1f} s after its start"
    if draw.random() < 0.7:
        return f"of one more worker, {told}" if scene.join(environment=environment) else None
    if not end_launcher(scene):
        return None
    scene.launch(environment=environment)
    return f"of the launcher, {told}"


def claim_from_future(scene: Scene, draw: random.Random) -> str | None:
    """The attempt of a worker that lives, or that was killed just before, on a machine whose processes nobody sees."""
    others = [process.pid for process in scene.processes() if is_elsewhere(process.pid)]
    there = [(path, owner["pid"]) for path, owner in scene.claims.held() if is_elsewhere(owner.get("pid", 0))]
    if not there:
        if not others:
            scene.join(f"other-{draw.randrange(1000)}")  # whose claim it may be, once it has one
        return None
    path, pid = draw.choice(there)
    lives = draw.random() < 0.3
    for one in () if lives else (*others, pid):
        send(one, signal.SIGKILL)
    told = f"{named(path)} of a worker that {'lives' if lives else 'was killed'}"
    return told if _ahead(path) else None


def _ahead(path: Path) -> bool:
    try:
        os.utime(path, (YEAR_2030, YEAR_2030))
    except OSError:
        return False
    return True
