"""A finished trial as files: which ones belong to it, and whether they are whole. No link is ever followed."""

import json
import stat
from pathlib import Path
from typing import Any

from bertxfer.config.keys import outputs_of
from bertxfer.config.schema import Config
from bertxfer.errors import BertxferError
from bertxfer.store.contradictions import contradiction
from bertxfer.store.results import Result
from bertxfer.store.store import Store, output_name

NEEDED = ("config.yaml", "history.jsonl", "predictions.parquet", "result.json")
MODEL = output_name("model")


def tables() -> list[str]:
    """What a trial may leave beside its result as a table: its analyses."""
    names = {output_name(output) for known in outputs_of(Config).values() for output in known.values() if output}
    return sorted(names - {MODEL})


def files_of(folder: Path) -> list[str]:
    """Those of a finished trial's files that are there. A link or a device among them is an error."""
    _refuse(folder, stat.S_ISDIR)
    names = [name for name in (*NEEDED, *tables()) if _is_there(folder / name)]
    if _is_there(folder / MODEL):
        _refuse(folder / MODEL, stat.S_ISDIR)
        names += [f"{MODEL}/{path.name}" for path in sorted((folder / MODEL).iterdir())]
    for name in names:
        _refuse(folder / name, stat.S_ISREG)
    return names


def check(store: Store, trial_id: str) -> Result:
    """The result of a finished trial that is whole: its config hashes to its id, its result is believed and contradicts
    neither its config nor its predictions, its tables and its history can be read. BertxferError says what is not."""
    folder = store.folder(trial_id)
    if not store.has(trial_id):
        raise BertxferError(f"{folder} is not the folder of a trial")
    names = files_of(folder)
    if missing := [name for name in NEEDED if name not in names]:
        raise BertxferError(f"{folder} has no {', '.join(missing)}")
    result, config = store.result_alone(trial_id), store.known_config(trial_id)
    assert result is not None
    predictions = table(folder / "predictions.parquet")
    if "prediction" not in predictions.column_names or result.get("n_dev", len(predictions)) != len(predictions):
        wanted = f"one prediction for each of the {result.get('n_dev', '')} dev rows"
        raise BertxferError(f"{folder / 'predictions.parquet'} has not {wanted}")
    if (words := contradiction(result, config, predictions)) is not None:
        raise BertxferError(f"{folder / 'result.json'} {words}")
    _check_history(folder / "history.jsonl")
    for name in tables():
        if name in names:
            table(folder / name)
    return result


def table(path: Path) -> Any:
    """A Parquet file, whole."""
    from pyarrow import ArrowException, parquet

    try:
        return parquet.ParquetFile(path).read()  # read_table would take a folder called a=1 for a column
    except (OSError, ArrowException) as error:
        raise BertxferError(f"{path} cannot be read ({' '.join(str(error).split())})") from error


def _check_history(path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8")
        whole = all(isinstance(json.loads(line), dict) for line in text.splitlines())
    except (OSError, ValueError, RecursionError) as error:
        raise BertxferError(f"{path} cannot be read ({error})") from error
    if not whole or (text and not text.endswith("\n")):
        raise BertxferError(f"{path} is cut short")


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    return True


def _refuse(path: Path, right: Any) -> None:
    mode = path.lstat().st_mode
    if not right(mode):
        what = "a link, and links are not followed" if stat.S_ISLNK(mode) else "not a plain file or folder"
        raise BertxferError(f"{path} is {what}")
