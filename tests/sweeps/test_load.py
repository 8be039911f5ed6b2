"""Many workers at once on one queue: every trial once."""

from pathlib import Path

from bench.loading import drained, sweep_of


def test_a_thousand_trials_and_eight_workers(tmp_path: Path) -> None:
    sweep = sweep_of(1000, tmp_path)
    ran = [trial for one in drained(sweep, 8) for trial in one.trials]
    assert sorted(ran) == sorted(trial.id for trial in sweep.trials)
    assert len(list((tmp_path / "trials").glob("*/attempts/*.json"))) == 1000
