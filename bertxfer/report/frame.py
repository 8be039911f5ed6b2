"""Results as one table: one row per point of a sweep, done or not, with its settings and its result.

Nothing is left out silently: a point without a result has its row and says why, and a score that is not defined is
NaN and marked `undefined`.
"""

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bertxfer.errors import BertxferError
from bertxfer.store.results import Result, seconds_of
from bertxfer.store.store import Store
from bertxfer.sweeps import columns
from bertxfer.sweeps.deciding import NOT_NEEDED
from bertxfer.sweeps.summary import score_text
from bertxfer.sweeps.sweep import Point
from bertxfer.trials import model_names, replicates
from bertxfer.trials.trial import Trial

# Keys of a result that have a column of their own, beside score and metrics.
_COUNTS = ("n_train", "n_dev", "steps", "epochs", "data_digest", "weights_digest")
_DIGITS = 8  # of a digest that people read


def frame(points: Sequence[Point], store: Store, unneeded: Collection[str] = ()) -> pd.DataFrame:
    """One row per point. Columns: the axes as typed, the science flat, the state of the trial and its result.

    An axis and a key of the science may have one name (`data.n`): what was typed stands there, unless it was null.
    """
    trials = list({point.trial.id: point.trial for point in points}.values())
    alike = _replicates(trials)
    facts = {trial.id: {**columns.of_trial(trial), **alike[trial.id]} for trial in trials}
    # Points that mean one trial may look at it by different metrics.
    outcomes = {(point.trial.id, point.trial.headline): point.trial for point in points}
    found = {key: _outcome(trial, store) for key, trial in outcomes.items()}
    rows = []
    for point in points:
        trial = point.trial
        outcome = found[trial.id, trial.headline]
        if outcome["state"] == "missing" and trial.id in unneeded:
            outcome = {**outcome, "state": NOT_NEEDED}
        rows.append({**facts[trial.id], **outcome, **columns.typed_at(point)})
    return _typed(pd.DataFrame(rows, dtype=object))


@dataclass(frozen=True)
class Completeness:
    """How much of a sweep there is. `undefined` trials are done, but their score is not a number."""

    trials: int
    done: int
    failed: int
    missing: int
    not_needed: int  # of a sweep that ends when its claims are decided
    undefined: int
    rounds: int  # of seeds
    whole_rounds: int  # of which all trials are done

    def __str__(self) -> str:
        words = [f"{self.done} of {self.trials} trials done"]
        others = ((self.failed, "failed"), (self.missing, "missing"), (self.not_needed, NOT_NEEDED))
        words += [f"{n} {what}" for n, what in others if n]
        if self.undefined:
            words.append(f"{self.undefined} of {self.done} without a defined score, which no mean includes")
        if self.rounds > 1 and self.done < self.trials:
            words.append(f"{self.whole_rounds} of {self.rounds} rounds (seeds) whole")
        return ", ".join(words)


def completeness(results: pd.DataFrame) -> Completeness:
    """Counts of trials, each once however many points mean it."""
    if results.empty:
        return Completeness(0, 0, 0, 0, 0, 0, 0, 0)
    trials = results.drop_duplicates("id")
    states = trials["state"].value_counts()
    done, failed, missing, spared = (int(states.get(one, 0)) for one in ("done", "failed", "missing", NOT_NEEDED))
    whole = (trials["state"] == "done").groupby(trials["seeds.order"]).all()
    undefined = int(trials["undefined"].sum())
    return Completeness(len(trials), done, failed, missing, spared, undefined, len(whole), int(whole.sum()))


def select(results: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    """The rows whose columns have these values, or one of a list: {"treatment_text": "as pretrained"}. None: a gap."""
    chosen = pd.Series(True, index=results.index)
    for column, value in where.items():
        if column not in results:
            chosen &= value is None
        elif isinstance(value, (list, tuple)):
            chosen &= results[column].isin(value)
        elif is_gap(value):
            chosen &= results[column].isna()
        else:
            chosen &= (results[column] == value).fillna(False).astype(bool)
    return results[chosen]


def is_gap(value: Any) -> bool:
    """Whether a cell is empty: None, NA or NaN."""
    return value is None or value is pd.NA or value != value


def measured(results: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """The rows with what is drawn: `y`, and `measure`, the name of that metric; once for each metric that they have."""
    parts = []
    for column in metrics:
        rows = having(results, column)
        measure = rows["headline"] if column == "score" else column.removeprefix("metrics.")
        parts.append(rows.assign(y=rows.get(column, math.nan), measure=measure))
    return pd.concat(parts, ignore_index=True)


def having(results: pd.DataFrame, column: str) -> pd.DataFrame:
    """The rows of which this is measured: a task without F1 has no F1 that is undefined. All, where that is unknown."""
    name = column.removeprefix("metrics.")
    if name == column or "metrics" not in results:
        return results
    measured = [not names or name in names.split() for names in results["metrics"]]
    return results[pd.Series(measured, results.index, dtype=bool)]  # an empty list would choose no column instead


def _replicates(trials: Sequence[Trial]) -> dict[str, dict[str, Any]]:
    """Of each trial the group of its replicates, the group's treatment in words, its model, and `settings`: names and
    values of whatever is not the same in all groups.
    """
    sciences = [trial.science for trial in trials]
    groups = replicates.groups(sciences)
    # A group's trials have the same settings, so one of each is looked at.
    of_group = dict(zip(groups, sciences, strict=True))
    models = model_names.labels(of_group.values())
    differing = replicates.differing(list(of_group.values()))
    settings = {group: _settings(differences) for group, differences in zip(of_group, differing, strict=True)}
    return {
        trial.id: {
            "group": hashlib.sha256(group.settings.encode()).hexdigest()[:_DIGITS],
            "treatment": group.treatment,
            "model": models[trial.science.model.version],
            "settings": settings[group],
        }
        for trial, group in zip(trials, groups, strict=True)
    }


def _settings(differing: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """In a form that a table can group by. Of a long digest the first digits are enough; `model` has its version."""
    return tuple(
        (name, value[:_DIGITS] if name.endswith("task.version") else value)
        for name, value in differing.items()
        if name not in ("model.name", "model.version")
    )


def _outcome(trial: Trial, store: Store) -> dict[str, Any]:
    try:
        result = store.scored(trial)
    except BertxferError as error:  # a damaged folder: no number of it can be trusted
        return _without_result(trial, "failed", str(error))
    if result is not None:
        return _with_result(result)
    if (store.folder(trial.id) / "failure.json").is_file():
        return _without_result(trial, "failed", store.why_failed(trial.id))
    return _without_result(trial, "missing", None)


def _with_result(result: Result) -> dict[str, Any]:
    undefined = result["score"] is None
    return {
        "state": "done",
        "headline": result["headline"],
        "reason": score_text(result) if undefined else None,
        "score": _number(result["score"]),
        "undefined": undefined,
        "dev_loss": _number(result.get("dev_loss")),
        "metrics": " ".join(result["metrics"]),
        **{f"metrics.{name}": _number(value) for name, value in result["metrics"].items()},
        **{key: result.get(key) for key in _COUNTS},
        "seconds": seconds_of(result["timings"]),
        "device": result["environment"].get("device"),
    }


def _without_result(trial: Trial, state: str, reason: str | None) -> dict[str, Any]:
    unknown = dict.fromkeys((*_COUNTS, "device"))
    known = {"state": state, "headline": trial.headline, "metrics": " ".join(trial.metrics), "reason": reason}
    return {**known, "score": math.nan, "undefined": False, "dev_loss": math.nan, "seconds": math.nan, **unknown}


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Whole numbers stay whole and truths stay truths where some rows have none: k is 3, not 3.0."""
    columns = {}
    for name in table.columns:
        kinds = {type(value) for value in table[name].tolist() if not is_gap(value)}
        gaps = table[name].isna().any()
        if kinds == {int}:
            columns[name] = table[name].astype("Int64" if gaps else "int64")
        elif kinds == {bool}:
            columns[name] = table[name].astype("boolean" if gaps else "bool")
        else:
            columns[name] = table[name].astype("float64") if kinds <= {int, float} and kinds else table[name]
    return pd.DataFrame(columns).infer_objects()
