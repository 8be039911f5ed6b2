"""What anybody who may write into the store could plant there: links that lead out of it, cards of no worker."""

import json
import random
import signal
from pathlib import Path
from typing import Any

from bertxfer.system.processes import host
from tests.faults.bait import Bait
from tests.faults.kinds.files import named
from tests.faults.kinds.sharing import cancel
from tests.faults.processes import send
from tests.faults.scene import Scene
from tests.faults.witness import Bystander


def plant_link(scene: Scene, draw: random.Random) -> str | None:
    """Where a trial that nobody runs would keep its checkpoints, or where an artifact is or will be."""
    known = scene.common / "reference" / "out"
    if draw.random() < 0.5:
        running = {path.parent.parent.name for path, _ in scene.claims.held()}
        waiting = [trial for trial in scene.wanted() if trial not in running]
        places = [scene.out / "trials" / trial / "checkpoint" for trial in waiting[:3]]  # which come next
    else:
        places = [scene.out / path.relative_to(known) for path in sorted(known.glob("artifacts/*/*/"))]
    places = [place for place in places if not place.is_symlink()]
    if not places:
        return None
    place, bait = draw.choice(places), _bait(scene)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.exists():
            scene.claims.excuse(Path(place.name))  # what was in it has to be made again
            place.rename(scene.folder / f"{place.name}-{len(scene.witnesses)}")
        place.symlink_to(bait.folder)
    except OSError:  # a worker was there first, or the disk is full
        return None
    scene.after(draw.uniform(5, 20), lambda: _unlink(place))
    return named(place)


def forge_card(scene: Scene, draw: random.Random) -> str | None:
    """A card that names a process which is no worker, or attempts that are none, in the name of one that lives."""
    sweep = scene.sweep()
    if sweep is None:
        return None
    return _misled(scene, draw, sweep) if draw.random() < 0.3 else _forged(scene, draw, sweep)


def _forged(scene: Scene, draw: random.Random, sweep: Path) -> str | None:
    """Then, half of the time, the sweep is cancelled."""
    bystander = Bystander()
    scene.witnesses.append(bystander)
    worker: dict[str, Any] = {"host": host(), "pid": bystander.process.pid, "slurm_job": None, "slurm_restarts": 0}
    if draw.random() < 0.5:
        worker["pid_started"] = None
    card = sweep / "workers" / f"forged-{bystander.process.pid}.json"
    try:
        card.write_text(json.dumps({"worker": worker, "pid": bystander.process.pid, "attempts": {}}))
    except OSError:
        return None
    scene.after(draw.uniform(5, 20), lambda: card.unlink(missing_ok=True))
    cancelled = cancel(scene, draw) if draw.random() < 0.5 else None
    return f"process {bystander.process.pid}{'' if cancelled is None else f', and a cancel {cancelled}'}"


def _misled(scene: Scene, draw: random.Random, sweep: Path) -> str | None:
    """The worker's process is killed, and its supervisor writes down how the attempts on its card ended."""
    pids = {process.pid for process in scene.busy()}
    for card in sorted((sweep / "workers").glob("[!.]*.json")):
        try:
            content = json.loads(card.read_bytes())
            if content.get("pid") in pids:
                bait = _bait(scene)
                content["attempts"] = {trial: str(bait.claim) for trial in content["attempts"]}
                card.write_text(json.dumps(content))
                send(content["pid"], signal.SIGKILL)
                return f"{named(card)} names {bait.claim}"
        except (OSError, ValueError, KeyError, AttributeError):
            continue
    return None


def _bait(scene: Scene) -> Bait:
    bait = Bait(scene.common / f"{scene.folder.name}-bait-{len(scene.witnesses)}")
    scene.witnesses.append(bait)
    return bait


def _unlink(place: Path) -> None:
    if place.is_symlink():
        place.unlink()
