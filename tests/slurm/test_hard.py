"""Sweeps on a real SLURM in hard times: limits, lost, broken, waiting and cancelled workers, and jobs of others."""

import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from bench.cluster import Cluster
from tests.helpers.commands import Run
from tests.helpers.on_slurm import (
    computed_once,
    drained,
    jobs_of,
    launch_files,
    only_sweep,
    queued,
    shown,
    stepping,
    words,
)
from tests.helpers.sweeping import Start, attempts, launcher_log, results, running, start, wait_until

__all__ = ["start"]  # a fixture

pytestmark = pytest.mark.usefixtures("quiet")

TWO = "hydra.launcher.workers=2"
DETACHED = "hydra.launcher.wait=false"


def signalled(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def test_a_time_limit_on_an_array_of_two(start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path) -> None:
    """Both tasks are queued again, each by itself alone. For most of their first minute their trials are suspended."""
    more = (TWO, "hydra.launcher.time=1", "hydra.launcher.stale_seconds=60", "seed=0..1", "data.n=40000")
    launcher = start(*words(shallow_model, *more), env=cluster.env())
    wait_until(lambda: stepping(tmp_path) == 2)
    (launch,) = launch_files(tmp_path)
    tasks, trials = jobs_of(launch), [card["pid"] for card in running(tmp_path)]

    def limit_is_near() -> bool:
        signalled(trials, signal.SIGSTOP)  # again and again: SLURM's warning makes them go on
        return any(shown(cluster, task)["RunTime"] >= "00:00:41" for task in tasks)

    try:
        wait_until(limit_is_near, 60)
    finally:
        signalled(trials, signal.SIGCONT)
    assert launcher.wait(timeout=300) == 0, launcher_log(tmp_path)
    wait_until(lambda: not queued(cluster), 60)
    computed_once(tmp_path, 2)
    assert jobs_of(launch) == tasks, "no worker was to be replaced"
    for task in tasks:
        (log,) = (path.read_text() for path in (only_sweep(tmp_path) / "logs").glob(f"{task}_*.out"))
        assert "RUNNING RUNNING" not in " ".join(log.split())
        requeued = log.count("is queued again")
        assert requeued >= 1 and shown(cluster, task)["Restarts"] == str(requeued), log


def test_a_worker_that_is_lost_is_replaced_while_another_lives(
    start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    """The other one's trial is suspended until then, so that it cannot do all the work."""
    more = (TWO, "hydra.launcher.stale_seconds=60", "seed=0..7")
    launcher = start(*words(shallow_model, *more), env=cluster.env())
    wait_until(lambda: stepping(tmp_path) == 2 == len(running(tmp_path)))
    (launch,) = launch_files(tmp_path)
    lost, other = jobs_of(launch)
    trials = [card["pid"] for card in running(tmp_path) if card["worker"]["slurm_job"] == other]
    signalled(trials, signal.SIGSTOP)
    try:
        cluster.run("scancel", lost)
        wait_until(lambda: len(jobs_of(launch)) == 3, 60)
        assert other in queued(cluster)
    finally:
        signalled(trials, signal.SIGCONT)
    assert launcher.wait(timeout=240) == 0, launcher_log(tmp_path)
    computed_once(tmp_path, 8)
    by = {str(attempt["slurm_job"]) for tries in attempts(tmp_path).values() for attempt in tries}
    assert {lost, other} <= by <= {*jobs_of(launch)} and len(jobs_of(launch)) == 3


def test_workers_that_die_before_their_first_trial(
    bertxfer: Run, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    broken = "hydra.launcher.setup=['echo broken node >&2; exit 3']"
    ended = bertxfer(*words(shallow_model, TWO, broken, "seed=0..3"), env=cluster.env())
    assert ended.returncode == 1
    (log, *_) = [path.read_text() for path in (only_sweep(tmp_path) / "logs").glob("*.err")]
    last = log.splitlines()[-1]
    assert "broken node" in log
    assert f"all workers ended before their first trial: {last}" in ended.stderr
    (launch,) = launch_files(tmp_path)
    assert len(jobs_of(launch)) == 2, "they were submitted once"


def test_the_same_command_right_after_cancel(
    bertxfer: Run, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    command = words(shallow_model, TWO, DETACHED, "seed=0..3", "data.n=6000")
    assert "2 workers submitted to SLURM" in bertxfer(*command, env=cluster.env()).stdout
    wait_until(lambda: stepping(tmp_path) == 2)
    assert "2 workers told to stop" in bertxfer("cancel", only_sweep(tmp_path).name, env=cluster.env()).stdout
    again = bertxfer(*command, env=cluster.env())
    assert again.returncode == 0, again.stderr
    assert "2 workers submitted to SLURM" in again.stdout
    once_more = bertxfer(*command, env=cluster.env())
    assert once_more.returncode == 0, once_more.stderr
    assert "no worker was started: 2 are at work" in once_more.stdout
    assert "submitted" not in once_more.stdout
    wait_until(lambda: len(results(tmp_path)) == 4)
    wait_until(lambda: not queued(cluster), 60)
    computed_once(tmp_path, 4)
    assert [len(jobs_of(launch)) for launch in launch_files(tmp_path)] == [2, 2]


def test_cancel_ends_no_job_of_others(bertxfer: Run, cluster: Cluster, shallow_model: Path, tmp_path: Path) -> None:
    """Neither one whose id somebody wrote into a launch, nor one that has only a name like ours."""
    with drained(cluster):
        command = words(shallow_model, TWO, DETACHED, "seed=0..3")
        assert bertxfer(*command, env=cluster.env()).returncode == 0
        ours = queued(cluster)
        (launch,) = launch_files(tmp_path)
        sweep = only_sweep(tmp_path).name
        sleep = ("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 300")
        like_ours = f"bertxfer-{sweep}-20200101-000000-abcdef"  # of a launch that does not exist
        others = [cluster.run(*sleep, *named).strip() for named in ((), ("-J", like_ours), ("-J", like_ours))]
        record = json.loads(launch.read_text())
        record["jobs"] += [{**record["jobs"][0], "id": job} for job in others[:2]]
        launch.write_text(json.dumps(record))
        assert "2 workers told to stop" in bertxfer("cancel", sweep, env=cluster.env()).stdout
        wait_until(lambda: not {*ours} & {*queued(cluster)}, 60)
        assert sorted(queued(cluster)) == sorted(others)


def test_why_jobs_wait(bertxfer: Run, start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path) -> None:
    """Jobs that are to begin tomorrow: for drained nodes SLURM gives now one reason, now another."""
    later = "++hydra.launcher.extra.begin=tomorrow"
    launcher = start(*words(shallow_model, TWO, later, "seed=0..3"), env=cluster.env())
    said = "2 jobs wait in SLURM's queue: BeginTime"
    wait_until(lambda: cluster.run("squeue", "-h", "-r", "-o", "%r").split() == ["BeginTime"] * 2, 60)
    wait_until(lambda: said in launcher_log(tmp_path), 60)
    sweep = only_sweep(tmp_path).name
    assert said in bertxfer("status", sweep, env=cluster.env()).stdout
    assert "2 workers told to stop" in bertxfer("cancel", sweep, env=cluster.env()).stdout
    assert launcher.wait(timeout=60) == 1
    assert said not in bertxfer("status", sweep, env=cluster.env()).stdout


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles"])
def test_launches_are_named_by_universal_time(
    bertxfer: Run, cluster: Cluster, shallow_model: Path, tmp_path: Path, zone: str
) -> None:
    with drained(cluster):
        before = time.time()
        submitted = bertxfer(*words(shallow_model, TWO, DETACHED, "seed=0..1"), env={**cluster.env(), "TZ": zone})
        assert submitted.returncode == 0, submitted.stderr
        (launch,) = launch_files(tmp_path)
        cluster.run("scancel", "-u", str(os.getuid()))
    earliest, latest = (time.strftime("%Y%m%d-%H%M%S", time.gmtime(moment)) for moment in (before, time.time()))
    assert earliest <= launch.stem[: len(earliest)] <= latest
