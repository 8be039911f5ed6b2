"""Trials of another store taken into this one: each is copied beside this store's trials, checked there, and renamed.

A trial that was not begun here appears at once and whole, so that killing a merge leaves no half trial. Where one was
begun, its attempt is held while the files take their places, the result last: predictions of one run and the result of
another never come together.

Of 10,000 small trials, 37 s on a local disk, 30 s were reading and checking; waiting for the disk file by file took the
rest, so no more is made of it.
"""

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from bertxfer.errors import BertxferError
from bertxfer.store import whole
from bertxfer.store.agreement import difference, predictions
from bertxfer.store.store import Store
from bertxfer.system import leftovers
from bertxfer.system.files import sync, write_whole
from bertxfer.system.processes import signature

NEW, HERE, MORE, DIFFERS, DAMAGED, BUSY = "new", "here", "more", "differs", "damaged", "busy"
_DAY = 24 * 3600.0
Hold = Callable[[str], AbstractContextManager[bool]]  # keeps others from running a trial; false: somebody runs it


@dataclass(frozen=True)
class Finding:
    """What another store has of a trial: NEW to this one, HERE already, or with MORE beside an equal result."""

    trial_id: str
    outcome: str
    words: str = ""
    files: tuple[str, ...] = ()  # that this store lacks

    @property
    def is_wrong(self) -> bool:
        return self.outcome in (DIFFERS, DAMAGED)


@contextlib.contextmanager
def staging(here: Store) -> Iterator[Store]:
    """A store within this one, on the same disk, for what has not been checked yet. What a killed merge has left is
    removed; on another machine that cannot be told, and a day must have passed."""
    trials = here.root / "trials"
    trials.mkdir(parents=True, exist_ok=True)
    leftovers.remove_temporaries(trials, time.time() - _DAY)
    with tempfile.TemporaryDirectory(prefix=f".merge.{signature()}.", suffix=".tmp", dir=trials) as folder:
        yield Store(folder)


def judged(trial_id: str, other: Store, here: Store, stage: Store) -> Finding:
    """What another store has of a trial. Its files, but for a model, are then in `stage`: what was checked is taken."""
    try:
        names = whole.files_of(other.folder(trial_id))
        _bring([name for name in names if not _of_model(name)], trial_id, other, stage)
        theirs = whole.check(stage, trial_id)
    except (BertxferError, OSError) as error:
        _raise_if_full(error)
        return Finding(trial_id, DAMAGED, str(error).replace(str(stage.root), str(other.root)))
    if here.folder(trial_id).is_symlink():  # whoever owns what it leads to did not ask for this
        return Finding(trial_id, DAMAGED, f"here: {here.folder(trial_id)} is a link, and links are not followed")
    try:
        ours = here.result(trial_id)
    except BertxferError as error:
        return Finding(trial_id, DAMAGED, f"here: {error}")
    if ours is None:
        return Finding(trial_id, NEW, files=tuple(names))
    before = predictions(here, trial_id)
    words = difference(ours, theirs, before, predictions(stage, trial_id))
    if words is not None:
        return Finding(trial_id, DIFFERS, f"{here.folder(trial_id)} and {other.folder(trial_id)}: {words}")
    known = {"predictions.parquet": before is None}
    lacking = [name for name in names if known.get(name) or _is_lacking(here.folder(trial_id) / _top(name), known)]
    return Finding(trial_id, MORE if lacking else HERE, files=tuple(lacking))


def _is_lacking(path: Path, known: Mapping[str, bool]) -> bool:
    """Whether an output of a trial is not here, or is a table that cannot be read: an equal result has a whole one."""
    if path.suffix != ".parquet" or path.name in known or not path.is_file():
        return not path.exists()
    try:
        whole.table(path)
    except BertxferError:
        return True
    return False


def take(finding: Finding, other: Store, here: Store, stage: Store, hold: Hold) -> Finding:
    """Takes what `judged` has found to be NEW or MORE; where the trial is being run here, it is left to that."""
    if finding.outcome not in (NEW, MORE):
        return finding
    trial_id, names = finding.trial_id, finding.files
    try:
        _bring([name for name in names if _of_model(name)], trial_id, other, stage)
    except (BertxferError, OSError) as error:
        _raise_if_full(error)
        return Finding(trial_id, DAMAGED, str(error))
    _sync(stage.folder(trial_id), names)
    if finding.outcome == MORE:
        _place(names, trial_id, here, stage)
    elif not _appeared(trial_id, here, stage):
        with hold(trial_id) as held:
            if not held:
                return replace(finding, outcome=BUSY, words="it is being run here, and is left to that")
            _clear_outputs(here.folder(trial_id))
            _place(names, trial_id, here, stage)
            here.clear(trial_id)
    sync(here.root / "trials")
    return finding


def merge(other: Store, here: Store, hold: Hold, say: Callable[[Finding], None]) -> list[Finding]:
    """Takes every finished trial of another store that is whole and new, and says of each what it was."""
    found = []
    with staging(here) as stage:
        for trial_id in sorted(other.finished()):
            finding = take(judged(trial_id, other, here, stage), other, here, stage, hold)
            shutil.rmtree(stage.folder(trial_id), ignore_errors=True)
            say(finding)
            found.append(finding)
    return found


def look(other: Store, here: Store) -> list[Finding]:
    """What a merge would find; nothing is taken."""
    found = []
    with staging(here) as stage:
        for trial_id in sorted(other.finished()):
            found.append(judged(trial_id, other, here, stage))
            shutil.rmtree(stage.folder(trial_id), ignore_errors=True)
    return found


def copy_plain(source: Path, target: Path) -> None:
    """Copies a plain file; a link in its place, even one that was put there just now, is an error."""
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BertxferError(f"{source} is not a plain file")
        with target.open("xb") as copy:
            shutil.copyfileobj(file, copy, 1 << 20)


def _bring(names: Sequence[str], trial_id: str, other: Store, stage: Store) -> None:
    for name in names:
        target = stage.folder(trial_id) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        copy_plain(other.folder(trial_id) / name, target)


def _appeared(trial_id: str, here: Store, stage: Store) -> bool:
    """The whole folder in one step; false where the trial was begun here, so that its folder is not empty."""
    try:
        stage.folder(trial_id).rename(here.folder(trial_id))
    except OSError:
        if here.folder(trial_id).is_dir():
            return False
        raise
    return True


def _place(names: Sequence[str], trial_id: str, here: Store, stage: Store) -> None:
    """Gives files that are on the disk already their places in a trial that was begun here, the result last."""
    source, folder = stage.folder(trial_id), here.folder(trial_id)
    for name in dict.fromkeys(map(_top, names)):
        if name == "result.json":
            continue
        if name == whole.MODEL:
            with contextlib.suppress(OSError):  # there is one now, and it is as good
                (source / name).rename(folder / name)
        else:
            (source / name).replace(folder / name)
    sync(folder)
    if "result.json" in names:
        write_whole(folder / "result.json", lambda made: shutil.copyfile(source / "result.json", made), first=True)


def _clear_outputs(folder: Path) -> None:
    """What a run left that never recorded its result does not stand beside another run's."""
    shutil.rmtree(folder / whole.MODEL, ignore_errors=True)
    for name in whole.tables():
        (folder / name).unlink(missing_ok=True)


def _raise_if_full(error: Exception) -> None:
    """That this disk takes no more says nothing about the other store's trial."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        raise error


def _sync(folder: Path, names: Sequence[str]) -> None:
    for name in (*names, *({whole.MODEL} & set(map(_top, names)))):
        sync(folder / name)
    sync(folder)


def _of_model(name: str) -> bool:
    return _top(name) == whole.MODEL


def _top(name: str) -> str:
    return name.split("/")[0]
