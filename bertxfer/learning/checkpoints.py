"""Checkpoints: the newest whole one of a trial, known to be whole by a digest in its name."""

import contextlib
import pickle
import sys
import time
from pathlib import Path
from typing import Any

import torch

from bertxfer.system.files import digest, refuse_links, remove_from, write_whole


class Checkpoints:
    def __init__(self, folder: Path, every_seconds: float) -> None:
        self.folder, self.every_seconds = folder, every_seconds
        self.saved_at = time.monotonic()

    def due(self) -> bool:
        return time.monotonic() - self.saved_at >= self.every_seconds

    def save(self, state: dict[str, Any]) -> None:
        """Writes the state beside the older one, then removes that one: a whole checkpoint is always there."""
        refuse_links(self.folder.parent, self.folder.name)
        self.folder.mkdir(exist_ok=True)
        older = [path.name for path in self.folder.glob("[!.]*.pt")]
        named = write_whole(self.folder / "state.pt", lambda path: torch.save(state, path), _digest_name)
        remove_from(self.folder, (name for name in older if name != named.name))
        self.saved_at = time.monotonic()

    def put_off(self) -> None:
        """The next one is due as if this one had been saved."""
        self.saved_at = time.monotonic()

    def load(self) -> dict[str, Any] | None:
        """The state to go on from. A checkpoint that was cut or altered is as good as none."""
        for path in sorted(self.folder.glob("[!.]*.pt"), key=_modified, reverse=True):
            with contextlib.suppress(FileNotFoundError):  # replaced by another worker just now
                if digest(path) == path.stem and (state := _read(path)) is not None:
                    return state
        return None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError) as error:  # not one of ours
        first_line = (str(error).strip().splitlines() or [""])[0]
        print(f"{path} is not a checkpoint and is left alone ({first_line})", file=sys.stderr, flush=True)
        return None
    return state


def _digest_name(path: Path) -> str:
    return f"{digest(path)}.pt"


def _modified(path: Path) -> int:
    """Oldest of all where it has just been removed by another worker."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
