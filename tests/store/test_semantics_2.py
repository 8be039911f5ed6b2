"""What was computed before semantics 3 stays readable, is shown as what it is, and is never taken for a new result."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.store.store import Store
from bertxfer.sweeps import verify
from bertxfer.trials.science import SEMANTICS
from tests.helpers.commands import Run

FIXTURE = Path(__file__).parent / "fixtures" / "store-v2"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    shutil.copytree(FIXTURE, tmp_path / "out")
    return tmp_path / "out"


def sweep_of(out: Path, word: str) -> str:
    """The sweep whose command has the word."""
    commands = {
        path.parent.name: json.loads(path.read_text())["command"] for path in out.glob("sweeps/*/manifest.json")
    }
    (name,) = (name for name, command in commands.items() if any(word in said for said in command))
    return name


def test_its_two_headlines_were_two_trials_and_are_shown_as_two(out: Path, bertxfer: Run) -> None:
    sweep = sweep_of(out, "task.headline")
    assert "8 of 8 done" in bertxfer("status", sweep).stdout
    ran = bertxfer("report", sweep)
    assert ran.returncode == 0, ran.stderr
    table = pd.read_csv(out / "reports" / sweep / "tables" / "summary.csv")
    assert table["n"].tolist() == [2] * 4 and sorted(set(table["measure"])) == ["accuracy", "matthews_correlation"]
    results = [json.loads(path.read_text()) for path in out.glob("trials/*/result.json")]
    kept = {(r["treatment_text"], r["seed"]): r["metrics"] for r in results if r["task"] == "mini_cola"}
    by_hand = sum(kept["as pretrained", seed]["accuracy"] for seed in (0, 1)) / 2
    shown = table[(table["k"] == 12) & (table["measure"] == "accuracy")]["mean"]
    assert shown.tolist() == pytest.approx([by_hand])


def test_a_probe_whose_pooler_was_trained_says_so(out: Path, bertxfer: Run, tmp_path: Path) -> None:
    assert bertxfer("export", "all.csv").returncode == 0
    table = pd.read_csv(tmp_path / "all.csv")
    assert len(table) == 10 and (table["state"] == "done").all()
    assert table["treatment"].str.contains("layer 10 probed with a trained pooler").sum() == 1
    assert table["score"].notna().all() and table["headline"].notna().all()


@pytest.mark.parametrize("word", ["probe.removed=2", "intermediate=mini_cola", "task.headline"])
def test_the_same_command_means_other_trials_now(out: Path, bertxfer: Run, word: str) -> None:
    sweep = sweep_of(out, word)
    command = json.loads((out / "sweeps" / sweep / "manifest.json").read_text())["command"]
    planned = bertxfer("plan", "--json", *(said for said in command if "output_dir" not in said))
    assert planned.returncode == 0, planned.stderr
    trials = json.loads(planned.stdout)["trials"]
    assert trials and all(
        trial["state"] == "missing" and trial["science"]["semantics"] == SEMANTICS for trial in trials
    )
    assert {trial["id"] for trial in trials}.isdisjoint(Store(out).finished())


def test_it_is_not_run_again_to_be_verified(out: Path) -> None:
    store = Store(out)
    verdict = verify.verify(sorted(store.finished())[0], store, 0.0)
    assert not verdict.agrees and f"semantics 2, and this version computes {SEMANTICS}" in verdict.words
