"""Rows from a repository of the Hugging Face hub, or from a folder that is laid out as one."""

import posixpath
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from bertxfer.errors import DataError
from bertxfer.tasks import squad
from bertxfer.tasks.origins import InRepository
from bertxfer.tasks.rows import RawRow, Rows, StoredSource, read_rows

CARD = "README.md"
_INFOS = "dataset_infos.json"  # what older repositories have in its place for the types of columns
_FRONT = re.compile(r"\A---\s*\n(.*?)\n---\s*(\n|\Z)", re.DOTALL)


def chosen(origin: InRepository, names: Sequence[str], bring: Callable[[str], Path]) -> Iterator[Sequence[str]]:
    """The files of a repository that these rows need: its card first, then those that the card names for the subset;
    all of them, where it names none."""
    if CARD in names:
        patterns = _patterns(bring(CARD), origin.subset)
        yield [CARD]
        names = _matching(names, patterns) if patterns else names
    yield names


def _matching(names: Sequence[str], patterns: Sequence[str]) -> Sequence[str]:
    """The names that `datasets` finds for such patterns: a star is within one folder, two are any number of folders.
    All of them where it is not plain which these are: a file too many is not read, one too few would be missed."""
    from fsspec.utils import glob_translate

    if any("://" in pattern or "::" in pattern or ".." in pattern for pattern in patterns):
        return names
    try:
        found = [re.compile(glob_translate(pattern.removeprefix("./"))) for pattern in patterns]
    except ValueError:
        return names
    return [name for name in names if name == _INFOS or any(pattern.match(name) for pattern in found)]


def _patterns(card: Path, subset: str | None) -> list[str]:
    """Where a data set's card says that the files of a subset are; nothing, where it does not say so plainly."""
    configs = _configs(card)
    try:
        if any("data_dir" in config or ("default" in config and subset is None) for config in configs):
            return []  # the paths begin elsewhere, or it is not the subset called default
        (files,) = (config["data_files"] for config in configs if config["config_name"] == (subset or "default"))
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        return []
    listed = files if isinstance(files, list) else [files]
    paths = [entry.get("path") if isinstance(entry, dict) else entry for entry in listed]
    patterns: list[Any] = [path for given in paths for path in (given if isinstance(given, list) else [given])]
    return patterns if all(isinstance(pattern, str) for pattern in patterns) else []


def _configs(card: Path) -> Any:
    """The subsets that a card declares; none where it is not one."""
    try:
        front = _FRONT.match(card.read_text(encoding="utf-8"))
        return (yaml.safe_load(front[1]) or {}).get("configs") or [] if front else []
    except (FileNotFoundError, yaml.YAMLError, AttributeError, ValueError, RecursionError):
        return []


def _refuse_outside(card: Path) -> None:
    """Rows of other places could change without a file of this folder, or its commit, changing."""
    for path in _texts(_configs(card)):
        place = path.split("::")[-1]
        if "://" in place or posixpath.normpath(place).startswith(("/", "..")):
            raise DataError(card, f"it names {path}, which is not in its folder; copy that into it, and name the copy")


def _texts(value: Any) -> Iterator[str]:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    yield from (text for item in inside for text in _texts(item))
    if isinstance(value, str):
        yield value


def read(origin: InRepository, folder: Path) -> StoredSource:
    """Both splits, from the folder that the repository lies in."""
    _refuse_outside(folder / CARD)
    # The cache of `datasets` knows a local file by its name and the second of its last change: measured, it gave the
    # rows of one folder for those of another. Rows are read once and kept on our own shelf, so it is not needed.
    with tempfile.TemporaryDirectory(prefix="bertxfer-rows-") as scratch:
        splits = (_split(origin, folder, split, scratch) for split in (origin.train, origin.dev))
        return StoredSource(**dict(zip(("train", "dev"), splits, strict=True)))


def _split(origin: InRepository, folder: Path, split: str, scratch: str) -> Rows:
    import datasets

    datasets.disable_progress_bars()
    name = str(origin.repository.name if origin.repository else folder)
    location = f"{name}{f', {origin.subset}' if origin.subset else ''}, {split}"
    try:
        where: dict[str, Any] = {"path": str(folder), "name": origin.subset, "cache_dir": scratch}
        plain = _as_they_are(datasets.load_dataset_builder(**where).config, origin)
        rows = datasets.load_dataset(**where, split=split, **plain)
    except (ValueError, OSError, RuntimeError, datasets.exceptions.DatasetsError) as error:  # it may have to run code
        data_set = f"{folder.name if origin.folder else name}{f' ({origin.subset})' if origin.subset else ''}"
        reason = (str(error).strip().splitlines() or [""])[0]
        raise DataError(folder, f"there is no split {split} of {data_set} in it ({reason})") from error
    records = _records(rows, location)
    columns = origin.columns
    return (
        squad.read_records(columns, records, location)
        if columns.kind == "span"
        else read_rows(columns, records, location)
    )


def _as_they_are(config: Any, origin: InRepository) -> dict[str, Any]:
    """Settings with which the cells of a CSV file are read as the texts they are: pandas takes null and NA for nothing,
    and a column of digits for numbers."""
    if not hasattr(config, "keep_default_na"):
        return {}
    columns = [*origin.columns.text, *([origin.columns.label] if config.features is None else [])]
    return {"keep_default_na": False, "converters": dict.fromkeys(columns, str)}


def _records(rows: Any, location: str) -> Iterator[RawRow]:
    for number, cells in enumerate(rows, start=1):
        yield RawRow(f"{location}, row {number}", cells)
