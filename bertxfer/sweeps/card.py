"""A worker's card: which process it is and which attempts it has open, in a file that it touches while it lives.

Whoever may write to a shared results folder can forge one. So nothing is signalled, written or deleted because a card
says so: the process must be one of this sweep's workers by its own command line, an attempt must lie in its trial's
folder and belong to that process.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertxfer.store.store import Store
from bertxfer.system.files import read_json, write_json
from bertxfer.system.formats import FORMAT, is_newer
from bertxfer.system.processes import command_of, host, process_lives, started_at, whoami


@dataclass(frozen=True)
class Card:
    worker: dict[str, Any]
    attempts: dict[str, int] = field(default_factory=dict)  # by trial: the number of the attempt that is open


def path_of(sweep: Path) -> Path:
    """Where this process's card lies."""
    me: dict[str, Any] = whoami()
    return sweep / "workers" / f"{me['slurm_job'] or me['host'].split()[0]}-{me['pid']}.json"


def write(path: Path, worker: Mapping[str, Any], attempts: Mapping[str, int] | None = None, child: int = 0) -> None:
    running = {} if attempts is None else {"attempts": dict(attempts), "pid": child}
    write_json(path, {"format": FORMAT, "worker": dict(worker), **running})


def read(path: Path) -> Card | None:
    """A card; None if it is damaged, forged beyond use or of a newer version."""
    try:
        content = read_json(path)
        if is_newer(content):
            return None
        attempts = {name: _number(attempt) for name, attempt in content.get("attempts", {}).items() if _is_id(name)}
        return Card(dict(content["worker"]), {name: number for name, number in attempts.items() if number})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def cards(sweep: Path) -> Iterator[tuple[Path, Card]]:
    folder = sweep / "workers"
    for path in () if folder.is_symlink() else sorted(folder.glob("[!.]*.json")):
        card = read(path)
        if card is not None:
            yield path, card


def living_worker(card: Card, sweep: Path) -> int | None:
    """The process of a worker of this sweep that runs on this machine; None unless that is proven."""
    worker = card.worker
    pid = worker.get("pid")
    if worker.get("host") != host() or not isinstance(pid, int) or not 1 < pid < 2**31:
        return None
    same = process_lives(pid, worker.get("pid_started")) and started_at(pid) == worker.get("pid_started")
    return pid if same and is_worker(pid, sweep) else None


def is_worker(pid: int, sweep: Path) -> bool:
    """Whether the command line of a process is that of a worker of this sweep, or of what submitit starts one by."""
    words = command_of(pid)
    line = " ".join(words)
    if re.search(r"-m bertxfer\.(sweeps\.)?worker ", line):
        posts = [word for word in words if word.startswith("{")]
        return any(_is(_sweep_of(post), sweep) for post in posts)
    if "submitit.local._local" in words:
        return any(_is(word, sweep / "logs") for word in words)
    # The verb, which names a sweep or the beginning of its name.
    verb = re.search(r"bertxfer(?:/__main__\.py)? worker (.*)", line)
    named = verb[1].split() if verb is not None else []
    seen = [name for word in named for name in (word, f"/proc/{pid}/cwd/{word}")]
    return any(sweep.name.startswith(word) for word in named) or any(_is(name, sweep) for name in seen)


def _sweep_of(post: str) -> str:
    try:
        return str(json.loads(post)["sweep"])
    except (ValueError, KeyError, TypeError):
        return ""


def _is(name: str, folder: Path) -> bool:
    """Whether a name is this folder's, which may be reached by several."""
    try:
        return Path(name).samefile(folder)
    except (OSError, ValueError):
        return False


def open_attempts(card: Card | None, child: int, store: Store) -> dict[str, Path]:
    """The attempts that the process has open, by their trials; what belongs to another is not among them."""
    still_open = {}
    for trial_id, number in (card.attempts if card is not None else {}).items():
        path = store.folder(trial_id) / "attempts" / f"{number}.json"
        try:
            owner = read_json(path)
            ours = owner.get("outcome") is None and owner["pid"] == child and owner["host"] == host()
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
        if ours and store.link(trial_id) is None:
            still_open[trial_id] = path
    return still_open


def _is_id(name: str) -> bool:
    return re.fullmatch("[0-9a-f]{16}", name) is not None


def _number(attempt: Any) -> int:
    """The number of an attempt, 0 if it is none. Workers of earlier versions wrote the path of its file."""
    digits = Path(str(attempt)).stem
    return int(digits) if digits.isdecimal() else 0
