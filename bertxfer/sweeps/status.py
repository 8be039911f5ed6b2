"""How far sweeps are: every trial done, running, failed or waiting, read off the store at any time."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bertxfer.errors import BertxferError
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.deciding import HELD_BACK, LATER, NOT_NEEDED
from bertxfer.sweeps.launch import latest, launches, rules_of
from bertxfer.sweeps.manifest import Manifest, Outline
from bertxfer.sweeps.queue import Queue, Situation
from bertxfer.sweeps.summary import score_text
from bertxfer.system.slurm_queue import why_they_wait
from bertxfer.trials import chains, rounds
from bertxfer.trials.science import Science
from bertxfer.trials.trial import Trial

STATES = ("done", "running", "failed", "waiting")
OF_CLAIMS = (NOT_NEEDED, HELD_BACK)  # where a sweep runs until its claims are decided
MANY = 500  # trials; a framed table takes 2 ms a row to lay out


@dataclass
class Watch:
    """The states of a sweep's trials. What is done stays done and is not looked at again."""

    sweep: Manifest | Outline
    queue: Queue
    situations: dict[str, Situation] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)  # those of the queue, or not needed, or held back

    def look(self) -> Counter[str]:
        for trial in self.sweep.trials:
            if self.situations.get(trial.id, Situation("waiting")).state != "done":
                self.situations[trial.id] = self.queue.situation(trial.id, trial.outputs)
        self.states = {trial_id: situation.state for trial_id, situation in self.situations.items()}
        if isinstance(self.sweep, Manifest) and self.sweep.deciding is not None:
            known = self.sweep.deciding.states(self.states)
            self.states = {trial_id: "waiting" if state == LATER else state for trial_id, state in known.items()}
        return Counter(self.states.values())

    def words(self) -> str:
        """How many trials are in each state, as of the last look, and how many rounds are whole."""
        counts = Counter(self.states.values())
        told = [f"{counts['done']} of {len(self.sweep.trials)} done"]
        told += [f"{counts[state]} {state}" for state in STATES[1:]]
        told += [f"{counts[state]} {state}" for state in OF_CLAIMS if counts[state]]
        if isinstance(self.sweep, Manifest):
            done = {trial_id for trial_id, situation in self.situations.items() if situation.state == "done"}
            whole, rounds_there = rounds.whole(self.sweep.trials, done)
            if rounds_there > 1:
                told.append(f"{whole} of {rounds_there} rounds whole")
        return ", ".join(told)


def _queue(folder: Path, store: Store) -> Queue:
    """The queue as the sweep's newest launch sees it."""
    launch = latest(folder)
    return Queue(store, launch, rules_of(folder, launch))


def show(root: Path, name: str | None) -> None:
    """Every sweep in a line; or one sweep, trial by trial; or everything about one trial."""
    console = Console(markup=False, emoji=False)
    if name is None:
        folders = sorted(path.parent for path in (root / "sweeps").glob("[!.]*/manifest.json"))
        table, unread = Table("sweep", *STATES, "trials"), []
        for folder in folders:
            try:
                sweep = manifest.outline(folder)
            except BertxferError as error:  # the others can be shown
                unread.append(str(error))
                continue
            counts = Watch(sweep, _queue(folder, Store(root))).look()
            others = ", ".join(f"{counts[state]} {state}" for state in OF_CLAIMS if counts[state])
            total = f"{len(sweep.trials)} ({others})" if others else str(len(sweep.trials))
            cells = (folder.name, *(str(counts[state]) for state in STATES), total)
            table.add_row(*cells)
        nothing = f"no sweeps in {root.absolute()}{'' if root.is_dir() else ', which is not there'}"
        console.print(table if folders else f"{nothing}; --output-dir or BERTXFER_OUTPUT names another", soft_wrap=True)
        for sentence in unread:
            console.print(sentence, soft_wrap=True)
    elif Store(root).has(name):
        _show_trial(console, Store(root), name)
    else:
        _show_sweep(console, manifest.read(manifest.find(root, name)))


def _show_sweep(console: Console, sweep: Manifest) -> None:
    watch = Watch(sweep, _queue(sweep.folder, sweep.store))
    watch.look()
    columns = ("trial", "task", "n", "seed", "treatment", "state", "score, or what is known")
    rows: list[tuple[str, ...]] = []
    for trial in sweep.trials:
        science = trial.science
        state = watch.states[trial.id]
        size = science.data.n or (f"{science.data.fraction:g} of all" if science.data.fraction else "all")
        detail = _detail(sweep.store, trial, watch.situations[trial.id])
        seed = str(science.seeds["order"])
        rows.append((trial.id, science.task.name, str(size), seed, chains.describe(science), state, detail))
    if len(rows) > MANY:
        _print_lines([columns, *rows])
    else:
        table = Table(*columns, title=sweep.name)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    console.print(watch.words())
    if words := _why_waiting(sweep):
        console.print(words)


def _why_waiting(sweep: Manifest) -> str:
    """Why SLURM has not begun the sweep's jobs; empty where it has, or there is no SLURM."""
    from bertxfer.sweeps.launchers.slurm import queued_for

    if not launches(sweep, "slurm"):
        return ""
    try:
        return why_they_wait(job for jobs in queued_for(sweep).values() for job in jobs)
    except BertxferError:
        return ""


def _print_lines(rows: Sequence[tuple[str, ...]]) -> None:
    """Aligned columns without a frame."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _detail(store: Store, trial: Trial, situation: Situation) -> str:
    last, trial_id = situation.latest, trial.id
    if situation.state == "done":
        try:
            result = store.scored(trial)
        except BertxferError as error:
            return str(error)
        return "" if result is None else f"{score_text(result)} {result['headline'] or ''}".rstrip()
    if situation.state == "running" and last is not None:
        where = last.owner.get("slurm_job") or (str(last.owner.get("host", "")).split() or ["?"])[0]
        return f"attempt {last.number} on {where}, last heard from {last.silent_for:.0f} s ago"
    if situation.state == "failed":
        return situation.damage or store.why_failed(trial_id)
    return "" if last is None else f"attempt {last.number} ended: {last.outcome or 'lost'}"


def _show_trial(console: Console, store: Store, trial_id: str) -> None:
    science = Science.from_dict(store.config(trial_id))
    situation = Queue(store, None).situation(trial_id)
    last = situation.latest
    failed = situation.state == "waiting" and last is not None and last.outcome in ("failed", "crashed")
    facts: dict[str, Any] = {
        "state": "failed" if failed else situation.state,
        "model": science.model.name,
        "task": science.task.name,
        "treatment": chains.describe(science),
        "seeds": science.seeds,
        "detail": store.why_failed(trial_id) if failed else _detail(store, Trial(trial_id, science, ""), situation),
        "attempts": len(list((store.folder(trial_id) / "attempts").glob("*.json"))),
        "folder": store.folder(trial_id),
    }
    result = store.result(trial_id)
    if result is not None:
        facts |= {key: result[key] for key in ("metrics", "n_train", "steps", "epochs", "timings", "environment")}
    checkpoints = list(store.checkpoint(trial_id).glob("[!.]*.pt"))
    if checkpoints:
        age = time.time() - max(path.stat().st_mtime for path in checkpoints)
        facts["checkpoint"] = f"{age:.0f} s old"
    table = Table(title=f"trial {trial_id}", show_header=False)
    for key, value in facts.items():
        table.add_row(key, str(value))
    console.print(table)
