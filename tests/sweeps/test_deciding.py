"""An experiment on the mini model, run until its claims are decided: what that saves, and that nothing changes it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.commands import Run, environment
from tests.helpers.sweeping import Start, attempts, launcher_log, results, start, wait_until
from tests.helpers.warm import run as run_warm

__all__ = ["start"]  # a fixture

ROUNDS = 20
EXPERIMENT = """# @package _global_
grids:
  - {task: mini_sst2, scheme: incremental, k: [L, 11, L/2, 0], data.n: 200, training.epochs: 2, seed: until(20)}
  - {task: mini_sst2, scheme: [permutation, scratch], data.n: 200, training.epochs: 2, seed: until(20)}
claims:
  last_layer:
    says: without the pretraining of the last layer the score is the same
    same: {k: 11}
    as: {k: L}
    margin: 3
  half:
    says: without the pretraining of the upper half the score is lower
    less: {k: L/2}
    than: {k: L}
  none:
    says: without any pretrained layer the score is lower
    less: {k: 0}
    than: {k: L}
  permutation:
    says: another order of the layers lowers the score
    less: {scheme: permutation}
    than: {k: L}
  scratch:
    says: without any pretraining the score is lower
    less: {scheme: scratch}
    than: {k: L}
"""
WORDS = ["-m", "experiment=five", "--config-dir", "own", "data.dev_n=100", "runtime.device=cpu"]
Trials = dict[str, tuple[float, str]]  # each with its score and the digest of its weights


def stated(folder: Path) -> list[str]:
    path = folder / "own" / "experiment" / "five.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(EXPERIMENT)
    return [*WORDS, "hydra.launcher.workers=2", "hydra.launcher.stale_seconds=5"]


def trials(folder: Path) -> Trials:
    found = [json.loads(path.read_text()) for path in (folder / "out" / "trials").glob("*/result.json")]
    return {one["id"]: (one["score"], one["weights_digest"]) for one in found}


def verdicts(told: str) -> dict[str, tuple[str, int | None]]:
    return {one["claim"]: (one["verdict"], one["decided_after"]) for one in json.loads(told)}


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trials, dict[str, Any]]:
    """The experiment, run without any disturbance: its folder, its trials, its verdicts."""
    folder = tmp_path_factory.mktemp("decided")
    ran = run_warm([*stated(folder)], folder, environment(folder), 600)
    assert ran.returncode == 0, ran.stderr
    told = run_warm(["claims", "--json", *WORDS], folder, environment(folder))
    return folder, trials(folder), verdicts(told.stdout)


def test_rounds_are_saved_and_the_verdicts_are_those_of_all_of_them(
    decided: tuple[Path, Trials, dict[str, Any]],
) -> None:
    folder, few, early = decided
    assert set(early) == {"last_layer", "half", "none", "permutation", "scratch"}
    for claim in ("half", "none", "scratch"):
        assert early[claim][0] == "holds"
    # As many trials of each treatment as its claim takes, and of the baseline as the slowest claim takes.
    takes = [after or ROUNDS for _, after in early.values()]
    assert len(few) == sum(takes) + max(takes) < 6 * ROUNDS
    ran = run_warm([*WORDS, "hydra.launcher.workers=2", f"seed=0..{ROUNDS - 1}"], folder, environment(folder), 600)
    assert ran.returncode == 0, ran.stderr
    whole = trials(folder)
    assert len(whole) == 6 * ROUNDS and few.items() <= whole.items()
    late = verdicts(run_warm(["claims", "--json", *WORDS], folder, environment(folder)).stdout)
    assert late == early
    print(f"{len(few)} of {len(whole)} trials; {early}")


def test_killed_and_resumed_it_comes_to_the_same(
    decided: tuple[Path, Trials, dict[str, Any]], start: Start, bertxfer: Run, tmp_path: Path
) -> None:
    words = stated(tmp_path)
    launcher = start(*words)
    wait_until(lambda: len(results(tmp_path)) >= 40)
    launcher.kill()
    launcher.wait()
    for card in (tmp_path / "out" / "sweeps").glob("*/workers/*.json"):
        bertxfer("cancel", card.parent.parent.name)
        break
    ended = bertxfer(*words, timeout=600)
    assert ended.returncode == 0, ended.stderr
    assert trials(tmp_path) == decided[1]
    assert verdicts(bertxfer("claims", "--json", *WORDS).stdout) == decided[2]


def test_two_launchers_come_to_the_same_trials(
    decided: tuple[Path, Trials, dict[str, Any]], start: Start, bertxfer: Run, tmp_path: Path
) -> None:
    words = [word for word in stated(tmp_path) if "workers" not in word]
    one, two = (start(*words, "hydra/launcher=inline", "runtime.threads=1") for _ in range(2))
    assert (one.wait(600), two.wait(600)) == (0, 0), launcher_log(tmp_path)
    assert trials(tmp_path) == decided[1]
    assert all(len(tries) == 1 for tries in attempts(tmp_path).values())
    assert verdicts(bertxfer("claims", "--json", *WORDS).stdout) == decided[2]
