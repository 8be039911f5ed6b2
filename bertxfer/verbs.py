"""The verbs of the command line: each small, each about sweeps that are on disk or that might be."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertxfer.config.schema import output_dir

if TYPE_CHECKING:
    from bertxfer.config.composer import Composer
    from bertxfer.report.subject import Subject
    from bertxfer.sweeps.pruning import Meant

Run = Callable[[argparse.ArgumentParser, Sequence[str]], int]


@dataclass(frozen=True)
class Verb:
    """A bare first word of the command line. --help, completion and the README's table are made of these."""

    name: str
    arguments: str
    promise: str
    _run: Run

    def __call__(self, words: Sequence[str]) -> int:
        promise = f"{self.promise[0].upper()}{self.promise[1:]}."
        parser = argparse.ArgumentParser(prog=f"bertxfer {self.name}", description=promise)
        folder = output_dir()
        parser.add_argument("--output-dir", type=Path, default=Path(folder), help=f"the results folder ({folder})")
        return self._run(parser, words)


VERBS: dict[str, Verb] = {}


def markdown() -> str:
    """The table of the README."""
    rows = [f"| `{verb.name} {_in_cell(verb.arguments)}` | {verb.promise} |" for verb in VERBS.values()]
    return "\n".join(["| verb | what it does |", "|---|---|", *rows]) + "\n"


def _in_cell(text: str) -> str:
    return text.replace("|", r"\|")


def verb(arguments: str, promise: str) -> Callable[[Run], Run]:
    """Registers a function as the verb of its name."""

    def register(function: Run) -> Run:
        VERBS[function.__name__] = Verb(function.__name__, arguments, promise, function)
        return function

    return register


@verb("[sweep | trial]", "shows every sweep, or one sweep trial by trial, or everything about one trial")
def status(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.sweeps.status import show

    parser.add_argument("name", nargs="?", help="a sweep (the beginning of its name is enough) or a trial's id")
    args = parser.parse_args(words)
    show(args.output_dir, args.name)
    return 0


@verb("sweep", "joins a sweep and takes its unfinished trials until none is left")
def worker(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.sweeps import manifest
    from bertxfer.sweeps.deciding import HELD_BACK
    from bertxfer.sweeps.launch import cancelled, latest, new_launch, rules_of
    from bertxfer.sweeps.post import Post
    from bertxfer.sweeps.queue import Queue
    from bertxfer.sweeps.status import Watch
    from bertxfer.sweeps.worker import supervise

    parser.add_argument("sweep")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (1)")
    parser.add_argument("--trials", type=int, default=None, help="stop after this many trials")
    args = parser.parse_args(words)
    sweep = manifest.read(manifest.find(args.output_dir, args.sweep))
    launch = latest(sweep.folder)
    if launch is None or cancelled(sweep.folder, launch).exists():
        launch = new_launch(sweep, "joined")
    rules = rules_of(sweep.folder, launch)
    ended = supervise(Post(str(sweep.folder), launch, rules, args.threads, limit=args.trials))
    if ended:
        return ended
    watch = Watch(sweep, Queue(sweep.store, launch, rules))
    counts = watch.look()
    print(watch.words())
    return 1 if counts["failed"] or counts[HELD_BACK] else 0


@verb("sweep", "ends the workers of a sweep, and only those; their trials are given back")
def cancel(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.sweeps import manifest
    from bertxfer.sweeps.launch import jobs_of, mark_cancelled
    from bertxfer.sweeps.launchers.local import Local, end_workers
    from bertxfer.sweeps.launchers.slurm import cancel_jobs

    parser.add_argument("sweep")
    args = parser.parse_args(words)
    sweep = manifest.read(manifest.find(args.output_dir, args.sweep))
    beginning = len(Local().living(sweep, jobs_of(sweep, "local", also_cancelled=False)))
    mark_cancelled(sweep)
    jobs, here = cancel_jobs(sweep), end_workers(sweep)
    ended = len(jobs) + max(beginning, len(here))  # one that has no card yet sees the mark
    print(f"{sweep.name}: {ended} workers told to stop{': ' + ', '.join([*jobs, *here]) if jobs or here else ''}")
    return 0


@verb(
    "[sweep [sweep] | paper | overrides]",
    "writes figures, tables and one HTML page of a sweep, of two side by side, or of a paper",
)
def report(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.report import reporting

    parser.add_argument(
        "words",
        nargs="*",
        metavar="sweep | paper | key=value",
        help="a sweep (the last one) or two, a paper as tamkin2020, or the overrides of a run; with figure.KEY=VALUE",
    )
    parser.add_argument("--all", action="store_true", help="a report of every sweep that is stored, and an index")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument(
        "--watch",
        nargs="?",
        type=reporting.seconds,
        const=30,
        metavar="SECONDS",
        help="make the page again while trials are running, every so many seconds (30)",
    )
    parser.add_argument(
        "--width",
        type=reporting.inches,
        metavar="3.3in",
        help="of the figures' files: a journal's column (in, cm, mm)",
    )
    parser.add_argument("-m", "--multirun", action="store_true", help="as for a run; changes nothing here")
    parser.add_argument("-cd", "--config-dir", action="append", default=[], help="one more folder of configs")
    default = parser.get_default("output_dir")
    parser.set_defaults(output_dir=None)
    args = parser.parse_intermixed_args(words)
    asked = reporting.Asked(
        args.words, args.output_dir, default.absolute(), args.config_dir, args.all, args.watch, args.width
    )
    return reporting.run(asked, args.open)


@verb(
    "[sweep | experiment | overrides ...]", "says what is decided on the claims of experiments, from all that is stored"
)
def claims(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    import json

    from rich.console import Console

    from bertxfer.report import scorecard

    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument(
        "--exit-code", action="store_true", help="end with 1 if a claim does not hold, with 3 if undecided"
    )
    subjects, args = _subjects(parser, words)
    cards = [card for card in map(scorecard.of, subjects) if card.entries or card.left_out or not card.is_known]
    if args.json:
        print(json.dumps([entry for card in cards for entry in card.as_list()], indent=2))
    else:
        scorecard.show(cards, Console(markup=False, emoji=False))
    return scorecard.status(cards) if args.exit_code else 0


@verb("file.tex [sweep | experiment | overrides ...]", "writes the numbers of claims and places as LaTeX macros")
def macros(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.report import macros as writing

    parser.add_argument("file", type=Path, help="what LaTeX will input")
    subjects, args = _subjects(parser, words)
    count = writing.write(subjects, args.file)
    print(f"{args.file}: {count:,} numbers; `python -m bertxfer check {args.file}` says whether they still hold")
    return 0


@verb("file.tex", "says whether every number that `macros` wrote still follows from the stored trials")
def check(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.report import macros as writing
    from bertxfer.report import subject

    parser.add_argument("file", type=Path)
    parser.add_argument("-cd", "--config-dir", action="append", default=[], help="one more folder of configs")
    args = parser.parse_args(words)
    root = args.output_dir.absolute()
    wrong, count = writing.check(
        args.file, lambda one: subject.again(root, one["sweep"], one["words"], args.config_dir)
    )
    for sentence in wrong:
        print(sentence)
    if wrong:
        print(f"{args.file}: not all of {count:,} numbers follow from the trials in {root}")
    else:
        print(f"{args.file}: all {count:,} numbers follow from the trials in {root}")
    return 1 if wrong else 0


def _subjects(parser: argparse.ArgumentParser, words: Sequence[str]) -> "tuple[list[Subject], argparse.Namespace]":
    """The sweeps that are named, all that are stored, or what the overrides of a run mean."""
    from bertxfer.report import subject

    parser.add_argument(
        "words", nargs="*", metavar="name | key=value", help="sweeps or experiments (all), or the overrides of a run"
    )
    parser.add_argument("-m", "--multirun", action="store_true", help="as for a run; changes nothing here")
    parser.add_argument("-cd", "--config-dir", action="append", default=[], help="one more folder of configs")
    default = parser.get_default("output_dir")
    parser.set_defaults(output_dir=None)
    args = parser.parse_intermixed_args(words)
    if any("=" in word for word in args.words):
        return [subject.of_words(args.words, args.output_dir, args.config_dir)], args
    return subject.stored((args.output_dir or default).absolute(), args.words, args.config_dir), args


@verb("[overrides]", "shows what a run would do, how much is done and what the rest takes, and starts nothing")
def plan(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    import json

    from rich.console import Console

    from bertxfer.review import plan as planning
    from bertxfer.trials.inputs import Inputs

    _hydra_words(parser)
    parser.add_argument("--trials", action="store_true", help="list every trial")
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--stand-ins", action="store_true", help="also plan what needs data or models that are absent")
    parser.add_argument("--all", action="store_true", help="check every experiment instead, one line each")
    parser.set_defaults(output_dir=None)
    args = parser.parse_intermixed_args(words)
    if args.all:
        return _check_all()
    composer, overrides = _composer(args)
    plan = planning.plan(overrides, args.multirun, composer, Inputs(stand_ins=args.stand_ins), args.output_dir)
    if args.json:
        print(json.dumps(planning.as_dict(plan), indent=2))
    else:
        planning.show(plan, Console(markup=False, emoji=False), args.trials)
    return 0


@verb("[overrides]", "brings the models and data of a run to this machine, checks them, and runs nothing")
def fetch(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.review import plan as planning
    from bertxfer.trials.inputs import Inputs

    _hydra_words(parser)
    args = parser.parse_intermixed_args(words)
    composer, overrides = _composer(args)
    inputs = Inputs(fetch=True)
    wanted = planning.asked_for(overrides, args.multirun, composer, inputs)
    for line in inputs.found():
        print(line)
    trials = list({point.trial.id: point.trial for point, _ in wanted}.values())
    inputs.refuse_absent([trial.science for trial in trials])
    what = "the trial has all that it needs" if len(trials) == 1 else f"{len(trials):,} trials have all that they need"
    print(f"{what} on this machine")
    return 0


def _check_all() -> int:
    from bertxfer.config.schema import conf_dir
    from bertxfer.review.listing import Broken, listing

    listed = listing(conf_dir()).experiments
    for name, places in listed.items():
        print(f"{name}: broken: {places}" if isinstance(places, Broken) else f"{name}: {_trials(places)}")
    return 2 if any(isinstance(places, Broken) for places in listed.values()) else 0


def _trials(places: Sequence[Any]) -> str:
    count = len({place.id for place in places})
    return f"{count:,} trial{'s' if count != 1 else ''}"


@verb("key [key=value ...]", "says which file, defaults list or override gave a key its value")
def explain(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.review import explain as explaining

    parser.add_argument("key", help="as optimizer.lr, or a group as optimizer for all its keys")
    _hydra_words(parser)
    args = parser.parse_intermixed_args(words)
    composer, overrides = _composer(args)
    print("\n".join(explaining.explain(args.key, overrides, composer)))
    return 0


def _hydra_words(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of Hydra's that a run takes."""
    parser.add_argument("words", nargs="*", metavar="key=value", help="the overrides of a run")
    parser.add_argument("-m", "--multirun", action="store_true", help="as for a run: a sweep")
    parser.add_argument("-cd", "--config-dir", action="append", default=[], help="one more folder of configs")
    parser.add_argument("-cn", "--config-name", default="config")


def _composer(args: argparse.Namespace) -> tuple["Composer", list[str]]:
    """A composer as a run with these words would have it, and the overrides that are not Hydra's own."""
    from bertxfer.config import command_line
    from bertxfer.config.composer import Composer
    from bertxfer.config.schema import conf_dir
    from bertxfer.errors import ConfigError
    from bertxfer.trials import schemes  # noqa: F401  their axes are part of the schema

    for folder in args.config_dir:
        if not Path(folder).is_dir():
            raise ConfigError("--config-dir", f"there is no folder {folder}")
    ours, hydras = command_line.ours_and_hydras(command_line.in_order(args.words))
    return Composer(conf_dir(), hydras, args.config_dir, args.config_name), ours


@verb("[revision] [experiment ...]", "says which trials the working tree adds, removes and changes since a revision")
def diff(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.review import rendering
    from bertxfer.review.diff import review
    from bertxfer.store.store import Store

    parser.add_argument("revision", nargs="?", help="a branch, tag or commit (where this branch left the main branch)")
    parser.add_argument("experiments", nargs="*", help="only these, as tamkin2020/fig2 (all)")
    parser.add_argument("--format", choices=("text", "markdown", "json"), default="text")
    parser.add_argument("--exit-code", action="store_true", help="end with 1 if trials change, with 2 if any is broken")
    args = parser.parse_intermixed_args(words)
    reviewed = review(args.revision, args.experiments, Store(args.output_dir.absolute()))
    render = {"text": rendering.text, "markdown": rendering.markdown, "json": rendering.as_json}[args.format]
    print(render(reviewed))
    return (2 if reviewed.broken_now else 1 if reviewed.changes else 0) if args.exit_code else 0


@verb("[key=value ...]", "lists the papers' experiments: their trials, how many are done, and what the rest costs")
def experiments(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from rich.console import Console
    from rich.table import Table

    from bertxfer.review.experiments import presets

    _hydra_words(parser)
    parser.set_defaults(output_dir=None)
    args = parser.parse_intermixed_args(words)
    composer, overrides = _composer(args)
    table = Table("experiment", "trials", "done", "cost of the rest, one worker", "what")
    for preset in presets(overrides, composer, args.output_dir):
        counts = ("?", "?", "?") if preset.problem else (str(preset.trials), str(preset.done), preset.cost)
        table.add_row(preset.name, *counts, preset.problem or preset.description)
    Console(markup=False, emoji=False).print(table)
    return 0


@verb("file", "writes every stored trial as a row of one flat file, for pandas, duckdb or a spreadsheet")
def export(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.report import results
    from bertxfer.store.store import Store

    parser.add_argument("file", type=Path, help="NAME.parquet or NAME.csv")
    args = parser.parse_args(words)
    table, refused = results.export(args.file, Store(args.output_dir))
    for sentence in refused:
        print(f"left out  {sentence}", file=sys.stderr)
    left = f", {len(refused)} left out" if refused else ""
    print(f"{args.file}: {len(table)} trials, {int((table['state'] == 'done').sum())} of them done{left}")
    return 1 if refused else 0


@verb("tracker [sweep]", "logs finished trials that were not logged when they ended")
def track(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.store.store import Store
    from bertxfer.sweeps import manifest, trackers, tracking

    parser.add_argument("tracker", help=f"one of {', '.join(trackers.TRACKERS)}")
    parser.add_argument("sweep", nargs="?", help="only the trials of this sweep (all that are stored)")
    args = parser.parse_args(words)
    trackers.check([args.tracker], "tracker")
    store = Store(args.output_dir.absolute())
    if args.sweep is None:
        trial_ids = sorted(store.finished())
    else:
        trial_ids = [trial.id for trial in manifest.outline(manifest.find(args.output_dir, args.sweep)).trials]
    done = [trial_id for trial_id in trial_ids if store.complete(trial_id)]
    failed = sum(not tracking.track(trial_id, store, [args.tracker], print) for trial_id in done)
    print(f"{args.tracker}: {len(done) - failed} of {len(done)} finished trials are logged")
    return 1 if failed else 0


@verb("[sweep | trial]", "runs stored trials again in a scratch folder and says whether the numbers agree")
def verify(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.store.store import Store
    from bertxfer.sweeps import verify as verifying

    parser.add_argument("name", nargs="?", help="a trial's id, or a sweep (all that is stored)")
    parser.add_argument("--sample", type=int, default=5, help="how many trials to draw at random (5); 0: all")
    parser.add_argument("--seed", type=int, default=0, help="of the random draw (0)")
    parser.add_argument("--tolerance", type=float, default=0.01, help="how far a metric may be off (0.01)")
    args = parser.parse_args(words)
    store = Store(args.output_dir.absolute())
    ids = verifying.sample(verifying.done(store, args.name), args.sample, args.seed)
    verdicts = []
    for trial_id in ids:
        verdicts.append(verifying.verify(trial_id, store, args.tolerance))
        print(verdicts[-1], flush=True)
    print(verifying.counted(verdicts))
    return 0 if all(verdict.agrees for verdict in verdicts) else 1


@verb("trial trial", "evaluates the models on the straight line between two finished trials, and says the barrier")
def path(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.errors import BertxferError
    from bertxfer.store.store import Store
    from bertxfer.sweeps import paths

    parser.add_argument("first", help="the id of a trial that was run with keep=model")
    parser.add_argument("last", help="that of another one, of the same model and task")
    parser.add_argument("--steps", type=int, default=10, help="into which the line is divided (10)")
    args = parser.parse_args(words)
    if args.steps < 2:
        raise BertxferError(f"--steps {args.steps} leaves nothing between the ends; give at least 2")
    print(paths.cross((args.first, args.last), Store(args.output_dir.absolute()), args.steps))
    return 0


@verb("other", "takes the finished trials of another results folder or of a packed file, each checked")
def merge(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.store.store import Store
    from bertxfer.sweeps import merging

    parser.add_argument("other", type=Path, help="another results folder, or a file that `pack` wrote")
    parser.add_argument("--verify", type=int, default=0, help="how many new trials to run again first (0)")
    parser.add_argument("--seed", type=int, default=0, help="of the random draw of these (0)")
    parser.add_argument("--tolerance", type=float, default=0.01, help="how far their metrics may be off (0.01)")
    args = parser.parse_args(words)
    check = merging.Check(args.verify, args.seed, args.tolerance)
    return 0 if merging.merge(args.other, Store(args.output_dir.absolute()), check, _say_now) else 1


@verb("sweep file", "writes the finished trials of a sweep into one file, without paths, users and hosts")
def pack(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.sweeps import merging

    parser.add_argument("sweep", help="a sweep (the beginning of its name is enough)")
    parser.add_argument("file", type=Path, help="NAME.tar")
    args = parser.parse_args(words)
    return 0 if merging.pack(args.sweep, args.file, args.output_dir, _say_now) else 1


@verb("[kind ...]", "lists what the results folder could do without, and how large it is; deletes it if told to")
def prune(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    from bertxfer.errors import BertxferError
    from bertxfer.store.prune import KINDS
    from bertxfer.store.store import Store
    from bertxfer.sweeps import pruning

    parser.add_argument("kinds", nargs="*", metavar="kind", help=f"of {', '.join(KINDS)} (all)")
    parser.add_argument("--older-than", type=float, default=30, metavar="DAYS", help="for sweeps (30)")
    parser.add_argument("--delete", action="store_true", help="delete what is listed of the kinds that are named")
    args = parser.parse_intermixed_args(words)
    if unknown := [kind for kind in args.kinds if kind not in KINDS]:
        raise BertxferError(f"{unknown[0]!r} is not a kind of what can go; there are {', '.join(KINDS)}")
    if args.delete and not args.kinds:
        raise BertxferError(f"--delete needs to be told what: name one or more of {', '.join(KINDS)}")
    if not args.output_dir.is_dir():
        raise BertxferError(f"there is no results folder {args.output_dir}")
    store = Store(args.output_dir.absolute())
    found = pruning.look(store, args.kinds or list(KINDS), args.older_than, _meant)
    for kind, items in found.items.items():
        size = sum(item.size for item in items)
        print(f"{kind:12} {len(items):7,} {size / 1e6:12,.1f} MB  {KINDS[kind]}")
        for item in items if args.kinds else ():
            print(f"{'':12} {'':7} {item.size / 1e6:12,.1f} MB  {item.path.relative_to(store.root)}")
    for note in found.notes:
        print(note)
    if args.delete:
        pruning.delete(store, found)
        print("deleted")
    elif any(found.items.values()):
        named = " ".join(kind for kind, items in found.items.items() if items)
        print(f"nothing was deleted; `python -m bertxfer prune {named} --delete` does it")
    return 0


def _meant() -> "Meant":
    """What the experiments of conf/ mean."""
    from bertxfer.config.schema import conf_dir
    from bertxfer.review.listing import Broken, listing
    from bertxfer.sweeps.pruning import Meant

    listed = listing(conf_dir())
    points = [point for places in listed.experiments.values() if not isinstance(places, Broken) for point in places]
    broken = [name for name, places in listed.experiments.items() if isinstance(places, Broken)]
    return Meant([point.science for point in points], listed.ids, listed.absent, broken)


def _say_now(line: str) -> None:
    print(line, flush=True)
