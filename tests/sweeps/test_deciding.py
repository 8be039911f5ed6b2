"""An experiment on the mini model, run until its claims are decided: what that saves, and that nothing changes it."""

import json
from pathlib import Path

from tests.helpers import warm
from tests.helpers.commands import environment
from tests.helpers.sweeping import Start, launcher_log, outcomes, results, start, wait_until

__all__ = ["start"]  # a fixture

ROUNDS = 20
EXPERIMENT = """# @package _global_
grids:
  - {task: mini_sst2, scheme: incremental, k: [L, 11, L/2, 0], data.n: 100, training.epochs: 2, seed: until(20)}
  - {task: mini_sst2, scheme: [permutation, scratch], data.n: 100, training.epochs: 2, seed: until(20)}
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
Verdicts = dict[str, tuple[str, int | None]]  # each with the rounds that it took


def stated(folder: Path) -> list[str]:
    path = folder / "own" / "experiment" / "five.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(EXPERIMENT)
    return [*WORDS, "hydra.launcher.workers=2"]


def trials(folder: Path) -> Trials:
    found = [json.loads(path.read_text()) for path in (folder / "out" / "trials").glob("*/result.json")]
    return {one["id"]: (one["score"], one["weights_digest"]) for one in found}


def verdicts(folder: Path) -> Verdicts:
    told = warm.run(["claims", "--json", *WORDS], folder, environment(folder))
    return {one["claim"]: (one["verdict"], one["decided_after"]) for one in json.loads(told.stdout)}


def run(folder: Path, *words: str) -> tuple[Trials, Verdicts]:
    """A sweep that nothing disturbs: the trials that are done afterwards, and what is decided."""
    ran = warm.run(words, folder, environment(folder), 600)
    assert ran.returncode == 0, ran.stderr
    return trials(folder), verdicts(folder)


def test_rounds_are_saved_and_nothing_changes_what_is_decided(start: Start, tmp_path: Path) -> None:
    """One test, since each part is compared with the first."""
    quiet = tmp_path / "quiet"
    few, early = run(quiet, *stated(quiet))
    assert set(early) == {"last_layer", "half", "none", "permutation", "scratch"}
    for claim in ("half", "none", "scratch"):
        assert early[claim][0] == "holds"
    # As many trials of each treatment as its claim takes, and of the baseline as the slowest claim takes.
    takes = [after or ROUNDS for _, after in early.values()]
    assert len(few) == sum(takes) + max(takes) < 6 * ROUNDS
    print(f"{len(few)} of {6 * ROUNDS} trials; {early}")

    # Two launchers share the trials; one of them is killed, and its command is given again.
    words = [word for word in stated(tmp_path) if "workers" not in word] + ["hydra/launcher=inline"]
    killed, other = start(*words), start(*words)
    wait_until(lambda: len(results(tmp_path)) >= 15, 600)
    killed.kill()
    again = start(*words)
    ended = [process.wait(600) for process in (other, again)]
    # One of them may end while the other runs the last trials, and says so.
    assert ended == [0, 0] or (sum(ended) == 1 and "run elsewhere" in launcher_log(tmp_path)), launcher_log(tmp_path)
    assert (trials(tmp_path), verdicts(tmp_path)) == (few, early)
    tries = outcomes(tmp_path)  # only the trial that was killed was begun again
    assert tries.keys() == few.keys() and sum(len(of_trial) for of_trial in tries.values()) <= len(few) + 1

    # All twenty rounds: the verdicts stay.
    whole, late = run(quiet, *WORDS, "hydra.launcher.workers=2", f"seed=0..{ROUNDS - 1}")
    assert len(whole) == 6 * ROUNDS and few.items() <= whole.items()
    assert late == early
