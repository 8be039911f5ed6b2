"""The test cluster does what tests of launching rely on: it runs, accounts, preempts, and loses nodes."""

import time
from pathlib import Path

import pytest

from bench.cluster import Cluster, ClusterError, Job, until


def submit(cluster: Cluster, folder: Path, script: str, *options: str) -> str:
    """The id of a batch job that runs a few lines of bash in a folder."""
    (folder / "script").write_text(f"#!/bin/bash\n{script}\n")
    return cluster.run("sbatch", "--parsable", "-D", str(folder), *options, str(folder / "script")).strip()


def job(cluster: Cluster, job_id: str) -> Job:
    return next(job for job in cluster.jobs() if job.id == job_id)


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_every_node_is_there(cluster: Cluster) -> None:
    assert all(alive for _, alive in cluster.daemons())
    shown = cluster.run("sinfo", "-hN", "-p", "main", "-o", "%N %T %c %G").splitlines()
    assert shown == ["node1 idle 4 gpu:2", "node2 idle 4 gpu:2"]


def test_each_job_has_its_own_gpu_and_is_accounted(cluster: Cluster, tmp_path: Path) -> None:
    script = 'echo "$CUDA_VISIBLE_DEVICES" >> gpus; srun sleep 1'
    ids = [submit(cluster, tmp_path, script, "--gres=gpu:1", "-w", "node1") for _ in range(2)]
    until(lambda: all(job(cluster, each).state == "COMPLETED" for each in ids), 20)
    assert sorted(lines(tmp_path / "gpus")) == ["0", "1"]

    def accounted() -> list[str]:
        return cluster.run("sacct", "-nXP", "-j", ",".join(ids), "-o", "State,AllocTRES").splitlines()

    until(lambda: len(accounted()) == 2 and all(line.startswith("COMPLETED") for line in accounted()), 10)
    assert all("gres/gpu=1" in line for line in accounted())


def test_nothing_outlives_its_job(cluster: Cluster, tmp_path: Path) -> None:
    script = "setsid bash -c 'while true; do date > beat; sleep 0.1; done' & sleep 1"
    done = submit(cluster, tmp_path, script)
    until(lambda: job(cluster, done).state == "COMPLETED", 60)
    (tmp_path / "beat").unlink()
    time.sleep(0.5)
    assert not (tmp_path / "beat").exists()


def test_an_array_beyond_the_limit_is_refused_whole(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="Invalid job array specification"):
        submit(cluster, tmp_path, "true", f"--array=0-{cluster.max_array_size}")


def test_urgent_preempts_main_which_runs_again(cluster: Cluster, tmp_path: Path) -> None:
    # The first run goes on until it is told to end, the second one ends by itself.
    script = """trap 'echo SIGTERM >> seen; exit 1' TERM
echo "run ${SLURM_RESTART_COUNT:-0}" >> seen
[ -n "$SLURM_RESTART_COUNT" ] || while true; do sleep 0.1; done"""
    victim = submit(cluster, tmp_path, script, "-N1", "-w", "node1", "-n", "4")
    until(lambda: lines(tmp_path / "seen") == ["run 0"], 20)
    urgent = submit(cluster, tmp_path, "sleep 1", "-N1", "-w", "node1", "-n", "4", "-p", "urgent")
    until(lambda: job(cluster, urgent).state == "COMPLETED", 60)
    until(lambda: job(cluster, victim).state == "COMPLETED", 60)
    assert lines(tmp_path / "seen") == ["run 0", "SIGTERM", "run 1"]


def test_a_job_on_a_lost_node_runs_elsewhere(cluster: Cluster, tmp_path: Path) -> None:
    script = """trap 'echo signal >> seen' TERM
echo "$SLURMD_NODENAME ${SLURM_RESTART_COUNT:-0}" >> seen
[ -n "$SLURM_RESTART_COUNT" ] || { srun bash -c 'while true; do date > beat; sleep 0.1; done'; echo end >> seen; }"""
    lost = submit(cluster, tmp_path, script, "-N1", "-n", "4")
    until((tmp_path / "beat").exists, 20)
    node = job(cluster, lost).node
    other = {"node1": "node2", "node2": "node1"}[node]
    cluster.kill_node(node)
    (tmp_path / "beat").unlink(missing_ok=True)
    until(lambda: job(cluster, lost) == Job(lost, "COMPLETED", other), 90)
    assert lines(tmp_path / "seen") == [f"{node} 0", f"{other} 1"]
    assert not (tmp_path / "beat").exists()
    cluster.start_node(node)
    back = submit(cluster, tmp_path, "echo back >> seen", "-w", node)
    until(lambda: job(cluster, back).state == "COMPLETED", 60)
