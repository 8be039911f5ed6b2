"""The table of results: every place has its row, whatever became of it."""

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.report import frame as frames
from bertxfer.report import stored
from bertxfer.store.store import Store
from tests.helpers.stored import finish, point


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "out")


def test_a_row_for_every_place_and_two_places_of_one_trial_share_it(store: Store) -> None:
    places = [point("scheme=incremental", k=12), point(scheme="baseline"), point("scheme=incremental", k=3)]
    finish(places[0], store, 0.75)
    table = frames.frame(places, store)
    assert table["id"].tolist() == [place.trial.id for place in places]
    assert table["id"].nunique() == 2
    assert table["score"].tolist()[:2] == [0.75, 0.75]
    assert table["seconds"].tolist()[0] == 1.5  # dev scores are part of the training, and not counted twice
    assert table["k"].tolist() == [12, pd.NA, 3]
    assert table["state"].tolist() == ["done", "done", "missing"]
    assert table["treatment_text"].tolist() == ["as pretrained", "as pretrained", "layers 4-12 reinitialized"]
    assert str(frames.completeness(table)) == "1 of 2 trials done, 1 missing"


def test_the_science_is_flat_and_what_was_typed_stands_where_both_say_a_key(store: Store) -> None:
    places = [point("task=mini_cola", data__n=16, seed=3), point(data__n="all"), point(data__n=None)]
    table = frames.frame(places, store)
    assert table["data.n"].tolist() == [16, "all", 500]  # null means the task's own 500
    assert table["task"].tolist() == table["task.name"].tolist() == ["mini_cola", "mini_sst2", "mini_sst2"]
    assert table["seed"].tolist() == table["seeds.order"].tolist() == [3, 0, 0]
    assert table["optimizer.lr"].tolist() == [5e-4] * 3
    assert table["task.labels"][0] == "unacceptable, acceptable"
    assert table["training.epochs"].dtype == "int64"


def test_undefined_scores_are_nan_and_counted_and_failures_say_why(store: Store) -> None:
    places = [point(seed=seed) for seed in range(4)]
    finish(places[0], store, 0.5)
    finish(places[1], store, None)
    store.begin(places[2].trial)
    store.fail_with(places[2].trial.id, "the loss is nan")
    table = frames.frame(places, store)
    assert table["state"].tolist() == ["done", "done", "failed", "missing"]
    assert table["reason"].tolist()[2] == "the loss is nan"
    assert table["undefined"].tolist() == [False, True, False, False]
    assert [math.isnan(score) for score in table["score"]] == [False, True, True, True]
    assert table["score"].mean() == 0.5
    counted = frames.Completeness(4, 2, failed=1, missing=1, not_needed=0, undefined=1, rounds=4, whole_rounds=2)
    assert frames.completeness(table) == counted
    assert "1 of 2 without a defined score" in str(frames.completeness(table))


def test_a_result_whose_config_was_edited_is_not_a_number(store: Store) -> None:
    place = point()
    finish(place, store, 0.5)
    config = store.folder(place.trial.id) / "config.yaml"
    config.write_text(config.read_text().replace("epochs: 5", "epochs: 6"))
    table = frames.frame([place], store)
    assert table["state"].tolist() == ["failed"]
    assert "not trusted" in table["reason"][0]
    assert math.isnan(table["score"][0])


def test_files_of_trials_are_read_with_their_ids(store: Store) -> None:
    places = [point(seed=seed) for seed in range(2)]
    ids = [place.trial.id for place in places]
    finish(places[0], store, 0.5)
    folder = store.folder(ids[0])
    events = [{"step": 1, "loss": 0.7, "lr": 0.1}, {"step": 1, "epoch": 1, "accuracy": 0.5}]
    (folder / "history.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    pd.DataFrame({"index": [0, 1], "label": [1, 0], "prediction": [1, 1]}).to_parquet(folder / "predictions.parquet")
    history = stored.history(ids, store)
    assert history["id"].tolist() == [ids[0]] * 2
    assert history["loss"].tolist()[0] == 0.7 and math.isnan(history["loss"].tolist()[1])
    read = stored.predictions(ids, store)
    assert read.columns.tolist() == ["id", "index", "label", "prediction"]
    assert stored.without_rows(ids, read) == [ids[1]]
    assert stored.without_rows(ids, stored.weights(ids, store)) == ids
    assert stored.attention(ids, store).columns.tolist()[:3] == ["id", "layer", "head"]


def test_the_names_of_questions_are_not_taken_for_ids_of_trials(store: Store) -> None:
    place = point()
    finish(place, store, 0.5)
    asked = pd.DataFrame({"index": [0], "id": ["q1"], "label": [["a"]], "prediction": ["a"]})
    asked.to_parquet(store.folder(place.trial.id) / "predictions.parquet")
    read = stored.predictions([place.trial.id], store)
    assert read[["id", "question"]].values.tolist() == [[place.trial.id, "q1"]]


def test_no_places_make_an_empty_table(store: Store) -> None:
    table = frames.frame([], store)
    assert table.empty
    assert frames.completeness(table).trials == 0
