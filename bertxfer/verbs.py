"""The verbs of the command line: each small, each about sweeps that are on disk or that might be."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bertxfer.config.composer import Composer


def _parser(verb: str, promise: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"bertxfer {verb}", description=promise)
    default = os.environ.get("BERTXFER_OUTPUT", "multirun_outputs")
    parser.add_argument("--output-dir", type=Path, default=Path(default), help=f"the results folder ({default})")
    return parser


def status(words: Sequence[str]) -> int:
    from bertxfer.sweeps.status import show

    parser = _parser("status", "Shows every sweep, or one sweep trial by trial, or everything about one trial.")
    parser.add_argument("name", nargs="?", help="a sweep (the beginning of its name is enough) or a trial's id")
    told = parser.parse_args(words)
    show(told.output_dir, told.name)
    return 0


def worker(words: Sequence[str]) -> int:
    from bertxfer.sweeps import manifest
    from bertxfer.sweeps.launchers.base import new_launch
    from bertxfer.sweeps.queue import Queue, Rules
    from bertxfer.sweeps.status import Watch, counts_line, latest_launch
    from bertxfer.sweeps.worker import Post, supervise

    parser = _parser("worker", "Joins a sweep: takes its unfinished trials until none is left.")
    parser.add_argument("sweep")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (1)")
    parser.add_argument("--trials", type=int, default=None, help="end after so many trials")
    parser.add_argument("--stale-seconds", type=float, default=Rules.stale_seconds)
    told = parser.parse_args(words)
    sweep = manifest.read(manifest.find(told.output_dir, told.sweep))
    launch = latest_launch(sweep.folder) or new_launch(sweep, "joined")
    rules = Rules(told.stale_seconds)
    supervise(Post(str(sweep.folder), launch, rules, told.threads, limit=told.trials))
    counts = Watch(sweep, Queue(sweep.store, launch, rules)).look()
    print(counts_line(counts, len(sweep.trials)))
    return 1 if counts["failed"] else 0


def cancel(words: Sequence[str]) -> int:
    from bertxfer.sweeps import manifest
    from bertxfer.sweeps.launchers.base import mark_cancelled
    from bertxfer.sweeps.launchers.local import end_workers
    from bertxfer.sweeps.launchers.slurm import cancel_jobs

    parser = _parser("cancel", "Ends the workers of a sweep, and only those; what they do is given back.")
    parser.add_argument("sweep")
    told = parser.parse_args(words)
    sweep = manifest.read(manifest.find(told.output_dir, told.sweep))
    mark_cancelled(sweep)
    ended = [*cancel_jobs(sweep), *end_workers(sweep)]
    print(f"{sweep.name}: {len(ended)} workers told to end{': ' + ', '.join(ended) if ended else ''}")
    return 0


def report(words: Sequence[str]) -> int:
    from bertxfer.report import page, subject

    parser = _parser("report", "Writes figures, tables and one HTML page of an experiment, or of a sweep by its name.")
    parser.add_argument(
        "words", nargs="*", metavar="sweep | key=value", help="a sweep (the last one), or a run's words"
    )
    parser.add_argument("-m", "--multirun", action="store_true", help="as for a run; changes nothing here")
    parser.add_argument("-cd", "--config-dir", action="append", default=[], help="one more folder of configs")
    default = parser.get_default("output_dir")
    parser.set_defaults(output_dir=None)
    told = parser.parse_intermixed_args(words)
    named = len(told.words) == 1 and "=" not in told.words[0]
    if named or not told.words:
        about = subject.of_sweep((told.output_dir or default).absolute(), *(told.words or [None]))
    else:
        about = subject.of_words(told.words, told.output_dir, told.config_dir)
    print(f"report in {page.write(about)}")
    return 0


def plan(words: Sequence[str]) -> int:
    import json

    from rich.console import Console

    from bertxfer.review import plan as planning
    from bertxfer.trials.inputs import Inputs

    parser = _parser("plan", "Shows what a run with the same words would do, and starts nothing.")
    _hydra_words(parser)
    parser.add_argument("--trials", action="store_true", help="list every trial")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--stand-ins", action="store_true", help="plan also what needs data or models that are absent")
    parser.add_argument("--all", action="store_true", help="check every experiment instead, a line each")
    parser.set_defaults(output_dir=None)
    told = parser.parse_intermixed_args(words)
    if told.all:
        return _check_all()
    composer, overrides = _composer(told)
    found = planning.plan(overrides, told.multirun, composer, Inputs(told.stand_ins), told.output_dir)
    if told.json:
        print(json.dumps(planning.as_dict(found), indent=2))
    else:
        planning.show(found, Console(markup=False, emoji=False), told.trials)
    return 0


def _check_all() -> int:
    from bertxfer.config.schema import conf_dir
    from bertxfer.review.listing import Broken, listing

    found = listing(conf_dir()).experiments
    for name, places in found.items():
        print(f"{name}: broken: {places}" if isinstance(places, Broken) else f"{name}: {_trials(places)}")
    return 2 if any(isinstance(places, Broken) for places in found.values()) else 0


def _trials(places: Sequence[Any]) -> str:
    count = len({place.id for place in places})
    return f"{count:,} trial{'s' if count != 1 else ''}"


def explain(words: Sequence[str]) -> int:
    from bertxfer.review import explain as explaining

    parser = _parser("explain", "Says which file, defaults list or override gave a key its value.")
    parser.add_argument("key", help="as optimizer.lr, or a group as optimizer for all its keys")
    _hydra_words(parser)
    told = parser.parse_intermixed_args(words)
    composer, overrides = _composer(told)
    print("\n".join(explaining.explain(told.key, overrides, composer)))
    return 0


def _hydra_words(parser: argparse.ArgumentParser) -> None:
    """What a run takes of Hydra's."""
    parser.add_argument("words", nargs="*", metavar="key=value", help="the words of a run")
    parser.add_argument("-m", "--multirun", action="store_true", help="as for a run: a sweep")
    parser.add_argument("-cd", "--config-dir", action="append", default=[], help="one more folder of configs")
    parser.add_argument("-cn", "--config-name", default="config")


def _composer(told: argparse.Namespace) -> tuple["Composer", list[str]]:
    """A composer as a run with these words has it, and the overrides that are not Hydra's own."""
    from bertxfer.config import command_line
    from bertxfer.config.composer import Composer
    from bertxfer.config.schema import conf_dir
    from bertxfer.errors import ConfigError

    for folder in told.config_dir:
        if not Path(folder).is_dir():
            raise ConfigError("--config-dir", f"there is no folder {folder}")
    words = command_line.in_order(told.words)
    own = [word for word in words if re.match(r"[+~]*hydra[./]", word)]
    composer = Composer(conf_dir(), own, told.config_dir, told.config_name)
    return composer, [word for word in words if word not in own]


def diff(words: Sequence[str]) -> int:
    from bertxfer.review import rendering
    from bertxfer.review.diff import review
    from bertxfer.store.store import Store

    parser = _parser("diff", "Says which trials the working tree adds, removes and changes, compared with a revision.")
    parser.add_argument("revision", nargs="?", help="a branch, tag or commit (where this branch left the main branch)")
    parser.add_argument("experiments", nargs="*", help="only these, as tamkin2020/fig2 (all)")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    parser.add_argument("--exit-code", action="store_true", help="end with 1 if trials change, with 2 if any is broken")
    told = parser.parse_intermixed_args(words)
    found = review(told.revision, told.experiments, Store(told.output_dir.absolute()))
    render = {"text": rendering.text, "markdown": rendering.markdown, "json": rendering.as_json}[told.format]
    print(render(found))
    return (2 if found.broken_now else 1 if found.changes else 0) if told.exit_code else 0


def experiments(words: Sequence[str]) -> int:
    from rich.console import Console
    from rich.table import Table

    from bertxfer.review.experiments import presets

    parser = _parser("experiments", "Lists the presets: their trials, how many are done, and what the rest costs.")
    _hydra_words(parser)
    parser.set_defaults(output_dir=None)
    told = parser.parse_intermixed_args(words)
    composer, overrides = _composer(told)
    table = Table("experiment", "trials", "done", "cost of the rest, one worker", "what")
    for preset in presets(overrides, composer, told.output_dir):
        counts = ("?", "?", "?") if preset.problem else (str(preset.trials), str(preset.done), preset.cost)
        table.add_row(preset.name, *counts, preset.problem or preset.description)
    Console(markup=False, emoji=False).print(table)
    return 0


def export(words: Sequence[str]) -> int:
    from bertxfer.report import results
    from bertxfer.store.store import Store

    parser = _parser(
        "export", "Writes every stored trial as a row of one flat file, for pandas, duckdb or a spreadsheet."
    )
    parser.add_argument("file", type=Path, help="NAME.parquet or NAME.csv")
    told = parser.parse_args(words)
    table, refused = results.export(told.file, Store(told.output_dir))
    for sentence in refused:
        print(f"left out  {sentence}", file=sys.stderr)
    left = f", {len(refused)} left out" if refused else ""
    print(f"{told.file}: {len(table)} trials, {int((table['state'] == 'done').sum())} of them done{left}")
    return 1 if refused else 0


def track(words: Sequence[str]) -> int:
    from bertxfer.store.store import Store
    from bertxfer.sweeps import manifest, trackers, tracking

    parser = _parser("track", "Logs finished trials that were not logged when they ended.")
    parser.add_argument("tracker", help=f"one of {', '.join(trackers.TRACKERS)}")
    parser.add_argument("sweep", nargs="?", help="only the trials of this sweep (all that are stored)")
    told = parser.parse_args(words)
    trackers.check([told.tracker], "tracker")
    store = Store(told.output_dir.absolute())
    if told.sweep is None:
        asked = sorted(path.name for path in (store.root / "trials").glob("*"))
    else:
        asked = [trial.id for trial in manifest.outline(manifest.find(told.output_dir, told.sweep)).trials]
    done = [trial_id for trial_id in asked if store.complete(trial_id)]
    failed = sum(not tracking.track(trial_id, store, [told.tracker], print) for trial_id in done)
    print(f"{told.tracker}: {len(done) - failed} of {len(done)} finished trials are logged")
    return 1 if failed else 0


def verify(words: Sequence[str]) -> int:
    from bertxfer.store.store import Store
    from bertxfer.sweeps import verify as verifying

    parser = _parser("verify", "Runs stored trials again in a scratch folder and says whether the numbers agree.")
    parser.add_argument("name", nargs="?", help="a trial's id, or a sweep (all that is stored)")
    parser.add_argument("--sample", type=int, default=5, help="so many trials, drawn at random (5); 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the drawing (0)")
    parser.add_argument("--tolerance", type=float, default=0.01, help="how far a metric may be off (0.01)")
    told = parser.parse_args(words)
    store = Store(told.output_dir.absolute())
    ids = verifying.sample(verifying.done(store, told.name), told.sample, told.seed)
    verdicts = []
    for trial_id in ids:
        verdicts.append(verifying.verify(trial_id, store, told.tolerance))
        print(verdicts[-1], flush=True)
    print(verifying.counted(verdicts))
    return 0 if all(verdict.agrees for verdict in verdicts) else 1


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "status": status,
    "worker": worker,
    "cancel": cancel,
    "report": report,
    "plan": plan,
    "diff": diff,
    "explain": explain,
    "experiments": experiments,
    "export": export,
    "track": track,
    "verify": verify,
}
