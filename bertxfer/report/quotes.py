"""Numbers that a paper quotes: of claims and of places, each under a name, with the trials that it follows from."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bertxfer.claims import words as said
from bertxfer.claims.progress import Decision
from bertxfer.errors import BertxferError
from bertxfer.report import frame as frames
from bertxfer.report import scorecard, statistics
from bertxfer.report.frame import is_gap
from bertxfer.report.places import sizes
from bertxfer.report.subject import Subject

_STATISTICS = ("mean", "sd", "median", "low", "high", "min", "max")
_SHOWN = re.compile(r"treatment|chain|stage |probe|model|task|data\.(n|fraction)$")  # settings that a name has already


@dataclass(frozen=True)
class Quote:
    """A number as it is printed."""

    name: str
    text: str
    trials: tuple[str, ...]


def quotes_of(subject: Subject, beginning: str) -> list[Quote]:
    """Everything that can be quoted of an experiment, under names that begin alike."""
    results = frames.frame(subject.points, subject.store)
    beginning = "/".join(_named(part) for part in beginning.split("/"))
    found = [*_of_claims(subject, f"{beginning}/claims"), *_of_places(results, beginning)]
    names = [quote.name for quote in found]
    if doubled := next((name for name in names if names.count(name) > 1), None):
        raise BertxferError(f"two numbers of {subject.name} would be called {doubled!r}; quote fewer overrides at once")
    return found


def _of_claims(subject: Subject, beginning: str) -> Iterable[Quote]:
    for decision in scorecard.of(subject).decisions:
        place = [_named(part) for part in said.place(decision.case.place).split(", ") if part]
        name = "/".join([beginning, _named(decision.case.claim), *place])
        trials = _trials_of(decision)
        if trials:
            yield from (Quote(f"{name}/{one}", text, trials) for one, text in _about(decision).items())


def _trials_of(decision: Decision) -> tuple[str, ...]:
    """Those of the rounds that it rests on."""
    whole = decision.case.rounds[: len(decision.rounds)]
    return tuple(dict.fromkeys(reading.trial for _, cells in whole for cell in cells for reading in cell.readings))


def _about(decision: Decision) -> dict[str, str]:
    """An interval without an end is not quoted, nor a mean that is not defined."""
    seen, case = decision.verdict, decision.case
    told = {"verdict": seen.verdict, "rounds": str(len(decision.rounds))}
    if decision.decided_after is not None:
        told["decided-after"] = str(decision.decided_after)
    for name, value in (("effect", seen.effect), ("low", seen.low), ("high", seen.high)):
        if abs(value) < float("inf"):
            told[name] = said.number(case, value, signed=name == "effect")
    return told


def _of_places(results: pd.DataFrame, beginning: str) -> Iterable[Quote]:
    """Of each group of replicates: how many there are, and statistics of every metric, times 100."""
    done = results[results["state"] == "done"].drop_duplicates("id").assign(size=sizes)
    if done.empty:
        return
    models = done["model"].nunique() > 1
    groups = {str(group): rows for group, rows in done.groupby("group", sort=False)}
    names = _names({group: rows.iloc[0] for group, rows in groups.items()}, models)
    for group, rows in groups.items():
        trials = tuple(rows["id"])
        yield Quote(f"{beginning}/{names[group]}/n", str(len(rows)), trials)
        measured = dict.fromkeys(metric for metrics in rows["metrics"] for metric in metrics.split())
        for metric in measured:
            values = vars(statistics.summary(rows[f"metrics.{metric}"]))
            numbers = {one: values[one] for one in _STATISTICS if not is_gap(values[one])}
            for one, value in numbers.items():
                yield Quote(f"{beginning}/{names[group]}/{_named(metric)}/{one}", f"{100 * value:.1f}", trials)


def _names(groups: Mapping[str, "pd.Series[Any]"], models: bool) -> dict[str, str]:
    """Task, size and treatment of each group, and what else differs where these are the same."""
    names = {}
    for group, row in groups.items():
        parts = [*([row["model"]] if models else []), row["task.name"], row["size"], row["treatment"]]
        names[group] = "/".join(_named(str(part)) for part in parts)
    for name in {name for name in names.values() if list(names.values()).count(name) > 1}:
        alike = [group for group, other in names.items() if other == name]
        settings = [dict(groups[group]["settings"]) for group in alike]
        differing = _differing(settings)
        for group, one in zip(alike, settings, strict=True):
            names[group] = "/".join([name, *(_named(f"{key}={one.get(key, 'null')}") for key in differing)])
    return names


def _differing(settings: Sequence[Mapping[str, str]]) -> list[str]:
    keys = dict.fromkeys(key for one in settings for key in one)
    varying = [key for key in keys if len({one.get(key, "null") for one in settings}) > 1]
    return [key for key in varying if not _SHOWN.match(key)] or varying


def _named(text: str) -> str:
    """In letters that TeX has no other use for."""
    return re.sub(r"[^A-Za-z0-9.=+_-]+", "-", text).strip("-") or "-"
