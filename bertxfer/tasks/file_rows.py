"""Rows from files: TSV as GLUE has it, CSV, JSONL, Parquet, and SQuAD's JSON. An error names the file and the line."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bertxfer.errors import DataError
from bertxfer.tasks import squad
from bertxfer.tasks.origins import InFiles
from bertxfer.tasks.rows import RawRow, Rows, StoredSource, read_rows


def read(origin: InFiles) -> StoredSource:
    return StoredSource(train=_rows(origin, origin.train), dev=_rows(origin, origin.dev))


def _rows(origin: InFiles, path: Path) -> Rows:
    task = origin.columns
    try:
        if task.kind == "span" and path.suffix == ".json":
            return squad.read_json(path)
        records = _READERS[path.suffix](path, origin.header)
        return (
            squad.read_records(task, records, str(path)) if task.kind == "span" else read_rows(task, records, str(path))
        )
    except UnicodeDecodeError as error:
        raise DataError(path, f"it is not UTF-8 ({error.reason} at byte {error.start})") from error


def _tsv(path: Path, header: tuple[str, ...]) -> Iterator[RawRow]:
    """Cells between tabs. A quote is a letter like any other, and only a line feed ends a row."""
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        rows = ((number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(file, start=1))
        yield from _named(path, rows, header)


def _csv(path: Path, header: tuple[str, ...]) -> Iterator[RawRow]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, strict=True)
        try:
            yield from _named(path, ((reader.line_num, cells) for cells in reader), header)
        except csv.Error as error:
            raise DataError(f"{path}, line {reader.line_num}", f"this is not valid CSV ({error})") from error


def _named(path: Path, rows: Iterator[tuple[int, list[str]]], header: tuple[str, ...]) -> Iterator[RawRow]:
    names = header or tuple(next(rows, (0, []))[1])
    for number, cells in rows:
        if cells in ([], [""]):
            continue  # a blank line
        if len(cells) > len(names):
            raise DataError(
                f"{path}, line {number}", f"the row has {len(cells)} cells, but there are {len(names)} columns"
            )
        missing = [None] * (len(names) - len(cells))
        yield RawRow(f"{path}, line {number}", dict(zip(names, [*cells, *missing], strict=True)))


def _jsonl(path: Path, header: tuple[str, ...]) -> Iterator[RawRow]:
    with path.open(encoding="utf-8-sig", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            location = f"{path}, line {number}"
            try:
                cells: Any = json.loads(line)
            except ValueError as error:
                raise DataError(location, f"this is not valid JSON ({error})") from error
            if not isinstance(cells, dict):
                raise DataError(location, "this is not a JSON object with a key for each column")
            yield RawRow(location, cells)


def _parquet(path: Path, header: tuple[str, ...]) -> Iterator[RawRow]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(path, f"this is not a Parquet file ({error})") from error
    for number, cells in enumerate(table.to_pylist(), start=1):
        yield RawRow(f"{path}, row {number}", cells)


_READERS = {".tsv": _tsv, ".csv": _csv, ".jsonl": _jsonl, ".json": _jsonl, ".parquet": _parquet}
