"""Tables from results made by hand, so that every cell is known beforehand."""

import csv
import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bertxfer.errors import ConfigError
from bertxfer.report import published, tables
from bertxfer.report.blocks import figures_of
from bertxfer.report.figure import Figure
from bertxfer.report.printing import latex, markdown, write
from bertxfer.report.tables import Table, make
from bertxfer.store.store import Store
from tests.helpers.frames import grouped, results

NOWHERE = Store("nowhere")
PRETRAINED = "as pretrained"


def asked(kind: str = "curves", x: str | None = "k", **block: Any) -> Figure:
    (figure,) = figures_of({"kind": kind, "x": x, **block})
    return figure


def only(found: list[Table]) -> Table:
    (table,) = found
    return table


def rows_of(table: Table) -> list[list[str]]:
    return [list(row) for row in table.cells.itertuples(index=False)]


def incremental() -> pd.DataFrame:
    rows = []
    for task, worth in (("cola", 0.1), ("sst2", 0.3)):
        for k in (0, 12):
            for seed, noise in enumerate((-0.02, 0.02)):
                text = PRETRAINED if k == 12 else "layers 1-12 reinitialized"
                score = 0.5 + (worth if k else 0.0) + noise
                rows.append({"task": task, "k": k, "seed": seed, "score": score, "treatment_text": text})
    return results(*rows)


def test_a_summary_has_a_row_for_each_facet_and_a_column_for_each_x() -> None:
    table = only(make(incremental(), asked(tables=["summary"]), NOWHERE))
    assert list(table.cells.columns) == ["task", "measure", "0", "12"]
    half = 12.706 * 2.8284 / 2**0.5  # t of one degree of freedom, sd of two scores 4 apart, two trials
    assert rows_of(table) == [
        ["CoLA", "accuracy", f"50.0 ± {half:.1f}", f"60.0 ± {half:.1f}"],
        ["SST-2", "accuracy", f"50.0 ± {half:.1f}", f"80.0 ± {half:.1f}"],
    ]
    assert "8 of 8 trials done" in table.note and "Model: some" in table.note
    assert table.data["n"].tolist() == [2, 2, 2, 2]


def test_levels_have_columns_of_their_own_and_are_averaged_with_nothing_else() -> None:
    blocks = results(
        {"block": 1, "score": 0.6, "treatment_text": "layers 1-3 reinitialized"},
        {"block": 2, "score": 0.7, "treatment_text": "layers 2-4 reinitialized"},
        {"block": pd.NA, "k": 12, "score": 0.9, "treatment_text": PRETRAINED},
        {"block": pd.NA, "k": 0, "score": 0.5, "treatment_text": "layers 1-12 reinitialized"},
    )
    levels = {"full BERT": {"treatment_text": PRETRAINED}, "embeddings only": {"k": 0}}
    table = only(make(blocks, asked(x="block", levels=levels, tables=["summary"]), NOWHERE))
    assert rows_of(table) == [["CoLA", "accuracy", "60.0", "70.0", "90.0", "50.0"]]
    assert sorted(table.data["mean"]) == pytest.approx([0.5, 0.6, 0.7, 0.9])
    assert "One trial each" in table.note


def test_whatever_differs_beside_seeds_is_not_averaged_over() -> None:
    mixed = results(
        {"k": 0, "score": 0.2, "training.epochs": 3}, {"k": 0, "score": 0.8, "training.epochs": 5, "seed": 1}
    )
    table = only(make(mixed, asked(tables=["summary"]), NOWHERE))
    assert rows_of(table) == [["CoLA", "accuracy", "3", "20.0"], ["CoLA", "accuracy", "5", "80.0"]]


def test_undefined_scores_are_said_in_their_cell_and_the_mini_model_in_the_note() -> None:
    some = results({"k": 0, "score": 0.5}, {"k": 0, "score": float("nan"), "undefined": True, "seed": 1})
    table = only(make(some.assign(model="mini"), asked(tables=["summary"]), NOWHERE))
    assert rows_of(table) == [["CoLA", "accuracy", "50.0 (1 undefined)"]]
    assert "1 of 2 without a defined score" in table.note and "say nothing about English" in table.note


def test_differences_are_within_a_task_and_the_baseline_has_none() -> None:
    table = only(make(incremental(), asked(tables=["differences"]), NOWHERE))
    shown = [row[:4] for row in rows_of(table)]
    assert shown == [["CoLA", "accuracy", "0", "-10.0"], ["SST-2", "accuracy", "0", "-30.0"]]
    assert all("too few for a claim" in words for words in table.cells["in words"])


def test_a_series_of_the_baselines_own_is_compared_at_the_same_x() -> None:
    both = pd.concat([incremental().assign(factor=1), incremental().assign(factor=5)], ignore_index=True)
    both["id"] = [f"trial{i}" for i in range(len(both))]
    both.loc[both["factor"] == 5, "score"] += both["k"].map({0: 0.05, 12: 0.0})
    figure = asked(series="factor", baseline={"factor": 1}, tables=["differences"])
    table = only(make(grouped(both), figure, NOWHERE))
    assert [row[0:2] + row[3:5] for row in rows_of(table)] == [
        ["CoLA", "5", "0", "+5.0"],
        ["CoLA", "5", "12", "+0.0"],
        ["SST-2", "5", "0", "+5.0"],
        ["SST-2", "5", "12", "+0.0"],
    ]


def test_a_matrix_marks_the_best_of_a_row_and_what_beats_the_task_alone() -> None:
    """The numbers of cs224n2020's figure 2, and what its caption says of them."""
    printed = {
        "cola": {"cola": 0.526, "mrpc": 0.523, "rte": 0.526, "wnli": 0.536},
        "mrpc": {"cola": 0.757, "mrpc": 0.776, "rte": 0.732, "wnli": 0.786},
        "rte": {"cola": 0.462, "mrpc": 0.610, "rte": 0.635, "wnli": 0.588},
        "wnli": {"cola": 0.408, "mrpc": 0.394, "rte": 0.464, "wnli": 0.549},
    }
    rows = [
        {"task": final, "intermediate": None if first == final else first, "score": score}
        for final, firsts in printed.items()
        for first, score in firsts.items()
    ]
    table = only(make(results(*rows), asked("matrix", tables=["matrix"]), NOWHERE))
    assert list(table.cells.columns) == ["final task", "CoLA", "MRPC", "RTE", "WNLI", "metric"]
    assert rows_of(table)[1] == ["MRPC", "75.7", "77.6", "73.2", "78.6", "accuracy"]
    assert table.shaded == {(0, "WNLI"), (1, "WNLI"), (2, "RTE"), (3, "WNLI")}
    assert table.bold == {(0, "WNLI"), (1, "WNLI")}
    assert "**78.6** (best)" in markdown(table)
    assert r"\cellcolor{gray!25}\textbf{78.6}" in latex(table)


def heads() -> pd.DataFrame:
    rows = [{"score": 0.5, "treatment_text": PRETRAINED}]
    for layer, head, score in ((1, 1, 0.4), (1, 2, 0.6), (12, 1, 0.5), (12, 2, 0.7)):
        text = f"layer {layer} head {head} reinitialized"
        rows.append({"layer": layer, "head": head, "score": score, "treatment_text": text})
    return results(*rows)


def test_heads_are_differences_from_the_baseline_by_layer_and_head() -> None:
    figure = asked("table", tables=["heads", "quartiles_by_layer", "quartiles_by_head"])
    table, by_layer, by_head = make(heads(), figure, NOWHERE)
    assert rows_of(table) == [["layer 1", "-10.0", "+10.0"], ["layer 12", "+0.0", "+20.0"]]
    assert [row[:3] for row in rows_of(by_layer)] == [["layer 1", "2", "0.00"], ["layer 12", "2", "10.00"]]
    assert list(by_head.cells.columns) == ["statistic", "head 1", "head 2"]
    assert rows_of(by_head)[:2] == [["count", "2", "2"], ["mean", "-5.00", "15.00"]]
    assert [row[0] for row in rows_of(by_head)[2:]] == ["sd", "min", "25%", "50%", "75%", "max"]


def test_quartiles_by_head_print_as_the_paper_does() -> None:
    """cs224n2020's figure 9 from the differences of its figure 5. The two agree in the paper up to 0.0015."""
    differences, paper = published.find("cs224n2020/fig5"), published.find("cs224n2020/fig9")
    assert differences is not None and paper is not None
    rows: list[dict[str, Any]] = [{"score": 0.526, "treatment_text": PRETRAINED}]
    for layer, *by_head in differences.rows:
        for head, difference in enumerate(by_head, start=1):
            text = f"{layer} head {head} reinitialized"
            score = 0.526 + float(difference)
            rows.append({"layer": int(layer.split()[1]), "head": head, "score": score, "treatment_text": text})
    table = only(make(results(*rows), asked("table", tables=["quartiles_by_head"]), NOWHERE))
    assert [column.lower() for column in paper.columns] == list(table.cells.columns)
    for ours, theirs in zip(rows_of(table), paper.rows, strict=True):
        assert ours[0] == {"Std Dev": "sd"}.get(theirs[0], theirs[0].lower())
        times = 1 if theirs[0] == "Count" else 100  # ours are in points
        printed = [times * float(cell) for cell in theirs[1:]]
        assert [float(cell) for cell in ours[1:]] == pytest.approx(printed, abs=0.16)


def test_columns_are_selections_by_name() -> None:
    some = results(
        {"task": "rte", "scheme": "scratch", "score": 0.5},
        {"task": "rte", "scheme": "baseline", "score": 0.65},
        {"task": "qqp", "scheme": "baseline", "score": 0.9},
    )
    levels = {"from normal": {"scheme": "scratch"}, "from pretrained": {"scheme": "baseline"}}
    table = only(make(some, asked("table", levels=levels, tables=["columns"]), NOWHERE))
    assert rows_of(table) == [
        ["RTE", "50.0", "65.0", "Acc", "-"],
        ["QQP", "-", "90.0", "Acc", "-"],
        ["mean difference from from normal", "", "+15.0", "", ""],
    ]
    assert "mean over 1 task" in table.note


def test_bootstrapped_differences_are_of_the_same_seeds(tmp_path: Path) -> None:
    store, some = Store(tmp_path), incremental()
    for row in some.to_dict("records"):
        folder = store.folder(row["id"])
        folder.mkdir(parents=True)
        right = round(100 * row["score"])
        guesses = pd.DataFrame({"index": range(100), "label": 1, "prediction": [1] * right + [0] * (100 - right)})
        guesses.to_parquet(folder / "predictions.parquet")
    table = only(make(some, asked(tables=["bootstrap"]), store))
    assert table.cells["score ×100"].tolist() == ["50.0", "60.0", "50.0", "80.0"]
    assert table.cells["difference ×100"].tolist() == ["-10.0", "-", "-30.0", "-"]
    assert table.cells["seeds"].tolist() == ["2"] * 4


def test_no_p_is_printed_as_zero(tmp_path: Path) -> None:
    rows = []
    for seed in range(12):
        rows.append({"k": 12, "seed": seed, "score": 0.8, "treatment_text": PRETRAINED})
        rows.append({"k": 0, "seed": seed, "score": 0.5 + seed / 1000, "treatment_text": "layers 1-12 reinitialized"})
    made = make(results(*rows), asked(tables=["differences"]), NOWHERE)
    assert only(made).cells["p (paired t)"].tolist() == ["< 0.001"]
    assert only(made).cells["p (permutation)"].tolist() == ["< 0.001"]  # 2 of the 4096 flips
    paths = {path.suffix: path.read_text() for path in write(made, tmp_path)}
    assert r"| \< 0.001 |" in paths[".md"] and r"& \textless{} 0.001 &" in paths[".tex"]
    assert "0.000" not in paths[".md"] + paths[".tex"]
    assert 0 < float(next(csv.DictReader(io.StringIO(paths[".csv"])))["p_t"]) < 1e-9  # the number itself


def test_every_file_is_readable_and_nothing_in_a_name_breaks_it(tmp_path: Path) -> None:
    nasty = r"a_b & 50% | {c} $d$ #e \f <script> ~ ^ *g*"
    some = results({"task": nasty, "k": 0, "score": 0.5})
    made = make(some, asked(tables=["summary"]), NOWHERE)
    paths = {path.suffix: path.read_text() for path in write(made, tmp_path)}
    row = next(line for line in paths[".md"].splitlines() if "50.0" in line)
    assert r"\|" in row and r"\<script\>" in row
    assert len(row.replace(r"\|", "").strip("|").split("|")) == 3
    assert next(csv.DictReader(io.StringIO(paths[".csv"])))["task"] == nasty
    tex = paths[".tex"]
    assert r"a\_b \& 50\% | \{c\} \$d\$ \#e \textbackslash{}f \textless{}script\textgreater{}" in tex
    assert tex.count(r"\toprule") == tex.count(r"\bottomrule") == 1


def test_nothing_done_makes_tables_that_say_so_and_an_unknown_table_is_refused() -> None:
    none = incremental().assign(state="missing", score=float("nan"))
    names = [name for name in tables.MAKERS if name != "bootstrap"]
    made = make(none, asked(tables=names), NOWHERE)
    assert [table.name for table in made] == names
    assert "No trial is done" in made[0].note
    for table in made:
        assert markdown(table) and latex(table)
    with pytest.raises(ConfigError, match=r"figure\.tables: 'mean' is not one of summary"):
        make(none, asked(tables=["mean"]), NOWHERE)


def test_bars_tabulate_the_two_standard_deviations_that_they_draw() -> None:
    table = only(make(incremental(), asked("bars", tables=["summary"]), NOWHERE))
    assert rows_of(table)[0][2:] == ["50.0 ± 5.7", "60.0 ± 5.7"]
    assert "±: two standard deviations, 2 trials each" in table.note


def test_a_summary_without_an_interval_has_the_means_alone() -> None:
    table = only(make(incremental(), asked(interval="none", tables=["summary"]), NOWHERE))
    assert rows_of(table)[0][2:] == ["50.0", "60.0"]
    assert "No interval, 2 trials each" in table.note


def test_labels_are_of_every_series_of_a_list() -> None:
    both = pd.concat([incremental().assign(factor=f, keep=f == 5) for f in (2, 5)], ignore_index=True)
    both["id"] = [f"trial{i}" for i in range(len(both))]
    labels = {2: "usual", True: "kept", False: "lost"}
    figure = asked(series=["factor", "keep"], series_labels=labels, tables=["summary"])
    table = only(make(grouped(both), figure, NOWHERE))
    assert [row[1:3] for row in rows_of(table)][::2] == [["usual", "lost"], ["5", "kept"]]


def test_a_level_is_averaged_only_with_its_replicates() -> None:
    rows = [{"block": 1, "score": 0.6, "treatment_text": "layers 1-3 reinitialized", "training.epochs": 3}]
    rows += [{"score": epochs / 10, "treatment_text": PRETRAINED, "training.epochs": epochs} for epochs in (3, 5)]
    figure = asked(x="block", levels={"full BERT": {"treatment_text": PRETRAINED}}, tables=["summary", "columns"])
    for table in make(results(*rows), figure, NOWHERE):
        assert table.cells["full BERT"].tolist() == ["training.epochs=3: 30.0; training.epochs=5: 50.0"]


def test_unlike_heads_and_intermediate_tasks_are_not_averaged() -> None:
    twice = [{**row, "training.epochs": epochs} for epochs in (3, 5) for row in heads().to_dict("records")]
    for row in twice[len(twice) // 2 :]:
        row["score"] += 0.01 * (row["layer"] == 1)
    some = results(*({key: row[key] for key in row if key not in ("id", "group", "settings")} for row in twice))
    figure = asked("table", tables=["heads", "quartiles_by_layer"])
    table, by_layer = make(some, figure, NOWHERE)
    assert rows_of(table) == [
        ["3", "layer 1", "-10.0", "+10.0"],
        ["3", "layer 12", "+0.0", "+20.0"],
        ["5", "layer 1", "-9.0", "+11.0"],
        ["5", "layer 12", "+0.0", "+20.0"],
    ]
    assert [row[:4] for row in rows_of(by_layer)][2] == ["5", "layer 1", "2", "1.00"]
    after = [{"intermediate": "rte", "score": epochs / 10, "training.epochs": epochs} for epochs in (3, 5)]
    table = only(make(results(*after), asked("matrix", tables=["matrix"]), NOWHERE))
    assert [row[1:4] for row in rows_of(table)] == [["3", "-", "30.0"], ["5", "-", "50.0"]]
