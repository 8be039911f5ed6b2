"""One round: a sweep under faults, then left in peace until all is done, then looked over."""

import itertools
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.faults.deck import Deck
from tests.faults.kinds import ENDING
from tests.faults.kinds.kind import Fault
from tests.faults.processes import is_elsewhere
from tests.faults.reference import Reference, mismatches
from tests.faults.scene import STALE_SECONDS, Scene, stamp

Injected = tuple[float, str, str]  # when, which kind, what was hit
STALLED = 120  # seconds without a result or a fault after which a round goes on in peace


def disturbed(
    scene: Scene, draws: random.Random, deck: Deck, kinds: Mapping[str, Fault], faults: int
) -> list[Injected]:
    """Runs the sweep and injects so many faults, or until it is done; the launcher is started again when it ends.

    What lasts for a while is left to do its harm after the last fault, too.
    """
    begun = time.monotonic()
    injected: list[Injected] = []
    next_at, careless, due = begun, False, 0
    scene.launch()
    moved_at, moved = begun, (0, 0)
    while (len(injected) < faults or scene.later) and time.monotonic() - moved_at < STALLED:
        scene.tick()
        if moved != (moved := (len(scene.seen), len(injected))):
            moved_at = time.monotonic()
        if (launcher := scene.launcher) is None or launcher.poll() is not None:
            if (launcher and launcher.returncode == 0) or scene.launches > 40:
                break
            scene.launch()
        _keep_a_worker_elsewhere(scene)
        # Workers take seconds to start, in which there is little to break: most faults wait until one is at work, and
        # after one that ended a worker until a trial more is done.
        enough = len(injected) == faults
        if not enough and time.monotonic() >= next_at and (careless or (len(scene.seen) >= due and scene.busy())):
            kind = deck.take(kinds)
            hit = kinds[kind](scene, draws)
            if hit is None:
                deck.put_back(kind)
                next_at = time.monotonic() + 0.1
            else:
                injected.append((round(time.monotonic() - begun, 2), kind, hit))
                next_at = time.monotonic() + draws.expovariate(1 / 0.7)
                careless = draws.random() < 0.15
                due = len(scene.seen) + (kind in ENDING)
        time.sleep(0.05)
    scene.heal()
    return injected


def _keep_a_worker_elsewhere(scene: Scene) -> None:
    """A network file system shows what it is only where two machines write to it."""
    if scene.network is not None and scene.busy() and not any(is_elsewhere(one.pid) for one in scene.processes()):
        scene.join("elsewhere")


def settle(scene: Scene, seconds: float) -> list[str]:
    """The same commands until all is done and nobody is left; what went wrong on the way there."""
    for experiment in list(scene.launchers):
        for _ in range(5):
            launcher = scene.launchers[experiment]
            if launcher.poll() is not None:
                launcher = scene.launch(experiment)
            if not _until(scene, lambda: scene.launchers[experiment].poll() is not None, seconds):  # noqa: B023
                return [f"the launcher did not end within {seconds:.0f} s"]
            if launcher.returncode == 0:
                break
        else:
            return [f"five launches of {experiment} in peace did not finish the sweep"]
    if not _until(scene, lambda: not scene.processes(), 60):
        return [f"left running: {scene.processes()}"]
    scene.tick()
    time.sleep(STALE_SECONDS + 2)  # what a process on another machine has left counts as left after that
    for experiment in list(scene.launchers):
        if scene.launch(experiment).wait(timeout=120) != 0:
            return ["the command does not end well when all is done"]
    return []


def problems(scene: Scene, reference: Reference) -> list[str]:
    """All that is not as after an undisturbed run."""
    expected = reference.trials(scene)
    found = {path.parent.name for path in (scene.out / "trials").glob("*/result.json")}
    wrong = [f"{trial} is not done" for trial in sorted(expected - found)]
    wrong += [f"{trial} was not asked for" for trial in sorted(found - expected)]
    wrong += [f"{t}: {why}" for t in sorted(found & expected) for why in mismatches(scene.out, reference.out, t)]
    wrong += [
        f"{trial} was done, and its result was written again"
        for trial, first in scene.seen.items()
        if trial in found and stamp(scene.out / "trials" / trial / "result.json") != first
    ]
    wrong += [f"left behind: {path.relative_to(scene.out)}" for path in left_behind(scene)]
    wrong += [f"an attempt without an end: {path.relative_to(scene.out)}" for path, _ in scene.claims.held()]
    wrong += [*scene.claims.taken.values(), *scene.claims.repeated()[0]]
    wrong += [harm for witness in scene.witnesses for harm in witness.harm()]
    wrong += [f"a traceback in {path}" for path in scene.logs() if "Traceback" in path.read_text()]
    return wrong


def left_behind(scene: Scene) -> list[Path]:
    patterns = ("**/*.tmp", "**/.*.tmp", "trials/*/checkpoint", "trials/*/failure.json", "sweeps/*/workers/*")
    return sorted(set(itertools.chain.from_iterable(scene.out.glob(pattern) for pattern in patterns)))


def _until(scene: Scene, true: Callable[[], Any], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        scene.tick()
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
