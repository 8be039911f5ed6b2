"""The directory of trials by id: the truth that everything else can be rebuilt from."""

import json
import math
import shutil
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from bertxfer.artifacts import Artifacts
from bertxfer.errors import BertxferError
from bertxfer.files import write_json, write_text, write_whole
from bertxfer.identity import Trial, identify

Result = dict[str, Any]


class Store:
    def __init__(self, root: str | Path, max_gb: float | None = None) -> None:
        self.root = Path(root)
        self.artifacts = Artifacts(self.root / "artifacts", max_gb)

    def folder(self, trial_id: str) -> Path:
        return self.root / "trials" / trial_id

    @property
    def tokens(self) -> Path:
        """Tokenized data, shared by all trials."""
        return self.root / "artifacts" / "tokens"

    def checkpoint(self, trial_id: str) -> Path:
        return self.folder(trial_id) / "checkpoint"

    def result(self, trial_id: str) -> Result | None:
        """The trial's result, if it is done. A folder whose config is not the one its id hashes is an error."""
        result = self.result_alone(trial_id)
        if result is not None:
            self.config(trial_id)
        return result

    def result_alone(self, trial_id: str) -> Result | None:
        """The same without a look at the config, for who reads thousands."""
        path = self.folder(trial_id) / "result.json"
        try:
            result: Result = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise BertxferError(f"{path} cannot be read ({error}); move it away to run the trial again") from error
        if result.get("id") != trial_id:
            raise BertxferError(f"{path} is the result of {result.get('id')}; move it away to run the trial again")
        return result

    def complete(self, trial_id: str, outputs: Sequence[str] = ()) -> bool:
        """Whether the result is there, and all that is wanted beside it."""
        return (self.folder(trial_id) / "result.json").exists() and not self.lacking(trial_id, outputs)

    def lacking(self, trial_id: str, outputs: Sequence[str]) -> list[str]:
        return [name for name in outputs if not self._has(trial_id, name)]

    def _has(self, trial_id: str, output: str) -> bool:
        if output == "encoder":
            return self.artifacts.has("encoders", trial_id)
        return (self.folder(trial_id) / ("model" if output == "model" else f"{output}.parquet")).exists()

    def config(self, trial_id: str) -> dict[str, Any]:
        """The scientific config stored under an id, checked against it."""
        path = self.folder(trial_id) / "config.yaml"
        try:
            plain: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
            found = identify(plain)
        except (OSError, yaml.YAMLError, TypeError, ValueError) as error:
            raise BertxferError(
                f"{path} cannot be read ({error}); move the folder away to run the trial again"
            ) from error
        if found != trial_id:
            raise BertxferError(f"{path} hashes to {found}, not to its folder's id; it was edited, and is not trusted")
        return plain

    def begin(self, trial: Trial) -> Path:
        """The trial's folder, with its config written down; a trial begun before goes on in it."""
        folder = self.folder(trial.id)
        folder.mkdir(parents=True, exist_ok=True)
        self._write_config(trial)
        return folder

    def _write_config(self, trial: Trial) -> None:
        """A config that is damaged is written anew, but not one that a result stands beside: that is not trusted."""
        folder = self.folder(trial.id)
        try:
            self.config(trial.id)
        except BertxferError as error:
            if (folder / "result.json").exists():
                raise
            if (folder / "config.yaml").exists():
                print(f"written anew: {error}", file=sys.stderr, flush=True)
            write_text(folder / "config.yaml", yaml.safe_dump(trial.science.as_dict(), sort_keys=False))

    def record(
        self, trial: Trial, result: Result, predictions: dict[str, Any], history: Sequence[dict[str, Any]]
    ) -> None:
        """Writes all that a trial found, the result last.

        A trial that was run again for something beside its result keeps the result it had.
        """
        folder = self.folder(trial.id)
        if not (folder / "result.json").exists():
            write_whole(folder / "predictions.parquet", lambda path: _write_table(predictions, path))
            events = [{key: number(value) for key, value in event.items()} for event in history]
            write_text(folder / "history.jsonl", "".join(json.dumps(event) + "\n" for event in events))
        self.finish(trial, result)

    def finish(self, trial: Trial, result: Result) -> None:
        """Marks the trial done. What was only needed to get there is removed after that, not before."""
        folder = self.folder(trial.id)
        if not (folder / "result.json").exists():
            self._write_config(trial)  # it may have been damaged since the trial began
            # Where two workers ran it, as after a suspension, the first result is the one that stays.
            write_json(folder / "result.json", result, first=True)
        self.clear(trial.id)

    def clear(self, trial_id: str) -> None:
        """Removes what a finished trial needs no more."""
        (self.folder(trial_id) / "failure.json").unlink(missing_ok=True)
        shutil.rmtree(self.checkpoint(trial_id), ignore_errors=True)

    def fail(self, trial: Trial, error: BaseException) -> None:
        """Records why an attempt ended without a result."""
        reason = str(error) if isinstance(error, BertxferError) else f"{type(error).__name__}: {error}"
        self.fail_with(trial.id, reason, "".join(traceback.format_exception(error)))

    def fail_with(self, trial_id: str, reason: str, details: str = "") -> None:
        write_json(self.folder(trial_id) / "failure.json", {"id": trial_id, "reason": reason, "traceback": details})

    def why_failed(self, trial_id: str) -> str:
        """Why the last attempt failed, in one line."""
        try:
            return str(json.loads((self.folder(trial_id) / "failure.json").read_text(encoding="utf-8"))["reason"])
        except (OSError, ValueError, KeyError):
            return "its process was lost"


def number(value: float) -> float | None:
    """JSON has no nan: a score that is not defined is null."""
    return None if math.isnan(value) else value


def _write_table(columns: dict[str, Any], path: Path) -> None:
    import numpy
    import pyarrow as pa
    from pyarrow import parquet

    arrays = {name: numpy.asarray(column) if hasattr(column, "numpy") else column for name, column in columns.items()}
    parquet.write_table(pa.table(arrays), path)


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
