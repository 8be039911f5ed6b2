"""Getting trials run: one in this process, or all of a sweep through a launcher; and saying what came of it."""

import contextlib
import sys
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from bertxfer.claims import words
from bertxfer.config.schema import Config
from bertxfer.errors import BertxferError, ConfigError, TrialError, TrialsFailed
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.sweeps import bf16, manifest, summary, trackers, tracking
from bertxfer.sweeps.claiming import decisions
from bertxfer.sweeps.deciding import HELD_BACK, NOT_NEEDED
from bertxfer.sweeps.draining import drain
from bertxfer.sweeps.launchers.launcher import Launcher
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.readings import values_in
from bertxfer.sweeps.stop import Stop
from bertxfer.sweeps.sweep import Point, Sweep
from bertxfer.system import leftovers
from bertxfer.trials import chains
from bertxfer.trials.inputs import Inputs
from bertxfer.trials.trial import trial_of


def run_one(config: Config) -> None:
    """A run without -m: one trial in this process, its score and where its results are."""
    if config.grids is not None:
        raise ConfigError("experiment", "is a sweep of many trials; add -m")
    trackers.check(config.runtime.track)
    inputs = Inputs(fetch=True)
    trial = trial_of(config, inputs)
    inputs.refuse_absent([trial.science])
    store = Store(Path(config.runtime.output_dir).absolute(), config.artifacts.max_gb)
    stored = store.scored(trial)
    if stored is not None and not store.lacking(trial.id, trial.outputs):
        print(summary.line(stored, "stored"))
        with contextlib.suppress(OSError):  # a folder that may only be read
            Queue(store, None).tidy(trial.id)
    else:
        bf16.check([trial], store, config.runtime.device, print)
        stop, queue = Stop(), Queue(store, uuid.uuid4().hex)
        with stop.on_signals():
            drain([trial], queue, config.runtime, stop)
        _account_for({trial.id: queue.situation(trial.id, trial.outputs).state}, queue, stop())
    print(f"results in {store.folder(trial.id)}")


def run_sweep(sweep: Sweep, launcher: Launcher) -> list[Result | None]:
    """All trials of a multirun: what is done is read, what is missing is run, failures are counted."""
    if launcher.runs_here:
        store = Store(Path(sweep.runtime.output_dir).absolute())
        bf16.check([point.trial for point in sweep.points], store, sweep.runtime.device, print)
    frozen = manifest.freeze(sweep)
    ids = [trial.id for trial in frozen.trials]
    store = frozen.store
    damaged = _damaged(frozen)
    open_trials = [trial.id for trial in frozen.trials if not store.complete(trial.id, trial.outputs)]
    most = "at most " if frozen.deciding is not None else ""
    print(f"sweep {frozen.name}: {most}{len(ids)} trials, {len(ids) - len(open_trials)} done before", flush=True)
    launched = launcher.run(frozen) if _needed(open_trials, frozen) else None
    _tidy(frozen, Queue(store, None, launcher.rules))
    # A trial is read once for each metric that it is looked at by.
    looks = {(trial.id, trial.headline): trial for trial in (*frozen.trials, *(p.trial for p in frozen.points))}
    found = {look: None if trial.id in damaged else store.scored(trial) for look, trial in looks.items()}
    summary.print_table([(looks[look].science, result) for look, result in found.items() if result is not None])
    results = [found[trial.id, trial.headline] for trial in frozen.trials]
    done = [trial_id for trial_id, result in zip(ids, results, strict=True) if result is not None]
    print(f"{len(done)} of {len(ids)} trials done, results in {store.root / 'trials'}")
    if sweep.cases:
        trials = {point.trial.id: point.trial for point in frozen.points}
        print(words.summary(decisions(sweep.cases, values_in(store, trials.values()))))
    if spared := len(ids) - len(_needed(ids, frozen)):
        print(f"{spared} trials are not needed: what they would help to decide is decided without them")
    if launched is not None and not launched.waited_for:
        return results
    for tracker, unlogged in Counter(name for _, name in tracking.lacking(done, store, sweep.runtime.track)).items():
        print(f"{tracker} lacks {unlogged} of them; `python -m bertxfer track {tracker} {frozen.name}` logs them")
    states = _states(frozen, Queue(store, None, launcher.rules) if launched is None else launched.queue)
    if launched is not None:
        sound = {trial_id: state for trial_id, state in states.items() if trial_id not in damaged}
        _account_for(sound, launched.queue, launched.stopped)
    if damaged or _held_back(states):
        raise TrialsFailed(
            f"{len(damaged)} of {len(ids)} trials have results that are not to be trusted{_held_back(states)}"
        )
    return results


def _needed(ids: Sequence[str], sweep: Manifest) -> set[str]:
    """Those of the trials that are to be run: all, but where claims say what is needed."""
    deciding = sweep.deciding
    return {one for one in ids if deciding is None or sweep.store.complete(one) or deciding.needs(one) is not False}


def _damaged(sweep: Manifest) -> set[str]:
    """Trials whose results cannot be used, each of which is named; it does not keep the others from running."""
    damaged = set()
    for trial in sweep.trials:
        try:
            sweep.store.result(trial.id)
        except BertxferError as error:
            print(f"damaged  {trial.id}: {error}", file=sys.stderr)
            damaged.add(trial.id)
    return damaged


def results_of(configs: Sequence[Config], launcher: Launcher) -> list[Result | None]:
    """The result of each config, in their order, for sweepers that wait for scores; null where it failed."""
    inputs = Inputs(fetch=True)
    trials = [trial_of(config, inputs) for config in configs]
    inputs.refuse_absent([trial.science for trial in trials])
    with contextlib.suppress(TrialsFailed):  # a failed trial has no score; the others have
        run_sweep(Sweep([Point({}, trial) for trial in trials], configs[0].runtime, configs[0].artifacts), launcher)
    store = Store(Path(configs[0].runtime.output_dir).absolute())
    return [store.scored(trial) for trial in trials]


def _tidy(sweep: Manifest, queue: Queue) -> None:
    """Removes what lost workers have left of the sweep's trials, their stages, and what these share."""
    stages = (stage for trial in sweep.trials for stage in chains.prefixes(trial))
    before = queue.now() - queue.rules.stale_seconds
    with contextlib.suppress(OSError):  # a folder that may only be read
        for trial in {trial.id: trial for trial in (*stages, *sweep.trials)}.values():
            queue.tidy(trial.id, trial.outputs)
        folders = [sweep.folder, sweep.folder / "launches", sweep.folder / "workers"]
        for folder in [*folders, *sweep.store.artifacts.root.glob("*/*")]:
            leftovers.remove_temporaries(folder, before)
        leftovers.remove_cards(sweep.folder / "workers", before)


def _states(sweep: Manifest, queue: Queue) -> dict[str, str]:
    """The states of the trials that are to be run."""
    states = {trial.id: queue.situation(trial.id, trial.outputs).state for trial in sweep.trials}
    known = states if sweep.deciding is None else sweep.deciding.states(states)
    return {trial_id: state for trial_id, state in known.items() if state != NOT_NEEDED}


def _held_back(states: Mapping[str, str]) -> str:
    held = sum(state == HELD_BACK for state in states.values())
    return f", and {held} wait for them" if held else ""


def _account_for(states: Mapping[str, str], queue: Queue, stopped: bool) -> None:
    """Says what did not end in a result, and why; then the exit status is not zero."""
    failed = [trial_id for trial_id, state in states.items() if state == "failed"]
    for trial_id in failed[:20]:
        print(f"failed  {trial_id}: {queue.why_failed(trial_id)}", file=sys.stderr)
    if failed:
        waiting = _held_back(states)
        raise TrialsFailed(
            f"{len(failed)} of {len(states)} trials failed{waiting}; the reasons are in their failure.json"
        )
    unfinished = [trial_id for trial_id, state in states.items() if state not in ("done", HELD_BACK)]
    if unfinished:
        saved = sum(queue.store.is_saved(trial_id) for trial_id in unfinished)
        goes_on = f"{saved} of {len(unfinished)} unfinished trials have a checkpoint, and the same command goes on"
        elsewhere = f"{len(unfinished)} trials are unfinished or run elsewhere; the same command goes on"
        raise TrialError(f"stopped; {goes_on}" if stopped else elsewhere)
