"""The cases of an experiment's claims among the places of a sweep, and what stored results say of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bertxfer.claims.case import OF_ANALYSES, OF_ROWS, Case, Row, cases
from bertxfer.claims.claim import ANALYSES, EXTREME, SCORED, Claim
from bertxfer.claims.progress import Decision, ValueOf, decide
from bertxfer.claims.verdict import share
from bertxfer.config import grids
from bertxfer.config.grids import Shape
from bertxfer.config.overrides import parsed
from bertxfer.config.schema import keys
from bertxfer.errors import ConfigError
from bertxfer.sweeps import columns
from bertxfer.sweeps.sweep import Point
from bertxfer.tasks.metrics import METRICS
from bertxfer.trials.analyses import alphas
from bertxfer.trials.rounds import round_of
from bertxfer.trials.trial import COURSE

_FIRST = ("model", "task", "data.n", "data.fraction")  # of what tells the cases of a claim apart
_WORDED = ("treatment_text", *OF_ANALYSES)  # columns that are no key of a config


def cases_of(claims: Sequence[Claim], points: Sequence[Point], stand_ins: Mapping[str, str]) -> list[Case]:
    """The cases of claims. A claim about places that this sweep does not have has none."""
    if not claims:
        return []
    rows = [_row(point) for point in points]
    _refuse_unknown(claims, rows)
    axes = sorted({key for point in points for key in point.axes}, key=_rank)
    by_model: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_model.setdefault(row["model.version"], []).append(row)
    found = []
    for of_model in by_model.values():
        shape = Shape(of_model[0]["model.layers"], of_model[0]["model.heads"])
        named = {"model": of_model[0]["model.name"]} if len(by_model) > 1 else {}
        for claim in claims:
            of_claim = cases(_fitted(claim, shape, stand_ins), _measured(claim, of_model), axes)
            found += [replace(case, place={**named, **case.place}) for case in of_claim]
    return found


def decisions(found: Sequence[Case], value_of: ValueOf) -> list[Decision]:
    """What is decided on each case. They share the level, whether or not they are decided."""
    return [decide(case, share(len(found)), value_of) for case in found]


def _row(point: Point) -> dict[str, Any]:
    trial = point.trial
    typed = {**columns.of_trial(trial), **columns.typed_at(point), "model": trial.science.model.version}
    outputs = (*trial.outputs, *([COURSE] if trial.follows_course else []))
    read = {"headline": trial.headline, "outputs": outputs, "alphas": alphas()}
    return {**typed, "round": round_of(trial.science), **read}


def _rank(axis: str) -> tuple[int, str]:
    return (_FIRST.index(axis) if axis in _FIRST else len(_FIRST), axis)


def _refuse_unknown(claims: Iterable[Claim], rows: Sequence[Mapping[str, Any]]) -> None:
    """A misspelt column would choose nothing, and its claim would be about nothing."""
    known = {*keys(), *_WORDED, *(column for row in rows for column in row)}
    for claim in claims:
        of_no_task = claim.of_result is not None and not any(claim.of_result in of_kind for of_kind in METRICS.values())
        if of_no_task or (claim.analysis is not None and not _measured(claim, rows)):
            raise ConfigError(f"claims.{claim.name}.metric", _unmeasured(claim, rows))
        for column in sorted(claim.named & {*OF_ROWS}):  # its two sides would be the same rows
            raise ConfigError(f"claims.{claim.name}", f"{column!r} holds for a whole claim; give it in `where`")
        for column in sorted({*claim.named, *claim.where} - {"all"} - known):
            raise ConfigError(f"claims.{claim.name}", f"{column!r} is not a column: it is no key of a config")


def _measured(claim: Claim, rows: Sequence[Row]) -> list[Row]:
    """Places whose trials have what a claim reads."""
    read = claim.metric.partition(".")[2]

    def is_there(row: Row) -> bool:
        of_task = METRICS[row["task.kind"]]
        if claim.analysis is None:
            return claim.of_result is None or claim.of_result in of_task
        by_name = claim.analysis in SCORED and read in of_task
        return claim.analysis in row["outputs"] and (read in ANALYSES[claim.analysis] or by_name)

    return [row for row in rows if is_there(row)]


def _unmeasured(claim: Claim, rows: Sequence[Mapping[str, Any]]) -> str:
    if claim.analysis is None:
        known = dict.fromkeys(name for row in rows for name in METRICS[row["task.kind"]])
        return f"{claim.metric!r} is none of score, {', '.join(known)}"
    if any(claim.analysis in row["outputs"] for row in rows):
        names = [f"{claim.analysis}.{name}" for name in ANALYSES[claim.analysis]]
        return f"{claim.metric!r} is none of {', '.join(names)}"
    wanted = "training.evaluate=every" if claim.analysis == COURSE else f"analysis=[{claim.analysis}]"
    return f"{claim.metric!r} is nothing that these trials leave behind; it takes {wanted}"


def _fitted(claim: Claim, shape: Shape, stand_ins: Mapping[str, str]) -> Claim:
    """With the model's layers and heads in place of L and H, and with tasks that stand in for others beside these."""

    def where(values: Mapping[str, Any]) -> dict[str, Any]:
        return {column: _values(column, value, shape, stand_ins) for column, value in values.items()}

    sides = tuple(replace(one, where=where(one.where), minus=one.minus and where(one.minus)) for one in claim.sides)
    values = claim.values
    if claim.axis is not None and values:
        if claim.kind == EXTREME:
            values = tuple(_listed(_values(claim.axis, list(values), shape, stand_ins)))
        else:
            values = tuple(_values(claim.axis, value, shape, stand_ins) for value in values)
    return replace(claim, where=where(claim.where), sides=sides, values=values)


def _values(column: str, value: Any, shape: Shape, stand_ins: Mapping[str, str]) -> Any:
    """A value of a column, or all that it may be: `k: L-2..L`, `task: sst2` where mini_sst2 stands for it."""
    given = value if isinstance(value, (list, tuple)) else [value]
    found: list[Any] = []
    for one in given:
        if column in ("task", "intermediate") and isinstance(one, str):
            found += [one, *([stand_ins[one]] if one in stand_ins else [])]
        elif isinstance(one, str) and (counted := _counted(column, one, shape)) is not None:
            found += counted
        else:
            found.append(one)
    return found[0] if len(found) == 1 else found


def _counted(column: str, value: str, shape: Shape) -> list[Any] | None:
    """What a value says that counts in layers or heads, which may be nothing on a small model; None where it does not
    count."""
    word = f"{column}={value}"
    if not grids.is_shape_word(word) and not grids.is_range(value):
        return None
    try:
        return [parsed(one).value() for one in grids.shaped({column: [word]}, shape)[column]]
    except ConfigError:  # it has no such layers
        return []


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
