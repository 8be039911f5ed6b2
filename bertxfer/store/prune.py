"""What a store could do without: which of its folders, how large they are, and how they are removed.

Nothing is looked at through a link, and nothing outside the store is touched. What is removed is renamed first, so that
no half of it is ever seen; what a killed prune has left goes with the next one.
"""

import contextlib
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from bertxfer.errors import BertxferError
from bertxfer.store.store import Store
from bertxfer.system import leftovers
from bertxfer.system.processes import signature

DAY = 24 * 3600.0
KINDS = {
    "trials": "finished or failed, that no sweep here names and no experiment of conf/ means",
    "sweeps": "that nobody has worked on for so long; their trials stay",
    "artifacts": "encoders and features, which are made again when a trial needs them",
    "tokens": "tokenized rows, which are made again when a trial needs them",
    "checkpoints": "of unfinished trials that nobody runs, which then begin anew",
}
Asked = Callable[[str], bool]  # about a trial


@dataclass(frozen=True)
class Item:
    """A folder that could go, and how many bytes that would free."""

    path: Path
    size: int


def items(paths: Collection[Path]) -> list[Item]:
    return [Item(path, _size(path)) for path in sorted(paths)]


def trials(store: Store, kept: Collection[str], is_running: Asked, may_be_meant: Asked) -> list[Path]:
    """The folders of finished and failed trials that are not kept, nor run by anybody, nor perhaps meant by a config
    whose id this machine cannot know."""
    kept = with_stages(store, kept)
    ended = (path for path in _folders(store, "trials") if _has(path, "result.json") or _has(path, "failure.json"))
    loose = (path for path in ended if path.name not in kept and store.has(path.name))
    return [path for path in loose if not is_running(path.name) and not may_be_meant(path.name)]


def with_stages(store: Store, ids: Collection[str]) -> set[str]:
    """These trials and all that they began from, as their results say."""
    found, left = set[str](), list(ids)
    while left:
        trial_id = left.pop()
        if trial_id in found:
            continue
        found.add(trial_id)
        with contextlib.suppress(BertxferError):
            begun_from = (store.result_alone(trial_id) or {}).get("begun_from")
            left += [begun_from] if isinstance(begun_from, str) else []
    return found


def sweeps(store: Store, older_than: float, is_alive: Callable[[Path], bool]) -> list[Path]:
    """The folders of sweeps in which nothing was written for `older_than` seconds, and nobody is at work."""
    before = time.time() - older_than
    return [
        path
        for path in _folders(store, "sweeps")
        if _has(path, "manifest.json") and _changed(path) < before and not is_alive(path)
    ]


def artifacts(store: Store) -> list[Path]:
    """The folders of encoders and features."""
    kinds = [path for path in _folders(store, "artifacts") if path.name != store.tokens.name]
    return [path for kind in kinds for path in _folders(store, f"artifacts/{kind.name}") if any(_files(path))]


def tokens(store: Store) -> list[Path]:
    return [path for path in _folders(store, f"artifacts/{store.tokens.name}") if any(_files(path))]


def checkpoints(store: Store, is_running: Asked) -> list[Path]:
    """The checkpoints of trials that nobody runs."""
    return [
        path / "checkpoint"
        for path in _folders(store, "trials")
        if _is_folder(path / "checkpoint") and store.has(path.name) and not is_running(path.name)
    ]


def remove(store: Store, path: Path) -> None:
    """Removes a folder of the store: out of sight in one step, then from the disk."""
    _refuse_outside(store, path)
    out_of_sight = Path(tempfile.mkdtemp(prefix=f".pruned.{signature()}.", suffix=".tmp", dir=path.parent))
    try:
        with contextlib.suppress(FileNotFoundError):  # gone just now
            path.rename(out_of_sight / path.name)
    finally:
        shutil.rmtree(out_of_sight)


def empty(store: Store, path: Path) -> None:
    """Removes the files of an artifact. Its folder and its lock stay, since a worker may be about to write there."""
    _refuse_outside(store, path)
    for file in _files(path):
        file.unlink(missing_ok=True)


def clean(store: Store) -> None:
    """Removes what a killed prune has left; one of another machine after a day."""
    for folder in (store.root / "trials", store.root / "sweeps", *_folders(store, "trials")):
        leftovers.remove_temporaries(folder, time.time() - DAY)


def _refuse_outside(store: Store, path: Path) -> None:
    root = store.root.resolve()
    if path.resolve() != root / path.relative_to(store.root) or path.resolve() == root:
        raise BertxferError(f"{path} leads through a link, so it is left alone")


def _folders(store: Store, name: str) -> Iterator[Path]:
    """The folders within a part of the store; none where a link is in the way."""
    folder = store.root / name
    if folder.resolve() != store.root.resolve() / name or not folder.is_dir():
        return
    for path in sorted(folder.glob("[!.]*")):
        if _is_folder(path):
            yield path


def _files(folder: Path) -> Iterator[Path]:
    """The files of an artifact, without the one that is its lock and those that somebody is writing."""
    return (path for path in folder.glob("[!.]*") if path.name != "lock" and not path.is_dir())


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _has(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def _changed(folder: Path) -> float:
    """When something in a folder was last written."""
    times = [folder.lstat().st_mtime]
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            times.append(path.lstat().st_mtime)
    return max(times)


def _size(folder: Path) -> int:
    size = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):  # gone just now
            status = path.lstat()
            size += 0 if stat.S_ISDIR(status.st_mode) else status.st_size
    return size
