"""Sweeps go by rounds: a seed at a time, and within it first what the others are compared with."""

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pandas as pd

from bertxfer.system.processes import process_lives
from bertxfer.trials.rounds import in_rounds, round_of, whole
from tests.helpers.commands import Run
from tests.helpers.running import trial
from tests.helpers.sweeping import SLOW, Start, cards, results, start, sweep_words, wait_until

__all__ = ["start"]  # a fixture


def test_a_seed_at_a_time_and_the_baseline_first() -> None:
    schemes = (("scheme=scratch",), ("scheme=incremental", "k=6"), ("scheme=baseline",))
    trials = [trial(*words, f"seed={seed}") for words in schemes for seed in (2, 0, 1)]
    ordered = in_rounds(trials)
    assert [round_of(one.science) for one in ordered] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert [not one.science.treatment.redrawn for one in ordered] == [True, False, False] * 3
    assert whole(trials, {one.id for one in ordered[:7]}) == (2, 3)
    assert whole(trials, {one.id for one in ordered[1:]}) == (2, 3)


def test_another_order_of_batches_is_run_beside_the_trial_that_it_differs_from() -> None:
    words = ("scheme=incremental", "k=6", "data.n=16")
    trials = [trial(*words, f"seed={seed}", *more) for more in (("seeds.order=1000",), ()) for seed in (1, 0)]
    assert [one.science.seeds["head"] for one in in_rounds(trials)] == [0, 0, 1, 1]
    draws = [trial(*words, f"seed={seed}", f"seeds.order={order}") for seed in (0, 1) for order in (1, 0)]
    assert [round_of(one.science) for one in in_rounds(draws)] == [0, 1, 0, 1]


def test_a_sweep_killed_at_any_moment_has_at_most_one_round_that_is_not_whole(
    bertxfer: Run, start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    """With one worker; each more may be at work on another round. What is there forms pairs."""
    words = sweep_words(shallow_model, *SLOW, "data.n=400", "scheme=incremental", "k=0,1", "seed=0..9")
    launcher = start(*words, "hydra.launcher.workers=1")
    wait_until(lambda: len(results(tmp_path)) >= 4)
    time.sleep(random.uniform(0, 2))
    (card,) = cards(tmp_path)
    os.kill(launcher.pid, signal.SIGKILL)
    os.kill(card["worker"]["pid"], signal.SIGKILL)  # the process that runs trials goes with it
    launcher.wait(timeout=60)
    wait_until(lambda: not process_lives(card["pid"], None))
    there = [json.loads(path.read_text()) for path in results(tmp_path)]
    done = Counter(result["seed"] for result in there)
    assert sorted(done) == list(range(len(done))) and sum(count < 2 for count in done.values()) <= 1
    whole_rounds = len(there) // 2
    assert f"{whole_rounds} of 10 rounds whole" in bertxfer("status", "sweep").stdout
    ended = bertxfer("report", "figure.baseline={k: 1}", "figure.tables=[differences]", "-m", *words)
    assert ended.returncode == 0, ended.stderr
    (folder,) = (tmp_path / "out" / "reports").iterdir()
    assert f"{whole_rounds} of 10 rounds (seeds) whole" in (folder / "index.html").read_text()
    assert pd.read_csv(folder / "tables" / "differences.csv")["n"].tolist() == [whole_rounds]
