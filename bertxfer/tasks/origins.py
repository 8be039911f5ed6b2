"""Where a task's rows come from - files, the hub or the generated language - and what is read off them there."""

import os
from dataclasses import dataclass
from pathlib import Path

from bertxfer.config.schema import Data, Files, Task
from bertxfer.errors import Absent, ConfigError
from bertxfer.system.hub import Repository
from bertxfer.tasks.rows import Columns

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet", ".json")


@dataclass(frozen=True)
class InFiles:
    """Rows in two files."""

    columns: Columns
    train: Path
    dev: Path
    header: tuple[str, ...]


@dataclass(frozen=True)
class InRepository:
    """Rows in a repository of the hub, or in a folder that is laid out as one."""

    columns: Columns
    repository: Repository | None
    folder: Path | None
    subset: str | None
    train: str  # splits
    dev: str


Origin = InFiles | InRepository


def find(task: Task, data: Data) -> Origin | None:
    """Where the rows are that a config means; None where they are generated. Absent, where files are not here."""
    if task.source == "mini":
        return None
    root = data.root or None  # BERTXFER_DATA may be set and empty
    if task.files.train is not None and (root is not None or task.hub.path is None):
        return _in_files(task, root)
    if task.hub.path is None:
        raise ConfigError("task.files.train", f"task={task.name} names neither files nor a data set of the hub")
    return _in_repository(task)


def _in_files(task: Task, root: str | None) -> InFiles:
    files = task.files
    if files.dev is None:
        raise ConfigError("task.files.dev", f"task={task.name} has training rows, but no dev set to measure on")
    train, dev = (_find_file(files, name, root, task) for name in (str(files.train), files.dev))
    return InFiles(_columns(task, files), train, dev, tuple(files.header))


def _columns(task: Task, files: Files) -> Columns:
    return Columns(
        task=task.name,
        kind=task.kind,
        text=tuple(files.columns.get(name, name) for name in task.text),
        label=files.columns.get(task.label, task.label),
        labels=tuple(task.labels),
        skip_broken=task.skip_broken,
    )


def _find_file(files: Files, name: str, root: str | None, task: Task) -> Path:
    roots = [Path(root).expanduser()] if root is not None else []
    if root is None or task.hub.path is None:  # files of one's own may lie beside a root of public data sets
        roots.append(Path.cwd())
    tried = list(dict.fromkeys(Path(os.path.normpath(r.resolve() / f / name)) for r in roots for f in files.folders))
    for path in tried:
        if path.is_file():
            if path.suffix not in FORMATS:
                raise ConfigError("task.files", f"{path} is not one of {', '.join(FORMATS)}")
            return path
    key = "data.root" if root is not None else "task.files"
    hint = "; data.root=null asks the hub instead" if root is not None and task.hub.path is not None else ""
    raise Absent(key, f"task={task.name} needs {' or '.join(map(str, tried))}, which is not there{hint}")


def _in_repository(task: Task) -> InRepository:
    path = str(task.hub.path)
    folder = Path(path).expanduser()
    if path.startswith((".", "/", "~")) and not folder.is_dir():
        raise Absent("task.hub.path", f"there is no folder {folder}")
    local = folder.is_dir()
    instead = "give a folder with the official files as data.root=FOLDER (or BERTXFER_DATA)"
    return InRepository(
        columns=_columns(task, Files()),
        repository=None if local else Repository("dataset", path, task.hub.revision, "task.hub.path", instead),
        folder=folder.resolve() if local else None,
        subset=task.hub.config,
        train=task.hub.train,
        dev=task.hub.dev,
    )
