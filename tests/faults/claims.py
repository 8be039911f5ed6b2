"""The attempts at the trials of a scene: who is at work, and what was taken from whom without a cause."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertxfer.system.processes import started_at

Claim = tuple[Path, dict[str, Any]]  # an attempt's file, and what it says


@dataclass
class Claims:
    trials: Path
    # Where a fault was aimed at a claim itself, its trial may be taken over, and be computed once more.
    excused: Counter[str] = field(default_factory=Counter)
    suspended: set[int] = field(default_factory=set)  # processes, whose trials are excused
    taken: dict[str, str] = field(default_factory=dict)  # from a worker that lives

    def all(self) -> list[Claim]:
        found = []
        for path in self.trials.glob("*/attempts/[!.]*.json"):
            try:
                owner = json.loads(path.read_bytes())
            except (OSError, ValueError):
                continue
            if isinstance(owner, dict):
                found.append((path, owner))
        return sorted(found, key=lambda one: one[0])

    def held(self) -> list[Claim]:
        """Those that have not ended."""
        return [(path, owner) for path, owner in self.all() if owner.get("outcome") is None]

    def excuse(self, path: Path) -> None:
        """Any path of the trial, or of an artifact that is called like it."""
        for part in path.parts:
            self.excused[part] += 1

    def look(self) -> None:
        """Notes where a trial was begun anew although the process of the attempt before is there."""
        for path, owner in self.all():
            if owner.get("outcome") in (None, "lost") and _successor(path).exists() and _lives(owner):
                trial = _trial(path)
                if not self.excused[trial] and owner["pid"] not in self.suspended:
                    told = f"attempt {path.stem} of {trial} was taken from process {owner['pid']}, which lives"
                    self.taken.setdefault(str(path), told)

    def repeated(self) -> tuple[list[str], int]:
        """Trials that were computed again without a cause, and how many there were with one."""
        done: Counter[str] = Counter()
        allowed: Counter[str] = Counter()
        for path, owner in self.all():
            done[_trial(path)] += owner.get("outcome") == "done"
            allowed[_trial(path)] += owner.get("pid") in self.suspended
        wrong, with_cause = [], 0
        for trial, times in done.items():
            if times > 1 + allowed[trial] + self.excused[trial]:
                wrong.append(f"{trial} was computed {times} times")
            else:
                with_cause += max(0, times - 1)
        return sorted(wrong), with_cause


def _successor(path: Path) -> Path:
    return path.with_name(f"{int(path.stem) + 1}.json") if path.stem.isdecimal() else path.with_name("none")


def _trial(path: Path) -> str:
    return path.parent.parent.name


def _lives(owner: dict[str, Any]) -> bool:
    """All machines of a scene have their processes here, so that this can be told of each of them."""
    pid, started = owner.get("pid"), owner.get("pid_started")
    return isinstance(pid, int) and started is not None and started_at(pid) == started
