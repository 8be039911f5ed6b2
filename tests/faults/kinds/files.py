"""Files that are cut short, altered or of another time."""

import os
import random
import time
from pathlib import Path

from tests.faults.kinds.kind import Fault
from tests.faults.scene import Scene

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


def silence(scene: Scene, draw: random.Random) -> str | None:
    """The heartbeat of a living worker, an hour ago."""
    attempts = scene.claims.held()
    if not attempts:
        return None
    path, _ = draw.choice(attempts)
    scene.claims.excuse(path.parent.parent)
    try:
        os.utime(path, (time.time() - 3600,) * 2)
    except OSError:
        return None
    return named(path)


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
    return named(path)


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
        return f"{named(path)}, byte {place}"

    return fault


def _change(path: Path, place: int, change: int) -> None:
    """Twice the same change is none."""
    with path.open("r+b") as file:
        file.seek(place)
        old = file.read(1)
        file.seek(place)
        file.write(bytes([old[0] ^ change]))


def _victim(scene: Scene, draw: random.Random, what: str) -> Path | None:
    """A file of that kind. The config of a finished trial is left alone: that it was altered is for people to judge."""
    try:
        found = sorted(path for path in scene.out.glob(FILES[what]) if not path.is_symlink() and path.stat().st_size)
    except OSError:  # one of them was replaced just now
        return None
    found = [path for path in found if not path.parent.is_symlink()]  # what a planted link leads to is not the sweep's
    if what == "config":
        found = [path for path in found if not _finished(path)]
    path = draw.choice(found) if found else None
    if path is not None and what in ("attempt", "artifact"):  # it may name another process, or has to be made again
        scene.claims.excuse(path.parent.parent if what == "attempt" else path.parent)
    return path


def _finished(config: Path) -> bool:
    return (config.parent / "result.json").exists()


def named(path: Path) -> str:
    return "/".join(path.parts[-4:])
