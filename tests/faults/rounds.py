"""One round: a sweep under faults, then left in peace until all is done, then looked over."""

import itertools
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.faults.kinds import ENDING, Fault
from tests.faults.scene import STALE_SECONDS, Scene, stamp

SAME = ("id", "score", "metrics", "weights_digest", "data_digest", "n_train", "n_dev", "steps", "epochs", "begun_from")
Injected = tuple[float, str, str]  # when, which kind, what was hit


def disturbed(
    scene: Scene, draws: random.Random, deck: Iterator[list[str]], kinds: dict[str, Fault], faults: int
) -> list[Injected]:
    """Runs the sweep and injects so many faults, or until it is done; the launcher is started again when it ends."""
    begun = time.monotonic()
    injected: list[Injected] = []
    hand: list[str] = []
    next_at, careless, due = begun, False, 0
    launcher = scene.launch()
    while len(injected) < faults:
        scene.tick()
        if launcher.poll() is not None:
            if launcher.returncode == 0 or scene.launches > 40:
                break
            launcher = scene.launch()
        # Workers take seconds to start, in which there is little to break: most faults wait until one is at work, and
        # after one that ended a worker until a trial more is done.
        if time.monotonic() >= next_at and (careless or (len(scene.seen) >= due and scene.busy())):
            hand = hand or next(deck)
            kind = hand.pop(0)
            hit = kinds[kind](scene, draws)
            if hit is None:
                hand.append(kind)  # nothing there to harm: another time
                next_at = time.monotonic() + 0.1
            else:
                injected.append((round(time.monotonic() - begun, 2), kind, hit))
                next_at = time.monotonic() + draws.expovariate(1 / 0.7)
                careless = draws.random() < 0.15
                due = len(scene.seen) + (kind in ENDING)
        time.sleep(0.05)
    scene.heal()
    return injected


def deal(draws: random.Random, kinds: list[str]) -> Iterator[list[str]]:
    """All kinds in a random order, again and again: none is left out for long."""
    while True:
        yield draws.sample(kinds, len(kinds))


def settle(scene: Scene, seconds: float = 600) -> list[str]:
    """The same command until all is done and nobody is left; what went wrong on the way there."""
    for _ in range(5):
        launcher = scene.launcher
        if launcher is None or launcher.poll() is not None:
            launcher = scene.launch()
        if not _until(scene, lambda launcher=launcher: launcher.poll() is not None, seconds):
            return [f"the launcher did not end within {seconds:.0f} s"]
        if launcher.returncode == 0:
            break
    else:
        return ["five launches in peace did not finish the sweep"]
    if not _until(scene, lambda: not scene.processes(), 60):
        return [f"left running: {scene.processes()}"]
    scene.tick()
    time.sleep(STALE_SECONDS)  # what a process on another machine has left counts as left after that
    if scene.launch().wait(timeout=120) != 0:
        return ["the command does not end well when all is done"]
    return []


def problems(scene: Scene, reference: Path) -> list[str]:
    """All that is not as after an undisturbed run."""
    expected = {path.parent.name for path in (reference / "trials").glob("*/result.json")}
    found = {path.parent.name for path in (scene.out / "trials").glob("*/result.json")}
    wrong = [f"{trial} is not done" for trial in sorted(expected - found)]
    wrong += [f"{trial} was not asked for" for trial in sorted(found - expected)]
    wrong += [f"{t}: {why}" for t in sorted(found & expected) for why in mismatches(scene.out, reference, t)]
    wrong += [
        f"{trial} was done, and its result was written again"
        for trial, first in scene.seen.items()
        if trial in found and stamp(scene.out / "trials" / trial / "result.json") != first
    ]
    wrong += [f"left behind: {path.relative_to(scene.out)}" for path in left_behind(scene)]
    wrong += [f"an attempt without an end: {path.relative_to(scene.out)}" for path, _ in scene.held()]
    if "Traceback" in scene.log.read_text():
        wrong.append(f"a traceback in {scene.log}")
    return wrong


def mismatches(out: Path, reference: Path, trial: str) -> Iterator[str]:
    """What of a trial's result is not, bit for bit, what it is there."""
    mine, theirs = out / "trials" / trial, reference / "trials" / trial
    one, two = (json.loads((folder / "result.json").read_text()) for folder in (mine, theirs))
    for key in SAME:
        if one.get(key) != two.get(key):
            yield f"{key} is {one.get(key)}, not {two.get(key)}"
    if (mine / "history.jsonl").read_text() != (theirs / "history.jsonl").read_text():
        yield "the history differs"
    if not pq.read_table(mine / "predictions.parquet").equals(pq.read_table(theirs / "predictions.parquet")):
        yield "the predictions differ"


def left_behind(scene: Scene) -> list[Path]:
    patterns = ("**/*.tmp", "**/.*.tmp", "trials/*/checkpoint", "trials/*/failure.json", "sweeps/*/workers/*")
    return sorted(set(itertools.chain.from_iterable(scene.out.glob(pattern) for pattern in patterns)))


def reference(common: Path) -> Path:
    """What an undisturbed run gets, in one process."""
    scene = Scene(common, common / "reference")
    launcher = scene.launch("hydra/launcher=inline")
    if launcher.wait(timeout=600) != 0:
        raise SystemExit(scene.log.read_text())
    return scene.out


def _until(scene: Scene, true: Callable[[], Any], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        scene.tick()
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
