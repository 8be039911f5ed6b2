"""The cases of a claim: for each task, size or whatever else varies, which trials say what in which round.

A case names trials by their ids and nothing else, so it can be written down when a sweep is launched, and what it says
follows from the stored results alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertxfer.claims.claim import CONCORDANT, DIFFERENCE, EXTREME, RANK, SCORED, Claim, Side

Row = Mapping[str, Any]  # a place of the grids with its trial: its columns, and `id`, `round`, `headline`
# The columns that an analysis adds to a trial, each with the column that says which values it has: these, or from 1 on.
_LAYER = ("layer", "model.layers")
_EXPANDED = {
    "attention": _LAYER,
    "weights": _LAYER,
    "surgery": _LAYER,
    "similarity": _LAYER,
    "course": ("epoch", "training.epochs"),
    "path": ("alpha", "alphas"),
}
# Chosen among an analysis' rows, and no columns of a trial.
OF_ROWS = ("module", "reference", "compared", "operation")
OF_ANALYSES = ("epoch", "alpha", *OF_ROWS)  # what a claim may name where it reads an analysis
_ALIKE = ("data.", "training.", "optimizer.", "model.", "probe.", "task.name")  # what trials are trained on, and how
_NO_CASES = ("seed", "round", "id", "headline")


@dataclass(frozen=True)
class Reading:
    """One number of one trial: a metric of its result or, of an analysis, what it says at a layer or epoch."""

    trial: str
    metric: str
    at: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Cell:
    """What is averaged, and its part: a sign in a difference, a value of an axis, in or out of a set."""

    part: float
    readings: tuple[Reading, ...]
    group: float = 0.0  # of two profiles: which one


@dataclass(frozen=True)
class Case:
    """One question of a claim, and where its numbers are, round by round."""

    claim: str
    place: Mapping[str, Any]  # the values that it is asked for: {"task": "sst2", "data.n": 500}
    kind: str
    wants: str
    margin: float
    in_points: bool
    level: float  # what a difference is taken from, where that is a number
    rounds: tuple[tuple[int, tuple[Cell, ...]], ...]

    @property
    def trials(self) -> set[str]:
        return {reading.trial for _, cells in self.rounds for cell in cells for reading in cell.readings}

    @property
    def is_concordance(self) -> bool:
        """Whether its numbers begin with the second round, since each is a rank among those before."""
        return self.kind == CONCORDANT

    def as_dict(self) -> dict[str, Any]:
        cells = [
            [
                number,
                [[cell.part, cell.group, [[r.trial, r.metric, dict(r.at)] for r in cell.readings]] for cell in row],
            ]
            for number, row in self.rounds
        ]
        return {**vars(self), "place": dict(self.place), "rounds": cells}


def case_of(plain: Mapping[str, Any]) -> Case:
    """What `as_dict` has written down."""
    rounds = tuple(
        (
            int(number),
            tuple(
                Cell(part, tuple(Reading(t, metric, tuple(sorted(at.items()))) for t, metric, at in readings), group)
                for part, group, readings in cells
            ),
        )
        for number, cells in plain["rounds"]
    )
    return Case(**{**plain, "rounds": rounds})


def cases(claim: Claim, rows: Sequence[Row], axes: Iterable[str]) -> list[Case]:
    """The cases of a claim among places. It is asked for each value of the axes that vary and that it does not name."""
    among = _chosen(_expanded(claim, rows), claim.where)
    parts = _parts(claim, among)
    settings = _settings(claim, among)
    apart = [name for name in dict.fromkeys(axes) if _splits(claim, name, [found for _, _, found in parts])]
    first = _leading(claim, parts, apart)
    made = []
    for combination in dict.fromkeys(tuple(row.get(name) for name in apart) for row in first):
        place = dict(zip(apart, combination, strict=True))
        here = [(part, group, _at(place, found)) for part, group, found in parts]
        if _agree(here, settings) and (rounds := _rounds(claim, here)) is not None:
            told = _telling(place, first)
            made.append(
                Case(claim.name, told, claim.kind, claim.wants, claim.margin, claim.is_in_points, claim.level, rounds)
            )
    return made


def _leading(claim: Claim, parts: "Sequence[Part]", apart: Sequence[str]) -> list[Row]:
    """The rows that say for which values a claim is asked: a baseline has no block, and is there for every block."""
    lists = [found for _, _, found in parts]
    if claim.kind in (DIFFERENCE, CONCORDANT):
        return max(lists, key=lambda found: len({tuple(row.get(name) for name in apart) for row in found}), default=[])
    return [row for found in lists for row in found]


def _settings(claim: Claim, rows: Sequence[Row]) -> list[str]:
    """The settings that must be the same in all that is compared: those that a claim does not name, and that do not
    follow from those that it names, as epochs may follow from the size of the sample."""
    known = dict.fromkeys(name for row in rows for name in row if name.startswith(_ALIKE))
    typed = [name for name in sorted(claim.named) if name == "task" or name.startswith(_ALIKE)]

    def follows(name: str) -> bool:
        seen: dict[tuple[Any, ...], set[Any]] = {}
        for row in rows:
            seen.setdefault(tuple(row.get(one) for one in typed), set()).add(row.get(name))
        return all(len(values) == 1 for values in seen.values())

    return [name for name in known if name not in claim.named and not follows(name)]


def _agree(parts: "Sequence[Part]", settings: Sequence[str]) -> bool:
    there = [{tuple(row.get(name) for name in settings) for row in found} for _, _, found in parts if found]
    return all(one == there[0] for one in there)


Part = tuple[float, float, list[Row]]  # of a cell: its part, its group, its places


def _parts(claim: Claim, rows: Sequence[Row]) -> list[Part]:
    if claim.kind == DIFFERENCE:
        return [
            part for sign, side in zip((1.0, -1.0), claim.sides, strict=False) for part in _of_side(sign, side, rows)
        ]
    assert claim.axis is not None
    if claim.kind == RANK:
        return [(step, 0.0, _chosen(rows, {claim.axis: step})) for step in _steps(claim.axis, rows)]
    if claim.kind == EXTREME:
        values = dict.fromkeys(row.get(claim.axis) for row in rows)
        places = [value for value in values if value is not None or _has(value, claim.values)]
        return [(float(_has(one, claim.values)), 0.0, _chosen(rows, {claim.axis: one})) for one in places]
    both = [_chosen(rows, {claim.axis: value}) for value in claim.values]
    if claim.along is None:
        return [(float(i), 0.0, found) for i, found in enumerate(both)]
    steps = _steps(claim.along, [row for found in both for row in found])
    return [(step, float(i), _chosen(found, {claim.along: step})) for step in steps for i, found in enumerate(both)]


def _steps(axis: str, rows: Sequence[Row]) -> list[float]:
    values = {row.get(axis) for row in rows}
    return sorted(float(value) for value in values if isinstance(value, (int, float)) and not isinstance(value, bool))


def _of_side(sign: float, side: Side, rows: Sequence[Row]) -> list[Part]:
    parts = [(sign, 0.0, _chosen(rows, side.where))]
    return parts if side.minus is None else [*parts, (-sign, 0.0, _chosen(rows, side.minus))]


def _rounds(claim: Claim, parts: Sequence[Part]) -> tuple[tuple[int, tuple[Cell, ...]], ...] | None:
    """The rounds that every part has all its trials of; None where there are too few parts to compare."""
    there = [part for part in parts if part[2]]
    if claim.kind in (DIFFERENCE, CONCORDANT):
        enough = len(there) == len(parts)
    elif claim.kind == EXTREME:
        enough = len({part for part, _, _ in there}) == 2
    else:
        enough = (
            min(sum(group == one for _, group, _ in there) for one in {group for _, group, _ in parts} | {0.0}) >= 3
        )
    sides = [{row["id"] for part, _, found in there if part * sign > 0 for row in found} for sign in (1, -1)]
    if not enough or (claim.kind == DIFFERENCE and claim.analysis is None and sides[0] & sides[1]):
        return None  # a trial is not compared with itself
    # Of what is averaged some places may have more seeds than others; a round without one of them is another mean.
    counts = [Counter(row["round"] for row in found) for _, _, found in there]
    numbers = sorted(n for n in counts[0] if all(one[n] == max(one.values()) for one in counts))
    return tuple((number, tuple(_cell(claim, *part, number) for part in there)) for number in numbers) or None


def _cell(claim: Claim, part: float, group: float, rows: Sequence[Row], number: int) -> Cell:
    readings = dict.fromkeys(_reading(claim, row) for row in rows if row["round"] == number)
    return Cell(part, tuple(readings), group)


def _reading(claim: Claim, row: Row) -> Reading:
    if claim.analysis is None:
        return Reading(row["id"], claim.of_result or row["headline"])
    column, _ = _EXPANDED[claim.analysis]
    at = {column: row[column], **{name: claim.where[name] for name in OF_ROWS if name in claim.where}}
    return Reading(row["id"], _of_headline(claim, row), tuple(sorted(at.items())))


def _of_headline(claim: Claim, row: Row) -> str:
    """A metric with the task's own in place of `score`; a change is one of that."""
    analysis, _, name = claim.metric.partition(".")
    if analysis not in SCORED:
        return claim.metric
    named = {"score": f"{analysis}.{row['headline']}", "change": f"{analysis}.change.{row['headline']}"}
    return named.get(name, claim.metric)


def _expanded(claim: Claim, rows: Sequence[Row]) -> list[Row]:
    """Once for each layer, epoch or alpha, where a claim is about an analysis."""
    if claim.analysis is None:
        return list(rows)
    column, told = _EXPANDED[claim.analysis]
    return [{**row, column: value} for row in rows for value in _each(row[told])]


def _each(told: Any) -> Sequence[Any]:
    return told if isinstance(told, (list, tuple)) else range(1, int(told) + 1)


def _chosen(rows: Sequence[Row], where: Mapping[str, Any]) -> list[Row]:
    asked = {name: value for name, value in where.items() if name not in OF_ROWS}
    return [row for row in rows if all(_has(row.get(name), value) for name, value in asked.items())]


def _has(cell: Any, value: Any) -> bool:
    return any(_equal(cell, one) for one in value) if isinstance(value, (list, tuple)) else _equal(cell, value)


def _equal(cell: Any, value: Any) -> bool:
    return bool(cell == value) and isinstance(cell, bool) == isinstance(value, bool)


def _splits(claim: Claim, name: str, parts: Sequence[Sequence[Row]]) -> bool:
    """Whether a claim is asked for each value of an axis: it varies within a part, and no side names it."""
    if name in claim.named or "all" in claim.over or name in _NO_CASES or name.startswith(("seed", "runtime.")):
        return False
    return any(len({row.get(name) for row in rows}) > 1 for rows in parts)


def _at(place: Mapping[str, Any], rows: Sequence[Row]) -> list[Row]:
    """The rows of a part that belong to a place. Full BERT has no block and is there for every block; but what a trial
    is trained on, and how, is the same on both sides."""
    for name, value in place.items():
        values = {row.get(name) for row in rows}
        if value in values:
            rows = [row for row in rows if row.get(name) == value]
        elif values != {None} and ("." in name or name in ("task", "model")):
            return []
    return list(rows)


def _telling(place: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, Any]:
    """Without the axes that follow from those before them, as epochs that go with the size of the sample, and without
    those that a place does not have."""
    told: list[str] = []
    for name in place:
        seen = {tuple(row.get(one) for one in told) for row in rows}
        if len({tuple(row.get(one) for one in (*told, name)) for row in rows}) > len(seen):
            told.append(name)
    return {name: place[name] for name in told if place[name] is not None}
