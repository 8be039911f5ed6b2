"""What the first release wrote stays readable: status, report, export and verify on its own output folder."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.store.store import Store
from bertxfer.sweeps import verify
from bertxfer.sweeps.queue import Queue
from tests.helpers.commands import Run
from tests.helpers.stored import FIRST_RELEASE

SWEEP, UNDEFINED = "sweep-7f5f2738", "sweep-e5f9942b"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    shutil.copytree(FIRST_RELEASE, tmp_path / "out")
    return tmp_path / "out"


def test_status_shows_its_sweeps_and_trials(out: Path, bertxfer: Run) -> None:
    every = bertxfer("status").stdout
    assert SWEEP in every and UNDEFINED in every
    told = bertxfer("status", SWEEP).stdout
    assert "4 of 4 done" in told and "layers 7-12 reinitialized" in told
    assert "undefined" in bertxfer("status", UNDEFINED).stdout
    (one, *_) = (path.name for path in (out / "trials").iterdir())
    assert "git_revision" in bertxfer("status", one).stdout


def test_the_report_has_its_numbers(out: Path, bertxfer: Run) -> None:
    ran = bertxfer("report", SWEEP)
    assert ran.returncode == 0, ran.stderr
    table = pd.read_csv(out / "reports" / SWEEP / "tables" / "summary.csv")
    scores = [json.loads(path.read_text()) for path in (out / "trials").glob("*/result.json")]
    pretrained = [r["score"] for r in scores if r["treatment_text"] == "as pretrained" and r["task"] == "mini_sst2"]
    assert table.set_index("k").loc[12, "mean"] == pytest.approx(sum(pretrained) / 2)
    page = (out / "reports" / UNDEFINED / "index.html") if bertxfer("report", UNDEFINED).returncode == 0 else None
    assert page is not None and "1 of 1 without a defined score" in page.read_text()


def test_export_has_a_row_for_each_trial(out: Path, bertxfer: Run, tmp_path: Path) -> None:
    assert bertxfer("export", "all.parquet").returncode == 0
    table = pd.read_parquet(tmp_path / "all.parquet")
    assert len(table) == 5 and (table["state"] == "done").all() and table["undefined"].sum() == 1


def test_finished_trials_are_not_run_again(out: Path) -> None:
    store = Store(out)
    ids = verify.done(store, SWEEP)
    assert {Queue(store, "new").situation(trial_id).state for trial_id in ids} == {"done"}


def test_what_it_computed_otherwise_is_not_run_again(out: Path) -> None:
    """Its batches were padded and drew other dropout masks, so running its trials now would say nothing about them."""
    store = Store(out)
    for trial_id in verify.done(store, None):
        verdict = verify.verify(trial_id, store, 0.01)
        assert not verdict.agrees
        assert "computed under semantics 1" in str(verdict) and "check out revision" in str(verdict)
