"""What processes that were killed have left behind is removed; what a living one is making is not touched."""

import contextlib
import json
import shutil
from pathlib import Path

from bertxfer.system.processes import host, is_alive, process_lives


def remove_temporaries(folder: Path, before: float) -> None:
    """Files that were to be renamed when they were whole, of processes that are gone.

    Where their process is of another machine and cannot be asked for, they go if they have not changed since `before`.
    """
    for path in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):  # renamed or removed just now; a folder that may only be read
            if _is_left(path, before):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()


def remove_cards(folder: Path, before: float) -> None:
    """What workers that are gone were doing; they touch their cards while they live."""
    for path in folder.glob("[!.]*.json"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < before or _is_of_the_dead(path):
                path.unlink()


def _is_of_the_dead(card: Path) -> bool:
    try:
        worker = json.loads(card.read_bytes())["worker"]
        return bool(worker["host"] == host() and not process_lives(worker["pid"], worker["pid_started"]))
    except (ValueError, KeyError, TypeError):  # cut short or damaged: its age decides
        return False


def _is_left(path: Path, before: float) -> bool:
    signature = path.name.split(".")[-3]  # .<name>.<signature>.<random>.tmp
    alive = is_alive(signature)
    return path.stat().st_mtime < before if alive is None else not alive
