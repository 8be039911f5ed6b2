"""Removes what killed processes have left behind; what a living one is writing is not touched."""

import contextlib
import shutil
from pathlib import Path

from bertxfer.system.files import read_json
from bertxfer.system.processes import host, is_alive, process_lives


def remove_temporaries(folder: Path, before: float) -> None:
    """Removes files that were to be renamed once they were whole, of processes that are gone.

    Where the process ran on another machine and cannot be checked, they go if they have not changed since `before`.
    """
    for path in () if folder.is_symlink() else folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):  # renamed or removed just now; a folder that may only be read
            if _is_abandoned(path, before):
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()


def remove_cards(folder: Path, before: float) -> None:
    """Removes the cards of workers that are gone."""
    for path in () if folder.is_symlink() else folder.glob("[!.]*.json"):
        with contextlib.suppress(OSError):
            if not is_card_of_living(path, before):
                path.unlink()


def is_card_of_living(card: Path, before: float) -> bool:
    """Whether the card's worker is not known to be gone; a worker touches its card while it lives."""
    return card.stat().st_mtime >= before and not _worker_is_gone(card)


def _worker_is_gone(card: Path) -> bool:
    try:
        worker = read_json(card)["worker"]
        return bool(worker["host"] == host() and not process_lives(worker["pid"], worker["pid_started"]))
    except (ValueError, KeyError, TypeError, RecursionError):  # cut short or damaged: its age decides
        return False


def _is_abandoned(path: Path, before: float) -> bool:
    signature = path.name.split(".")[-3]  # .<name>.<signature>.<random>.tmp
    alive = is_alive(signature)
    return path.stat().st_mtime < before if alive is None else not alive
