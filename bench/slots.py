"""64 short trials on four SLURM slots: as one sweep of four workers, and as one SLURM job per trial, in the same run.

    python bench/slots.py [trials]

Prints both times and their ratio. The cluster is brought up on this machine and taken down again.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.cluster import Cluster

TRIAL = ("data.n=64", "training.epochs=1", "runtime.threads=1")


def sweep(cluster: Cluster, folder: Path, trials: int) -> float:
    words = [*TRIAL, "-m", f"seed=0..{trials - 1}", "hydra/launcher=slurm", "hydra.launcher.gres=gpu:1"]
    return timed([sys.executable, "-m", "bertxfer", *words, "hydra.launcher.workers=4"], cluster, folder)


def job_per_trial(cluster: Cluster, folder: Path, trials: int) -> float:
    run = f"{sys.executable} -m bertxfer {' '.join(TRIAL)} seed=$SLURM_ARRAY_TASK_ID"
    array = ["sbatch", "--wait", f"--array=0-{trials - 1}", "--gres=gpu:1", "-c1", "-o", "/dev/null", "--wrap", run]
    return timed(array, cluster, folder)


def timed(command: list[str], cluster: Cluster, folder: Path) -> float:
    environment = {**os.environ, **cluster.env(), "BERTXFER_OUTPUT": str(folder), "OMP_NUM_THREADS": "1"}
    started = time.monotonic()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 64
    with (
        tempfile.TemporaryDirectory(prefix="bxb") as results,
        Cluster(Path(tempfile.mkdtemp(prefix="bxs", dir="/tmp"))) as cluster,
    ):
        ours = sweep(cluster, Path(results) / "sweep", trials)
        print(f"one sweep of four workers: {ours:.0f} s, {3600 * trials / ours:.0f} trials an hour", flush=True)
        theirs = job_per_trial(cluster, Path(results) / "jobs", trials)
        print(f"one SLURM job per trial:   {theirs:.0f} s, {3600 * trials / theirs:.0f} trials an hour")
        done = [len(list((Path(results) / name / "trials").glob("*/result.json"))) for name in ("sweep", "jobs")]
        print(f"trials done: {done[0]} and {done[1]}; ratio {theirs / ours:.1f}")


if __name__ == "__main__":
    main()
