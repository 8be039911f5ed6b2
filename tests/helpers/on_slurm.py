"""What tests on a real SLURM share: commands for it, its queue, and what became of a sweep's trials and jobs."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.cluster import Cluster
from tests.helpers.commands import tiny_words
from tests.helpers.sweeping import SLOW, outcomes, results

ON_SLURM = (
    "hydra/launcher=slurm",
    "hydra.launcher.gres=gpu:1",
    "hydra.launcher.workers=4",
    "hydra.launcher.stale_seconds=8",
    "runtime.checkpoint_seconds=0.3",
)


def words(model: Path, *more: str) -> Sequence[str]:
    return [*tiny_words(model, *ON_SLURM), *SLOW, "-m", *more]


def queued(cluster: Cluster) -> list[str]:
    return cluster.run("squeue", "-h", "-r", "-o", "%i").split()


def shown(cluster: Cluster, job: str) -> dict[str, str]:
    """What SLURM knows of a job or an array task, by SLURM's own names: JobState, Restarts and so on."""
    pairs = (pair.partition("=") for pair in cluster.run("scontrol", "-o", "show", "job", job).split())
    return {key: value for key, _, value in pairs}


@contextmanager
def drained(cluster: Cluster) -> Iterator[None]:
    """The nodes begin no job meanwhile; what runs goes on."""
    nodes = ",".join(sorted(set(cluster.run("sinfo", "-h", "-N", "-o", "%N").split())))
    cluster.run("scontrol", "update", f"NodeName={nodes}", "State=DRAIN", "Reason=test")
    try:
        yield
    finally:
        cluster.run("scontrol", "update", f"NodeName={nodes}", "State=RESUME")


def stepping(tmp_path: Path) -> int:
    """How many trials are some steps under way."""
    return len({path.parent for path in (tmp_path / "out" / "trials").glob("*/checkpoint/[!.]*.pt")})


def computed_once(tmp_path: Path, trials: int) -> None:
    """Every trial has a result and exactly one attempt that ended in one."""
    found = outcomes(tmp_path)
    assert len(found) == trials
    assert len(results(tmp_path)) == trials
    for trial, ended in found.items():
        assert ended.count("done") == 1, (trial, ended)
        assert ended[-1] == "done", (trial, ended)


def only_sweep(tmp_path: Path) -> Path:
    (folder,) = (tmp_path / "out" / "sweeps").iterdir()
    return folder


def launch_files(tmp_path: Path) -> list[Path]:
    """Oldest first."""
    return sorted((tmp_path / "out" / "sweeps").glob("*/launches/[!.]*.json"))


def jobs_of(launch: Path) -> list[str]:
    record: dict[str, Any] = json.loads(launch.read_text())
    return [str(job["id"]) for job in record["jobs"]]
