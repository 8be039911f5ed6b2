"""A disk that is full or read-only for a while."""

import random

from tests.faults.scene import Scene


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
    held = scene.claims.held()
    if not scene.busy() or not scene.disk.protect():
        return None
    for path, _ in held:  # nobody can show that it lives
        scene.claims.excuse(path.parent.parent)
    scene.after(seconds, scene.disk.unprotect)
    return f"for {seconds:.1f} s"
