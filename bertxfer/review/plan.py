"""What a command would run: the trials, which of them are done, what they share, how long they will take."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.types import RunMode
from rich.console import Console
from rich.table import Column, Table

from bertxfer.config.composer import Composer
from bertxfer.config.configs import config_with, task_finder
from bertxfer.config.schema import Config
from bertxfer.errors import ConfigError
from bertxfer.review import costs, questions
from bertxfer.review.costs import Bill, Work
from bertxfer.review.questions import Questions
from bertxfer.store.store import Store
from bertxfer.sweeps import launchers, trackers
from bertxfer.sweeps.deciding import NOT_NEEDED
from bertxfer.sweeps.launchers.submitted import Submitted
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.sweeps.sweep import Point
from bertxfer.sweeps.wanted import notes_of, places_of
from bertxfer.trials import chains, model_names, replicates
from bertxfer.trials.inputs import Inputs
from bertxfer.trials.pretrained import DEMONSTRATION
from bertxfer.trials.science import Science
from bertxfer.trials.trial import Trial, trial_of

STATES = ("done", "running", "failed", "missing")


@dataclass(frozen=True)
class Plan:
    points: int
    trials: list[Trial]
    states: dict[str, str]  # of each trial
    store: Store
    workers: int
    cost: Bill  # of what is not done
    shared: list[str]
    absent: list[str] = field(default_factory=list)
    questions: Questions | None = None  # what it sets out to decide
    expected: Bill | None = None  # of what it will take until that is decided, if its rounds are not all run

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.states.values())


def plan(words: Sequence[str], multirun: bool, composer: Composer, inputs: Inputs, output_dir: Path | None) -> Plan:
    """The plan of a run with these overrides. It starts and writes nothing."""
    places = asked_for(words, multirun, composer, inputs)
    wanted = [(point.trial, config) for point, config in places]
    trials = list({trial.id: trial for trial, _ in wanted}.values())
    store = Store((output_dir or Path(wanted[0][1].runtime.output_dir)).absolute())
    asked = questions.of(words, [point for point, _ in places], composer, store) if multirun else None
    states = states_of(trials, store)
    if asked is not None and asked.deciding is not None:
        known = asked.deciding.states(
            {one: "waiting" if s in ("missing", "failed") else s for one, s in states.items()}
        )
        states |= {one: NOT_NEEDED for one, state in known.items() if state == NOT_NEEDED}
    works = {
        trial.id: costs.work_of(trial.science.as_dict(), config.task.train_size)
        for trial, config in wanted
        if states[trial.id] not in ("done", NOT_NEEDED)
    }
    left = list(works.values())
    left += _stages_to_run(wanted, states, store)
    foreseen = asked.deciding.foreseen() if asked is not None and asked.deciding is not None else set()
    return Plan(
        len(wanted),
        trials,
        states,
        store,
        _workers(words, multirun, composer, len(left)),
        _cost(left, store),
        [*shared(trials), *(notes_of(words, composer, inputs) if multirun else [])],
        list(inputs.absent),
        asked,
        _cost([work for one, work in works.items() if one in foreseen], store) if foreseen else None,
    )


def _stages_to_run(wanted: Sequence[tuple[Trial, Config]], states: dict[str, str], store: Store) -> list[Work]:
    """The stages in front of trials that have to be run first and are not among the trials themselves."""
    stages: dict[str, Work] = {}
    for trial, config in wanted:
        if states[trial.id] in ("done", NOT_NEEDED):
            continue
        for prefix, stage in zip(chains.prefixes(trial), reversed(config.intermediate), strict=False):
            if states.get(prefix.id, "done") == "done" and not store.artifacts.has("encoders", prefix.id):
                stages[prefix.id] = costs.work_of(prefix.science.as_dict(), stage.task.train_size)
    return list(stages.values())


def states_of(trials: Iterable[Trial], store: Store) -> dict[str, str]:
    """Done, running, failed in the last attempt, or missing."""
    queue, states = Queue(store, None), {}
    for trial in trials:
        situation = queue.situation(trial.id, trial.outputs)
        ended_badly = situation.latest is not None and situation.latest.outcome in ("failed", "crashed")
        known = situation.state if situation.state in ("done", "running") else None
        states[trial.id] = known or ("failed" if ended_badly or situation.damage else "missing")
    return states


def by_treatment(planned: Plan) -> list[dict[str, Any]]:
    """A row for each model, task, size and treatment, with the states of its trials."""
    rows: dict[tuple[str, ...], Counter[str]] = {}
    groups = replicates.groups([trial.science for trial in planned.trials])
    models = model_names.labels(trial.science for trial in planned.trials)
    for trial, group in zip(planned.trials, groups, strict=True):
        science = trial.science
        row = (models[science.model.version], science.task.name, size_of(science), group.treatment)
        rows.setdefault(row, Counter())[planned.states[trial.id]] += 1
    names = ("model", "task", "n", "treatment")
    return [{**dict(zip(names, row, strict=True)), "states": dict(counts)} for row, counts in rows.items()]


def size_of(science: Science) -> str:
    data = science.data
    return str(data.n) if data.n is not None else f"{data.fraction:g} of all" if data.fraction is not None else "all"


def shared(trials: Iterable[Trial]) -> list[str]:
    """What is made once for several of these trials."""
    tokens: Counter[tuple[Any, ...]] = Counter()
    encoders: Counter[str] = Counter()
    features: Counter[str] = Counter()
    for trial in trials:
        science = trial.science
        if (prefix := chains.prefix_of(trial)) is not None:
            encoders[prefix.id] += 1
        if science.probe is not None:
            features[chains.features_name(trial)] += 1
        if science.task.version is not None:  # the generated rows are tokenized as they are made
            data = (science.task.name, science.task.version, science.data.max_length, science.data.stride)
            tokens[(science.model.version, *data)] += 1
    lines = []
    if tokens:
        sets = f"{len(tokens)} set{'s' if len(tokens) > 1 else ''}"
        lines.append(f"shared: tokenized data, {sets} for {sum(tokens.values()):,} trials")
    if encoders:
        lines.append(f"shared: encoders after {len(encoders)} stages, for {sum(encoders.values()):,} trials")
    if features:
        states = f"the states of {len(features)} encoder{'s' if len(features) > 1 else ''}"
        lines.append(f"shared: features, {states} for {sum(features.values()):,} probes")
    return lines


def asked_for(words: Sequence[str], multirun: bool, composer: Composer, inputs: Inputs) -> list[tuple[Point, Config]]:
    """The places that a run with these words means, each with its trial and config."""
    if multirun:
        return list(places_of(words, composer, inputs))
    config = config_with(composer.compose(words), task_finder(composer.compose))
    if config.grids is not None:
        raise ConfigError("experiment", "is a sweep of many trials; add -m")
    trackers.check(config.runtime.track)
    return [(Point({}, trial_of(config, inputs)), config)]


def _workers(words: Sequence[str], multirun: bool, composer: Composer, left: int) -> int:
    """How many workers the launcher would start for what is left."""
    cfg = composer.whole(words, RunMode.MULTIRUN if multirun else RunMode.RUN)
    launcher = launchers.of_hydra(cfg)
    return launcher.wanted(left) if isinstance(launcher, Submitted) and multirun and left else 1


def _cost(left: Sequence[Work], store: Store) -> Bill:
    return costs.bill(left, costs.timings_in(store, {work.model for work in left}) if left else [])


def show(planned: Plan, console: Console, every_trial: bool = False) -> None:
    """The plan for a terminal."""
    if every_trial:
        table = Table(Column("trial", min_width=16), "model", "task", "n", "epochs", "seed", "treatment", "state")
        for trial in planned.trials:
            science = trial.science
            cells = (trial.id, science.model.name, science.task.name, size_of(science), str(science.training.epochs))
            seed, treatment = str(science.seeds["order"]), chains.describe(science)
            table.add_row(*cells, seed, treatment, planned.states[trial.id])
    else:
        table = _table(planned)
    console.print(table)
    for line in _lines(planned):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _table(planned: Plan) -> Table:
    """One row per treatment, one column per task and size; done/all, or only how many where none is done."""
    rows = by_treatment(planned)
    columns = list(dict.fromkeys((row["task"], row["model"], row["n"]) for row in rows))
    cells = {(row["treatment"], row["task"], row["model"], row["n"]): row["states"] for row in rows}
    models = dict.fromkeys(model for _, model, _ in columns)
    table = Table("treatment", title=f"trials (done/all) of {', '.join(models)}")
    for task, model, n in columns:
        table.add_column(f"{task}\n{f'{model}, ' if len(models) > 1 else ''}n={n}", justify="right", no_wrap=True)
    for treatment in dict.fromkeys(row["treatment"] for row in rows):
        states = [cells.get((treatment, *column), {}) for column in columns]
        counts = [(state.get("done", 0), sum(state.values())) for state in states]
        table.add_row(treatment, *(f"{done}/{total}" if done else str(total or "-") for done, total in counts))
    return table


def as_dict(planned: Plan) -> dict[str, Any]:
    """The plan for programs."""
    return {
        "places": planned.points,
        "distinct": len(planned.trials),
        "counts": {state: planned.counts[state] for state in _states(planned)},
        "by_treatment": by_treatment(planned),
        "workers": planned.workers,
        "cost": {**vars(planned.cost), "seconds": planned.cost.seconds},
        "shared": planned.shared,
        "claims": planned.questions.as_list() if planned.questions else [],
        "expected": None
        if planned.expected is None
        else {**vars(planned.expected), "seconds": planned.expected.seconds},
        "absent": planned.absent,
        "output_dir": str(planned.store.root),
        "trials": [
            {"id": trial.id, "state": planned.states[trial.id], "science": trial.science.as_dict()}
            for trial in planned.trials
        ],
    }


def _lines(planned: Plan) -> list[str]:
    counts = planned.counts
    same = "" if planned.points == len(planned.trials) else f" at {planned.points:,} points of the grids"
    most = "at most " if planned.expected is not None else ""
    told = ", ".join(f"{counts[state]:,} {state}" for state in _states(planned))
    lines = [f"{most}{len(planned.trials):,} distinct trials{same}: {told}"]
    lines += planned.shared
    lines += costs.sentences(planned.cost, planned.workers)
    if planned.questions is not None:
        lines += planned.questions.sentences()
    if planned.expected is not None:
        lines += _expectation(planned, planned.expected)
    lines.append(f"results in {planned.store.root}")
    if any(trial.science.model.name == DEMONSTRATION for trial in planned.trials):
        lines.append(MINI_NOTE)
    if planned.absent:
        lines.append(
            f"not on this machine: {', '.join(planned.absent)}; the ids of their trials are stand-ins, and "
            "whether they are done is not known here (`python -m bertxfer fetch` brings what the hub has)"
        )
    return lines


def _states(planned: Plan) -> tuple[str, ...]:
    return STATES if planned.expected is None else (*STATES, NOT_NEEDED)


def _expectation(planned: Plan, expected: Bill) -> list[str]:
    """What a sweep that ends when its claims are decided is expected to take of what it may take at most."""
    if not planned.cost.trials:
        return []
    time = f", {costs.duration(expected.seconds / planned.workers)}" if expected.seconds else ""
    return [
        f"until decided: about {expected.trials:,} of these {planned.cost.trials:,} trials{time}, if rounds go on as "
        "they are (before there are two: if effects are as large as their spread)"
    ]
