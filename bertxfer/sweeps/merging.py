"""A merge as a user asks for it: another store or a packed file opened, a sample of it run again, its trials and the
manifests of its sweeps taken; and the way back, a sweep as one file."""

import contextlib
import math
import re
import shutil
import stat
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bertxfer.errors import BertxferError
from bertxfer.store import merge as merging
from bertxfer.store import pack as packing
from bertxfer.store import whole
from bertxfer.store.merge import BUSY, DAMAGED, DIFFERS, HERE, MORE, NEW, Finding
from bertxfer.store.prune import with_stages
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest, verify
from bertxfer.sweeps.queue import Queue
from bertxfer.system.files import write_whole
from bertxfer.trials import chains

_COUNTED = {
    NEW: "taken",
    HERE: "already here",
    MORE: "already here, with more taken beside them",
    BUSY: "being run here",
    DIFFERS: "with another result here",
    DAMAGED: "damaged",
}


@dataclass(frozen=True)
class Check:
    """How many of the new trials are run again before anything is taken, which, and how far they may be off."""

    size: int = 0
    seed: int = 0
    tolerance: float = 0.01


def merge(other: Path, here: Store, check: Check, say: Callable[[str], None]) -> bool:
    """Takes what another results folder or a packed file has; false if something of it is damaged, differs from what is
    here, or does not agree when it is run again."""
    with _opened(other, here) as (store, damaged):

        def named(text: str) -> str:
            return text if other.is_dir() else text.replace(str(store.root), str(other))

        for folder, reason in damaged.items():
            say(f"{DAMAGED}  {folder}: {reason}")
        if check.size and not _agrees(store, here, check, lambda line: say(named(line))):
            say("nothing was taken")
            return False

        def tell(finding: Finding) -> None:
            if finding.outcome == HERE:  # a merge that was killed may have left its attempt open
                queue.tidy(finding.trial_id)
            if finding.words:
                say(named(f"{finding.outcome}  {finding.trial_id}: {finding.words}"))

        queue = Queue(here, uuid.uuid4().hex)
        found = merging.merge(store, here, _holder(queue), tell)
        sweeps, unread = _take_sweeps(store, here, lambda line: say(named(line)))
    counts = Counter(finding.outcome for finding in found)
    counts[DAMAGED] += sum(folder.startswith("trials/") for folder in damaged)
    parts = [f"{counts[outcome]} {words}" for outcome, words in _COUNTED.items() if counts[outcome]]
    say(f"{_number(counts.total(), 'trial')}: {', '.join(parts) or 'none is finished there'}")
    if sweeps:
        say(f"{_number(sweeps, 'sweep')} taken; `python -m bertxfer report SWEEP` shows one")
    return not (damaged or unread or any(finding.is_wrong for finding in found))


def pack(name: str, file: Path, root: Path, say: Callable[[str], None]) -> bool:
    """Writes the finished trials of a sweep, and the stages before them, into one file; false if one is damaged."""
    if file.suffix != ".tar":
        raise BertxferError(f"{file} is to be a plain tar; give it a name that ends in .tar")
    if not file.absolute().parent.is_dir():
        raise BertxferError(f"{file} cannot be written: there is no folder {file.absolute().parent}")
    sweep = manifest.read(manifest.find(root, name))
    named = {name for trial in sweep.trials for name in (trial.id, *chains.stage_ids(trial.science))}
    store, ids, damaged = sweep.store, list[str](), 0
    for trial_id in sorted(with_stages(store, named)):
        if store.complete(trial_id):
            try:
                whole.check(store, trial_id)
                ids.append(trial_id)
            except BertxferError as error:
                damaged += 1
                say(f"left out  {trial_id}: {error}")
    if not ids:
        raise BertxferError(f"{sweep.name} has no finished trial that could be packed")
    packing.pack(file, store, ids, {sweep.name: manifest.packed(sweep.folder)})
    done, size = sum(trial.id in ids for trial in sweep.trials), file.stat().st_size
    before = f" and {_number(len(ids) - done, 'stage')} before them" if len(ids) > done else ""
    say(f"{file}: {done} of {_number(len(sweep.trials), 'trial')}{before}, {size / 1e6:.1f} MB")
    return not damaged


def chance(trials: int, wrong: int, sample: int) -> float:
    """The probability that a random sample of the trials has at least one of the wrong ones in it."""
    from scipy.stats import hypergeom

    return float(hypergeom.sf(0, trials, wrong, min(sample, trials)))


@contextlib.contextmanager
def _opened(other: Path, here: Store) -> Iterator[tuple[Store, dict[str, str]]]:
    """The other store, and what of it is already known to be damaged."""
    if other.is_dir():
        if not (other / "trials").is_dir():
            raise BertxferError(f"{other} has no folder trials in it, so it is not a results folder")
        if other.resolve() == here.root.resolve():
            raise BertxferError(f"{other} is the results folder itself; name another")
        yield Store(other.absolute()), {}
    elif other.is_file():
        with merging.staging(here) as stage:
            damaged = packing.unpack(other, stage.root)
            for folder in damaged:
                shutil.rmtree(stage.root / folder, ignore_errors=True)
            yield stage, damaged
    else:
        raise BertxferError(f"there is no {other}; give a results folder or a file that `pack` wrote")


def _holder(queue: Queue) -> merging.Hold:
    """Holds trials of this store as a worker does, so that none begins to run what is being taken."""

    @contextlib.contextmanager
    def hold(trial_id: str) -> Iterator[bool]:
        attempt = queue.take(trial_id)
        try:
            yield attempt is not None
        finally:
            if attempt is not None:
                attempt.end("done" if queue.store.complete(trial_id) else "released")

    return hold


def _agrees(other: Store, here: Store, check: Check, say: Callable[[str], None]) -> bool:
    """Whether a sample of the trials that are new gives the same numbers again. What cannot be run again does not."""
    new = [finding.trial_id for finding in merging.look(other, here) if finding.outcome == NEW]
    ids = verify.sample(new, check.size, check.seed)
    if not ids:
        return True
    wrong = math.ceil(len(new) / 100)
    one, hundredth = chance(len(new), 1, len(ids)), chance(len(new), wrong, len(ids))
    say(
        f"{len(ids)} of {_number(len(new), 'new trial')} run again: one wrong result among them is found with "
        f"probability {one:.2g}, one in a hundred ({wrong}) with {hundredth:.2g}"
    )
    verdicts = []
    for trial_id in ids:
        verdicts.append(verify.verify(trial_id, other, check.tolerance))
        say(str(verdicts[-1]))
    say(verify.counted(verdicts))
    return all(verdict.agrees for verdict in verdicts)


def _take_sweeps(other: Store, here: Store, say: Callable[[str], None]) -> tuple[int, int]:
    """Takes the manifests of sweeps that are not here: how many, and how many cannot be read."""
    taken = unread = 0
    with merging.staging(here) as stage:
        for path in sorted((other.root / "sweeps").glob("[!.]*/manifest.json")):
            name = path.parent.name
            target = here.root / "sweeps" / name / "manifest.json"
            if target.exists():
                continue
            try:
                _bring_manifest(path, stage.root / "sweeps" / name)
                manifest.read(stage.root / "sweeps" / name)
            except (BertxferError, OSError) as error:
                say(f"{DAMAGED}  sweep {name}: {str(error).replace(str(stage.root), str(other.root))}")
                unread += 1
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, partial(shutil.copyfile, stage.root / "sweeps" / name / "manifest.json"), first=True)
            taken += 1
    return taken, unread


def _bring_manifest(path: Path, folder: Path) -> None:
    if re.fullmatch(r"[A-Za-z0-9_.-]+", path.parent.name) is None or stat.S_ISLNK(path.parent.lstat().st_mode):
        raise BertxferError(f"{path.parent} is a link or has a name that no sweep has")
    folder.mkdir(parents=True)
    merging.copy_plain(path, folder / "manifest.json")


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
