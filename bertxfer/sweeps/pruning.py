"""What of a store could go, as far as its sweeps say: the trials that they name stay, and so does what is at work."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertxfer.errors import BertxferError
from bertxfer.store import prune
from bertxfer.store.prune import Item
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.launch import jobs_of
from bertxfer.sweeps.launchers.local import Local
from bertxfer.sweeps.launchers.slurm import Slurm, strays
from bertxfer.sweeps.queue import Queue
from bertxfer.system import leftovers
from bertxfer.trials import chains
from bertxfer.trials.science import Science


@dataclass(frozen=True)
class Meant:
    """What conf/ means now: the configs of its trials, which inputs are not on this machine, and what is broken."""

    sciences: Sequence[dict[str, Any]] = ()
    ids: Collection[str] = ()
    absent: Sequence[str] = ()
    broken: Sequence[str] = ()


@dataclass
class Found:
    """What could go, by kind, and what is to be said about it."""

    items: dict[str, list[Item]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def look(store: Store, kinds: Sequence[str], days: float, meant: Callable[[], Meant]) -> Found:
    """What could go of these kinds. `meant` is asked only for the trials: to list all experiments takes seconds."""
    found, queue = Found(), Queue(store, None)
    for kind in kinds:
        if kind == "trials":
            paths = _trials(store, queue, meant(), found.notes)
        elif kind == "sweeps":
            paths = prune.sweeps(store, days * prune.DAY, lambda folder: _is_alive(folder, queue))
        elif kind == "checkpoints":
            paths = prune.checkpoints(store, queue.is_running)
        else:
            paths = {"artifacts": prune.artifacts, "tokens": prune.tokens}[kind](store)
        found.items[kind] = prune.items(paths)
    return found


def delete(store: Store, found: Found) -> None:
    """Removes what was found; a trial that somebody has begun to run or launched a sweep of meanwhile stays."""
    prune.clean(store)
    queue = Queue(store, None)
    for kind, items in found.items.items():
        kept = _kept_now(store) if kind == "trials" and items else set[str]()
        for item in items:
            trial_id = {"trials": item.path.name, "checkpoints": item.path.parent.name}.get(kind)
            if trial_id is None or not (kept is None or trial_id in kept or queue.is_running(trial_id)):
                (prune.empty if kind in ("artifacts", "tokens") else prune.remove)(store, item.path)


def _kept_now(store: Store) -> set[str] | None:
    """What sweeps name by now, which may have been launched since the listing; None where one cannot be read."""
    named, unread = _named(store)
    return None if unread else prune.with_stages(store, named)


def _trials(store: Store, queue: Queue, meant: Meant, notes: list[str]) -> list[Path]:
    named, unread = _named(store)
    named |= {*meant.ids, *(stage for plain in meant.sciences for stage in _stages(plain))}
    if unknown := [*unread, *(f"experiment {name}" for name in meant.broken)]:
        notes.append(f"trials: none is listed, since it is not known what {', '.join(unknown)} means; mend or move it")
        return []
    doubtful = list[str]()

    def may_be_meant(trial_id: str) -> bool:
        doubt = _is_doubtful(store, trial_id, meant.absent)
        doubtful.extend([trial_id] if doubt else [])
        return doubt

    paths = prune.trials(store, named, queue.is_running, may_be_meant)
    if doubtful:
        absent = f"; not on this machine: {', '.join(meant.absent)}" if meant.absent else ""
        notes.append(f"trials: {len(doubtful)} more are kept, since conf/ may mean them or they cannot be read{absent}")
    return paths


def _named(store: Store) -> tuple[set[str], list[str]]:
    """The trials that sweeps name, with their stages, and the sweeps that cannot be read."""
    named, unread = set[str](), list[str]()
    for path in sorted((store.root / "sweeps").glob("[!.]*/manifest.json")):
        try:
            for trial in manifest.read(path.parent).trials:
                named |= {trial.id, *chains.stage_ids(trial.science)}
        except BertxferError:
            unread.append(f"sweep {path.parent.name}")
    return named, unread


def _stages(plain: dict[str, Any]) -> list[str]:
    """The stages before a trial that is given by its config."""
    return chains.stage_ids(Science.from_dict(plain)) if plain.get("chain") else []


def _is_doubtful(store: Store, trial_id: str, absent: Sequence[str]) -> bool:
    """Whether an input that is not on this machine may be the trial's, whose id is then not known; or what it is of
    cannot be read at all."""
    try:
        plain, result = store.config(trial_id), store.result_alone(trial_id) or {}
        tasks = [plain["task"], *(stage["task"] for stage in (plain.get("chain") or {}).get("stages", []))]
        names = {plain["model"].get("name"), result.get("model"), *(task.get("name") for task in tasks)}
    except (BertxferError, KeyError, TypeError, AttributeError):
        return True
    named = [re.compile(rf"(?<![\w./-]){re.escape(str(name))}(?![\w./-])") for name in names - {None}]
    return any(name.search(words) for name in named for words in absent)


def _is_alive(folder: Path, queue: Queue) -> bool:
    """Whether somebody is at work on a sweep or will be; also where that cannot be told."""
    try:
        sweep = manifest.read(folder)
    except BertxferError:
        return True
    before = queue.now() - queue.rules.stale_seconds
    return (
        any(leftovers.is_card_of_living(card, before) for card in (folder / "workers").glob("[!.]*.json"))
        or bool(Local().living(sweep, jobs_of(sweep, "local")))
        or bool(Slurm().living(sweep, jobs_of(sweep, "slurm")) or strays(sweep))
        or any(queue.is_running(trial.id) for trial in sweep.trials)
    )
