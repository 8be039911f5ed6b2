"""Every preset asks for the trials that its paper describes (facts.py), and compares them as the paper does."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bertxfer.config.composer import Composer
from bertxfer.config.schema import conf_dir
from bertxfer.report import subject
from bertxfer.report.blocks import figures_of
from bertxfer.report.figure import Figure
from bertxfer.report.frame import frame, select
from bertxfer.sweeps.wanted import sweep_of
from bertxfer.trials.regions import PARTS
from bertxfer.trials.science import DataScience, Science, StageScience
from bertxfer.trials.trial import Trial
from tests.presets.facts import ALL, FACTS, FULL, LAYERS, Fact, Facts, Init, Part, Place

# Presets that are no experiment of a paper: our own, or one that its authors only wished for.
OURS = ("mini", "cs224n2020/wanted*")
# Works whose texts were not at hand, as docs/papers.md says.
BEYOND = tuple(
    f"{work}/*" for work in "dodge2020 wu2022 lee2019 zhang2022 merchant2020 hao2019 zhang2021 mosbach2021".split()
)

Key = tuple[str, Any]  # a task and a size; None: any size


@dataclass(frozen=True)
class Found:
    """What a preset composes to."""

    trials: list[Trial]  # each once
    figures: list[Figure]  # as the report draws them
    results: pd.DataFrame  # a row for each place of its grids


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing trials needs no data: what the hub has is known by its name."""
    monkeypatch.delenv("BERTXFER_DATA", raising=False)


@pytest.fixture
def find(composer: Composer, tmp_path: Path) -> Callable[[Facts], Found]:
    def found(facts: Facts) -> Found:
        words = [f"experiment={facts.preset}", *([f"reading={facts.reading}"] if facts.reading else [])]
        sweep = sweep_of(words, composer)
        # A reading may say how every figure is drawn, so what counts is what the report makes of all that.
        drawn = subject.of_words([*words, "scale=tiny"], tmp_path)
        figures = figures_of(drawn.block, drawn.typed)
        return Found(sweep.trials, figures, frame(sweep.points, drawn.store))

    return found


@pytest.mark.parametrize("facts", [pytest.param(facts, id=facts.name) for facts in FACTS])
def test_a_preset_is_what_its_paper_says(facts: Facts, find: Callable[[Facts], Found]) -> None:
    _assert_agrees(facts, find(facts))


def test_every_preset_of_a_paper_has_facts() -> None:
    folder = conf_dir() / "experiment"
    names = {path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml")}
    papers = {
        name
        for name in names
        if not any(fnmatch(name, ours) for ours in (*OURS, *BEYOND))
        and not any(word.startswith("_") for word in name.split("/"))
    }
    assert {facts.preset for facts in FACTS} == papers


def test_a_wrong_number_of_epochs_is_noticed(find: Callable[[Facts], Found]) -> None:
    facts = _named("cs224n2020/fig3")
    wrong = replace(facts, parts=tuple(replace(part, epochs=Fact(9, "000 sec. 99")) for part in facts.parts))
    with pytest.raises(AssertionError, match=r"rte, n=all, epochs: 000 sec\. 99 says 9, the preset has 3"):
        _assert_agrees(wrong, find(facts))


def test_a_missing_and_an_extra_place_are_noticed(find: Callable[[Facts], Found]) -> None:
    facts = _named("cs224n2020/fig5")
    (part,) = facts.parts
    known = sorted(part.places.value, key=str)
    never_run = Place(frozenset({"layer 3 head 5"}))
    other = replace(facts, parts=(replace(part, places=Fact({*known[1:], never_run}, "000 sec. 99")),))
    with pytest.raises(AssertionError) as caught:
        _assert_agrees(other, find(facts))
    said = str(caught.value)
    assert f"000 sec. 99 has a place that the preset has not: {never_run}" in said
    assert f"the preset has a place that 000 sec. 99 has not: {known[0]}" in said


def _named(name: str) -> Facts:
    (facts,) = (facts for facts in FACTS if facts.name == name)
    return facts


def _assert_agrees(facts: Facts, found: Found) -> None:
    differences = [*_places(facts, found), *_settings(facts, found), *_repetitions(facts, found)]
    differences += _drawing(facts, found)
    lines = dict.fromkeys([f"{facts.name} is not what its paper says:", *differences])
    assert not differences, "\n".join(lines)


# Which trials there are.


def _places(facts: Facts, found: Found) -> Iterator[str]:
    """Every task and size, every place there, and how often it is tried: none missing and none extra."""
    there = _by_place(facts, found)
    for key in sorted({key for key, _ in there} - set(_expected(facts)), key=str):
        yield f"the preset has {_words(key)}, which the paper has not"
    for key, parts in _expected(facts).items():
        stated = {place: part for part in parts for place in part.places.value}
        unclear = set(facts.unclear.value) if facts.unclear else set()
        present = {place for one, place in there if one == key}
        if not present:
            sources = sorted({fact.where for part in parts for fact in (part.size, part.places) if fact})
            yield f"the preset has nothing of {_words(key)}, which stands in {', '.join(sources)}"
            continue
        where = ", ".join(sorted({part.places.where for part in parts}))
        for place in sorted(present - set(stated) - unclear, key=str):
            yield f"{_words(key)}: the preset has a place that {where} has not: {place}"
        for place in sorted(set(stated) - present, key=str):
            yield f"{_words(key)}: {stated[place].places.where} has a place that the preset has not: {place}"
        for part in parts:
            counts = [len(there[key, place]) for place in part.places.value if place in present]
            yield from _differing(f"{_words(key)}, trials of a place", part.trials, counts)


def _repetitions(facts: Facts, found: Found) -> Iterator[str]:
    """What the trials of a place have of their own: a sample of the data, an order of the layers."""
    there = _by_place(facts, found)
    if facts.samples is not None:
        for key, parts in _expected(facts).items():
            for part in parts if isinstance(key[1], int) else ():
                seeds = {
                    tuple(sorted(trial.science.seeds["subsample"] for trial in there.get((key, place), [])))
                    for place in part.places.value
                }
                if len(seeds) > 1 or any(len(set(one)) < len(one) for one in seeds):
                    yield f"{_words(key)}: not the i-th sample in every i-th trial ({facts.samples.where}): {seeds}"
    if facts.orders is not None:
        runs: dict[str, dict[str, tuple[int, ...]]] = {}
        for trial in found.trials:
            if trial.science.treatment.order:
                of_task = runs.setdefault(trial.science.task.name, {})
                of_task[str(sorted(trial.science.seeds.items()))] = trial.science.treatment.order
        if any(one != next(iter(runs.values())) for one in runs.values()):
            yield f"the i-th runs of the tasks have not the same order of layers ({facts.orders.where}): {runs}"
        if any(len(set(one.values())) < len(one) for one in runs.values()):
            yield f"an order of the layers occurs twice ({facts.orders.where}): {runs}"


def _expected(facts: Facts) -> dict[Key, list[Part]]:
    expected: dict[Key, list[Part]] = {}
    for part in facts.parts:
        for task in part.tasks:
            expected.setdefault((task, _as_size(part.size.value if part.size else None)), []).append(part)
    return expected


def _by_place(facts: Facts, found: Found) -> dict[tuple[Key, Place], list[Trial]]:
    """The distinct trials, by what the paper would call them."""
    by_place: dict[tuple[Key, Place], list[Trial]] = {}
    for trial in found.trials:
        by_place.setdefault((_key(facts, trial.science), _place(facts, trial.science)), []).append(trial)
    return by_place


def _key(facts: Facts, science: Science) -> Key:
    anywhere = (science.task.name, None)
    return anywhere if anywhere in _expected(facts) else (science.task.name, _size(science.data))


def _size(data: DataScience) -> Any:
    return _as_size(data.n if data.n is not None else data.fraction if data.fraction is not None else ALL)


def _as_size(size: Any) -> Any:
    """A share of 100% is the whole training set. A share is no number of rows."""
    return ALL if isinstance(size, float) and size == 1 else size


def _place(facts: Facts, science: Science) -> Place:
    """What a trial does to BERT, in the words of facts.py."""
    treatment, chain = science.treatment, science.chain
    parts_of = {f"layer {layer}": {f"layer {layer} {part}" for part in PARTS} for layer in LAYERS}
    whole = {layer for layer, parts in parts_of.items() if parts <= set(treatment.redrawn)}
    redrawn = whole | set(treatment.redrawn).difference(*(parts_of[layer] for layer in whole))
    init = _init(facts)
    usually_reset = init is not None and init.norms == "reset"
    stages = tuple(stage.task.name for stage in chain.stages) if chain else ()
    return Place(
        redrawn=frozenset(redrawn),
        lr_factor=treatment.lr_factor,
        norms_preserved=usually_reset
        and treatment.initializer is not None
        and treatment.initializer.layernorm == "keep",
        shuffled=treatment.order not in ((), tuple(LAYERS)),
        probed=science.probe.layer if science.probe else None,
        after=stages if chain is None or chain.mode == "chain" else (*stages, chain.mode),
        trained=science.training.epochs > 0,
    )


def _init(facts: Facts) -> Init | None:
    return facts.settings.init.value if facts.settings.init else None


# How they are trained.


def _settings(facts: Facts, found: Found) -> Iterator[str]:
    stated = facts.settings
    sciences = [trial.science for trial in found.trials]
    trained = [science for science in sciences if science.training.epochs > 0]
    stages = [stage for science in trained for stage in _stages(science)]
    tuned = [science for science in trained if science.probe is None and science.model.pooling != "none"]
    probes = [science.probe for science in sciences if science.probe is not None]
    if stated.model is not None:
        for name in sorted({science.model.name for science in sciences} - set(stated.model.value)):
            yield f"model: {stated.model.where} says {_text(stated.model.value)}, the preset has {name}"
    if stated.optimizer is not None:
        for name, value in stated.optimizer.value.items():
            found_values = [getattr(stage.optimizer, name) for stage in stages]
            yield from _differing(f"optimizer, {name}", Fact(value, stated.optimizer.where), found_values)
    yield from _differing("learning rate", stated.lr, (stage.optimizer.lr for stage in stages))
    yield from _differing("schedule", stated.schedule, (stage.training.schedule for stage in stages))
    yield from _differing("warm-up", stated.warmup, (stage.training.warmup for stage in stages))
    yield from _differing("gradient clipping", stated.clip, (stage.training.clip for stage in stages))
    yield from _differing("epoch that counts", stated.report, (stage.training.report for stage in stages))
    yield from _differing("max length", stated.max_length, (stage.data.max_length for stage in stages))
    yield from _differing("head", stated.head, (science.model.pooling for science in tuned))
    yield from _differing("what probes read", stated.features, (probe.features for probe in probes))
    if stated.init is not None:
        yield from _initializing(facts, sciences)
    yield from _of_parts(facts, trained)


def _of_parts(facts: Facts, trained: list[Science]) -> Iterator[str]:
    """What one part of a preset may have otherwise than another."""
    placed = [(_key(facts, science), _place(facts, science), science) for science in trained]
    for key, part in ((key, part) for key, parts in _expected(facts).items() for part in parts):
        sciences = [science for one, place, science in placed if one == key and place in part.places.value]
        stages = [stage for science in sciences for stage in _stages(science)]
        batches = (stage.training.batch_size * stage.training.accumulate for stage in stages)
        yield from _differing(f"{_words(key)}, batch size", part.batch or facts.settings.batch, batches)
        yield from _differing(f"{_words(key)}, epochs", part.epochs, (stage.training.epochs for stage in stages))
        if part.epochs is not None:
            stops = (stage.training.stop is not None for stage in stages)
            yield from _differing(f"{_words(key)}, early stopping", Fact(part.early_stopping, part.epochs.where), stops)
        if part.size is not None:
            size = Fact(_as_size(part.size.value), part.size.where)
            yield from _differing(f"{_words(key)}, size in every stage", size, (_size(stage.data) for stage in stages))


def _stages(science: Science) -> list[StageScience]:
    """All that is trained in a trial: on the tasks in front, and on its own."""
    last = StageScience(science.task, science.data, science.optimizer, science.training, science.model.pooling)
    return [*(science.chain.stages if science.chain else ()), last]


def _initializing(facts: Facts, sciences: list[Science]) -> Iterator[str]:
    fact, init = facts.settings.init, _init(facts)
    assert fact is not None and init is not None
    redrawing = [science for science in sciences if science.treatment.initializer is not None]
    initializers = [science.treatment.initializer for science in redrawing if science.treatment.initializer is not None]
    yield from _differing(
        "distribution of redrawn weights",
        Fact(init.distribution, fact.where),
        (one.distribution for one in initializers),
    )
    if init.spreads is not None:
        for spread in sorted({(one.sd or math.nan, one.cut or math.nan) for one in initializers}):
            if not any(_same(sd, spread[0]) and _same(cut, spread[1]) for sd, cut in init.spreads):
                yield f"sd and cut of redrawn weights: {fact.where} says {_text(init.spreads)}, the preset has {spread}"
    if init.biases is not None:
        yield from _differing("biases", Fact(init.biases, fact.where), (one.biases for one in initializers))
    if init.norms is not None:
        usual = [science for science in redrawing if not _place(facts, science).norms_preserved]
        found_norms = (one.layernorm for science in usual if (one := science.treatment.initializer) is not None)
        yield from _differing("LayerNorm", Fact(init.norms, fact.where), found_norms)


# How they are drawn and compared.


def _drawing(facts: Facts, found: Found) -> Iterator[str]:
    yield from _differing("interval", facts.interval, (figure.interval for figure in found.figures))
    selected = _Selected(facts, found)
    if facts.baseline is not None:
        for figure in found.figures:
            baselines = [selected(where) for where in figure.baseline.values()]
            places = set().union(*baselines) if baselines else {FULL}  # what a report takes where a figure names none
            yield from _differing_places("baseline", facts.baseline, places)
    if facts.levels is not None:
        for figure in found.figures:
            levels = [selected(where) for where in figure.levels.values()]
            for places in levels:
                if len(places) != 1:
                    yield f"a level averages {_text(places)} ({facts.levels.where})"
            yield from _differing_places("levels", facts.levels, set().union(*levels))
    if facts.dashed is not None:
        dashed = {figure.dashed.get("experiment") for figure in found.figures}
        yield from _differing("what is drawn over the same x", facts.dashed, dashed)
    if facts.metrics is not None:
        yield from _measured(facts.metrics, found)
    if facts.outputs is not None:
        for trial in found.trials:
            if not facts.outputs.value <= set(trial.outputs):
                yield f"{facts.outputs.where} looks at {_text(facts.outputs.value)}, a trial leaves {trial.outputs}"
                break
    if facts.measure is not None:
        yield from _looked_at(facts.measure, found)


class _Selected:
    """The places of the trials that a figure's block selects."""

    def __init__(self, facts: Facts, found: Found) -> None:
        self.places = {trial.id: _place(facts, trial.science) for trial in found.trials}
        self.results = found.results

    def __call__(self, where: Any) -> set[Place]:
        return {self.places[trial] for trial in select(self.results, where)["id"]}


def _measured(fact: Fact, found: Found) -> Iterator[str]:
    """Of each task the metrics that the paper reports are drawn, perhaps among others."""
    for task, metrics in fact.value.items():
        headlines = {trial.headline for trial in found.trials if trial.science.task.name == task}
        ys = {y for figure in found.figures for y in figure.y}
        drawn = (headlines if "score" in ys else set()) | {y.removeprefix("metrics.") for y in ys - {"score"}}
        if headlines and not metrics <= drawn:
            yield f"metrics of {task}: {fact.where} says {_text(metrics)}, the preset draws {_text(drawn)}"


def _looked_at(fact: Fact, found: Found) -> Iterator[str]:
    """What of the weights or of attention is drawn; where a block says nothing, the kind's own default holds."""
    for figure in found.figures:
        if isinstance(fact.value, dict):
            for name, value in (figure.measure or {}).items():
                yield from _differing(f"measure, {name}", Fact(fact.value[name], fact.where), [value])
        else:
            drawn = figure.measure.get("measure") if isinstance(figure.measure, dict) else figure.measure
            measures = {drawn or "similarity"} if drawn is None or isinstance(drawn, str) else set(drawn)
            yield from _differing("measure", fact, [measures])


# Comparing, and the words for it.


def _differing(what: str, fact: Fact | None, found: Iterable[Any]) -> Iterator[str]:
    """A line where some value is not the paper's; nothing where the paper says nothing."""
    if fact is None:
        return
    others = {_text(value) for value in found if not _same(fact.value, value)}
    if others:
        yield f"{what}: {fact.where} says {_text(fact.value)}, the preset has {' and '.join(sorted(others))}"


def _differing_places(what: str, fact: Fact, places: set[Place]) -> Iterator[str]:
    if places != set(fact.value):
        yield f"{what}: {fact.where} says {_text(fact.value)}, the preset has {_text(places)}"


def _same(stated: Any, found: Any) -> bool:
    if isinstance(stated, float) and isinstance(found, float):
        return math.isclose(stated, found)
    return bool(stated == found)


def _words(key: Key) -> str:
    task, size = key
    return f"{task}, {'any size' if size is None else f'{size:.1%}' if isinstance(size, float) else f'n={size}'}"


def _text(value: Any) -> str:
    if isinstance(value, (set, frozenset)):
        return " | ".join(sorted(map(str, value))) or "nothing"
    return str(value)
