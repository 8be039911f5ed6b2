"""Sweeps under faults: what a cluster may do to them, at random moments, round after round.

python -m tests.faults --seed 7                     # short: a round on a small disk, one on a network file system
python -m tests.faults --minutes 30 --log faults.json
python -m tests.faults --network                    # all rounds on a network file system
python -m tests.faults --only "clock step"          # one kind of fault
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

from tests.faults import kinds, network, rounds
from tests.faults.deck import Deck
from tests.faults.disk import Disk, can_enclose, enclosed
from tests.faults.experiment import prepare
from tests.faults.reference import Reference, undisturbed
from tests.faults.scene import Scene


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
    chosen = {kind: fault for kind, fault in kinds.ALL.items() if kind in (told.only or kinds.ALL)}
    if unknown := set(told.only or ()) - kinds.ALL.keys():
        raise SystemExit(f"--only: there is no {', '.join(sorted(unknown))}; there are {', '.join(kinds.ALL)}")
    left_out = [kind for kind in kinds.ENCLOSED if kind in chosen and not told.inside]
    chosen = {kind: fault for kind, fault in chosen.items() if kind not in left_out}
    no_network = network.hindrance() if told.inside else "no namespaces may be made here"
    print(f"seed {told.seed}, {len(chosen)} kinds of faults", flush=True)
    if left_out:
        print(f"no namespaces may be made here, so these are left out: {', '.join(left_out)}", flush=True)
    if no_network is not None:
        print(f"no round on a network file system: {no_network}", flush=True)
        if told.network:
            return 1
    log: dict[str, Any] = {"seed": told.seed, "kinds": list(chosen), "left_out": left_out, "no_network": no_network}
    log.update(rounds=[], problems=[])
    draws, started = random.Random(told.seed), time.monotonic()
    deck = Deck(draws)
    prepare(common, told.size)
    expected = undisturbed(common)
    log["trials"] = [len(expected.own), len(expected.shared)]
    while _goes_on(told, len(log["rounds"]), time.monotonic() - started):
        number = len(log["rounds"]) + 1
        on_network = told.network or (no_network is None and number % 2 == 0)
        scene = Scene(common, common / f"round-{number}")
        possible = {kind: fault for kind, fault in chosen.items() if not (on_network and kind in kinds.ON_A_DISK)}
        try:
            if on_network:
                scene.network = network.Network(scene.folder, common / f"network-{number}")
            elif told.inside:
                scene.disk = Disk(scene.folder)
            injected = rounds.disturbed(scene, draws, deck, possible, told.faults or len(chosen))
            one = {"injected": injected, "network": on_network, **_outcome(scene, told, expected)}
        finally:
            scene.end()
        log["rounds"].append(one)
        log["problems"] += [f"round {number}: {problem}" for problem in one["problems"]]
        log["minutes"] = round((time.monotonic() - started) / 60, 1)
        _say(number, one)
        if told.log is not None:
            told.log.parent.mkdir(parents=True, exist_ok=True)
            told.log.write_text(json.dumps(log, indent=1) + "\n")
    print(table(log))
    return 1 if log["problems"] else 0


def _outcome(scene: Scene, told: argparse.Namespace, expected: Reference) -> dict[str, Any]:
    """What came of a sweep under faults, when it was left in peace."""
    problems = rounds.settle(scene, told.patience) + rounds.problems(scene, expected)
    if problems and told.keep is not None:
        told.keep.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", f"{scene.folder}/.", str(told.keep / scene.folder.name)], check=True)
        subprocess.run(["cp", *map(str, scene.logs()), str(told.keep)], check=True)
    wrongly, with_cause = scene.claims.repeated()
    return {
        "seconds": round(time.monotonic() - scene.begun, 1),
        "trials": len(scene.seen),
        "expected": len(expected.trials(scene)),
        "attempts": len(list((scene.out / "trials").glob("*/attempts/*.json"))),
        "launches": scene.launches,
        "repeated": len(wrongly),
        "repeated_with_cause": with_cause,
        "failures": Counter(scene.failures.values()),
        "problems": problems,
    }


def _say(number: int, one: dict[str, Any]) -> None:
    print(
        f"round {number}{' on a network' if one['network'] else ''}: {one['trials']} trials, "
        f"{len(one['injected'])} faults, {one['attempts']} attempts, {one['launches']} launches, "
        f"{one['repeated']} repeated, {len(one['problems'])} problems, {one['seconds']:.0f} s",
        *(f"\n  {problem}" for problem in one["problems"][:20]),
        flush=True,
    )


def table(log: dict[str, Any]) -> str:
    """What was done and what came of it, for docs/faults.md."""
    counts = Counter(kind for one in log["rounds"] for _, kind, _ in one["injected"])
    lines = ["| fault | times |", "|---|---|"]
    lines += [f"| {kind} | {counts[kind]} |" for kind in log["kinds"]]
    lines += [f"| {kind} | not possible there |" for kind in log["left_out"]]
    keys = ("trials", "attempts", "launches", "repeated", "repeated_with_cause", "network")
    sums = {key: sum(one[key] for one in log["rounds"]) for key in keys}
    where = (
        f"{sums['network']} of them on a network file system" if sums["network"] else "none on a network file system"
    )
    lines += [
        "",
        f"Seed {log['seed']}, {log['minutes']} minutes, {len(log['rounds'])} rounds, {where}: "
        f"{sum(counts.values())} faults, {sums['trials']} trials in {sums['attempts']} attempts under "
        f"{sums['launches']} launches; repeated: {sums['repeated']} (and {sums['repeated_with_cause']} whose claim or "
        f"artifact was hit); mismatches, losses and leftovers: {len(log['problems'])}.",
    ]
    return "\n".join([*lines, *(f"- {problem}" for problem in log["problems"])])


def _goes_on(told: argparse.Namespace, done: int, seconds: float) -> bool:
    return seconds < 60 * told.minutes if told.minutes is not None else done < told.rounds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Sweeps under faults.")
    parser.add_argument("--minutes", type=float, help="no round begins after that")
    parser.add_argument("--rounds", type=int, default=2, help="where no minutes are given (2)")
    parser.add_argument("--network", action="store_true", help="all rounds on a network file system, not every other")
    parser.add_argument("--faults", type=int, help="of each round (as many as there are kinds)")
    parser.add_argument("--size", type=int, default=1, help="of the sweep: 1 is 17 trials and the stages before them")
    parser.add_argument("--seed", type=int, help="of the faults; a new one if it is not given")
    parser.add_argument("--log", type=Path, help="write down all that happened, as JSON")
    parser.add_argument("--keep", type=Path, help="copy a round that went wrong into this folder")
    parser.add_argument("--table", type=Path, metavar="LOG", help="only print the table of such a log")
    parser.add_argument("--only", metavar="KIND", action="append", help=argparse.SUPPRESS)
    parser.add_argument("--patience", type=float, default=600, help=argparse.SUPPRESS)  # seconds for a launch in peace
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)  # a folder: the namespaces are made
    return parser


if __name__ == "__main__":
    sys.exit(main())
