"""The directory of trials by id: the truth that everything else can be rebuilt from."""

import json
import re
import shutil
import sys
import traceback
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from bertxfer.errors import BertxferError
from bertxfer.store.artifacts import Artifacts
from bertxfer.store.results import UNKNOWN, Result, number, problem_of
from bertxfer.system.files import link_within, read_json, write_json, write_text, write_whole
from bertxfer.tasks import metrics
from bertxfer.trials.science import identify
from bertxfer.trials.trial import Trial


class Store:
    """A results folder: its trials, and the artifacts that they share."""

    def __init__(self, root: str | Path, max_gb: float | None = None) -> None:
        self.root = Path(root)
        self.artifacts = Artifacts(self.root / "artifacts", max_gb)

    def folder(self, trial_id: str) -> Path:
        return self.root / "trials" / trial_id

    def has(self, trial_id: str) -> bool:
        """Whether a trial of this id was ever begun here; false for a name that is not an id."""
        return re.fullmatch("[0-9a-f]{16}", trial_id) is not None and self.folder(trial_id).is_dir()

    def finished(self) -> set[str]:
        """The ids of all trials that have a result."""
        return {path.parent.name for path in (self.root / "trials").glob("[!.]*/result.json")}

    @property
    def tokens(self) -> Path:
        """Tokenized data, shared by all trials."""
        return self.root / "artifacts" / "tokens"

    def checkpoint(self, trial_id: str) -> Path:
        return self.folder(trial_id) / "checkpoint"

    def is_saved(self, trial_id: str) -> bool:
        """Whether the trial can go on from a checkpoint."""
        return any(self.checkpoint(trial_id).glob("[!.]*.pt"))

    def link(self, trial_id: str) -> Path | None:
        """A link on the way to what a run of the trial would write or delete; nobody here makes one."""
        link = link_within(self.root, "trials", trial_id)
        parts = (self.folder(trial_id) / part for part in ("attempts", "checkpoint", "model"))
        return link or next((part for part in parts if part.is_symlink()), None)

    def result(self, trial_id: str) -> Result | None:
        """The trial's result, if it is done. A folder whose config is not the one its id hashes is an error."""
        result = self.result_alone(trial_id)
        if result is not None:
            self.known_config(trial_id)
        return result

    def scored(self, trial: Trial) -> Result | None:
        """The trial's result by the metrics that are asked for now: it may have been run for others. Its `headline`
        says which one `score` is, also where the stored result does not."""
        result = self.result(trial.id)
        if result is None:
            return None
        if missing := [name for name in trial.metrics if name not in result["metrics"]]:
            result = self._measured(trial, missing, result)
        was = result.get("headline") or trial.science.task.headline  # which was part of the science before semantics 3
        headline = trial.headline or was
        if headline == (was or headline):
            return {**result, "headline": headline}
        if headline not in result["metrics"]:
            path = self.folder(trial.id) / "predictions.parquet"
            raise BertxferError(f"{headline} was not measured when the trial was run, and {path} cannot be read")
        return {**result, "headline": headline, "score": result["metrics"][headline]}

    def _measured(self, trial: Trial, names: Sequence[str], result: Result) -> Result:
        """With metrics that were not asked for when the trial was run, from its predictions if they are there."""
        from pyarrow import ArrowException, parquet

        try:
            path = self.folder(trial.id) / "predictions.parquet"
            columns = parquet.read_table(path, columns=["label", "prediction"]).to_pydict()
        except (OSError, ArrowException):
            return result
        scores, undefined = metrics.from_predictions(trial.science.task.kind, names, columns)
        added = {name: number(value) for name, value in scores.items()}
        return {
            **result,
            "metrics": {**result["metrics"], **added},
            "undefined": {**(result["undefined"] or {}), **undefined},
        }

    def result_alone(self, trial_id: str) -> Result | None:
        """The same without checking the config, for callers that read thousands."""
        path = self.folder(trial_id) / "result.json"
        try:
            result = read_json(path, follow=True)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise BertxferError(f"{path} cannot be read ({error}); move it away to run the trial again") from error
        problem = problem_of(result, trial_id)
        if problem:
            raise BertxferError(f"{path} {problem}; move it away to run the trial again")
        return {**UNKNOWN, **result}

    def complete(self, trial_id: str, outputs: Sequence[str] = ()) -> bool:
        """Whether the result is there, and all that is wanted beside it."""
        return (self.folder(trial_id) / "result.json").exists() and not self.lacking(trial_id, outputs)

    def lacking(self, trial_id: str, outputs: Sequence[str]) -> list[str]:
        """Those of the wanted outputs that are not there."""
        return [name for name in outputs if not self._has(trial_id, name)]

    def _has(self, trial_id: str, output: str) -> bool:
        if output == "encoder":
            return self.artifacts.has("encoders", trial_id)
        return (self.folder(trial_id) / output_name(output)).exists()

    def config(self, trial_id: str) -> dict[str, Any]:
        """The scientific config stored under an id, checked against it."""
        path = self.folder(trial_id) / "config.yaml"
        try:
            plain: dict[str, Any] = yaml.load(_config_text(path), Loader=_Loader)
            actual_id = identify(plain)
        except (OSError, yaml.YAMLError, TypeError, ValueError, OverflowError, RecursionError) as error:
            reason = " ".join(str(error).split())
            raise BertxferError(
                f"{path} cannot be read ({reason}); move the folder away to run the trial again"
            ) from error
        if actual_id != trial_id:
            raise BertxferError(
                f"{path} hashes to {actual_id}, not to its folder's id; it was edited, and is not trusted"
            )
        return plain

    def known_config(self, trial_id: str) -> dict[str, Any]:
        """The same for callers that read thousands and change nothing in it: its parts are shared."""
        return self._vouched(trial_id) or self.config(trial_id)

    def _vouched(self, trial_id: str) -> dict[str, Any] | None:
        """A fast reading of the config, if that hashes to its id; none proves nothing."""
        try:
            text = _config_text(self.folder(trial_id) / "config.yaml")
            plain = {key: value for part in _PARTS.split(text) for key, value in _part(part).items()}
            return plain if identify(plain) == trial_id else None
        except (OSError, yaml.YAMLError, AttributeError, TypeError, ValueError, RecursionError):
            return None

    def begin(self, trial: Trial) -> Path:
        """The trial's folder, with its config written down; a trial begun before goes on in it."""
        folder = self.folder(trial.id)
        folder.mkdir(parents=True, exist_ok=True)
        self._write_config(trial)
        return folder

    def _write_config(self, trial: Trial) -> None:
        """A damaged config is written again, but not one beside a result: that is an error. So is one of an attempt
        that called the model otherwise written again: names are no part of an id, and a config has that of its run."""
        folder = self.folder(trial.id)
        try:
            good = self.config(trial.id)["model"]["name"] == trial.science.model.name
        except BertxferError as error:
            if (folder / "result.json").exists():
                raise
            if (folder / "config.yaml").exists():
                print(f"written again: {error}", file=sys.stderr, flush=True)
            good = False
        if not good and not (folder / "result.json").exists():
            write_text(folder / "config.yaml", yaml.dump(trial.science.as_dict(), Dumper=_Dumper, sort_keys=False))

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
        """Removes what a finished trial no longer needs."""
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
            reason = read_json(self.folder(trial_id) / "failure.json", follow=True)["reason"]
        except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
            return "its process was lost"
        return " ".join(str(reason).split()) or "its process was lost"


def output_name(output: str) -> str:
    """The file or folder beside a result that an output of the trial is."""
    return "model" if output == "model" else f"{output}.parquet"


def _write_table(columns: dict[str, Any], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    from bertxfer.system import arrow

    parquet.write_table(pa.table({name: arrow.column(values) for name, values in columns.items()}), path)


_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_Dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_PARTS = re.compile(r"^(?=\w+:)", re.MULTILINE)  # where a key of the top level begins
_LARGEST, _DEEPEST = 1 << 20, 40  # bytes, levels: no config comes near


def _config_text(path: Path) -> str:
    """The text of a config. What is nested too deeply would end the process in the YAML library, which is written in C,
    and aliases can stand for more than fits into memory; no config has either."""
    if path.stat().st_size > _LARGEST:
        raise ValueError("it is larger than any config")
    if not path.is_file():  # whoever opened a pipe would wait for ever
        raise ValueError("it is not a plain file")
    text, depth = path.read_text(encoding="utf-8"), 0
    # Only a text with many of these signs, or one of the last two, can be such a one; the others are not read twice.
    if sum(map(text.count, "[{-?:")) < 1000 and "  " * _DEEPEST not in text and not {"&", "*"} & set(text):
        return text
    for event in yaml.parse(text, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST or isinstance(event, yaml.AliasEvent):
            raise ValueError("it is nested more deeply than any config, or has aliases")
    return text


@lru_cache(maxsize=4096)
def _part(text: str) -> dict[str, Any]:
    """Some lines of a config. Trials have most of theirs in common, so thousands are read in a fifth of the time."""
    return yaml.load(text, Loader=_Loader) or {}
