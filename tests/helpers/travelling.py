"""Small stores of real trials, for tests of what travels between stores: made once, copied in parts."""

import dataclasses
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from pyarrow import parquet

from bertxfer.config.schema import ArtifactSettings, Runtime
from bertxfer.store import whole
from bertxfer.store.agreement import SAME
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest, merging
from bertxfer.sweeps.sweep import Point, Sweep
from bertxfer.trials.science import Science
from bertxfer.trials.trial import Trial
from tests.helpers.commands import tiny_words
from tests.helpers.running import drained, trial

TINY = ("data.n=16", "training.epochs=1", "data.dev_n=16")


def ran(root: Path, model: Path, seeds: int, *words: str) -> list[Trial]:
    """Runs a trial for each of some seeds, and freezes them as the sweep that a command would have made of them."""
    said = [*tiny_words(model, *TINY), *words]
    trials = [trial(*said, f"seed={seed}") for seed in range(seeds)]
    drained(Store(root), *trials)
    points = [Point({"seed": seed}, one) for seed, one in enumerate(trials)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["bertxfer", "-m", *said, f"seed=range({seeds})"])
        manifest.freeze(Sweep(points, Runtime(output_dir=str(root)), ArtifactSettings()))
    return trials


def copied(source: Store, ids: Sequence[str], root: Path) -> Store:
    """A store with some of the trials of another."""
    for trial_id in ids:
        shutil.copytree(source.folder(trial_id), root / "trials" / trial_id)
    (root / "trials").mkdir(parents=True, exist_ok=True)
    return Store(root)


def many(source: Store, trial_id: str, count: int, root: Path) -> Store:
    """A store of copies of one trial under the ids of other seeds: what a merge looks at agrees in them."""
    plain, told = source.config(trial_id), json.loads((source.folder(trial_id) / "result.json").read_text())
    science = Science.from_dict(plain)
    for seed in range(count):
        other = dataclasses.replace(science, seeds=dict.fromkeys(science.seeds, 1000 + seed))
        folder = root / "trials" / other.id
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(yaml.safe_dump(other.as_dict(), sort_keys=False))
        (folder / "result.json").write_text(json.dumps({**told, "id": other.id, "seed": 1000 + seed}))
        for name in ("predictions.parquet", "history.jsonl"):
            shutil.copyfile(source.folder(trial_id) / name, folder / name)
    return Store(root)


def merged(other: Path, here: Path) -> tuple[bool, list[str]]:
    """A merge in this process: whether all was well, and what was said."""
    said: list[str] = []
    return merging.merge(other, Store(here), merging.Check(), said.append), said


def change_result(store: Store, trial_id: str, **changes: Any) -> None:
    path = store.folder(trial_id) / "result.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def plant(store: Store, trial_id: str, wrong: int = 4) -> None:
    """Another result that its own files do not contradict: predictions are inverted, and accuracy is counted anew."""
    columns = _columns(store, trial_id)
    right = [one == other for one, other in zip(columns["label"], columns["prediction"], strict=True)]
    more = sum(right) <= len(right) / 2
    for i in [i for i, is_right in enumerate(right) if is_right != more][:wrong]:
        _invert(columns, i)
    _write(store, trial_id, columns)
    accuracy = (sum(right) + (wrong if more else -wrong)) / len(right)
    change_result(store, trial_id, score=accuracy, metrics={"accuracy": accuracy})


def swap(store: Store, trial_id: str) -> None:
    """Other predictions of the same accuracy: a right one and a wrong one are inverted."""
    columns = _columns(store, trial_id)
    right = [one == other for one, other in zip(columns["label"], columns["prediction"], strict=True)]
    for i in (right.index(True), right.index(False)):
        _invert(columns, i)
    _write(store, trial_id, columns)


def _invert(columns: dict[str, list[Any]], i: int) -> None:
    columns["prediction"][i] = 1 - columns["prediction"][i]
    columns["logit_0"][i], columns["logit_1"][i] = columns["logit_1"][i], columns["logit_0"][i]


def _columns(store: Store, trial_id: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = whole.table(store.folder(trial_id) / "predictions.parquet").to_pydict()
    return columns


def _write(store: Store, trial_id: str, columns: dict[str, list[Any]]) -> None:
    path = store.folder(trial_id) / "predictions.parquet"
    parquet.write_table(pa.table(columns, schema=whole.table(path).schema), path)


def view(root: Path) -> dict[str, Any]:
    """What a store says of its finished trials: what must agree of their results, and their other files to the byte."""
    store = Store(root)
    return {trial_id: _view(store, trial_id) for trial_id in sorted(store.finished())}


def _view(store: Store, trial_id: str) -> dict[str, Any]:
    result = whole.check(store, trial_id)
    names = [name for name in whole.files_of(store.folder(trial_id)) if name != "result.json"]
    files = {name: (store.folder(trial_id) / name).read_bytes() for name in names}
    return {**files, "result.json": {key: result[key] for key in SAME}}
