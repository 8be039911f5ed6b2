"""Layers through torch.compile. It stands here because compiling takes a minute, whatever the model."""

from pathlib import Path

import pytest

from bertxfer.store import Store
from tests.running import drained, result, trial


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


def _losses(folder: Path) -> list[float]:
    import json

    rows = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]
