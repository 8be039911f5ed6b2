"""Only replicates are averaged: sweeps whose trials look alike and are not, from the command to every number of the
report.

Each was once averaged, refused, or ended in a traceback after all of its trials had run.
"""

import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.report import subject
from tests.helpers.commands import Run
from tests.helpers.models import MINI
from tests.helpers.officialdata import write_official
from tests.helpers.stored import finish

TINY = ["data.n=16", "data.dev_n=32", "training.epochs=1", "runtime.device=cpu", "hydra/launcher=inline", "-m"]
MINI_EPS = json.loads((MINI / "config.json").read_text())["layer_norm_eps"]
PROBE = ["probe.features=mean", "probe.layer=6", "training=probe"]


@pytest.mark.parametrize(
    ("words", "labels"),
    [
        (["training.packed=false,true"], ["training.packed=false", "training.packed=true"]),
        (["training.packed=true,false"], ["training.packed=true", "training.packed=false"]),
        (["data.dev_n=32,null"], ["data.dev_n=32", "data.dev_n=null"]),
        (["data.dev_n=null,32"], ["data.dev_n=null", "data.dev_n=32"]),
        ([*PROBE, "probe.features=mean,cls"], ["probe.features=mean", "probe.features=cls"]),
        ([*PROBE, "probe.holdout=0.1,0.4"], ["probe.holdout=0.1", "probe.holdout=0.4"]),
        (
            ["scheme=sequential", "intermediate={task: mini_cola, data: {n: 16}},{task: mini_cola, data: {n: 24}}"],
            ["stage 1 data.n=16", "stage 1 data.n=24"],
        ),
        (["scheme=permutation", "permutation_seed=0,1"], []),
        (["scheme=permutation", f"order={[*range(2, 13), 1]},{[12, *range(1, 12)]}".replace(" ", "")], []),
    ],
    ids=lambda words: words[-1][:40] if words else None,
)
def test_settings_that_differ_are_rows_of_their_own(
    bertxfer: Run, tmp_path: Path, words: list[str], labels: list[str]
) -> None:
    """Each by the names and values of what differs, never by a whole config; chosen orders are treatments."""
    scores = _swept(bertxfer, tmp_path, [*TINY, *words], dict.fromkeys(labels, 1))
    assert len(scores) == 2
    table = _reported(bertxfer, tmp_path, "summary")
    assert table["n"].tolist() == [1, 1]
    assert sorted(table["mean"]) == pytest.approx(sorted(scores))
    drawn = pd.read_csv(next((tmp_path / "out" / "reports").glob("*/figures/figure-1.csv")))
    means = drawn[drawn["mark"] == "mean"]
    assert means["n"].tolist() == [1, 1] and sorted(means["y"]) == pytest.approx(sorted(scores))
    assert [label for label in means.get("series", []) if isinstance(label, str)] == labels
    if not labels:
        assert table["treatment"].nunique() == 2 and "layers permuted" not in table["treatment"].tolist()


def test_a_compiled_trial_is_not_averaged_with_one_that_is_not(bertxfer: Run, tmp_path: Path) -> None:
    """Compiling takes a minute, so these results are written by the test and the sweep finds all of them done."""
    for values in ("true,false", "false,true"):
        folder = tmp_path / values.replace(",", "-")
        words = ["data.n=16", f"training.compiled={values}", "seed=0,1"]
        asked = subject.of_words(words, folder)
        for place in asked.points:
            score = 0.25 if place.trial.science.training.compiled else 0.75
            finish(place, asked.store, score, treatment_text="as pretrained", seed=place.axes["seed"])
        ended = bertxfer("-m", *words, "hydra/launcher=inline", env={"BERTXFER_OUTPUT": str(folder)})
        assert ended.returncode == 0, ended.stderr
        assert "25.0 (25.0 ± 0.0, 2)" in ended.stdout and "75.0 (75.0 ± 0.0, 2)" in ended.stdout
        ended = bertxfer("report", "--output-dir", str(folder), "-m", *words)
        assert ended.returncode == 0, ended.stderr
        table = pd.read_csv(next((folder / "reports").glob("*/tables/summary.csv")))
        assert sorted(zip(table["training.compiled"], table["mean"], table["n"], strict=True)) == [
            (False, 0.75, 2),
            (True, 0.25, 2),
        ]


def test_two_headlines_are_two_measures(bertxfer: Run, tmp_path: Path) -> None:
    words = [*TINY, "task=mini_cola", "task.metrics=[matthews_correlation,accuracy]"]
    _swept(bertxfer, tmp_path, [*words, "task.headline=matthews_correlation,accuracy"], {})
    (path,) = (tmp_path / "out" / "trials").glob("*/result.json")  # one trial, looked at twice
    table = _reported(bertxfer, tmp_path, "summary")
    assert table["n"].tolist() == [1, 1]
    assert dict(zip(table["measure"], table["mean"], strict=True)) == json.loads(path.read_text())["metrics"]


def test_two_models_of_one_base_name_are_told_apart(bertxfer: Run, tmp_path: Path) -> None:
    words = [*TINY, "model=other", f"model.name={_encoders(tmp_path, 1e-4, 1e-3)}", "model.lr=5e-4"]
    scores = _swept(bertxfer, tmp_path, words, {"encoder@": 2})
    table = _reported(bertxfer, tmp_path, "summary")
    assert table["n"].tolist() == [1, 1] and sorted(table["mean"]) == pytest.approx(sorted(scores))
    assert table["model"].str.fullmatch("encoder@[0-9a-f]{8}").all() and table["model"].nunique() == 2
    assert table["model"].iloc[0] in next((tmp_path / "out" / "reports").glob("*/index.html")).read_text()
    exported = _exported(bertxfer, tmp_path)
    assert sorted(exported["model"]) == sorted(table["model"]) and exported["group"].nunique() == 2


def test_a_model_is_called_by_its_own_name_and_not_by_the_file_that_chose_it(bertxfer: Run, tmp_path: Path) -> None:
    """A copy of the mini model is the mini model, whatever its folder is called."""
    words = ["model=other", f"model.name={_encoders(tmp_path, MINI_EPS, 1e-3)}", "model.lr=5e-4"]
    named = {"mini,n=16": 1, "encoder,n=16": 1}
    _swept(bertxfer, tmp_path, [*TINY, *words, "scheme=baseline,scratch", "seed=0,1"], named, averaged=4)
    table = _reported(bertxfer, tmp_path, "summary")
    assert table["n"].tolist() == [2] * 4 and set(table["model"]) == {"mini", "encoder"}
    differences = _reported(bertxfer, tmp_path, "differences")
    assert differences["n"].tolist() == [2, 2] and differences["unpaired"].tolist() == [0, 0]


def test_settings_that_differ_in_their_last_digits_are_told_apart(bertxfer: Run, tmp_path: Path) -> None:
    words = [*TINY, "optimizer.lr=0.0005,0.00050000001", "seed=0,1"]
    _swept(bertxfer, tmp_path, words, {"optimizer.lr=0.00050000001": 1}, averaged=2)
    assert _reported(bertxfer, tmp_path, "summary")["n"].tolist() == [2, 2]


def test_a_bootstrap_has_a_row_for_each_headline(bertxfer: Run, tmp_path: Path) -> None:
    grid = {"task": "mini_cola", "task.headline": ["accuracy", "f1"], "scheme": ["baseline", "scratch"], "seed": [0, 1]}
    _experiment(tmp_path, "headlines", grid, {"kind": "treatments", "tables": ["bootstrap", "summary"]})
    words = [*TINY, "experiment=headlines", "--config-dir", str(tmp_path / "conf")]
    ended = bertxfer(*words, "task.metrics=[accuracy,f1]")
    assert ended.returncode == 0, ended.stderr
    table = _reported(bertxfer, tmp_path, "bootstrap")
    assert table["seeds"].tolist() == [2] * 4 and sorted(table["measure"]) == ["accuracy", "accuracy", "f1", "f1"]
    summary = _reported(bertxfer, tmp_path, "summary")
    assert sorted(table["score"]) == pytest.approx(sorted(summary["mean"]))
    assert table["difference"].notna().sum() == 2  # of scratch, for each metric


def test_heads_of_two_initializers_are_two_tables(bertxfer: Run, tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "experiment"
    folder.mkdir(parents=True)
    heads = {"scheme": "head", "layer": [1, 2], "head": [1, 2], "init": ["bert", "shuffle"], "seed": [0, 1]}
    figure = {
        "kind": "table",
        "baseline": {"treatment_text": "as pretrained"},
        "tables": ["heads", "quartiles_by_layer"],
    }
    text = json.dumps({"grids": [heads, {"scheme": "baseline", "seed": [0, 1]}], "figure": figure})
    (folder / "two.yaml").write_text(f"# @package _global_\n{text}\n")
    words = ["data.n=16", "experiment=two"]
    asked = subject.of_words(words, tmp_path / "out", [str(tmp_path / "conf")])
    for place in asked.points:
        finish(place, asked.store, 0.5 + 0.01 * place.axes["seed"] + 0.1 * (place.axes.get("init") == "shuffle"))
    ended = bertxfer("report", *words, "--config-dir", str(tmp_path / "conf"))
    assert ended.returncode == 0, ended.stderr
    quartiles = _reported(bertxfer, tmp_path, "quartiles_by_layer")
    assert quartiles["count"].tolist() == [2] * 4  # two initializers, two layers, and two heads in each
    assert sorted(quartiles["mean"]) == pytest.approx([0.0, 0.0, 0.1, 0.1])


def test_two_data_roots_are_told_apart(bertxfer: Run, tmp_path: Path) -> None:
    roots = [write_official(tmp_path / "one"), write_official(tmp_path / "other")]
    train = roots[1] / "glue" / "SST-2" / "train.tsv"
    lines = train.read_text().splitlines()
    train.write_text("\n".join([lines[0], *reversed(lines[1:])]) + "\n")
    words = [*TINY, "task=sst2", f"data.root={','.join(map(str, roots))}"]
    scores = _swept(bertxfer, tmp_path, words, {"task.version": 2})
    table = _reported(bertxfer, tmp_path, "summary")
    assert table["n"].tolist() == [1, 1] and sorted(table["mean"]) == pytest.approx(sorted(scores))
    assert table["task.version"].nunique() == 2 and table["task.version"].astype(str).str.len().max() == 8
    assert _exported(bertxfer, tmp_path)["group"].nunique() == 2


def test_drawn_orders_are_replicates_as_seeds_are(bertxfer: Run, tmp_path: Path) -> None:
    scores = _swept(bertxfer, tmp_path, [*TINY, "scheme=permutation", "seed=0,1"], {}, averaged=1)
    table = _reported(bertxfer, tmp_path, "summary")
    assert table["n"].tolist() == [2] and table["mean"].tolist() == pytest.approx([sum(scores) / 2])
    exported = _exported(bertxfer, tmp_path)
    assert exported["treatment"].tolist() == ["layers permuted"] * 2 and exported["group"].nunique() == 1


def test_drawn_orders_stay_replicates_beside_a_chosen_one(bertxfer: Run, tmp_path: Path) -> None:
    chosen = str([*range(12, 0, -1)]).replace(" ", "")
    words = [*TINY, "scheme=permutation", f"order=null,{chosen}", "seed=0,1,2"]
    _swept(bertxfer, tmp_path, words, {"layers permuted": 1, "order 12 11 10": 1}, averaged=2)
    table = _reported(bertxfer, tmp_path, "summary")
    assert table["n"].tolist() == [3, 3]


def test_each_stream_of_randomness_makes_replicates_and_pairs(bertxfer: Run, tmp_path: Path) -> None:
    """Three draws of the reinitialized layers, and one baseline that draws none: three pairs, not nine, not none."""
    figure = {"kind": "curves", "x": "k", "tables": ["summary", "differences", "bootstrap"]}
    _experiment(tmp_path, "redraws", {"scheme": "incremental", "k": [6, 12], "seeds.redraw": [0, 1, 2]}, figure)
    words = ["--config-dir", "conf", *TINY, "experiment=redraws"]
    _swept(bertxfer, tmp_path, words, {}, averaged=1)
    exported = _exported(bertxfer, tmp_path)
    base = exported.loc[exported["treatment"] == "as pretrained", "score"]
    others = exported.loc[exported["treatment"] != "as pretrained"]
    assert len(base) == 1 and others["group"].nunique() == 1 and len(others) == 3
    summary = _reported(bertxfer, tmp_path, "summary").set_index("k")
    assert summary["n"].to_dict() == {6: 3, 12: 1}
    assert summary["mean"].to_dict() == pytest.approx({6: others["score"].mean(), 12: base.item()})
    gap = others["score"].mean() - base.item()
    differences = _reported(bertxfer, tmp_path, "differences")
    assert differences[["k", "n", "unpaired"]].values.tolist() == [[6, 3, 0]]
    assert differences["mean"].tolist() == pytest.approx([gap])
    bootstrapped = _reported(bertxfer, tmp_path, "bootstrap").set_index("k")
    assert bootstrapped["seeds"].to_dict() == {6: 3, 12: 1}
    assert bootstrapped.loc[6, "difference"] == pytest.approx(gap)


def test_subsamples_pair_with_the_same_subsample(bertxfer: Run, tmp_path: Path) -> None:
    figure = {"kind": "curves", "x": "k", "tables": ["differences", "bootstrap"]}
    _experiment(tmp_path, "subsamples", {"scheme": "incremental", "k": [6, 12], "seeds.subsample": [0, 1]}, figure)
    _swept(bertxfer, tmp_path, ["--config-dir", "conf", *TINY, "experiment=subsamples"], {}, averaged=2)
    exported = _exported(bertxfer, tmp_path).pivot(index="seeds.subsample", columns="treatment", values="score")
    gaps = exported.drop(columns="as pretrained").iloc[:, 0] - exported["as pretrained"]
    differences = _reported(bertxfer, tmp_path, "differences")
    assert differences["n"].tolist() == [2] and differences["mean"].tolist() == pytest.approx([gaps.mean()])
    bootstrapped = _reported(bertxfer, tmp_path, "bootstrap").set_index("k")
    assert bootstrapped.loc[6, "difference"] == pytest.approx(gaps.mean())


def test_a_place_is_compared_with_the_baseline_of_its_own_settings(bertxfer: Run, tmp_path: Path) -> None:
    words = [*TINY, "scheme=incremental", "k=6,12", "training.packed=true,false"]
    _swept(bertxfer, tmp_path, words, {"training.packed": 4})
    exported = _exported(bertxfer, tmp_path)
    packed = exported["training.packed"].isna()  # an id leaves the default out
    expected = [
        own.loc[own["treatment"] != "as pretrained", "score"].item()
        - own.loc[own["treatment"] == "as pretrained", "score"].item()
        for own in (exported[packed], exported[~packed])
    ]
    differences = _reported(bertxfer, tmp_path, "differences")
    assert differences[["k", "n"]].values.tolist() == [[6, 1], [6, 1]]
    found = differences.set_index(differences["training.packed"].astype(str).str.lower())["mean"].to_dict()
    assert found == pytest.approx(dict(zip(("true", "false"), expected, strict=True)))


def _encoders(tmp_path: Path, *eps: float) -> str:
    """Folders of one base name with the mini model, but for the number in their LayerNorms."""
    folders = [tmp_path / str(value) / "encoder" for value in eps]
    for folder, value in zip(folders, eps, strict=True):
        shutil.copytree(MINI, folder)
        facts = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**facts, "layer_norm_eps": value}))
    return ",".join(map(str, folders))


def _experiment(tmp_path: Path, name: str, grid: dict[str, object], figure: dict[str, object]) -> None:
    folder = tmp_path / "conf" / "experiment"
    folder.mkdir(parents=True)
    text = json.dumps({"description": name, "grids": [grid], "figure": figure})  # JSON is YAML
    (folder / f"{name}.yaml").write_text(f"# @package _global_\n{text}\n")


def _swept(bertxfer: Run, tmp_path: Path, words: list[str], names: dict[str, int], averaged: int = 0) -> list[float]:
    """Runs a sweep; its table averages in so many cells, and says each of these words in so many of its rows."""
    ended = bertxfer(*words)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    table = ended.stdout[ended.stdout.index("scores ×100: median") :]
    assert table.count("±") == 1 + averaged, table  # one is in its heading
    text = re.sub(r"\s+", "", table)
    for name, rows in names.items():
        assert text.count(name.replace(" ", "")) == rows, table
    results = [json.loads(path.read_text()) for path in sorted((tmp_path / "out" / "trials").glob("*/result.json"))]
    trials = {trial["id"] for path in (tmp_path / "out" / "sweeps").glob("*/manifest.json") for trial in _trials(path)}
    scores = [result["score"] for result in results if result["id"] in trials]
    if not averaged:
        assert all(f"{100 * score:.1f} (1)" in table for score in scores), table
    return scores


def _trials(manifest: Path) -> list[dict[str, str]]:
    trials: list[dict[str, str]] = json.loads(manifest.read_text())["trials"]
    return trials


def _reported(bertxfer: Run, tmp_path: Path, name: str) -> pd.DataFrame:
    """The numbers of a table of the last sweep's report."""
    paths = list((tmp_path / "out" / "reports").glob(f"*/tables/{name}.csv"))
    if not paths:
        ended = bertxfer("report")
        assert ended.returncode == 0, ended.stderr
        paths = list((tmp_path / "out" / "reports").glob(f"*/tables/{name}.csv"))
    return pd.read_csv(paths[0])


def _exported(bertxfer: Run, tmp_path: Path) -> pd.DataFrame:
    ended = bertxfer("export", "all.csv")
    assert ended.returncode == 0, ended.stderr
    return pd.read_csv(tmp_path / "all.csv")
