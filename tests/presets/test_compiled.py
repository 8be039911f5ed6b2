"""Layers through torch.compile. It stands here because compiling takes a minute, whatever the model."""

import json
from pathlib import Path

import pytest
import torch._dynamo

from bertxfer.store.store import Store
from tests.helpers.families import small
from tests.helpers.running import drained, result, trial


def test_compiled_layers_give_the_same_losses(low_model: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    words = (f"model.name={low_model}", "model.dropout=0", "data.n=32", "training.epochs=2", "data.dev_n=40")
    plain, compiled = trial(*words), trial(*words, "training.compiled=true")
    assert plain.id != compiled.id
    drained(store, plain, compiled)
    results = [result(store, one) for one in (plain, compiled)]
    assert results[0]["score"] == results[1]["score"]
    losses = [_losses(store.folder(one.id)) for one in (plain, compiled)]
    assert len(losses[0]) == 8
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)
    assert losses[1] != losses[0] or results[0]["weights_digest"] != results[1]["weights_digest"]  # it was compiled


SHORT = ("data.n=40", "data.dev_n=20", "optimizer.lr=1e-3", "training.epochs=1", "training.compiled=true")


def test_what_a_worker_compiled_before_changes_no_number(low_model: Path, tmp_path: Path) -> None:
    """With dropout. Torch compiles eight variants of a function and then no more, unless it is told to."""
    other = small("distilbert", tmp_path, layers=2, heads=4, width=24)
    one = trial(f"model.name={other}", *SHORT, "task=mini_cola", "model.pooling=cls")
    before = [
        trial(f"model.name={low_model}", *SHORT, f"task={task}", f"model.pooling={pooling}")
        for task, pooling in (("mini_qnli", "cls"), ("mini_sst2", "mean"))
    ]
    drained(Store(tmp_path / "behind"), *before, one)
    torch._dynamo.reset()  # as in a new process
    drained(Store(tmp_path / "alone"), one)
    behind, alone = (result(Store(tmp_path / where), one) for where in ("behind", "alone"))
    assert behind["weights_digest"] == alone["weights_digest"]
    assert _losses(tmp_path / "behind" / "trials" / one.id) == _losses(tmp_path / "alone" / "trials" / one.id)


def _losses(folder: Path) -> list[float]:
    rows = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]
