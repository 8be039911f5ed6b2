"""What claims read of the analyses of trials: effects by the command line, against the files that trials left."""

import json
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.claims.case import Reading
from bertxfer.store.store import Store
from bertxfer.sweeps.readings import values_in
from tests.helpers.commands import Run, tiny_words
from tests.helpers.stored import finish, point

EXPERIMENT = """# @package _global_
grids:
  - {task: mini_sst2, scheme: baseline, seed: [0, 1]}
analysis: [surgery, similarity, path]
claims:
  change: {says: a, less: {layer: 2}, than: 0, metric: surgery.change, where: {operation: skipped, module: attention}}
  score: {says: b, more: {layer: 3}, than: {layer: 1}, metric: surgery.score}
  as_it_is: {says: c, more: {layer: 3}, than: 0, metric: surgery.accuracy, where: {operation: intact}}
  alike: {says: d, less: {layer: 3}, than: {layer: 1}, metric: similarity.cka, where: {reference: treated}}
  falls: {says: e, falls: alpha, metric: path.dev_loss}
  ends: {says: f, more: {alpha: 1.0}, than: {alpha: 0.3}, metric: path.score}
  barrier: {says: g, not_more: {task: mini_sst2}, than: 0, metric: path.barrier, margin: 0.1}
"""


def test_effects_are_those_of_the_files(bertxfer: Run, low_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own" / "experiment"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(EXPERIMENT)
    words = [*tiny_words(low_model), "data.dev_n=40", "optimizer.lr=1e-2"]
    words += ["-m", "experiment=mine", "--config-dir", "own", "hydra/launcher=inline"]
    ran = bertxfer(*words)
    assert ran.returncode == 0, ran.stderr
    told = bertxfer("claims", *[word for word in words if not word.startswith("hydra")], "--json")
    assert told.returncode == 0, told.stderr
    effects = {entry["claim"]: entry["effect"] for entry in json.loads(told.stdout)}
    trials = sorted((tmp_path / "out" / "trials").iterdir())
    assert len(trials) == 2

    def mean(name: str, where: str, column: str) -> float:
        return float(sum(pd.read_parquet(t / f"{name}.parquet").query(where)[column].mean() for t in trials) / 2)

    def accuracy(layer: int, module: str, operation: str) -> float:
        return mean("surgery", f"layer == {layer} and module == '{module}' and operation == '{operation}'", "accuracy")

    intact = mean("surgery", "operation == 'intact'", "accuracy")
    assert effects["change"] == pytest.approx(100 * (accuracy(2, "attention", "skipped") - intact))
    expected = accuracy(3, "layer", "pretrained") - accuracy(1, "layer", "pretrained")
    assert effects["score"] == pytest.approx(100 * expected)
    of_result = sum(json.loads((t / "result.json").read_text())["score"] for t in trials) / 2
    assert effects["as_it_is"] == pytest.approx(of_result)
    cka = {
        layer: mean("similarity", f"layer == {layer} and reference == 'treated' and model == 'finetuned'", "cka")
        for layer in (1, 3)
    }
    assert effects["alike"] == pytest.approx(cka[3] - cka[1])
    assert effects["ends"] == pytest.approx(
        100 * (mean("path", "alpha == 1", "accuracy") - mean("path", "alpha == 0.3", "accuracy"))
    )
    orders, barriers = [], []
    for one in trials:
        losses = pd.read_parquet(one / "path.parquet")["dev_loss"]
        orders.append(losses.corr(pd.Series(range(11)), method="spearman"))
        barriers.append(max(loss - losses[0] - (losses[10] - losses[0]) * i / 10 for i, loss in enumerate(losses)))
    assert effects["falls"] == pytest.approx(sum(orders) / 2)
    assert effects["barrier"] == pytest.approx(sum(barriers) / 2)


def test_a_barrier_is_above_the_line_between_the_ends(tmp_path: Path) -> None:
    store, place = Store(tmp_path), point("scheme=baseline", "analysis=path")
    finish(place, store, 0.5)
    losses = [1.0, 1.0, 0.9, 0.7, 0.7, 0.9, 0.2, 0.2, 0.2, 0.1, 0.0]
    along = pd.DataFrame({"alpha": [i / 10 for i in range(11)], "dev_loss": losses, "accuracy": losses[::-1]})
    along.to_parquet(store.folder(place.trial.id) / "path.parquet")
    value_of = values_in(store, [place.trial])
    found = value_of(Reading(place.trial.id, "path.barrier", (("alpha", 0.3),)))
    assert found is not None and found.number == pytest.approx(0.9 - 0.5)  # at alpha 0.5
    half = value_of(Reading(place.trial.id, "path.accuracy", (("alpha", 0.2),)))
    assert half is not None and half.number == pytest.approx(0.2)
