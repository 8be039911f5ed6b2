"""Getting trials run: what is done is read from the store, what is missing is computed, failures are counted."""

import sys
from collections.abc import Sequence

from bertxfer import summary
from bertxfer.config import Config, Runtime
from bertxfer.errors import TrialError
from bertxfer.identity import Trial, trial_of
from bertxfer.store import Result, Store
from bertxfer.sweep import Sweep


def run_one(config: Config) -> None:
    """A run without -m: one trial, its score and where its results are."""
    trial = trial_of(config)
    store = Store(config.runtime.output_dir)
    obtain(trial, store, config.runtime)
    print(f"results in {store.folder(trial.id)}")


def run_sweep(sweep: Sweep) -> None:
    """All trials of a multirun, then the table of their scores."""
    results = run_inline(sweep.trials, sweep.runtime)
    done = [result for result in results if result is not None]
    summary.print_table(done)
    print(f"{len(done)} of {len(results)} trials done, results in {Store(sweep.runtime.output_dir).root / 'trials'}")
    if len(done) < len(results):
        failed = len(results) - len(done)
        raise TrialError(f"{failed} of {len(results)} trials failed; the reasons are in their failure.json")


def run_inline(trials: Sequence[Trial], runtime: Runtime) -> list[Result | None]:
    """Trials one after another in this process. One that fails is recorded, and the others go on."""
    store = Store(runtime.output_dir)
    results: list[Result | None] = []
    for trial in trials:
        try:
            results.append(obtain(trial, store, runtime))
        except TrialError as error:
            print(f"failed  {error}", file=sys.stderr)
            results.append(None)
    return results


def obtain(trial: Trial, store: Store, runtime: Runtime) -> Result:
    """The trial's result: read if it is stored, computed if not. A failure is recorded with its reason."""
    result = store.result(trial.id)
    if result is not None:
        print(summary.line(result, "stored"))
        return result
    from bertxfer.trial import run  # torch and transformers take seconds to import

    try:
        result = run(trial, store, runtime)
    except Exception as error:
        store.fail(trial, error)
        raise TrialError(f"{trial.id}: {store.failure(trial.id)['reason']}") from error
    print(summary.line(result, "done"))
    return result
