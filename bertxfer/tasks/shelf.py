"""Rows by their content: read once, wherever they come from, and kept in one form that every trial reads.

So an edit of a file changes nothing that was launched, and a worker needs neither the file nor the hub.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertxfer.errors import BertxferError, DataError
from bertxfer.system import cache, hub
from bertxfer.system.files import write_whole
from bertxfer.tasks import hub_rows
from bertxfer.tasks.origins import InFiles, InRepository, Origin
from bertxfer.tasks.rows import Answers, Rows, StoredSource

if TYPE_CHECKING:
    import pyarrow as pa

READER = 2  # raised when other rows are read from the same files
SPLITS = ("train", "dev")
_MOST_FILES = 100_000


def version(origin: Origin, fetch: bool = False) -> str:
    """The digest of the rows, which are then on the shelf. With `fetch` the hub is asked; else what lies in its cache
    is used only if it was fetched whole and read before."""
    if isinstance(origin, InFiles):
        from bertxfer.tasks import file_rows

        return _shelved(_settings(origin), (origin.train, origin.dev), lambda: file_rows.read(origin))
    if origin.folder is not None:
        folder = origin.folder
        held = _files_in(folder)
        # Two links to one folder have the same files behind them, so their names count as well.
        settings = {**_settings(origin), "names": [path.relative_to(folder).as_posix() for path in held]}
        return _shelved(settings, held, lambda: hub_rows.read(origin, folder))
    return _from_hub(origin, fetch)


def _from_hub(origin: InRepository, fetch: bool) -> str:
    repository = origin.repository
    assert repository is not None
    if fetch:
        folder, whole = hub.fetch(repository, lambda names, bring: hub_rows.chosen(origin, names, bring))
    else:
        folder, whole = hub.cached(repository), False

    def read() -> StoredSource:
        if not whole:  # some of its rows would pass for all of them
            raise hub.absent(repository)
        return hub_rows.read(origin, folder)

    # A commit never changes, whoever has asked for it under which name.
    settings = {**_settings(origin), "repository": [repository.name, folder.name]}
    return _shelved(settings, (), read)


def _files_in(folder: Path) -> tuple[Path, ...]:
    """Every file that may be read of a folder, also behind links, as `datasets` follows them."""
    found = tuple(islice(_walk(folder, frozenset({folder.resolve()})), _MOST_FILES + 1))
    if len(found) > _MOST_FILES:
        raise DataError(folder, f"it has more than {_MOST_FILES:,} files in it; give a folder with the data set alone")
    return found


def _walk(folder: Path, above: frozenset[Path]) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_file():
            yield path
        elif path.is_dir() and path.name != ".git" and (real := path.resolve()) not in above:  # or it goes in circles
            yield from _walk(path, above | {real})


def _shelved(settings: dict[str, Any], files: tuple[Path, ...], read: Callable[[], StoredSource]) -> str:
    known = cache.remembered("rows", [READER, settings], cache.stamps(files), lambda: _put(read()))
    return known if at(known).is_file() else _put(read())


def _settings(origin: Origin) -> dict[str, Any]:
    """How rows are read, but not where."""
    plain = dataclasses.asdict(origin)
    for place in ("train", "dev") if isinstance(origin, InFiles) else ("repository", "folder"):
        plain.pop(place)
    plain["columns"].pop("task")
    return plain


def at(version: str) -> Path:
    return cache.folder() / "rows" / f"{version}.parquet"


def read(task: str, version: str, where: str) -> StoredSource:
    """The rows that a trial was made for, from where the launch has put them, or from this user's own shelf."""
    from pyarrow import ArrowException, parquet

    path = next((path for path in (Path(where), at(version)) if path.is_file()), None)
    if path is None:
        raise DataError(where, f"the rows of task={task} are not there; the same command puts them there again")
    try:
        with parquet.ParquetFile(path) as file:  # read_table imports pandas, which takes 40 MB in every worker
            source = StoredSource(**_rows(file.read()))
        intact = digest(source) == version
    except (ArrowException, OSError, KeyError, TypeError, ValueError):
        intact = False
    if not intact:
        raise DataError(
            path, f"it is damaged; delete it, and the same command puts the rows of task={task} there again"
        )
    return source


def digest(source: StoredSource) -> str:
    """The digest of all rows: texts, labels and their order."""
    both = " ".join(source.splits[split].digest() for split in SPLITS)
    return hashlib.sha256(both.encode()).hexdigest()[:32]


def _put(source: StoredSource) -> str:
    import pyarrow as pa
    from pyarrow import parquet

    version = digest(source)
    path = at(version)
    try:
        table = _table(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, lambda temporary: parquet.write_table(table, temporary, compression="zstd"))
    except OSError as error:
        raise BertxferError(f"{path.parent}: rows cannot be kept there ({error}); set {cache.VARIABLE}") from error
    except (UnicodeEncodeError, pa.ArrowInvalid) as error:
        raise DataError("a text", f"it is not valid Unicode ({error})") from error
    return version


def _table(source: StoredSource) -> "pa.Table":
    import pyarrow as pa

    from bertxfer.system import arrow

    splits = [source.splits[split] for split in SPLITS]
    texts = [text for rows in splits for text in rows.texts]
    labels = [label for rows in splits for label in rows.labels]
    columns = {"split": arrow.texts([split for split in SPLITS for _ in source.splits[split].texts])}
    columns |= {f"text {i}": arrow.texts([row[i] for row in texts]) for i in range(len(texts[0]))}
    if isinstance(labels[0], Answers):
        columns["answers id"] = arrow.texts([label.id for label in labels])
        columns["answers texts"] = arrow.lists_of_texts([label.texts for label in labels])
        columns["answers starts"] = arrow.lists([label.starts for label in labels])
    else:
        columns["label"] = arrow.column(labels)
    return pa.table(columns)


def _rows(table: "pa.Table") -> dict[str, Rows]:
    columns = {name: table[name].to_pylist() for name in table.column_names}
    texts = list(zip(*(values for name, values in columns.items() if name.startswith("text ")), strict=True))
    if "label" in columns:
        labels = columns["label"]
    else:
        ids, said, starts = (columns[f"answers {field}"] for field in Answers._fields)
        labels = [Answers(i, tuple(t), tuple(s)) for i, t, s in zip(ids, said, starts, strict=True)]
    places = {split: [i for i, of in enumerate(columns["split"]) if of == split] for split in SPLITS}
    everything = Rows(texts, labels)
    return {split: everything.take(indices) for split, indices in places.items()}
