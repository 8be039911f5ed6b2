"""Sweeps that an earlier version launched go on under this one, though the modules that they name have moved."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from bertxfer.sweeps import manifest
from bertxfer.sweeps.launch import new_launch
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.post import Post
from bertxfer.sweeps.queue import Rules
from tests.helpers.frozen import frozen

TINY = ("data.n=16", "data.dev_n=32", "training.epochs=1")


def frozen_before(folder: Path, seeds: int) -> Manifest:
    """A sweep of the mini model as it was frozen when that lay in bertxfer/mini/model."""
    path = frozen(folder, *TINY, seeds=seeds).folder / "manifest.json"
    content = json.loads(path.read_text())
    for plain in content["trials"]:
        assert plain["model_at"].endswith("bertxfer/tasks/mini/model")
        plain["model_at"] = plain["model_at"].replace("bertxfer/tasks/mini/model", "bertxfer/mini/model")
    path.write_text(json.dumps({**content, "digest": manifest._digest(content)}))
    return manifest.read(path.parent)


def test_a_job_that_was_queued_before_the_rooms_is_still_a_worker(tmp_path: Path) -> None:
    sweep = frozen_before(tmp_path / "out", seeds=2)
    post = Post(str(sweep.folder), new_launch(sweep, "slurm"), Rules(), threads=1)
    # As sbatch's script of then has it.
    command = [sys.executable, "-u", "-m", "bertxfer.worker", json.dumps(asdict(post))]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert sweep.store.finished() == {one.id for one in sweep.trials}


def test_a_worker_of_then_finds_its_draining_process(tmp_path: Path) -> None:
    sweep = frozen_before(tmp_path / "out", seeds=1)
    post = asdict(Post(str(sweep.folder), new_launch(sweep, "local"), Rules(), threads=1))
    around = {**post, "card": str(tmp_path / "card.json"), "supervisor": {"pid": os.getpid()}}
    command = [sys.executable, "-m", "bertxfer.worker"]
    ran = subprocess.run(command, input=json.dumps(around), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert sweep.store.finished() == {one.id for one in sweep.trials}


def test_a_stored_trial_of_then_is_run_again(tmp_path: Path) -> None:
    """`verify` takes the model's folder from the result."""
    sweep = frozen_before(tmp_path / "out", seeds=1)
    post = Post(str(sweep.folder), new_launch(sweep, "slurm"), Rules(), threads=1)
    command = [sys.executable, "-m", "bertxfer.worker", json.dumps(asdict(post))]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (path,) = (tmp_path / "out" / "trials").glob("*/result.json")
    result = json.loads(path.read_text())
    result["inputs"]["model_at"] = "/elsewhere/bertxfer/mini/model"
    path.write_text(json.dumps(result))
    verify = [sys.executable, "-m", "bertxfer", "verify", "--output-dir", str(tmp_path / "out")]
    ran = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "bit for bit" in ran.stdout, ran.stdout + ran.stderr


def test_an_older_diff_finds_the_listing(tmp_path: Path) -> None:
    code = "from bertxfer import listing; listing.main([__import__('sys').argv[1], 'mini'])"
    conf = Path(manifest.__file__).parents[2] / "conf"
    command = [sys.executable, "-c", code, str(conf)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert list(json.loads(ran.stdout)["experiments"]) == ["mini"]
