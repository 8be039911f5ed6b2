"""Sweeps on a real SLURM: whatever the cluster does to them, every trial is computed once and none is lost."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bench.cluster import Cluster
from tests.helpers.commands import Run, tiny_words
from tests.helpers.hub import Hub
from tests.helpers.hub_files import glue_like_files, tiny_bert_files
from tests.helpers.on_slurm import ON_SLURM, computed_once, drained, queued, stepping, words
from tests.helpers.sweeping import Start, attempts, launcher_log, outcomes, results, running, start, wait_until

__all__ = ["start"]  # a fixture

pytestmark = pytest.mark.usefixtures("quiet")


def test_the_same_scores_as_on_this_machine(
    bertxfer: Run, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    common = [*tiny_words(shallow_model, "scheme=single", "layer=1"), "-m", "seed=range(10)"]
    remote = bertxfer(*common, *ON_SLURM, env=cluster.env())
    assert remote.returncode == 0, remote.stderr
    here = bertxfer(*common, "hydra.launcher.workers=2", env={"BERTXFER_OUTPUT": str(tmp_path / "here")})
    assert here.returncode == 0, here.stderr
    assert len(results(tmp_path)) == 10
    for path in results(tmp_path):
        one, two = (
            json.loads((tmp_path / o / path.relative_to(tmp_path / "out")).read_text()) for o in ("out", "here")
        )
        assert one["environment"]["threads"] == two["environment"]["threads"] == 1
        for key in ("score", "metrics", "weights_digest"):
            assert one[key] == two[key]
    jobs = {str(attempt["slurm_job"]) for tries in attempts(tmp_path).values() for attempt in tries}
    assert len(jobs) > 1 and all("_" in job for job in jobs)


def test_the_launcher_is_killed(
    bertxfer: Run, start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    command = words(shallow_model, "seed=0..11")
    launcher = start(*command, env=cluster.env())
    wait_until(lambda: results(tmp_path))
    os.kill(launcher.pid, signal.SIGKILL)
    launcher.wait()
    assert queued(cluster), "the jobs should go on"
    ended = bertxfer(*command, env=cluster.env())
    assert ended.returncode == 0, ended.stderr
    computed_once(tmp_path, 12)
    assert all(len(ended) == 1 for ended in outcomes(tmp_path).values())
    (launch,) = (tmp_path / "out" / "sweeps").glob("*/launches/*.json")
    assert len(json.loads(launch.read_text())["jobs"]) == 4, "it attached instead of submitting again"


def test_jobs_that_were_not_written_down_are_found(
    bertxfer: Run, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    command = words(shallow_model, "seed=0..5", "data.n=6000")
    assert bertxfer(*command, "hydra.launcher.wait=false", env=cluster.env()).returncode == 0
    submitted = queued(cluster)
    (launch,) = (tmp_path / "out" / "sweeps").glob("*/launches/*.json")
    launch.write_text(json.dumps({"kind": "slurm", "jobs": []}))  # as if the launcher had been killed after sbatch
    assert bertxfer(*command, "hydra.launcher.wait=false", env=cluster.env()).returncode == 0
    assert queued(cluster) == submitted, "it attached instead of submitting again"
    assert [job["id"] for job in json.loads(launch.read_text())["jobs"]] == submitted
    launch.write_text(json.dumps({"kind": "slurm", "jobs": []}))
    assert "4 workers told to stop" in bertxfer("cancel", launch.parent.parent.name, env=cluster.env()).stdout
    wait_until(lambda: not queued(cluster), 60)


def test_a_worker_is_killed(start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path) -> None:
    launcher = start(*words(shallow_model, "seed=0..7"), env=cluster.env())
    wait_until(lambda: len(running(tmp_path)) >= 2)
    victim = running(tmp_path)[0]
    for process in (victim["worker"]["pid"], victim["pid"]):
        os.kill(process, signal.SIGKILL)
    assert launcher.wait(timeout=240) == 0, launcher_log(tmp_path)
    computed_once(tmp_path, 8)
    assert len(outcomes(tmp_path)[victim["trial"]]) == 2


def test_a_node_is_lost(start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path) -> None:
    launcher = start(*words(shallow_model, "seed=0..11", "data.n=6000"), env=cluster.env())
    wait_until(lambda: len(running(tmp_path)) == 4)
    cluster.kill_node(1)
    try:
        assert launcher.wait(timeout=300) == 0, launcher_log(tmp_path)
    finally:
        cluster.start_node(1)
    computed_once(tmp_path, 12)
    assert any(ended != ["done"] for ended in outcomes(tmp_path).values())


def test_preemption(start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path) -> None:
    launcher = start(*words(shallow_model, "seed=0..7", "data.n=6000"), env=cluster.env())
    wait_until(lambda: stepping(tmp_path) == 4)
    urgent = ["sbatch", "-p", "urgent", "-N2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 5"]
    subprocess.run(urgent, env={**os.environ, **cluster.env()}, check=True, cwd=tmp_path)
    assert launcher.wait(timeout=300) == 0, launcher_log(tmp_path)
    computed_once(tmp_path, 8)
    ended = [outcome for found in outcomes(tmp_path).values() for outcome in found]
    assert ended.count("released") == 4, ended
    resumed = [json.loads(path.read_text())["resumed_at_step"] for path in results(tmp_path)]
    assert sum(step is not None and step > 0 for step in resumed) == 4, "they went on where they were"


def test_a_time_limit_shorter_than_the_sweep(
    start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    more = ("seed=0..8", "data.n=24000", "hydra.launcher.time=1", "hydra.launcher.workers=1")
    launcher = start(*words(shallow_model, *more), env=cluster.env())
    assert launcher.wait(timeout=900) == 0, launcher_log(tmp_path)
    computed_once(tmp_path, 9)
    assert any("released" in ended for ended in outcomes(tmp_path).values()), (
        "the sweep was to be longer than the limit"
    )


def test_one_of_twenty_raises_and_one_kills_its_process(
    start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    rates = ",".join([*(f"{i}e-5" for i in range(1, 20)), "1e30"])
    command = words(
        shallow_model, f"optimizer.lr={rates}", "training.clip=null", "data.n=600", "hydra.launcher.max_crashes=2"
    )
    launcher = start(*command, env=cluster.env())
    wait_until(lambda: running(tmp_path))
    victim = next(card["trial"] for card in running(tmp_path))
    killed: set[int] = set()
    while launcher.poll() is None:
        for card in running(tmp_path):
            if card["trial"] == victim and card["pid"] not in killed:
                os.kill(card["pid"], signal.SIGKILL)
                killed.add(card["pid"])
        time.sleep(0.02)
    said = launcher_log(tmp_path)
    assert launcher.returncode == 1
    ended = outcomes(tmp_path)
    assert "2 of 20 trials failed" in said
    attempts = ended.pop(victim)  # lost: another worker saw that the process was gone before its own supervisor did
    assert len(attempts) == 2 and set(attempts) <= {"crashed", "lost"} and "crashed" in attempts
    assert sorted(ended.values()) == [["done"]] * 18 + [["failed"]]


def test_two_launchers_at_once(start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path) -> None:
    command = words(shallow_model, "seed=0..7", "data.n=100")
    both = [start(*command, env=cluster.env()) for _ in range(2)]
    assert [launcher.wait(timeout=240) for launcher in both] == [0, 0], launcher_log(tmp_path)
    computed_once(tmp_path, 8)
    assert all(ended == ["done"] for ended in outcomes(tmp_path).values())


def test_detaching_and_cancelling(
    bertxfer: Run, start: Start, cluster: Cluster, shallow_model: Path, tmp_path: Path
) -> None:
    command = words(shallow_model, "seed=0..5", "data.n=60000")
    bystander = cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 300").strip()
    launcher = start(*command, env=cluster.env())
    wait_until(lambda: stepping(tmp_path) == 4)
    os.kill(launcher.pid, signal.SIGINT)
    assert launcher.wait(timeout=120) == 0
    assert "detached, the jobs go on" in launcher_log(tmp_path)
    assert len(queued(cluster)) > 1
    (sweep,) = [path.name for path in (tmp_path / "out" / "sweeps").iterdir()]
    assert "running" in bertxfer("status", sweep, env=cluster.env()).stdout
    assert "4 workers told to stop" in bertxfer("cancel", sweep, env=cluster.env()).stdout
    wait_until(lambda: queued(cluster) == [bystander], 60)
    wait_until(lambda: all(ended[-1] == "released" for ended in outcomes(tmp_path).values()))
    refused = bertxfer(*command, "hydra.launcher.partition=nosuch", env=cluster.env())
    assert refused.returncode == 1
    assert "SLURM refused the workers" in refused.stderr


def test_nodes_without_a_network_run_what_the_launch_has_fetched(
    bertxfer: Run, cluster: Cluster, tmp_path: Path
) -> None:
    """The jobs are held until the hub is gone, and look for it where nothing listens."""
    with Hub() as hub:
        hub.add("models", "tiny/bert", tiny_bert_files())
        hub.add("datasets", "tiny/glue", glue_like_files())
        env = {**cluster.env(), **hub.environment(tmp_path / "hf"), "BERTXFER_CACHE": ""}
        rows = ["task=sst2", "data.root=null", "task.hub.path=tiny/glue", "data.n=16", "training.epochs=1"]
        cut = "hydra.launcher.setup=['export HF_ENDPOINT=http://127.0.0.1:9 HF_HUB_OFFLINE=0']"
        with drained(cluster):  # so that no job begins before the hub is down
            words = ["model=other", "model.name=tiny/bert", *rows, *ON_SLURM, cut, "hydra.launcher.wait=false"]
            launched = bertxfer(*words, "-m", "seed=0..3", env=env)
            assert launched.returncode == 0, launched.stderr
            assert not results(tmp_path) and hub.requests
            hub.down()
        wait_until(lambda: len(results(tmp_path)) == 4, 120)
        wait_until(lambda: not queued(cluster), 60)
    computed_once(tmp_path, 4)
    assert {json.loads(path.read_text())["model"] for path in results(tmp_path)} == {"tiny/bert"}
