"""Figures from results whose right marks are known: what stands in the specification, and where it is drawn."""

import html
import json
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import vl_convert
from scipy import stats

from bertxfer.errors import ConfigError
from bertxfer.report import published
from bertxfer.report.blocks import figures_of, guess
from bertxfer.report.drawing import Drawing, draw
from bertxfer.report.frame import frame
from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from tests.helpers.stored import finish, point, seeds_of


def test_curves_have_means_and_t_intervals(tmp_path: Path) -> None:
    scores = {0: [0.5, 0.52, 0.54], 12: [0.9, 0.8, 0.91]}
    drawn = _drawn(_over_k(scores), scores_of(scores), tmp_path, kind="curves", x="k")
    marks = {mark["x"]: mark for mark in _marks(drawn, "mean")}
    for k, given in scores.items():
        low, high = stats.t.interval(0.95, 2, loc=sum(given) / 3, scale=stats.sem(given))
        assert marks[k]["y"] == pytest.approx(100 * sum(given) / 3)
        bar = (marks[k]["low"], marks[k]["high"])
        assert bar == (pytest.approx(100 * low), pytest.approx(min(100, 100 * high)))  # no accuracy is above 100
        assert marks[k]["n"] == 3
        assert all(f"seed {seed}: {100 * score:.2f}" in marks[k]["trials"] for seed, score in enumerate(given))
    # On the picture the higher mean is higher, and further right.
    first, second = _symbols(drawn)
    assert first["x"] < second["x"] and first["y"] > second["y"]


def test_medians_have_the_range_of_their_runs_and_no_interval(tmp_path: Path) -> None:
    scores = {0: [0.5, 0.9, 0.6], 12: [0.8, 0.7]}
    drawn = _drawn(_over_k(scores), scores_of(scores), tmp_path, kind="curves", x="k", center="median")
    marks = [(mark["x"], mark["y"], mark["low"], mark["high"]) for mark in _marks(drawn, "mean")]
    assert marks == [(0, 60, 50, 90), (12, 75, 70, 80)]
    assert "Medians over seeds, of 2 to 3 runs each. Bars are the range of the runs" in drawn.explanation
    assert "interval" not in json.dumps(drawn.spec["title"])
    assert set(drawn.table()["mark"]) == {"median"}
    drawn = _drawn(_over_k(scores), scores_of(scores), tmp_path, kind="treatments", center="median")
    assert sorted(mark["y"] for mark in _marks(drawn, "mean")) == [60, 75]
    assert drawn.explanation.startswith("Ticks are trials. Medians over seeds, of 2 to 3 runs each. Bars are the range")


def test_only_seeds_are_averaged_over(tmp_path: Path) -> None:
    short, long = (point("scheme=incremental", k=3, training__epochs=epochs) for epochs in (1, 5))
    places = [Point({"k": 3, "seed": p.axes["seed"]}, p.trial) for one in (short, long) for p in seeds_of(one, [0, 1])]
    drawn = _drawn(places, lambda p: p.trial.science.training.epochs / 10, tmp_path, kind="curves", x="k")
    assert {mark["series"]: mark["y"] for mark in _marks(drawn, "mean")} == {
        "training.epochs=1": pytest.approx(10),
        "training.epochs=5": pytest.approx(50),
    }
    assert any("training.epochs" in note for note in drawn.marks.notes)


def test_a_trial_of_two_places_counts_once(tmp_path: Path) -> None:
    twice = [*seeds_of(point("scheme=incremental", k=12), [0, 1]), *seeds_of(point("scheme=baseline", k=None), [0])]
    places = [Point({"k": 12, "seed": p.axes["seed"]}, p.trial) for p in twice]
    drawn = _drawn(places, lambda p: p.trial.science.seeds["order"] / 2, tmp_path, kind="curves", x="k")
    (mark,) = _marks(drawn, "mean")
    assert (mark["n"], mark["y"]) == (2, 25)


def test_what_is_missing_failed_or_undefined_is_said(tmp_path: Path) -> None:
    places = seeds_of(point("scheme=incremental", k=3), range(4))
    store = Store(tmp_path)
    finish(places[0], store, 0.75)
    finish(places[1], store, None)
    store.begin(places[2].trial)
    store.fail_with(places[2].trial.id, "no memory")
    drawn = _draw(places, store, kind="curves", x="k")
    (mark,) = _marks(drawn, "mean")
    assert (mark["n"], mark["y"], mark["low"]) == (1, 75, None)
    said = " ".join(drawn.marks.notes)
    assert "2 of the 4 trials of this figure have no result (1 of them failed)" in said
    assert "1 of 2 trials have no defined score" in said and "rest on one trial" in said


def test_levels_are_dashed_lines_and_no_marks(tmp_path: Path) -> None:
    blocks = [p for block in (1, 2) for p in seeds_of(point("scheme=localized", block=block, preserve="true"), [0, 1])]
    base = seeds_of(point("scheme=baseline"), [0, 1])
    levels = {"full BERT": {"treatment_text": "as pretrained"}}
    how: dict[str, Any] = {"kind": "curves", "x": "block", "levels": levels}
    drawn = _drawn([*blocks, *base], lambda p: 0.6 if "block" in p.axes else 0.9, tmp_path, **how)
    (level,) = _marks(drawn, "level")
    assert (level["series"], level["y"]) == ("full BERT", pytest.approx(90))
    assert [mark["x"] for mark in _marks(drawn, "mean")] == [1, 2]
    assert "stroke-dasharray" in vl_convert.vegalite_to_svg(drawn.spec)


def test_another_experiment_is_drawn_dashed_over_the_same_axis(tmp_path: Path) -> None:
    curve, probe = (seeds_of(point("scheme=incremental", k=k), [0, 1]) for k in (3, 6))
    store = Store(tmp_path)
    for place in [*curve, *probe]:
        finish(place, store, 0.8)
    probing = frame([Point({"probe.layer": 3, "seed": p.axes["seed"]}, p.trial) for p in probe], store)
    how = {"kind": "curves", "x": "k", "dashed": {"experiment": "any", "x": "probe.layer"}}
    drawn = draw(figures_of(how)[0], frame(curve, store), store, "name", probing)
    assert drawn is not None
    (mark,) = _marks(drawn, "dashed")
    assert (mark["x"], mark["series"], mark["n"]) == (3, "probing", 2)
    assert "not drawn" not in json.dumps(drawn.spec)
    alone = draw(figures_of(how)[0], frame(curve, store), store, "name")
    assert alone is not None
    said = "The dashed line is not drawn: no trial of any is done."
    assert said in alone.marks.notes and said in alone.spec["title"]["subtitle"]


def test_points_have_every_permutation_and_a_density(tmp_path: Path) -> None:
    places = [point("scheme=permutation", seed=seed) for seed in range(4)]
    scores = [0.5, 0.6, 0.6, 0.7]
    drawn = _drawn(places, lambda p: scores[p.axes["seed"]], tmp_path, kind="points")
    assert sorted(mark["y"] for mark in _marks(drawn, "trial")) == pytest.approx([100 * score for score in scores])
    (mean,) = _marks(drawn, "mean")
    assert mean["y"] == pytest.approx(60)
    density = _marks(drawn, "density")
    assert max(density, key=lambda mark: mark["x"])["y"] == pytest.approx(60, abs=2)
    assert "band" not in drawn.explanation  # there is no level to have one


@pytest.mark.parametrize(
    ("interval", "half", "said"),
    [
        ("t95", 2 * 0.1, "±2 standard deviations of its trials"),  # of three scores that are 0.1 apart
        ("paper_code", 2.667 * 0.1 * (2 / 3) ** 0.5 / 3**0.5, "that of tamkin2020's code (t = 2.667, ddof 0)"),
    ],
)
def test_the_band_around_a_level_is_what_the_caption_and_the_legend_say(
    tmp_path: Path, interval: str, half: float, said: str
) -> None:
    places = [
        *(point("scheme=permutation", seed=seed) for seed in (0, 1)),
        *seeds_of(point("scheme=baseline"), [0, 1, 2]),
    ]
    levels = {"full BERT": {"treatment_text": "as pretrained"}}
    how: dict[str, Any] = {"where": {"scheme": "permutation"}, "interval": interval, "levels": levels}
    places = [Point({"scheme": "baseline", **place.axes}, place.trial) for place in places]
    places[:2] = [Point({**place.axes, "scheme": "permutation"}, place.trial) for place in places[:2]]
    drawn = _drawn(places, lambda p: 0.4 + 0.1 * p.axes["seed"], tmp_path, kind="points", **how)
    (level,) = _marks(drawn, "level")
    assert (level["low"], level["high"]) == (pytest.approx(100 * (0.5 - half)), pytest.approx(100 * (0.5 + half)))
    assert f"The grey band around a level is {said}." in drawn.explanation
    assert f">band: {said}<" in html.unescape(vl_convert.vegalite_to_svg(drawn.spec))


def test_two_measures_of_attention_are_two_rows_with_a_scale_each(tmp_path: Path) -> None:
    places = [point(f"task={task}") for task in ("mini_sst2", "mini_cola", "mini_qnli")]
    places = [Point({"task": place.trial.science.task.name}, place.trial) for place in places]
    store = Store(tmp_path)
    for place in places:
        finish(place, store, 0.9)
        cells = [
            {"layer": 1, "head": 1, "measure": measure, "model": "finetuned", "value": value, "examples": 5}
            for measure, value in (("to_cls", 0.125), ("to_sep", 0.5))
        ]
        pd.DataFrame(cells).to_parquet(store.folder(place.trial.id) / "attention.parquet")
    drawn = _draw(places, store, kind="attention", measure=["to_sep", "to_cls"])
    # "to the [SEP] (top row) and the [CLS] (bottom row)", a column for each task
    top, bottom = drawn.spec["vconcat"]
    assert (top["columns"], bottom["columns"]) == (3, 3)
    texts = re.findall(r">([^<>]+)</text>", html.unescape(vl_convert.vegalite_to_svg(drawn.spec)))
    shown = [text for text in texts if text.startswith(("attention to", "mini_"))]
    tasks = ["mini_sst2", "mini_cola", "mini_qnli"]
    assert sorted(shown) == sorted([*tasks, *tasks, "attention to [SEP]", "attention to [CLS]"])
    assert [mark["y"] for mark in _marks(drawn, "cell") if mark["measure"] == "to_sep"] == [0.5] * 3
    for row, title in ((top, "attention to [SEP]"), (bottom, "attention to [CLS]")):
        (layer,) = row["spec"]["layer"]
        assert layer["encoding"]["color"]["legend"]["title"] == title
    assert drawn.spec["resolve"]["scale"]["color"] == "independent"


def test_bars_are_two_standard_deviations(tmp_path: Path) -> None:
    places = seeds_of(point("scheme=single", layer=4), range(3))
    scores = [0.7, 0.8, 0.9]
    drawn = _drawn(places, lambda p: scores[p.axes["seed"]], tmp_path, kind="bars", x="layer")
    (mark,) = _marks(drawn, "mean")
    assert (mark["low"], mark["high"]) == (pytest.approx(60), pytest.approx(100))


def test_heads_are_differences_from_the_baseline_of_the_same_seed(tmp_path: Path) -> None:
    heads = [p for head in (1, 2) for p in seeds_of(point("scheme=head", layer=11, head=head), [0, 1])]
    base = seeds_of(point("scheme=baseline"), [0, 1, 2])

    def score(place: Point) -> float:
        seed = place.axes["seed"]
        return 0.5 + 0.1 * seed + (0.03 * place.axes["head"] if "head" in place.axes else 0.0)

    how: dict[str, Any] = {"kind": "heads", "x": "head", "baseline": {"treatment_text": "as pretrained"}}
    drawn = _drawn([*heads, *base], score, tmp_path, **how)
    cells = {(mark["layer"], mark["head"]): mark for mark in _marks(drawn, "cell")}
    assert {place: mark["y"] for place, mark in cells.items()} == {
        (11, 1): pytest.approx(3.0),
        (11, 2): pytest.approx(6.0),
    }
    assert cells[11, 2]["label"] == "+6.0"


def test_matrix_shades_the_best_and_marks_what_beats_the_task_alone(tmp_path: Path) -> None:
    scores = {("mini_sst2", None): 0.7, ("mini_sst2", "mini_cola"): 0.8, ("mini_cola", None): 0.6}
    scores["mini_cola", "mini_sst2"] = 0.5
    places = []
    for i, (task, first) in enumerate(scores):
        # Chains are not needed here: any two unlike trials stand for with and without.
        place = point(f"task={task}", f"training.warmup=0.{i + 1}")
        places.append(Point({"task": task, **({"intermediate": first} if first else {})}, place.trial))
    given = dict(zip([p.trial.id for p in places], scores.values(), strict=True))
    drawn = _drawn(places, lambda p: given[p.trial.id], tmp_path, kind="matrix")
    cells = {(mark["row"], mark["column"]): mark for mark in _marks(drawn, "cell")}
    assert {cell for cell, mark in cells.items() if mark["best"]} == {
        ("mini_sst2", "mini_cola"),
        ("mini_cola", "mini_cola"),
    }
    assert {cell for cell, mark in cells.items() if mark["above"]} == {("mini_sst2", "mini_cola")}


def test_courses_come_from_the_history(tmp_path: Path) -> None:
    places = seeds_of(point("scheme=incremental", k=6), [0, 1])
    store = Store(tmp_path)
    for place in places:
        finish(place, store, 0.9, steps=240, epochs=2)
        seed = place.axes["seed"]
        events: list[dict[str, Any]] = [{"step": step, "loss": step + 2.0 * seed, "lr": 1e-4} for step in range(1, 241)]
        events += [{"step": 120 * epoch, "epoch": epoch, "accuracy": 0.4 * epoch + 0.1 * seed} for epoch in (1, 2)]
        lines = "\n".join(json.dumps(event) for event in events)
        (store.folder(place.trial.id) / "history.jsonl").write_text(lines)
    loss = _marks(_draw(places, store, kind="loss", series="k"), "mean")
    assert len(loss) == 120  # two steps to a point
    assert (loss[0]["x"], loss[0]["y"]) == (2, pytest.approx(1.5 + 1.0))
    epochs = _marks(_draw(places, store, kind="epochs", series="k"), "mean")
    assert [(mark["x"], mark["y"]) for mark in epochs] == [(1, pytest.approx(45)), (2, pytest.approx(85))]


def test_analyses_are_read_where_they_are_and_missed_where_not(tmp_path: Path) -> None:
    places = seeds_of(point("scheme=baseline"), [0, 1, 2])
    store = Store(tmp_path)
    for place in places:
        finish(place, store, 0.9)
    for place in places[:2]:
        seed = place.axes["seed"]
        rows = [
            {"reference": reference, "layer": layer, "module": module, "distance": layer + seed, "norm": 2.0}
            for reference in ("pretrained", "treated")
            for layer in (1, 2)
            for module in ("feedforward.output", "attention.query")
        ]
        weights = pd.DataFrame(rows).assign(relative=lambda table: table["distance"] / table["norm"])
        weights.loc[weights["reference"] == "treated", "distance"] = 100.0
        weights.to_parquet(store.folder(place.trial.id) / "weights.parquet")
        cells = [
            {"layer": 1, "head": head, "measure": "similarity", "model": model, "value": head / 10, "examples": 5}
            for head in (1, 2)
            for model in ("pretrained", "treated")
        ]
        pd.DataFrame(cells).to_parquet(store.folder(place.trial.id) / "attention.parquet")
    distances = _draw(places, store, kind="weights")
    assert [(mark["x"], mark["y"]) for mark in _marks(distances, "mean")] == [(1, 1.5), (2, 2.5)]
    assert any("1 finished trials have no weights.parquet" in note for note in distances.marks.notes)
    similar = _draw(places, store, kind="attention", measure="similarity")
    assert [(m["head"], m["y"], m["n"]) for m in _marks(similar, "cell")] == [(1, 0.1, 2), (2, 0.2, 2)]


def _surgeries(store: Store, places: list[Point]) -> None:
    """Two layers; every number is its own."""
    for place in places:
        seed = place.axes["seed"]
        rows: list[dict[str, Any]] = [
            {"layer": None, "module": None, "operation": "intact", "accuracy": 0.9 + seed / 10}
        ]
        for layer in (1, 2):
            for m, module in enumerate(("layer", "attention", "feedforward")):
                for o, operation in enumerate(("pretrained", "treated", "reinitialized", "skipped")):
                    score = 0.1 * layer + 0.01 * m + 0.001 * o + 0.2 * seed
                    rows.append({"layer": layer, "module": module, "operation": operation, "accuracy": score})
        rows += [
            {"layer": 0, "module": "embeddings", "operation": one, "accuracy": 0.5 + 0.2 * seed}
            for one in ("pretrained", "treated")
        ]
        table = pd.DataFrame(rows).assign(dev_loss=lambda t: 2 - t["accuracy"], f1=lambda t: t["accuracy"] / 2)
        table["layer"] = table["layer"].astype("Int64")
        table.to_parquet(store.folder(place.trial.id) / "surgery.parquet")


def test_surgery_is_a_line_for_each_operation_beside_the_model_as_it_is(tmp_path: Path) -> None:
    places = seeds_of(point("scheme=baseline"), [0, 1, 2])
    store = Store(tmp_path)
    for place in places:
        finish(place, store, 0.9, metrics={"accuracy": 0.9, "f1": 0.45}, dev_loss=1.1)
    _surgeries(store, places[:2])
    drawn = _draw(places, store, kind="surgery", interval="none")
    lines = {(mark["series"], mark["x"]): mark["y"] for mark in _marks(drawn, "mean")}
    assert lines == {
        ("back to pretrained", 0): pytest.approx(60),
        ("back to pretrained", 1): pytest.approx(20),
        ("back to pretrained", 2): pytest.approx(30),
        ("reinitialized", 1): pytest.approx(20.2),
        ("reinitialized", 2): pytest.approx(30.2),
        ("left out", 1): pytest.approx(20.3),
        ("left out", 2): pytest.approx(30.3),
    }
    (level,) = _marks(drawn, "level")
    assert (level["series"], level["y"], level["n"]) == ("intact", pytest.approx(95), 2)
    assert "1 finished trials have no surgery.parquet; run them with analysis=[surgery]." in drawn.marks.notes
    how = {"module": "attention", "operation": ["treated"], "value": "change"}
    change = _draw(places, store, kind="surgery", measure=how)
    # 0.1 + 0.01 + 0.001 and 0.3 + ... from 0.9 and 1.0: the two trials' own changes are averaged.
    assert [(m["series"], m["x"], m["y"]) for m in _marks(change, "mean")] == [
        ("attention back to start", 1, pytest.approx((-78.9 - 68.9) / 2)),
        ("attention back to start", 2, pytest.approx((-68.9 - 58.9) / 2)),
    ]
    assert [mark["y"] for mark in _marks(change, "level")] == [0.0]
    assert "layer 0" not in change.explanation.lower()
    loss = _draw(places, store, kind="surgery", measure={"operation": "skipped", "value": "dev_loss"})
    assert [mark["y"] for mark in _marks(loss, "mean")] == pytest.approx([2 - 0.203, 2 - 0.303])
    both = _draw(places, store, kind="surgery", measure="skipped", y=["score", "metrics.f1"])
    found = {(mark["facet"], mark["x"]): mark["y"] for mark in _marks(both, "mean")}
    assert len(found) == 4 and sorted(found.values()) == pytest.approx([20.3 / 2, 30.3 / 2, 20.3, 30.3])


def test_similarity_is_a_line_for_each_pair_and_a_path_one_for_each_series(tmp_path: Path) -> None:
    places = [p for k in (3, 6) for p in seeds_of(point("scheme=incremental", k=k), [0, 1])]
    store = Store(tmp_path)
    for place in places:
        finish(place, store, 0.9, dev_loss=0.3)
        k, seed, folder = place.axes["k"], place.axes["seed"], store.folder(place.trial.id)
        pairs = [("pretrained", "finetuned", 0.5), ("treated", "finetuned", 0.7), ("pretrained", "treated", 0.9)]
        cka = [
            {"layer": layer, "reference": reference, "model": model, "cka": value - layer / 10 + seed / 50 - k / 100}
            for layer in (0, 1)
            for reference, model, value in pairs
        ]
        pd.DataFrame(cka).assign(tokens=9, examples=3).to_parquet(folder / "similarity.parquet")
        along = [{"alpha": a, "dev_loss": k + a + seed, "accuracy": a / 2} for a in (0.0, 0.5, 1.0)]
        pd.DataFrame(along).to_parquet(folder / "path.parquet")
    how = {"reference": "pretrained"}
    drawn = _draw(places, store, kind="similarity", series="k", measure=how)
    lines = {(mark["series"], mark["x"]): mark["y"] for mark in _marks(drawn, "mean")}
    assert lines == {
        (f"{k}, pretrained – {model}", layer): pytest.approx(value - layer / 10 + 0.01 - k / 100)
        for k in (3, 6)
        for layer in (0, 1)
        for model, value in (("fine-tuned", 0.5), ("start", 0.9))
    }
    loss = _draw(places, store, kind="path", series="k")
    assert {(mark["series"], mark["x"]): mark["y"] for mark in _marks(loss, "mean")} == {
        (str(k), a): pytest.approx(k + a + 0.5) for k in (3, 6) for a in (0.0, 0.5, 1.0)
    }
    score = _draw(places, store, kind="path", series="k", measure="score", where={"k": 3})
    assert [(mark["x"], mark["y"]) for mark in _marks(score, "mean")] == [(0, 0.0), (0.5, 25.0), (1, 50.0)]


@pytest.mark.parametrize("kind", ["surgery", "similarity", "path"])
def test_a_figure_of_an_analysis_that_no_trial_has_is_none_and_no_error(kind: str, tmp_path: Path) -> None:
    places, store = seeds_of(point("scheme=baseline"), [0]), Store(tmp_path)
    finish(places[0], store, 0.9)
    assert draw(figures_of({"kind": kind})[0], frame(places, store), store, "name") is None


def test_one_specification_gives_every_file(tmp_path: Path) -> None:
    scores = {0: [0.5, 0.6], 6: [0.7, 0.8]}
    drawn = _drawn(_over_k(scores), scores_of(scores), tmp_path / "out", kind="curves", x="k")
    paths = {path.suffix: path for path in drawn.write(tmp_path / "figures", "one")}
    assert paths[".png"].read_bytes().startswith(b"\x89PNG") and paths[".pdf"].read_bytes().startswith(b"%PDF")
    assert "mini (demonstration model)" in paths[".svg"].read_text()
    assert "say nothing about English" in paths[".svg"].read_text()
    table = pd.read_csv(paths[".csv"]).query("mark == 'mean'")
    assert dict(zip(table["k"], table["y"], strict=True)) == {0: pytest.approx(0.55), 6: pytest.approx(0.75)}


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"kind": "pie"}, "figure.kind: 'pie' is not one of"),
        ({"kind": "curves"}, "figure.x: kind=curves needs"),
        ({"kind": "curves", "x": "k", "colour": "red"}, "figure.colour: there is no such key"),
        ({"kind": "heads", "x": "head"}, "figure.baseline: kind=heads shows differences"),
        ({"kind": "curves", "x": "k", "interval": "se"}, "figure.interval: 'se' is not one of"),
        ({"kind": "curves", "x": "k", "center": "mode"}, "figure.center: 'mode' is not one of mean, median, best"),
        ({"kind": "epochs", "epochs": [3, "all"]}, "figure.epochs: 'all' is not an epoch"),
        ({"kind": "loss", "center": "median"}, "figure.center: kind=loss can only show means"),
        (
            {"kind": "surgery", "measure": {"layer": 3}},
            "figure.measure.layer: there is no such key; kind=surgery has op",
        ),
        ({"kind": "surgery", "measure": ["skiped"]}, "figure.measure.operation: 'skiped' is not one of pretrained, tr"),
        ({"kind": "similarity", "measure": {"model": "best"}}, "figure.measure.model: 'best' is not one of finetuned"),
        ({"kind": "path", "measure": ["score", "dev_loss"]}, "figure.measure.value: takes one of dev_loss, score"),
        (
            {"kind": "curves", "x": "k", "center": "median", "interval": "t95"},
            "figure.interval: 't95' is of means; center=median has none: figure.interval=null",
        ),
    ],
)
def test_a_block_that_cannot_be_drawn_is_refused(block: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        figures_of(block)
    assert str(refused.value).startswith(said)


def test_an_axis_that_no_place_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        _drawn(seeds_of(point("scheme=baseline"), [0]), lambda _: 0.5, tmp_path, kind="curves", x="block")
    assert "'block' is not a column of the results" in str(refused.value)


def test_a_sweep_without_a_block_gets_the_figure_that_suits_it(tmp_path: Path) -> None:
    store = Store(tmp_path)
    over_k = [point(scheme="incremental", k=k) for k in (0, 3)]
    assert (guess(frame(over_k, store))["kind"], guess(frame(over_k, store))["x"]) == ("curves", "k")
    assert guess(frame([point(scheme="baseline"), *over_k], store))["kind"] == "treatments"


def test_published_numbers_are_whole_tables() -> None:
    found = published.find("cs224n2020/fig5")
    assert found is not None and found.rows[1][9] == "-0.047"  # layer 2, head 9
    assert published.find("mini") is None
    for path in published.FOLDER.glob("*/*.yaml"):
        table = published.find(f"{path.parent.name}/{path.stem}")
        assert table is not None and all(len(row) == len(table.columns) for row in table.rows), path


def _over_k(scores: dict[int, list[float]]) -> list[Point]:
    places = []
    for k, given in scores.items():
        places += seeds_of(point("scheme=incremental", k=k), range(len(given)))
    return places


def scores_of(scores: dict[int, list[float]]) -> Any:
    return lambda place: scores[place.axes["k"]][place.axes["seed"]]


def _drawn(places: list[Point], score: Any, root: Path, **block: Any) -> Drawing:
    store = Store(root)
    for place in {p.trial.id: p for p in places}.values():
        finish(place, store, score(place))
    return _draw(places, store, **block)


def _draw(places: list[Point], store: Store, **block: Any) -> Drawing:
    drawn = draw(figures_of(block)[0], frame(places, store), store, "name")
    assert drawn is not None
    return drawn


def _marks(drawn: Drawing, role: str) -> list[dict[str, Any]]:
    """What the specification draws: the data that stands in it."""
    return [mark for mark in drawn.spec["data"]["values"] if mark["role"] == role]


def _symbols(drawn: Drawing) -> list[dict[str, float]]:
    """Where points are, from left to right, as Vega lays them out."""
    found: list[dict[str, float]] = []

    def walk(item: dict[str, Any]) -> None:
        if item.get("marktype") == "symbol" and item.get("role") == "mark":
            found.extend({"x": one["x"], "y": one["y"]} for one in item["items"])
        for child in item.get("items", []):
            walk(child)

    walk(vl_convert.vegalite_to_scenegraph(drawn.spec)["scenegraph"])
    assert found and not any(math.isnan(one["x"]) for one in found)
    return sorted(found, key=lambda one: one["x"])


def test_an_axis_on_which_all_scores_are_equal_says_which_score(tmp_path: Path) -> None:
    import vl_convert

    from bertxfer.report import charts
    from bertxfer.report.figure import Figure
    from bertxfer.report.kinds import treatments
    from bertxfer.report.marks import Marks

    data = pd.DataFrame(
        [
            {
                "role": "mean",
                "series": "",
                "facet": "RTE",
                "x": x,
                "y": 0.473,
                "low": None,
                "high": None,
                "n": 1,
                "trials": "a",
            }
            for x in "ab"
        ]
    )
    for chart in (treatments.chart, charts.curves):
        drawn = chart(Figure(kind="treatments"), Marks(data, []))
        svg = vl_convert.vegalite_to_svg(drawn.to_json())
        assert ">0.473<" in svg
        assert ">0<" not in svg
