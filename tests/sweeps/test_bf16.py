"""bf16 on a CPU: it trains, and where a process would die of it or fp32 is faster, that is said before a trial begins.

Another processor is played by a `sitecustomize`, which acts in the process that tries a product out and in no other.
"""

import json
import math
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import warm
from tests.helpers.commands import Run, environment, only_line, tiny_words
from tests.helpers.frozen import frozen
from tests.helpers.sweeping import wait_until

BF16 = "training.precision=bf16"
DIES = "os.kill(os.getpid(), signal.SIGILL)"
IS_SLOWER = """print('{"fp32": 0.010, "bf16": 0.014}', flush=True); os._exit(0)"""


def processor(tmp_path: Path, does: str) -> dict[str, str]:
    """The environment of a machine that was not seen before, on which the process that tries bf16 out does that."""
    (tmp_path / "sitecustomize.py").write_text(
        f"import os, signal, sys\nif 'bertxfer.learning.bf16' in sys.orig_argv: {does}\n"
    )
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "BERTXFER_CACHE": str(tmp_path / "cache")}


def trials(tmp_path: Path) -> dict[str, dict[str, Any]]:
    """The results by precision, or by whatever else their configs say of it."""
    found = (tmp_path / "out" / "trials").glob("*/result.json")
    results = [json.loads(path.read_text()) for path in found]
    return {result["id"]: result for result in results}


def test_bf16_trains_on_a_cpu(bertxfer: Run, tmp_path: Path) -> None:
    words = ["task=mini_sst2", "data.n=200", "data.dev_n=200", "training.epochs=2", "runtime.device=cpu"]
    full = bertxfer(*words)
    half = bertxfer(*words, BF16)
    assert (full.returncode, half.returncode) == (0, 0), half.stderr
    first, second = trials(tmp_path).values()
    assert first["weights_digest"] != second["weights_digest"]  # two trials, with ids of their own
    for result in (first, second):
        assert 0.7 < result["score"] <= 1
        folder = tmp_path / "out" / "trials" / result["id"]
        lines = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
        assert all(math.isfinite(line["loss"]) for line in lines if "loss" in line)


def test_a_trial_in_bf16_ends_in_the_same_bits_when_it_was_interrupted(
    bertxfer: Run, low_model: Path, tmp_path: Path
) -> None:
    words = [*tiny_words(low_model, "data.n=96", "runtime.threads=1", "training.epochs=4"), BF16]
    assert bertxfer(*words).returncode == 0
    (whole,) = trials(tmp_path).values()
    elsewhere = tmp_path / "elsewhere"
    checkpoints = elsewhere / "out" / "trials" / whole["id"] / "checkpoint"
    elsewhere.mkdir()
    started = warm.start([*words, "runtime.checkpoint_seconds=0"], elsewhere, environment(elsewhere))
    wait_until(lambda: list(checkpoints.glob("*.pt")) or started.poll() is not None)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    assert bertxfer(*words, env={"BERTXFER_OUTPUT": str(elsewhere / "out")}).returncode == 0
    (resumed,) = trials(elsewhere).values()
    assert resumed["resumed_at_step"] > 0
    for key in ("id", "score", "metrics", "weights_digest"):
        assert resumed[key] == whole[key], key


@pytest.mark.parametrize("more", [[], ["-m", "seed=0,1"], ["-m", "seed=0,1", "hydra/launcher=inline"]])
def test_where_a_process_would_die_of_bf16_it_is_refused_before_anything_is_queued(
    bertxfer: Run, shallow_model: Path, tmp_path: Path, more: list[str]
) -> None:
    env = processor(tmp_path, DIES)
    refused = bertxfer(*tiny_words(shallow_model, BF16, *more), env=env)
    assert refused.returncode == 2 and not (tmp_path / "out").exists()
    said = only_line(refused.stderr)
    assert "training.precision" in said and "SIGILL" in said
    assert "fp32" in said and "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16" in said
    assert bertxfer(*tiny_words(shallow_model, *more), env=env).returncode == 0  # fp32 is never tried out


def test_what_is_done_needs_no_bf16(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    assert bertxfer(*tiny_words(shallow_model, BF16)).returncode == 0
    env = processor(tmp_path, DIES)
    for more in ([], ["-m", "seed=0"]):
        again = bertxfer(*tiny_words(shallow_model, BF16, *more), env=env)
        assert again.returncode == 0, again.stderr


@pytest.mark.parametrize("more", [[], ["-m", "seed=0,1"]])
def test_where_bf16_is_slower_it_is_said_once_and_first(
    bertxfer: Run, shallow_model: Path, tmp_path: Path, more: list[str]
) -> None:
    ended = bertxfer(*tiny_words(shallow_model, BF16, *more), env=processor(tmp_path, IS_SLOWER))
    assert ended.returncode == 0, ended.stderr
    first, *others = ended.stdout.splitlines()
    assert first.startswith("training.precision=bf16 is slower than fp32") and "1.4 times as long" in first
    assert not [line for line in others if "slower than" in line]


def test_a_worker_on_another_machine_tries_for_itself(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    """And leaves the trials to workers on machines that have bf16."""
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model, BF16), seeds=2)
    refused = bertxfer("worker", sweep.name, env=processor(tmp_path, DIES))
    assert refused.returncode == 1 and "SIGILL" in refused.stderr and "training.precision" in refused.stderr
    assert not list((tmp_path / "out").glob("trials/*/attempts/*")) and not list((tmp_path / "out").glob("trials/*/f*"))
    assert bertxfer("worker", sweep.name).returncode == 0
    assert len(trials(tmp_path)) == 2


def test_a_trial_in_bf16_cannot_be_verified_where_it_would_end_the_process(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    assert bertxfer(*tiny_words(shallow_model, BF16)).returncode == 0
    ended = bertxfer("verify", env=processor(tmp_path, DIES))
    assert ended.returncode == 1 and "SIGILL" in ended.stdout + ended.stderr
    assert "1 run again" in ended.stdout and "0 " not in ended.stdout.split("run again:")[1].split(",")[0]
