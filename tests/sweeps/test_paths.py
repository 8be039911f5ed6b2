"""The line between two finished trials, on the command line, against kept models that transformers alone has loaded."""

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from bertxfer.store.store import Store
from tests.helpers.commands import Run, only_line, tiny_words
from tests.helpers.families import loud, small
from tests.helpers.plain import Plain, achieved, dev_batch
from tests.helpers.running import result, trial

MORE = ("data.dev_n=32", "optimizer.lr=1e-3", "keep=model")


@pytest.mark.parametrize("family", ["bert", "roberta", "electra", "distilbert"])
def test_a_barrier_between_two_seeds(family: str, bertxfer: Run, tmp_path: Path) -> None:
    model = loud(small(family, tmp_path / "models", layers=2, heads=4, width=24))
    pooling = "model.pooling=cls" if family in ("bert", "roberta") else "model.pooling=mean"
    words = [*tiny_words(model), *MORE, pooling, "task=mini_sst2"]
    ran = bertxfer(*words, "-m", "seed=0,1", "hydra/launcher=inline")
    assert ran.returncode == 0, ran.stderr
    store, trials = Store(tmp_path / "out"), [trial(*words, f"seed={seed}") for seed in (0, 1)]
    crossed = bertxfer("path", trials[0].id, trials[1].id, "--steps", "4")
    assert crossed.returncode == 0, crossed.stderr
    assert "note:" not in crossed.stdout
    first, last = (Plain(store.folder(one.id) / "model") for one in trials)
    between, others = Plain(store.folder(trials[0].id) / "model"), dict(last.named_parameters())
    starts, losses = dict(first.named_parameters()), []
    file = store.root / "paths" / f"{trials[0].id}-{trials[1].id}.parquet"
    rows = pq.read_table(file).to_pylist()
    for row, alpha in zip(rows, (0, 0.25, 0.5, 0.75, 1), strict=True):
        with torch.no_grad():
            for name, tensor in between.named_parameters():
                tensor.copy_((1 - alpha) * starts[name].double() + alpha * others[name].double())
        loss, accuracy = achieved(between, *dev_batch(trials[0]))
        assert row["alpha"] == alpha
        assert row["dev_loss"] == pytest.approx(loss, rel=1e-4, abs=1e-5)
        assert row["accuracy"] == pytest.approx(accuracy)
        losses.append(loss)
    assert [rows[0]["dev_loss"], rows[-1]["dev_loss"]] == [result(store, one)["dev_loss"] for one in trials]
    above = [loss - ((4 - i) * losses[0] + i * losses[4]) / 4 for i, loss in enumerate(losses)]
    lines = crossed.stdout.splitlines()
    barrier = next(line for line in lines if line.startswith("barrier"))
    assert float(barrier.split()[1].rstrip(":")) == pytest.approx(max(above), abs=1e-3)
    assert lines[3].split() == ["0.50", f"{rows[2]['dev_loss']:.4f}", f"{rows[2]['accuracy']:.4f}"]
    assert lines[-1] == str(file)
    digests = pq.read_table(file).schema.metadata
    ends = (digests[b"first_weights_digest"].decode(), digests[b"last_weights_digest"].decode())
    assert list(ends) == [result(store, one)["weights_digest"] for one in trials]


def test_what_has_no_line_is_refused(bertxfer: Run, shallow_model: Path, low_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(shallow_model), "data.dev_n=8", "training.epochs=1", "task=mini_sst2"]
    of = {
        "kept": [*words, "keep=model"],
        "alone": [*words, "seed=1"],
        "other task": [*words, "task=mini_cola", "keep=model"],
        "other rows": [*words, "data.dev_n=9", "keep=model"],
        "other head": [*words, "model.pooling=cls", "keep=model"],
        "other model": [*words, f"model.name={low_model}", "keep=model"],
        "probe": [*words, "training=probe", "probe.layer=1"],
    }
    for one in of.values():
        ran = bertxfer(*one)
        assert ran.returncode == 0, ran.stderr
    ids = {name: trial(*one).id for name, one in of.items()}
    said = {
        "alone": "was not kept; run it again with keep=model",
        "other task": "differ in the task",
        "other rows": "differ in data.dev_n",
        "other head": "differ in model.pooling",
        "other model": "differ in the model",
        "probe": "is a probe, which leaves no model",
    }
    for name, words_of_it in said.items():
        for pair in ((ids["kept"], ids[name]), (ids[name], ids["kept"])):
            refused = bertxfer("path", *pair)
            assert refused.returncode != 0 and words_of_it in only_line(refused.stderr), refused.stderr
    assert "give its whole id" in only_line(bertxfer("path", ids["kept"], "0123").stderr)
    assert "give at least 2" in only_line(bertxfer("path", ids["kept"], ids["kept"], "--steps", "1").stderr)
    assert not (tmp_path / "out" / "paths").exists()


def test_a_kept_model_that_is_another_or_damaged_is_said_to_be(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    words = [*tiny_words(shallow_model), *MORE, "task=mini_sst2"]
    bertxfer(*words, "-m", "seed=0,1", "hydra/launcher=inline")
    store, ids = Store(tmp_path / "out"), [trial(*words, f"seed={seed}").id for seed in (0, 1)]
    folders = [store.folder(trial_id) / "model" for trial_id in ids]
    shutil.copy(folders[0] / "model.safetensors", folders[1] / "model.safetensors")
    crossed = bertxfer("path", *ids)
    assert crossed.returncode == 0
    assert (
        f"the kept model of {ids[1]} is not to the bit" in crossed.stdout
        and ids[0] not in crossed.stdout.split("note")[1].splitlines()[0]
    )
    (folders[1] / "head.safetensors").write_bytes(b"cut")
    refused = bertxfer("path", *ids)
    assert refused.returncode != 0 and "cannot be read" in only_line(refused.stderr)
    path = store.folder(ids[0]) / "result.json"
    found = json.loads(path.read_text())
    assert found["score"] is not None
