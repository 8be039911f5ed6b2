"""Tables that compare, through stored results and the blocks of tamkin2020's own figures."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from omegaconf import OmegaConf

from bertxfer.config.composer import Composer
from bertxfer.errors import ConfigError
from bertxfer.report import contents
from bertxfer.report.blocks import figures_of
from bertxfer.report.drawing import draw
from bertxfer.report.figure import Figure
from bertxfer.report.frame import frame
from bertxfer.report.tables import Table, make
from bertxfer.sweeps.sweep import Point
from tests.helpers.stored import point, seeds_of, stored

Score = Callable[[Point], float]


def block_of(composer: Composer, experiment: str, tables: list[str]) -> Figure:
    """The figure of a preset, with these of its tables."""
    block: Any = OmegaConf.to_container(composer.compose([f"experiment={experiment}"]).figure)
    assert set(tables) <= set(block["tables"])
    (figure,) = figures_of({**block, "tables": tables})
    return figure


def made(places: list[Point], score: Score, figure: Figure, root: Path) -> Table:
    store = stored(places, root, score)
    (table,) = make(frame(places, store), figure, store)
    return table


def levels(*words: str, seeds: int) -> list[Point]:
    ends = [point("scheme=incremental", *words, k=k) for k in (0, 12)]
    return [place for end in ends for place in seeds_of(end, range(seeds))]


def noise(place: Point) -> float:
    """A little of each place's own, so that t-tests have some spread."""
    return int(place.trial.id[:6], 16) / 16**6 / 1000


def test_a_block_is_tested_for_being_necessary_and_for_being_sufficient(composer: Composer, tmp_path: Path) -> None:
    blocks = [
        place
        for preserve in (False, True)
        for block in (1, 4)
        for place in seeds_of(point("scheme=localized", block=block, preserve=preserve), range(8))
    ]

    def score(place: Point) -> float:
        if "k" in place.axes:
            return 0.5 + 0.4 * (place.axes["k"] == 12) + noise(place)
        gain = 0.1 if place.axes["block"] == 1 else 0.0  # the first block alone helps, and is missed
        return (0.5 + gain if place.axes["preserve"] else 0.9 - gain) + noise(place)

    figure = block_of(composer, "tamkin2020/fig3", ["differences"])
    table = made([*blocks, *levels(seeds=8)], score, figure, tmp_path)
    cells = table.cells[["preserve", "block", "baseline", "difference ×100"]].values.tolist()
    assert cells == [
        ["block reinitialized", "1", "full BERT", "-10.0"],
        ["block reinitialized", "4", "full BERT", cells[1][3]],
        ["block preserved", "1", "full BERT", "-30.0"],
        ["block preserved", "4", "full BERT", "-40.0"],
        ["-", "-", "full BERT", "-40.0"],  # embeddings only
        ["block reinitialized", "1", "embeddings only", "+30.0"],
        ["block reinitialized", "4", "embeddings only", "+40.0"],
        ["block preserved", "1", "embeddings only", "+10.0"],
        ["block preserved", "4", "embeddings only", cells[8][3]],
    ]
    assert cells[1][3] in ("+0.0", "-0.0") and cells[8][3] in ("+0.0", "-0.0")
    words = table.cells["in words"]
    assert words[0].startswith("10.0 points lower than full BERT (95% interval")
    assert words[1].startswith("no difference from full BERT shown")
    assert words[7].startswith("10.0 points higher than embeddings only")
    assert words[8].startswith("no difference from embeddings only shown")
    assert table.title == "Differences from full BERT and from embeddings only, paired by seed"
    summary, _ = contents.findings(table) or ("", [])
    assert "of 9 comparisons, 4 significantly lower, 3 significantly higher, 2 without a difference shown" in summary


def test_permuted_layers_are_replicates_and_have_a_row_for_each_task_and_baseline(
    composer: Composer, tmp_path: Path
) -> None:
    tasks = ("mini_sst2", "mini_cola")
    permuted = [point(scheme="permutation", task=task, seed=seed) for task in tasks for seed in range(7)]
    ends = [place for task in tasks for place in levels(f"task={task}", seeds=7)]

    def score(place: Point) -> float:
        worth = {0: 0.5, 12: 0.8}.get(place.axes.get("k", -1), 0.55)
        return worth + noise(place)

    figure = block_of(composer, "tamkin2020/fig4", ["differences"])
    table = made([*permuted, *ends], score, figure, tmp_path)
    cells = table.cells[["task", "baseline", "difference ×100", "pairs"]].values.tolist()
    assert cells == [
        ["mini_sst2", "full BERT", "-25.0", "7"],
        ["mini_cola", "full BERT", "-25.0", "7"],
        ["mini_sst2", "embeddings only", "+5.0", "7"],
        ["mini_cola", "embeddings only", "+5.0", "7"],
    ]


def test_correlations_are_of_one_size_each_and_said_by_ranks(composer: Composer, tmp_path: Path) -> None:
    """Six orders: with n=16 the same ones are good for both tasks, with n=32 no two ranks go together."""
    places = [
        point(scheme="permutation", task=task, seed=seed, data__n=n)
        for n in (16, 32)
        for task in ("mini_sst2", "mini_cola")
        for seed in range(6)
    ]
    unlike = [3, 0, 5, 1, 4, 2]

    def score(place: Point) -> float:
        seed = place.axes["seed"]
        rank = unlike[seed] if place.axes["task"] == "mini_cola" and place.axes["data.n"] == 32 else seed
        return 0.5 + rank / 100

    figure = block_of(composer, "tamkin2020/table1", ["correlations"])
    table = made(places, score, figure, tmp_path)
    # By hand: 2 of 720 rankings are as far; d of the others is 3, 1, 3, 2, 0, 3, so rho = 1 - 6 * 32 / 210.
    assert table.cells["data.n"].tolist() == ["16", "32"]
    assert table.cells["Spearman (p)"].tolist()[0] == "1.00 (0.003)"
    assert table.cells["Spearman (p)"][1].startswith(f"{1 - 6 * 32 / 210:.2f} (")
    assert table.cells["p (Spearman, Holm)"][0] == f"{2 * 2 / 720:.3f}"
    assert "Fewer than 5 permutations are too few for a claim" in table.note
    said, (first, second) = contents.findings(table) or ("", [])
    assert "of 2 comparisons, 1 correlated, 1 without a correlation shown (5% level" in said
    assert first.comparison == "data.n=16, mini_sst2, mini_cola" and first.words.startswith("ranks correlated (")
    assert second.words.startswith("no correlation of ranks shown")


def test_a_bootstrap_has_a_difference_from_each_baseline_and_heads_have_room_for_one(tmp_path: Path) -> None:
    block = {"kind": "table", "baseline": {"full": {"treatment_text": "as pretrained"}, "none": {"k": 0}}}
    places = [*seeds_of(point("scheme=incremental", k=6), [0]), *levels(seeds=1)]
    right = {0: 5, 6: 7, 12: 9}
    store = stored(places, tmp_path, lambda place: right[place.axes["k"]] / 10)
    for place in places:
        guesses = [1] * right[place.axes["k"]] + [0] * (10 - right[place.axes["k"]])
        rows = pd.DataFrame({"index": range(10), "label": 1, "prediction": guesses})
        rows.to_parquet(store.folder(place.trial.id) / "predictions.parquet")
    (figure,) = figures_of({**block, "series": "k", "tables": ["bootstrap"]})
    (table,) = make(frame(places, store), figure, store)
    shown = table.cells[["k", "baseline", "score ×100", "difference ×100"]].values.tolist()
    assert shown == [
        ["6", "full", "70.0", "-20.0"],
        ["0", "full", "50.0", "-40.0"],
        ["12", "full", "90.0", "-"],
        ["6", "none", "70.0", "20.0"],
        ["0", "none", "50.0", "-"],
        ["12", "none", "90.0", "40.0"],
    ]
    for name in ("heads", "quartiles_by_layer"):
        (figure,) = figures_of({**block, "tables": [name]})
        with pytest.raises(ConfigError, match=r"figure\.baseline: a table of heads shows differences from one"):
            make(frame(places, store), figure, store)


def test_a_chart_of_heads_has_one_baseline(tmp_path: Path) -> None:
    places = [*seeds_of(point("scheme=head", layer=1, head=1), [0]), *levels(seeds=1)]
    store = stored(places, tmp_path, lambda place: 0.5)
    (figure,) = figures_of({"kind": "heads", "x": "head", "baseline": {"full": {"k": 12}, "none": {"k": 0}}})
    with pytest.raises(
        ConfigError, match=r"figure\.baseline: kind=heads shows differences from one baseline, not from 2"
    ):
        draw(figure, frame(places, store), store, "name")


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        ("k=0", "'k=0' is not a mapping"),
        ({"k": 0, "full BERT": {"k": 12}}, "k, full BERT: either all are names of selections, or none is"),
    ],
)
def test_a_baseline_that_is_no_selection_is_refused(baseline: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=f"figure.baseline: {said}"):
        figures_of({"kind": "table", "baseline": baseline})


def test_one_baseline_may_have_a_name(tmp_path: Path) -> None:
    (figure,) = figures_of({"kind": "curves", "x": "k", "tables": ["differences"], "baseline": {"all": {"k": 12}}})
    table = made(levels(seeds=2), lambda place: 0.5 + place.axes["k"] / 100, figure, tmp_path)
    assert table.cells["baseline"].tolist() == ["all"]
    assert table.cells["in words"].tolist() == ["12.0 points lower than all in 2 pairs: too few for a claim"]


LAYERS = range(1, 7)


def probed(seeds: int, score: Score, root: Path) -> pd.DataFrame:
    words = ("training=probe", "probe.features=mean", "data.n=all")
    places = [p for layer in LAYERS for p in seeds_of(point(*words, probe__layer=layer), range(seeds))]
    return frame(places, stored(places, root, score))


def tuned(sizes: dict[int, int]) -> list[Point]:
    """Layers 0 to 6 kept, with so many seeds of each size."""
    return [
        place
        for n, seeds in sizes.items()
        for k in (0, *LAYERS)
        for place in seeds_of(point("scheme=incremental", k=k, data__n=n), range(seeds))
    ]


def rising(place: Point) -> float:
    return 0.5 + place.axes["probe.layer"] / 100 + noise(place)


def test_fine_tuning_on_little_data_is_closer_to_probing(composer: Composer, tmp_path: Path) -> None:
    """With n=16 the score rises with k as the probes do, with n=32 it falls, with n=64 too, but has three seeds."""
    figure = block_of(composer, "tamkin2020/fig2", ["probing_correlations"])
    places = tuned({16: 8, 32: 8, 64: 3})

    def score(place: Point) -> float:
        return 0.5 + (1 if place.axes["data.n"] == 16 else -1) * place.axes["k"] / 100 + noise(place)

    store = stored(places, tmp_path, score)
    (table,) = make(frame(places, store), figure, store, probed(7, rising, tmp_path))
    cells = table.cells[["data.n", "Spearman", "95% interval", "layers", "seeds", "seeds of probes"]].values.tolist()
    assert cells == [
        ["16", "1.00", "1.00 to 1.00", "6", "8", "7"],
        ["32", "-1.00", "-1.00 to -1.00", "6", "8", "7"],
        ["64", "-1.00", "-", "6", "3", "7"],
    ]
    assert table.cells["in words"].tolist() == [
        "rank correlation 1.00 (95% interval 1.00 to 1.00), closer to probing than with data.n=32 "
        "(change +2.00, 95% interval +2.00 to +2.00)",
        "rank correlation -1.00 (95% interval -1.00 to -1.00), +0.00 from data.n=64 in 3 seeds: too few for a claim",
        "rank correlation -1.00 in 3 seeds: too few for a claim",
    ]
    assert (contents.findings(table) or ("", []))[1][0].comparison == "mini_sst2, data.n=16"


def test_a_size_that_is_halfway_through_is_not_compared(composer: Composer, tmp_path: Path) -> None:
    figure = block_of(composer, "tamkin2020/fig2", ["probing_correlations"])
    places = [p for p in tuned({16: 6, 32: 6}) if p.axes["data.n"] == 16 or p.axes["k"] != 3]
    store = stored(places, tmp_path, lambda place: 0.5 + place.axes["k"] / 100)
    (table,) = make(frame(places, store), figure, store, probed(6, rising, tmp_path))
    assert table.cells["layers"].tolist() == ["6", "5"]
    assert table.cells["in words"][0].endswith(", not compared with data.n=32, which has other layers")


def test_without_probes_there_is_nothing_to_compare_with(composer: Composer, tmp_path: Path) -> None:
    places = tuned({16: 1})
    store = stored(places, tmp_path, lambda place: 0.5)
    figure = block_of(composer, "tamkin2020/fig2", ["probing_correlations"])
    (table,) = make(frame(places, store), figure, store, None)
    assert table.cells.empty
    assert table.note.startswith("No trial of tamkin2020/probing is done, so that there is nothing to compare with")
    (figure,) = figures_of({"kind": "curves", "x": "k", "tables": ["probing_correlations"]})
    with pytest.raises(ConfigError, match=r"figure\.dashed: probing_correlations needs the experiment that probes"):
        make(frame(places, store), figure, store, None)


TASKS = ("mini_sst2", "mini_qnli", "mini_cola")


def localized(seeds: int) -> list[Point]:
    blocks = [
        point("scheme=localized", task=task, block=block, preserve=preserve)
        for task in TASKS
        for block in (1, 4, 7, 10)
        for preserve in (False, True)
    ]
    ends = [place for task in TASKS for place in levels(f"task={task}", seeds=seeds)]
    return [*(place for block in blocks for place in seeds_of(block, range(seeds))), *ends]


def test_tasks_that_need_the_same_blocks_are_alike(composer: Composer, tmp_path: Path) -> None:
    """SST-2 and QNLI lose most with the first block, CoLA with the last; kept alone, all help as much."""
    places = localized(seeds=6)

    def score(place: Point) -> float:
        if "k" in place.axes:
            return 0.5 + 0.4 * (place.axes["k"] == 12) + noise(place)
        if place.axes["preserve"]:
            return 0.6 + noise(place)
        loss = place.axes["block"] if place.axes["task"] == "mini_cola" else 11 - place.axes["block"]
        return 0.9 - loss / 100 + noise(place)

    figure = block_of(composer, "tamkin2020/fig3", ["task_similarity"])
    store = stored(places, tmp_path, score)
    results = frame(places, store)
    (table,) = make(results, figure, store)
    shown = table.cells[["preserve", "tasks compared", "Spearman", "95% interval", "places", "seeds"]]
    assert shown[table.data["preserve"].eq(False)].values.tolist() == [
        ["block reinitialized", "mini_sst2, mini_qnli", "1.00", "1.00 to 1.00", "4", "6"],
        ["block reinitialized", "mini_sst2, mini_cola", "-1.00", "-1.00 to -1.00", "4", "6"],
        ["block reinitialized", "mini_qnli, mini_cola", "-1.00", "-1.00 to -1.00", "4", "6"],
    ]
    assert [words.split(":")[0] for words in table.cells["in words"][:3]] == ["alike", "opposed", "opposed"]
    assert table.cells["in words"][3:].str.startswith("no similarity shown: rank correlation").all()
    assert "mean differences from full BERT, paired by seed" in table.note
    # Of the gain over embeddings only the ranks are the same: it shifts all blocks of a task alike.
    turned = dict(reversed(figure.baseline.items()))
    (other,) = make(results, dataclasses.replace(figure, baseline=turned), store)
    assert other.data["spearman"].tolist() == pytest.approx(table.data["spearman"].tolist())
    assert other.data["low"].tolist() == pytest.approx(table.data["low"].tolist())
    assert "from embeddings only" in other.note


def test_a_similarity_is_of_paired_differences(composer: Composer, tmp_path: Path) -> None:
    """Seed 1 is better throughout, full BERT too, and on CoLA its last block is missing: that is no loss of the block.
    Seed 2 has no full BERT and is in no profile.
    """
    absent = [("k", 12, 2), ("block", 10, 1)]
    places = [
        place
        for place in localized(seeds=3)
        if not any(place.axes.get(axis) == value and place.axes["seed"] == seed for axis, value, seed in absent)
        or ("block" in place.axes and place.trial.science.task.name != "mini_cola")
    ]

    def score(place: Point) -> float:
        block, seed = place.axes.get("block", 12), place.axes["seed"]
        return (-block if seed == 2 else block) / 100 + seed

    figure = block_of(composer, "tamkin2020/fig3", ["task_similarity"])
    table = made(places, score, figure, tmp_path)
    assert table.data["places"].tolist() == [4] * 6 and table.data["seeds"].tolist() == [2] * 6
    assert table.data["spearman"].tolist() == pytest.approx([1.0] * 6)
    assert set(table.cells["in words"]) == {"rank correlation 1.00 in 2 seeds: too few for a claim"}
