"""When the dev set is evaluated: where somebody reads it, and no number of a result depends on it."""

import dataclasses
import json
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.errors import Interrupted
from bertxfer.learning import run
from bertxfer.store.store import Store
from tests.helpers.commands import Run, tiny_words
from tests.helpers.running import RUNTIME, trial

EVERY = "training.evaluate=every"
EPOCHS = 4
SAME = ("score", "metrics", "dev_loss", "weights_digest", "steps", "epochs")


def words(model: Path, *more: str) -> tuple[str, ...]:
    small = ("data.n=24", "data.dev_n=60", "model.dropout=0.3", "optimizer.lr=1e-3", f"training.epochs={EPOCHS}")
    return (*tiny_words(model), "task=mini_cola", *small, *more)


def epochs_in(folder: Path) -> list[int]:
    lines = (folder / "history.jsonl").read_text().splitlines()
    return [event["epoch"] for event in map(json.loads, lines) if "epoch" in event]


def test_evaluating_after_every_epoch_changes_no_bit_wherever_a_trial_is_resumed(
    shallow_model: Path, tmp_path: Path
) -> None:
    last, every = trial(*words(shallow_model)), trial(*words(shallow_model, EVERY))
    assert last.id == every.id
    runtime = dataclasses.replace(RUNTIME, checkpoint_seconds=0)
    undisturbed = Store(tmp_path / "undisturbed")
    expected = run.run(last, undisturbed, runtime)
    assert epochs_in(undisturbed.folder(last.id)) == [EPOCHS]
    steps = expected["steps"]
    assert steps == 3 * EPOCHS
    for begun, ended in ((every, every), (last, last), (every, last), (last, every)):
        for at in range(1, steps + 1):
            store, asked = Store(tmp_path / f"{at}{begun.outputs}{ended.outputs}"), iter(range(1000))
            with pytest.raises(Interrupted):
                run.run(begun, store, runtime, stop=lambda asked=asked, at=at: next(asked) >= at)
            found, folder = run.run(ended, store, runtime), store.folder(last.id)
            assert {key: found[key] for key in SAME} == {key: expected[key] for key in SAME}
            there = undisturbed.folder(last.id) / "predictions.parquet"
            assert (folder / "predictions.parquet").read_bytes() == there.read_bytes()
            # What was not evaluated when the trial began cannot be made up for: it then begins anew.
            began_anew = (begun, ended) == (last, every) and 3 <= at < steps + 1
            assert found["resumed_at_step"] == (None if began_anew else at)
            if ended is every:
                course = pd.read_parquet(folder / "course.parquet")
                assert course["epoch"].tolist() == epochs_in(folder) == [1, 2, 3, 4]
                assert course["matthews_correlation"].iloc[-1] == found["metrics"]["matthews_correlation"]


def test_a_stored_trial_is_run_again_for_its_course_and_keeps_its_result(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    sweep = ("-m", *words(shallow_model), "seed=0,1", "hydra/launcher=inline")
    assert bertxfer(*sweep).returncode == 0
    drawn = ("figure.kind=epochs", "figure.x=epoch", "figure.facets=task", "figure.tables=[by_epoch]")
    ended = bertxfer("report", *sweep, *drawn)
    assert ended.returncode == 0, ended.stderr
    page = next((tmp_path / "out" / "reports").glob("*/index.html")).read_text()
    assert "2 finished trials were stored without dev scores of every epoch and are left out" in page
    folders = sorted((tmp_path / "out" / "trials").iterdir())
    kept = {path: path.read_bytes() for folder in folders for path in folder.iterdir() if path.is_file()}
    assert len(kept) == 2 * 4

    assert ": 0 done" in bertxfer("plan", *sweep, EVERY).stdout and ": 2 done" in bertxfer("plan", *sweep).stdout
    ended = bertxfer(*sweep, EVERY)
    assert ended.returncode == 0, ended.stderr
    assert "other last bits" not in ended.stderr
    assert all(path.read_bytes() == content for path, content in kept.items())
    for folder in folders:
        course, result = pd.read_parquet(folder / "course.parquet"), json.loads((folder / "result.json").read_text())
        assert course["epoch"].tolist() == [1, 2, 3, 4]
        assert course["dev_loss"].iloc[-1] == result["dev_loss"]
    assert ": 2 done" in bertxfer("plan", *sweep, EVERY).stdout and ": 2 done" in bertxfer("plan", *sweep).stdout

    ended = bertxfer("report", *sweep, EVERY, *drawn)
    assert ended.returncode == 0, ended.stderr
    table = pd.read_csv(next((tmp_path / "out" / "reports").glob("*/tables/by_epoch.csv")))
    assert table["epoch"].tolist() == [1, 2, 3, 4] and (table["n"] == 2).all()


def test_where_scores_decide_each_epoch_is_evaluated(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    stops = ("training.stop=dev_score", "training.patience=4")
    for i, more in enumerate((("training.report=best",), stops)):
        output = {"BERTXFER_OUTPUT": str(tmp_path / str(i))}
        assert bertxfer(*words(shallow_model, *more), env=output).returncode == 0
        (folder,) = (tmp_path / str(i) / "trials").iterdir()
        assert epochs_in(folder) == [1, 2, 3, 4]


def test_a_probe_has_no_course(bertxfer: Run) -> None:
    ended = bertxfer("training=probe", "probe.layer=1", EVERY)
    assert ended.returncode == 2
    assert "training.evaluate: a probe is trained with evaluate=last" in ended.stderr
