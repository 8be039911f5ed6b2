"""Sweeps under faults: what a cluster may do to them, at random moments, round after round.

python -m tests.faults --rounds 1 --seed 7          # short
python -m tests.faults --minutes 30 --log faults.json
python -m tests.faults --table faults.json          # the log of a run, as a table in Markdown
"""

import argparse
import json
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests.faults import kinds, rounds
from tests.faults.disk import Disk, can_enclose, enclosed
from tests.faults.scene import Scene, prepare


def main() -> int:
    told = _parser().parse_args()
    if told.table is not None:
        print(table(json.loads(told.table.read_text())))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what is mounted and started is ended
    if told.inside is not None:
        return run(told, told.inside)
    if told.seed is None:
        told.seed = secrets.randbelow(1 << 31)
    with tempfile.TemporaryDirectory(prefix="bertxfer-faults-", ignore_cleanup_errors=True) as folder:
        if not can_enclose():
            return run(told, Path(folder))
        again = [sys.executable, "-m", "tests.faults", *sys.argv[1:], f"--seed={told.seed}", f"--inside={folder}"]
        return subprocess.run(enclosed(again), check=False).returncode


def run(told: argparse.Namespace, common: Path) -> int:
    """Rounds in a folder, until it is time; then the table."""
    chosen = {**kinds.EVERYWHERE, **(kinds.ENCLOSED if told.inside else {})}
    left_out = [kind for kind in kinds.ENCLOSED if kind not in chosen]
    print(f"seed {told.seed}, {len(chosen)} kinds of faults", flush=True)
    if left_out:
        print(f"no namespaces may be made here, so these are left out: {', '.join(left_out)}", flush=True)
    log: dict[str, Any] = {"seed": told.seed, "kinds": list(chosen), "left_out": left_out, "rounds": [], "problems": []}
    draws, started = random.Random(told.seed), time.monotonic()
    deck = rounds.deal(draws, list(chosen))
    prepare(common, told.size)
    expected = rounds.reference(common)
    log["trials"] = len(list((expected / "trials").glob("*/result.json")))
    while _goes_on(told, len(log["rounds"]), time.monotonic() - started):
        number = len(log["rounds"]) + 1
        scene = Scene(common, common / f"round-{number}")
        scene.disk = Disk(scene.folder) if told.inside else None
        try:
            injected = rounds.disturbed(scene, draws, deck, chosen, told.faults)
            one = {"injected": injected, **_outcome(scene, told.keep, expected)}
        finally:
            scene.end()
            if scene.disk is not None:
                scene.disk.remove()
        log["rounds"].append(one)
        log["problems"] += [f"round {number}: {problem}" for problem in one["problems"]]
        log["minutes"] = round((time.monotonic() - started) / 60, 1)
        _say(number, one)
        if told.log is not None:
            told.log.parent.mkdir(parents=True, exist_ok=True)
            told.log.write_text(json.dumps(log, indent=1) + "\n")
    print(table(log))
    return 1 if log["problems"] else 0


def _outcome(scene: Scene, keep: Path | None, expected: Path) -> dict[str, Any]:
    """What came of a sweep under faults, when it was left in peace."""
    problems = rounds.settle(scene) + rounds.problems(scene, expected)
    if problems and keep is not None:
        subprocess.run(["cp", "-a", f"{scene.folder}/.", str(keep / scene.folder.name)], check=True)
        subprocess.run(["cp", str(scene.log), str(keep)], check=True)
    return {
        "seconds": round(time.monotonic() - scene.begun, 1),
        "trials": len(scene.seen),
        "attempts": len(list((scene.out / "trials").glob("*/attempts/*.json"))),
        "launches": scene.launches,
        "failures": Counter(scene.failures.values()),
        "problems": problems,
    }


def _say(number: int, one: dict[str, Any]) -> None:
    print(
        f"round {number}: {one['trials']} trials, {len(one['injected'])} faults, {one['attempts']} attempts, "
        f"{one['launches']} launches, {len(one['problems'])} problems, {one['seconds']:.0f} s",
        *(f"\n  {problem}" for problem in one["problems"][:20]),
        flush=True,
    )


def table(log: dict[str, Any]) -> str:
    """What was done and what came of it, for docs/faults.md."""
    counts = Counter(kind for one in log["rounds"] for _, kind, _ in one["injected"])
    lines = ["| fault | times |", "|---|---|"]
    lines += [f"| {kind} | {counts[kind]} |" for kind in log["kinds"]]
    lines += [f"| {kind} | not possible there |" for kind in log["left_out"]]
    sums = {key: sum(one[key] for one in log["rounds"]) for key in ("trials", "attempts", "launches")}
    lines += [
        "",
        f"Seed {log['seed']}, {log['minutes']} minutes, {len(log['rounds'])} rounds: {sum(counts.values())} faults, "
        f"{sums['trials']} trials in {sums['attempts']} attempts under {sums['launches']} launches; "
        f"mismatches, losses and leftovers: {len(log['problems'])}.",
    ]
    return "\n".join([*lines, *(f"- {problem}" for problem in log["problems"])])


def _goes_on(told: argparse.Namespace, done: int, seconds: float) -> bool:
    return seconds < 60 * told.minutes if told.minutes is not None else done < told.rounds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Sweeps under faults.")
    parser.add_argument("--minutes", type=float, help="no round begins after that")
    parser.add_argument("--rounds", type=int, default=1, help="where no minutes are given (1)")
    parser.add_argument("--faults", type=int, default=19, help="of each round (19, one of each kind)")
    parser.add_argument("--size", type=int, default=1, help="of the sweep: 1 is 17 trials and the stages before them")
    parser.add_argument("--seed", type=int, help="of the faults; a new one if it is not given")
    parser.add_argument("--log", type=Path, help="write down all that happened, as JSON")
    parser.add_argument("--keep", type=Path, help="copy a round that went wrong into this folder")
    parser.add_argument("--table", type=Path, metavar="LOG", help="only print the table of such a log")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)  # a folder: the namespaces are made
    return parser


if __name__ == "__main__":
    sys.exit(main())
