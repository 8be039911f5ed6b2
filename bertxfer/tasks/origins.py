"""Where a task's rows come from - files, the hub or the generated language - and their version, found without torch."""

import os
from dataclasses import dataclass
from pathlib import Path

from bertxfer.config.schema import Data, Files, Task
from bertxfer.errors import Absent, ConfigError
from bertxfer.system.files import version

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet", ".json")


@dataclass(frozen=True)
class Origin:
    source: str  # mini, files, hub
    where: str | None  # the folder of the files, or the hub's name for it
    dataset: str | None  # what the hub calls it
    subset: str | None
    train: str  # a file or a split
    dev: str
    version: str | None  # the digest of the files, or the hub revision: other rows are another trial
    header: tuple[str, ...]
    text: tuple[str, ...]  # the columns by the names that they have there
    label: str


def find(task: Task, data: Data, stand_in: str | None = None) -> Origin:
    """The rows that a config means. Files are known by their content, as a model's folder is.

    Files that are not here are an error, or have the version `stand_in`, for callers that only compare configs.
    """
    if task.source == "mini":
        return Origin("mini", None, None, None, "train", "dev", None, (), tuple(task.text), task.label)
    root = data.root or None  # BERTXFER_DATA may be set and empty
    if task.files.train is not None and (root is not None or task.hub.path is None):
        return _in_files(task, root, stand_in)
    if task.hub.path is None:
        raise ConfigError("task.files.train", f"task={task.name} names neither files nor a data set of the hub")
    return _on_hub(task, stand_in)


def _in_files(task: Task, root: str | None, stand_in: str | None) -> Origin:
    files = task.files
    if files.dev is None:
        raise ConfigError("task.files.dev", f"task={task.name} has training rows, but no dev set to measure on")
    where, content, names = None, stand_in, [str(files.train), files.dev]
    try:
        train, dev = (_find_file(files, name, root, task) for name in names)
        folder = Path(os.path.commonpath([train.parent, dev.parent]))
        where, names = str(folder), [path.relative_to(folder).as_posix() for path in (train, dev)]
        content = version([train, dev], lambda path: path.relative_to(folder).as_posix())
    except Absent:
        if stand_in is None:
            raise
    return Origin(
        source="files",
        where=where,
        dataset=None,
        subset=None,
        train=names[0],
        dev=names[1],
        version=content,
        header=tuple(files.header),
        text=tuple(files.columns.get(name, name) for name in task.text),
        label=files.columns.get(task.label, task.label),
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


def _on_hub(task: Task, stand_in: str | None) -> Origin:
    path = str(task.hub.path)
    folder = Path(path).expanduser()
    local = folder.is_dir()
    absent = not local and path.startswith((".", "/", "~"))
    if absent and stand_in is None:
        raise Absent("task.hub.path", f"there is no folder {folder}")
    return Origin(
        source="hub",
        where=str(folder.resolve()) if local else path,
        dataset=folder.resolve().name if local or absent else path,
        subset=task.hub.config,
        train=task.hub.train,
        dev=task.hub.dev,
        version=_folder_version(folder) if local else stand_in if absent else task.hub.revision or "main",
        header=(),
        text=tuple(task.text),
        label=task.label,
    )


def _folder_version(folder: Path) -> str:
    rows = [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".parquet", ".md", ".json")]
    return version(rows, lambda path: path.relative_to(folder).as_posix())
