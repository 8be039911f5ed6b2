"""Sweeps that are started from inside a SLURM job: its settings do not reach the workers, and no sweep requeues it."""

import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.cluster import Cluster
from tests.helpers.commands import Run, tiny_words
from tests.helpers.on_slurm import computed_once, jobs_of, launch_files, only_sweep, queued, shown, stepping, words
from tests.helpers.sweeping import Start, attempts, cards, launcher_log, start, wait_until

__all__ = ["start"]  # a fixture

pytestmark = pytest.mark.usefixtures("quiet")


def script(tmp_path: Path, command: Sequence[str], *after: str) -> str:
    """A script of somebody's that runs bertxfer and notes in `ends` how that ended, and perhaps does more."""
    lines = [
        "#!/bin/bash",
        f"cd {shlex.quote(str(tmp_path))}",
        "export BERTXFER_OUTPUT=$PWD/out OMP_NUM_THREADS=1",
        f"{shlex.join([sys.executable, '-m', 'bertxfer', *command])} >> launcher.log 2>&1",
        'echo "run ${SLURM_RESTART_COUNT:-0} ended with $?" >> ends',
        *after,
    ]
    path = tmp_path / "script"
    path.write_text("\n".join([*lines, ""]))
    path.chmod(0o755)
    return str(path)


def ends(tmp_path: Path) -> list[str]:
    path = tmp_path / "ends"
    return path.read_text().splitlines() if path.exists() else []


def ended_for_good(cluster: Cluster, job: str, *states: str) -> None:
    """Waits for the end of a job, which is not queued again."""
    wait_until(lambda: shown(cluster, job)["JobState"] not in ("RUNNING", "COMPLETING"), 60)
    found = shown(cluster, job)
    assert found["JobState"] in states and found["Restarts"] == "0", found


@pytest.mark.parametrize(
    ("outer", "more"),
    [
        pytest.param(["salloc", "-n", "2", "-c", "2"], ["workers=2"], id="salloc with tasks and CPUs"),
        pytest.param(["salloc", "--mem-per-cpu=300"], ["workers=2", "mem=500"], id="salloc with memory"),
        pytest.param(["sbatch", "--gpus=1"], ["workers=2"], id="sbatch with a GPU"),
        pytest.param(["sbatch", "--array=3"], ["workers=1"], id="array task"),
    ],
)
def test_the_job_around_a_launcher_does_not_reach_its_workers(
    cluster: Cluster, shallow_model: Path, tmp_path: Path, outer: Sequence[str], more: Sequence[str]
) -> None:
    settings = ["hydra/launcher=slurm", *(f"hydra.launcher.{setting}" for setting in more)]
    seen = "hydra.launcher.setup=['echo \"gpus=$CUDA_VISIBLE_DEVICES\"']"
    quiet = ["-o", "/dev/null"] if outer[0] == "sbatch" else []
    command = [*tiny_words(shallow_model, *settings), seen, "-m", "seed=0..3"]
    cluster.run(*outer, *quiet, script(tmp_path, command, "exit 0"), timeout=120)
    wait_until(lambda: ends(tmp_path))
    assert ends(tmp_path) == ["run 0 ended with 0"], launcher_log(tmp_path)
    computed_once(tmp_path, 4)
    jobs = [job for launch in launch_files(tmp_path) for job in jobs_of(launch)]
    assert len(jobs) == (1 if "workers=1" in more else 2), "the workers were submitted once"
    assert {attempt["slurm_job"] for tries in attempts(tmp_path).values() for attempt in tries} <= {*jobs}
    logs = [path.read_text().splitlines() for path in (only_sweep(tmp_path) / "logs").glob("*.out")]
    assert {log[0] for log in logs if log} == {"gpus="}


def test_a_local_sweep_does_not_requeue_the_job_around_it(
    bertxfer: Run, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    """Neither when its worker is told to end, which is replaced, nor when the sweep is cancelled."""
    local = ("hydra.launcher.workers=1", "hydra.launcher.stale_seconds=5", "runtime.checkpoint_seconds=0.3")
    command = [*tiny_words(shallow_model, *local), "training.epochs=1", "data.n=60000", "-m", "seed=0..1"]
    until_it_ends = "while compgen -G 'out/sweeps/*/workers/*.json'; do sleep 0.1; done"
    after = (until_it_ends, "sleep 3", "echo over >> ends")
    job = cluster.run("sbatch", "--parsable", "--requeue", "-o", "/dev/null", script(tmp_path, command, *after)).strip()
    wait_until(lambda: stepping(tmp_path))
    (worker,) = [card["worker"]["pid"] for card in cards(tmp_path)]
    os.kill(worker, signal.SIGTERM)
    wait_until(lambda: any("attempts" in card and card["worker"]["pid"] != worker for card in cards(tmp_path)))
    assert shown(cluster, job)["Restarts"] == "0"
    assert "1 workers told to stop" in bertxfer("cancel", only_sweep(tmp_path).name, env=cluster.env()).stdout
    ended_for_good(cluster, job, "COMPLETED")
    assert ends(tmp_path) == ["run 0 ended with 1", "over"]
    assert "the sweep was cancelled" in launcher_log(tmp_path)


def test_a_cancelled_launch_requeues_nothing(
    bertxfer: Run, start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    """It is cancelled on a machine without SLURM, so that its worker ends by the mark beside the launch, or by a signal
    that comes first."""
    more = ("hydra.launcher.workers=1", "seed=0..1", "data.n=60000")
    launcher = start(*words(shallow_model, *more), env=cluster.env())
    wait_until(lambda: stepping(tmp_path))
    (job,) = queued(cluster)
    (worker,) = [card["worker"]["pid"] for card in cards(tmp_path)]
    bertxfer("cancel", only_sweep(tmp_path).name, env={**cluster.env(), "PATH": str(tmp_path)})
    assert launcher.wait(timeout=60) == 1
    assert "the sweep was cancelled" in launcher_log(tmp_path)
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker, signal.SIGTERM)
    # FAILED where the signal met a worker that was on its way out already, and no longer listened.
    ended_for_good(cluster, job, "COMPLETED", "FAILED")
