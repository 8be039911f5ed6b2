"""The papers' own numbers, where they print them: facts in small files, shown beside ours and marked as published."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from bertxfer.errors import ConfigError

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Beside:
    """Which of our tables has the same numbers: its name, and our column for each of the paper's."""

    table: str
    columns: Mapping[str, str]
    rows: Mapping[str, str] = field(default_factory=dict)  # where ours have other words
    skip: Sequence[str] = ()  # rows that are no scores


@dataclass(frozen=True)
class Published:
    """A table as it is printed, and where. Its scores are printed as `times` of them are points."""

    title: str
    where: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""
    times: int = 1  # 100 where the paper prints scores from 0 to 1
    beside: Beside | None = None
    task: str | None = None  # of all its numbers, where it has one
    levels: list[dict[str, Any]] = field(
        default_factory=list
    )  # for lines in charts: task, metric, name, score of 0 to 1

    def in_points(self, cell: str) -> str:
        """A cell with its scores in points, to the digits that are printed; a cell of words stays as it is."""
        try:
            return str(Decimal(cell).scaleb({1: 0, 100: 2}[self.times])) if self.times != 1 else cell
        except InvalidOperation:
            return cell

    def points(self) -> dict[tuple[str, str], float]:
        """The numbers by the words of their row and column."""
        found = {}
        for name, *cells in self.rows:
            for column, cell in zip(self.columns[1:], cells, strict=True):
                try:
                    found[name, column] = float(Decimal(cell) * self.times)
                except InvalidOperation:
                    continue  # words, or several numbers in one cell
        return found

    def of_table(self, name: str) -> dict[tuple[str, str], str]:
        """The cells that belong into one of our tables, in points, by the words of the row (in small letters) and our
        column."""
        if self.beside is None or self.beside.table != name:
            return {}
        ours, rows = self.beside.columns, self.beside.rows
        return {
            (rows.get(row[0], row[0]).casefold(), ours[column]): self.in_points(cell)
            for row in self.rows
            if row[0] not in self.beside.skip
            for column, cell in zip(self.columns, row, strict=True)
            if column in ours
        }


def find(experiment: str | None, named: str | None = None) -> Published | None:
    """What was published for an experiment, or under the name that its figure gives; none where nothing was."""
    name = named or experiment
    if name is None:
        return None
    known = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in FOLDER.glob("*/*.yaml")}
    if name not in known:
        if named is not None:
            raise ConfigError("figure.published", f"{named!r} is not one of {', '.join(sorted(known))}")
        return None
    plain = yaml.safe_load(known[name].read_text(encoding="utf-8"))
    rows = [[str(cell) for cell in row] for row in plain.pop("rows")]
    beside = Beside(**plain.pop("beside")) if "beside" in plain else None
    return Published(rows=rows, beside=beside, **plain)
