"""Results of before semantics 4, when models and rows were known by name and file: readable, and taken for no other."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.store.store import Store
from bertxfer.sweeps import verify
from bertxfer.trials.science import SEMANTICS, identify
from tests.helpers.commands import Run

FIXTURE = Path(__file__).parent / "fixtures" / "store-v3"
(SWEEP,) = (path.name for path in (FIXTURE / "sweeps").iterdir())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURE, tmp_path / "out")
    return tmp_path / "out"


def test_it_is_shown_and_exported(out: Path, bertxfer: Run, tmp_path: Path) -> None:
    assert "4 of 4 done" in bertxfer("status", SWEEP).stdout
    ran = bertxfer("report", SWEEP)
    assert ran.returncode == 0, ran.stderr
    table = pd.read_csv(out / "reports" / SWEEP / "tables" / "summary.csv")
    assert table["n"].tolist() == [2, 2]
    assert bertxfer("export", "all.csv").returncode == 0
    rows = pd.read_csv(tmp_path / "all.csv")
    assert len(rows) == 4 and (rows["state"] == "done").all() and set(rows["model"]) == {"mini"}
    assert set(rows["task.train"]) == {"train.tsv"}


def test_the_name_of_its_model_is_part_of_its_id(out: Path) -> None:
    store = Store(out)
    for trial_id in store.finished():
        config = store.config(trial_id)
        renamed = {**config, "model": {**config["model"], "name": "another"}}
        assert identify(config) == trial_id != identify(renamed)


def test_the_same_command_means_other_trials_now(out: Path, bertxfer: Run, tmp_path: Path) -> None:
    data = tmp_path / "SST-2"
    data.mkdir()
    for split in ("train", "dev"):
        lines = [f"the film {i} is fine\t{i % 2}\n" for i in range(20)]
        (data / f"{split}.tsv").write_text("sentence\tlabel\n" + "".join(lines))
    command = json.loads((out / "sweeps" / SWEEP / "manifest.json").read_text())["command"]
    words = [word for word in command if not word.startswith(("runtime.", "data.root", "hydra."))]
    planned = bertxfer("plan", "--json", *words, f"data.root={tmp_path}")
    assert planned.returncode == 0, planned.stderr
    trials = json.loads(planned.stdout)["trials"]
    assert len(trials) == 4
    assert all(trial["state"] == "missing" and trial["science"]["semantics"] == SEMANTICS for trial in trials)


def test_it_is_not_run_again_to_be_verified(out: Path) -> None:
    store = Store(out)
    verdict = verify.verify(sorted(store.finished())[0], store, 0.0)
    assert not verdict.agrees and f"semantics 3, and this version computes {SEMANTICS}" in verdict.words
