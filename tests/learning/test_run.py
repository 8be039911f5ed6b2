"""Whole trials through the command line: what they leave on disk, repeat, resume and survive."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.sweeps import worker
from bertxfer.sweeps.attempt import Rules
from bertxfer.sweeps.draining import drain
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.stop import Stop
from tests.helpers import warm
from tests.helpers.commands import Run, environment, only_line, tiny_words
from tests.helpers.running import RUNTIME, result, trial


def trial_folders(tmp_path: Path, out: str = "out") -> list[Path]:
    return sorted((tmp_path / out / "trials").iterdir())


def result_in(folder: Path) -> Result:
    result: Result = json.loads((folder / "result.json").read_text())
    return result


@pytest.mark.parametrize("task", ["mini_sst2", "mini_qnli", "mini_cola"])
def test_what_a_trial_leaves(bertxfer: Run, tiny_model: Path, tmp_path: Path, task: str) -> None:
    words = tiny_words(tiny_model, f"task={task}", "scheme=incremental", "k=6")
    ended = bertxfer(*words)
    assert ended.returncode == 0, ended.stderr
    (folder,) = trial_folders(tmp_path)
    assert {path.name for path in folder.iterdir()} == {
        "attempts",
        "config.yaml",
        "result.json",
        "predictions.parquet",
        "history.jsonl",
    }
    result = result_in(folder)
    assert result["id"] == folder.name
    assert f"results in {folder}" in ended.stdout
    assert (result["n_train"], result["steps"], result["epochs"]) == (24, 6, 2)
    assert result["environment"]["torch"].startswith("2.")
    predictions = pq.read_table(folder / "predictions.parquet").to_pydict()
    assert predictions["index"] == list(range(1000))
    right = sum(p == y for p, y in zip(predictions["prediction"], predictions["label"], strict=True))
    assert result["metrics"]["accuracy"] == right / 1000
    assert result["score"] == result["metrics"]["matthews_correlation" if task == "mini_cola" else "accuracy"]
    history = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    assert [event["step"] for event in history if "loss" in event] == [1, 2, 3, 4, 5, 6]
    assert [event["epoch"] for event in history if "epoch" in event] == [2]  # evaluated where somebody reads it

    again = bertxfer(*words, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert again.returncode == 0
    assert again.stdout.startswith("stored")
    assert " torch\n" not in again.stderr


def test_the_dev_set_is_never_trained_on_and_seeds_are_paired(tiny_model: Path, tmp_path: Path) -> None:
    """Same seed: same subsample, head and batch order under every scheme. What is drawn is asked of the code itself."""
    from bertxfer.learning import data, encoders, heads
    from bertxfer.tasks import source_of
    from bertxfer.trials.trial import trial_of
    from tests.helpers.configs import composed

    schemes = (["scheme=baseline"], ["scheme=incremental", "k=0"], ["scheme=scratch"], ["scheme=permutation"])
    drawn = []
    for scheme in schemes:
        trial = trial_of(composed(*tiny_words(tiny_model, "data.n=200", "seed=4", *scheme)))
        source = source_of(trial.science.task, trial.data_at)
        tokenizer = encoders.tokenizer(trial.model_at, trial.science.model.version)
        train, dev = data.load(trial.science, source, tokenizer, tmp_path)
        encoder = encoders.load(trial.model_at, trial.science.model)
        head = heads.HeadedModel(encoder, trial.science).classifier
        drawn.append(
            (train.indices, data.epoch_order(200, trial.science.seeds["order"], 1), head.weight.detach().tolist())
        )
        texts = {text for texts in source.rows("train", train.indices).texts for text in texts}
        assert texts.isdisjoint(source.rows("dev", dev.indices).texts[0])
        rows = {tuple(ids) for ids in train.columns["input_ids"]}
        assert rows.isdisjoint(tuple(ids) for ids in dev.columns["input_ids"])
    assert all(one == drawn[0] for one in drawn)
    assert len(set(drawn[0][0])) == 200


def test_small_samples_are_part_of_large_ones(tiny_model: Path) -> None:
    from bertxfer.learning.data import subsample
    from bertxfer.trials.trial import trial_of
    from tests.helpers.configs import composed

    def sample(*words: str) -> list[int]:
        return subsample(trial_of(composed(*tiny_words(tiny_model, *words))).science, 60_000)

    small, large = sample("data.n=500"), sample("data.n=5000")
    assert large[:500] == small
    assert sample("data.n=500", "seed=1") != small
    assert len(sample("data.n=null", "data.fraction=0.01")) == 600
    assert sample("data.n=all") == list(range(60_000))


def test_a_sweep_runs_as_it_is_typed(bertxfer: Run, tiny_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(tiny_model, "scheme=localized", "block=3"), "-m", "seed=range(2)", "training.epochs=1"]
    ended = bertxfer(*words)
    assert ended.returncode == 0, ended.stderr
    results = [result_in(folder) for folder in trial_folders(tmp_path)]
    assert sorted(result["seed"] for result in results) == [0, 1]
    assert {result["treatment_text"] for result in results} == {"layers 3-5 reinitialized"}
    assert "2 of 2 trials done" in ended.stdout
    assert "layers 3-5 reinitialized" in ended.stdout


def test_equal_trials_of_a_sweep_run_once(bertxfer: Run, tiny_model: Path, tmp_path: Path) -> None:
    ended = bertxfer(*tiny_words(tiny_model), "training.epochs=1", "-m", "scheme=baseline,incremental", "k=12")
    assert ended.returncode == 2  # k is no axis of baseline
    ended = bertxfer(
        *tiny_words(tiny_model, "scheme=localized", "block_size=0"), "-m", "block=1,2,13", "hydra/launcher=inline"
    )
    assert ended.returncode == 0, ended.stderr
    assert len(trial_folders(tmp_path)) == 1


def test_a_failed_trial_is_recorded_and_stops_no_other(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    ended = bertxfer(*tiny_words(shallow_model), "training.clip=null", "-m", "optimizer.lr=1e30,1e-4")
    assert ended.returncode == 1
    assert "1 of 2 trials failed" in ended.stderr
    failed = [folder for folder in trial_folders(tmp_path) if (folder / "failure.json").exists()]
    assert len(failed) == 1
    assert "the training loss is" in json.loads((failed[0] / "failure.json").read_text())["reason"]
    assert not (failed[0] / "result.json").exists()
    assert sum((folder / "result.json").exists() for folder in trial_folders(tmp_path)) == 1


def test_a_stored_config_that_was_edited_is_an_error(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = tiny_words(shallow_model, "training.epochs=1")
    assert bertxfer(*words).returncode == 0
    (folder,) = trial_folders(tmp_path)
    config = yaml.safe_load((folder / "config.yaml").read_text())
    config["optimizer"]["lr"] = 0.1
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    ended = bertxfer(*words)
    assert ended.returncode == 1
    assert "not to its folder's id" in only_line(ended.stderr)


def test_a_killed_trial_ends_as_an_undisturbed_one(bertxfer: Run, low_model: Path, tmp_path: Path) -> None:
    """SIGKILL again and again, at whatever step it hits, with dropout on and a checkpoint after every step."""
    words = [
        *tiny_words(low_model, "data.n=64", "scheme=incremental", "k=1", "training.accumulate=2"),
        "optimizer=adamw",
        "optimizer.lr=1e-3",
        "model.dropout=0.3",
        "training.report=best",
        "runtime.threads=1",
        "training.epochs=4",
    ]
    assert bertxfer(*words).returncode == 0
    (undisturbed,) = trial_folders(tmp_path)
    disturbed = tmp_path / "killed" / "trials" / undisturbed.name
    steps_reached = set()
    for kills in range(3):
        elsewhere = environment(tmp_path, {"BERTXFER_OUTPUT": str(tmp_path / "killed")})
        process = warm.start([*words, "runtime.checkpoint_seconds=0"], tmp_path, elsewhere)
        deadline = time.monotonic() + 120
        seen: set[str] = set()
        while len(seen) < 3 + kills and process.poll() is None and time.monotonic() < deadline:
            seen |= {path.name for path in (disturbed / "checkpoint").glob("*.pt")}
            time.sleep(0.002)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        steps_reached.add(frozenset(seen))
    assert not (disturbed / "result.json").exists(), "the trial ended before it was killed"
    assert len(steps_reached) == 3
    assert bertxfer(*words, env={"BERTXFER_OUTPUT": str(tmp_path / "killed")}).returncode == 0
    resumed, whole = result_in(disturbed), result_in(undisturbed)
    assert resumed["resumed_at_step"] > 3
    assert whole["resumed_at_step"] is None
    for key in ("score", "metrics", "weights_digest", "steps", "epochs"):
        assert resumed[key] == whole[key], key
    for name in ("predictions.parquet", "history.jsonl", "config.yaml"):
        assert (disturbed / name).read_bytes() == (undisturbed / name).read_bytes(), name
    assert not (disturbed / "checkpoint").exists()


def test_a_damaged_checkpoint_is_as_good_as_none(tiny_model: Path, tmp_path: Path) -> None:
    import torch

    from bertxfer.learning.checkpoints import Checkpoints

    checkpoints = Checkpoints(tmp_path / "checkpoint", 0)
    assert checkpoints.load() is None
    checkpoints.save({"step": 1, "weights": torch.arange(100.0)})
    checkpoints.save({"step": 2, "weights": torch.arange(100.0)})
    (path,) = (tmp_path / "checkpoint").iterdir()
    loaded = checkpoints.load()
    assert loaded is not None and loaded["step"] == 2
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert checkpoints.load() is None
    path.write_bytes(content[:100])
    assert checkpoints.load() is None


def test_a_checkpoint_that_cannot_be_saved_costs_no_trial(
    shallow_model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good, blocked = Store(tmp_path / "good"), Store(tmp_path / "blocked")
    one = trial(*tiny_words(shallow_model))
    blocked.folder(one.id).mkdir(parents=True)
    blocked.checkpoint(one.id).write_text("a file where the folder should be")
    for store in (good, blocked):
        drain([one], Queue(store, "test"), replace(RUNTIME, checkpoint_seconds=0), Stop())
    assert "no checkpoint was saved" in capfd.readouterr().err
    assert result(blocked, one)["weights_digest"] == result(good, one)["weights_digest"]


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_weights_that_are_overwritten_in_place_are_refused(when: str, shallow_model: Path, tmp_path: Path) -> None:
    """A worker that has loaded them sees the new ones: they are a mapping of the file."""
    folder, store = tmp_path / "model", Store(tmp_path / "out")
    shutil.copytree(shallow_model, folder)
    first, second = (trial(*tiny_words(folder), f"seed={seed}") for seed in (0, 1))
    drain([first], Queue(store, "test"), RUNTIME, Stop())
    assert result(store, first)["n_train"] == 24

    def overwrite() -> None:
        with (folder / "model.safetensors").open("r+b") as weights:
            weights.seek(-4, os.SEEK_END)
            weights.write(b"\0\0\0\0")

    class Late(Stop):
        asked_times = 0

        def __call__(self) -> bool:
            self.asked_times += 1
            if self.asked_times == 5:
                overwrite()
            return super().__call__()

    if when == "before":
        overwrite()
    stop = Late() if when == "meanwhile" else Stop()
    drain([second], Queue(store, "test"), RUNTIME, stop)
    assert store.result(second.id) is None
    assert "has changed since this trial was planned" in str(store.why_failed(second.id))
    assert (store.folder(second.id) / "history.jsonl").exists() is False


def test_a_wish_to_stop_is_heard_where_it_cannot_be_said() -> None:
    """With its log on a full disk."""
    script = """
import os, signal
from bertxfer.sweeps.stop import Stop
stop = Stop()
with stop.on_signals():
    signal.raise_signal(signal.SIGTERM)
os._exit(7 if stop() else 8)
"""
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run([sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 7, ended.stderr


def test_a_process_that_does_not_stop_when_told_is_killed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    deaf = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    )
    child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "deaf\n"
    stop = Stop()
    stop.asked = True
    post = worker.Post(str(tmp_path), "first", Rules(stale_seconds=0.3))
    assert worker._wait(child, stop, tmp_path / "card.json", post, Store(tmp_path)) == -signal.SIGKILL
    assert f"process {child.pid} did not end for 3 s: it is killed" in capfd.readouterr().out


def test_a_worker_imports_no_package_for_tables_or_statistics(bertxfer: Run, tiny_model: Path, tmp_path: Path) -> None:
    """They take seconds and 200 MB in each of a sweep's workers, and accuracy and files need none of them."""
    folder = tmp_path / "glue" / "SST-2"
    folder.mkdir(parents=True)
    for name in ("train", "dev"):
        rows = [f"the cat and the dog , {number}\t{number % 2}" for number in range(30)]
        (folder / f"{name}.tsv").write_text("\n".join(["sentence\tlabel", *rows]))
    words = tiny_words(tiny_model, "task=sst2", f"data.root={tmp_path}")
    ended = bertxfer(*words, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert ended.returncode == 0, ended.stderr
    imported = {line.rpartition("|")[2].strip() for line in ended.stderr.splitlines()}
    assert {"torch", "transformers"} <= imported
    assert not imported & {"sklearn", "scipy.stats", "pandas", "datasets"}
