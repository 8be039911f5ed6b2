"""Numbers that go wrong: a ruined trial fails with its reason, an undefined score is counted and never a number."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest
import torch

from bertxfer.errors import TrialError
from bertxfer.learning import evaluation
from bertxfer.learning.data import Dataset
from bertxfer.learning.finite import refuse_non_finite
from bertxfer.learning.probes.course import Course
from bertxfer.report import blocks, bootstrap, tables
from bertxfer.report import frame as frames
from bertxfer.report import statistics as stats
from bertxfer.report.correlations import between_tasks
from bertxfer.store.store import Store
from bertxfer.sweeps import summary
from tests.helpers.commands import Run, tiny_words
from tests.helpers.running import drained, result, trial
from tests.helpers.stored import finish, point, seeds_of

WORDS = ("the", "a", "and")
Row = tuple[str, object]


def write_task(
    folder: Path, name: str, train: list[tuple[str, object]], dev: list[tuple[str, object]], **task: object
) -> None:
    """A task of one's own: two CSV files and its YAML."""
    (folder / "conf" / "task").mkdir(parents=True, exist_ok=True)
    for split, rows in (("train", train), ("dev", dev)):
        lines = "".join(f"{text},{label}\n" for text, label in rows)
        (folder / f"{name}_{split}.csv").write_text(f"text,label\n{lines}")
    files = {split: str(folder / f"{name}_{split}.csv") for split in ("train", "dev")}
    said = {"name": name, "text": ["text"], "files": files, **task}
    (folder / "conf" / "task" / f"{name}.yaml").write_text(json.dumps(said))  # JSON is YAML


def test_weights_that_the_last_step_ruins_are_no_result(shallow_model: Path, tmp_path: Path) -> None:
    """One step: its loss is finite, and what it leaves is not."""
    store = Store(tmp_path)
    ruined = trial(
        *tiny_words(shallow_model), "data.n=8", "training.epochs=1", "training.clip=null", "optimizer.lr=1e30"
    )
    drained(store, ruined)
    assert store.result(ruined.id) is None
    assert "is not a finite number" in store.why_failed(ruined.id)


def test_a_ruined_tensor_that_no_dev_text_uses_is_seen(shallow_model: Path) -> None:
    sound = {"a": torch.ones(3), "b": torch.ones(2)}
    refuse_non_finite(sound)
    sound["b"][1] = math.inf
    with pytest.raises(TrialError, match="not finite numbers after the last step: b; a lower"):
        refuse_non_finite(sound)


def test_a_nan_is_no_class() -> None:
    of_sst2 = trial("task=mini_sst2")
    dev = Dataset([0, 1], {}, [0, 1], {})
    good, bad = torch.tensor([0.5, 0.1]), torch.tensor([math.nan, 0.1])
    assert evaluation.judged([good, good], dev, of_sst2)["score"] == 0.5
    with pytest.raises(TrialError, match="1 of 2 dev inputs is not a finite number"):
        evaluation.judged([good, bad], dev, of_sst2)


def test_the_dev_loss_is_the_mean_over_rows_of_what_is_trained_with() -> None:
    outputs = [torch.tensor([2.0, 0.0]), torch.tensor([0.0, 1.0]), torch.tensor([3.0, 3.0])]
    judged = evaluation.judged(outputs, Dataset([0, 1, 2], {}, [0, 0, 1], {}), trial("task=mini_sst2"))
    by_hand = [math.log(1 + math.exp(-2)), math.log(1 + math.exp(1)), math.log(2)]
    assert judged["loss"] == pytest.approx(sum(by_hand) / 3, rel=1e-12)


def test_a_probe_that_never_learned_is_not_scored_as_it_was_drawn() -> None:
    """Early stopping keeps the weights of the best epoch; where no held-out loss was a number there is none."""
    never = Course(4, torch.ones(2, 2), torch.full((2, 2), math.nan), counted=[0, 1], epochs=[2, 2])
    with pytest.raises(TrialError, match="held-out rows was never a number"):
        never.refuse_non_finite(0)
    never.refuse_non_finite(1)


def test_a_single_class_is_undefined_from_the_result_to_the_report(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    """The labels of the dev set are all one class: no correlation with them is defined, and accuracy is."""
    train = [(WORDS[i % 3], ("no", "yes")[i % 2]) for i in range(12)]
    write_task(tmp_path, "onesided", train, [(word, "no") for word in WORDS], labels=["no", "yes"],
               metrics=["matthews_correlation", "f1", "accuracy"], headline="matthews_correlation")  # fmt: skip
    write_task(tmp_path, "single", train, [("the", "yes")], labels=["no", "yes"],
               metrics=["matthews_correlation"], headline="matthews_correlation")  # fmt: skip
    words = [*tiny_words(shallow_model), "training.epochs=1", "--config-dir", "conf", "-m", "data.n=1", "seed=0,1"]
    ended = bertxfer(*words, "task=onesided,single,mini_sst2", "data.dev_n=3", "hydra/launcher=inline")
    assert ended.returncode == 0, ended.stderr
    assert "4 of 6 trials have no defined score and are in no median or mean" in ended.stdout
    assert "score=undefined (all 3 labels of the dev set are 0)" in ended.stdout
    assert "score=undefined (the dev set has one row)" in ended.stdout
    assert ended.stdout.count("- (2 undefined)") == 2
    found = [json.loads(path.read_text()) for path in (tmp_path / "out" / "trials").glob("*/result.json")]
    onesided = [result for result in found if result["task"] == "onesided"]
    assert [result["score"] for result in onesided] == [None, None]
    for one in onesided:
        assert one["metrics"]["matthews_correlation"] is None and one["metrics"]["f1"] is None
        assert isinstance(one["metrics"]["accuracy"], float) and set(one["undefined"]) == {"matthews_correlation", "f1"}
    name = next((tmp_path / "out" / "sweeps").iterdir()).name
    assert "undefined (the dev set has one row)" in bertxfer("status", name).stdout
    reported = bertxfer("report", name)
    assert reported.returncode == 0, reported.stderr
    page = (tmp_path / "out" / "reports" / name / "index.html").read_text()
    assert "6 of 6 trials done, 4 of 6 without a defined score, which no mean includes" in page
    assert "4 of 6 trials have no defined score; no mean includes them." in page
    assert "2 places of the figure are empty for that reason." in page
    assert "undefined (all 3 labels of the dev set are 0)" in page
    bertxfer("export", "all.csv")
    table = pd.read_csv(tmp_path / "all.csv")
    assert table["undefined"].sum() == 4 and table.loc[table["undefined"], "score"].isna().all()


def test_constant_predictions_have_no_pearson_and_a_matthews_of_zero(shallow_model: Path, tmp_path: Path) -> None:
    """What is not fine-tuned and reads only one text says one thing of all of them."""
    write_task(tmp_path, "alike", [("the", i) for i in range(4)], [("the", i / 2) for i in range(4)],
               kind="regression", metrics=["pearson", "mse"], headline="pearson")  # fmt: skip
    write_task(tmp_path, "classes", [("the", i % 2) for i in range(4)], [("the", i % 2) for i in range(4)],
               labels=["no", "yes"], metrics=["matthews_correlation"], headline="matthews_correlation")  # fmt: skip
    from hydra import compose, initialize_config_dir

    from bertxfer.config import schema
    from bertxfer.config.configs import config_with, task_finder
    from bertxfer.trials.trial import trial_of

    schema.register()
    store = Store(tmp_path / "out")
    found = {}
    with initialize_config_dir(str(schema.conf_dir()), version_base="1.3"):
        for task in ("alike", "classes"):
            words = [f"hydra.searchpath=[file://{tmp_path / 'conf'}]", f"task={task}", f"model.name={shallow_model}"]
            cfg = compose("config", overrides=[*words, "training=none", "runtime.device=cpu"])
            found[task] = trial_of(config_with(cfg, task_finder(lambda words: compose("config", words))))
    drained(store, *found.values())
    alike, classes = result(store, found["alike"]), result(store, found["classes"])
    assert alike["score"] is None and "all 4 predictions are" in alike["undefined"]["pearson"]
    assert isinstance(alike["metrics"]["mse"], float)
    assert classes["score"] == 0.0 and classes["undefined"] == {}


def test_the_terminal_table_says_what_its_cells_leave_out(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = Store(tmp_path)
    places = seeds_of(point(), range(3))
    for place, score in zip(places, (0.5, 0.7, None), strict=True):
        told = {"treatment": {"order": None}, "treatment_text": "as pretrained", "seed": 0}
        finish(place, store, score, **told)
    summary.print_table([(place.trial.science, store.result(place.trial.id) or {}) for place in places])
    said = capsys.readouterr().out
    assert "60.0 (60.0 ± 14.1, 2, 1 undefined)" in said
    assert "1 of 3 trials have no defined score" in said


def test_pairs_without_a_score_are_counted_in_words() -> None:
    rows = [
        {"id": f"{k}{seed}", "k": k, "seeds.order": seed, "task": "t", "state": "done", "score": score}
        for k, scores in ((0, [0.1, 0.2, math.nan]), (12, [0.5, 0.5, 0.5]))
        for seed, score in enumerate(scores)
    ]
    found = stats.differences(pd.DataFrame(rows), ["k"], {"k": 12}, []).iloc[0]
    assert (found["n"], found["unpaired"], found["undefined"]) == (2, 0, 1)
    assert found["words"].endswith("; 1 of 3 pairs have no defined score")


def test_correlations_say_what_they_leave_out() -> None:
    rows = [
        {"id": f"{task}{seed}", "task": task, "seeds.order": seed, "state": "done", "score": score}
        for task, scores in (("a", [0.1, 0.2, 0.4, math.nan]), ("b", [0.2, 0.1, 0.5, 0.3]))
        for seed, score in enumerate(scores)
    ]
    found = between_tasks(pd.DataFrame(rows)).iloc[0]
    assert found["n"] == 3 and found["words"].endswith("1 left out, where a score is not defined")


def test_a_bootstrap_counts_the_resamples_that_have_no_score() -> None:
    """One of three labels is positive: some resamples have none of it, and then F1 is not defined."""
    rows = [{"id": "x", "index": i, "label": label, "prediction": 1} for i, label in enumerate([1, 0, 0])]
    found = bootstrap.bootstrap(pd.DataFrame(rows), ["x"], "f1", resamples=200)
    assert found.value == 0.5 and 0 < found.undefined < 200 and found.low <= 0.5 <= found.high
    constant = [{**row, "label": 0} for row in rows]
    nothing = bootstrap.bootstrap(pd.DataFrame(constant), ["x"], "f1", resamples=20)
    assert math.isnan(nothing.value) and math.isnan(nothing.low) and nothing.undefined == 20


def test_the_bootstrap_table_leaves_undefined_trials_out_and_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    places = seeds_of(point("task=mini_cola"), range(2))
    for place, score in zip(places, (1.0, None), strict=True):
        finish(place, store, score)
        pd.DataFrame({"index": [0, 1], "label": [0, 1], "prediction": [0, 1]}).to_parquet(
            store.folder(place.trial.id) / "predictions.parquet"
        )
    (figure,) = blocks.figures_of({"kind": "table", "tables": ["bootstrap"]})
    (table,) = tables.make(frames.frame(places, store), figure, store)
    assert table.data["seeds"].tolist() == [1] and table.data["score"].tolist() == pytest.approx([1.0])
    assert "1 of 2 trials have no defined score and are left out" in table.note
    none = [places[1]]
    (empty,) = tables.make(frames.frame(none, store), figure, store)
    assert len(empty.cells) == 0 and "1 of 1 trials have no defined score" in empty.note
