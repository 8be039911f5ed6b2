"""MLflow and Weights & Biases as they are installed by the extras, which `make test-trackers` does."""

from pathlib import Path

import mlflow
import pytest
import wandb

from bertxfer.store.store import Store
from bertxfer.sweeps import tracking
from tests.helpers.stored import finish_two_epochs


def test_mlflow_has_what_the_store_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME"):
        monkeypatch.delenv(name, raising=False)
    store, said = Store(tmp_path), list[str]()
    trial_id, history = finish_two_epochs(store)
    for _ in range(2):  # a run that was begun and not marked as logged is replaced
        assert tracking.track(trial_id, store, ["mlflow"], said.append), said
        (tmp_path / "tracking" / "mlflow" / "logged" / trial_id).unlink()
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/tracking/mlflow/mlflow.db")
    (run,) = client.search_runs([client.get_experiment_by_name("bertxfer").experiment_id])
    losses = [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, "train/loss")]
    assert losses == [(event["step"], event["loss"]) for event in history if "loss" in event]
    assert run.data.metrics["result/accuracy"] == 0.625 and "result/score" not in run.data.metrics
    assert run.data.params["optimizer.lr"] == "0.0005" and run.info.status == "FINISHED"


def test_wandb_has_the_run_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WANDB_MODE", "WANDB_DIR", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    store, said = Store(tmp_path), list[str]()
    trial_id, _ = finish_two_epochs(store)
    assert tracking.track(trial_id, store, ["wandb"], said.append), said
    wandb.teardown()  # its own process writes the file, and may be a moment late
    (file,) = (tmp_path / "tracking" / "wandb" / "wandb").glob(f"offline-run-*-{trial_id}/run-{trial_id}.wandb")
    assert b"train/loss" in file.read_bytes() and b"result/accuracy" in file.read_bytes()
