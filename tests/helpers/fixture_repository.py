"""A git repository with a copy of this package and a few experiments, to be changed and compared."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertxfer.system.package import PACKAGE

EXPERIMENTS = {
    "alpha": "{task: [mini_sst2, mini_cola], scheme: incremental, k: [0, 6], seed: [0, 1]}",  # 8 trials
    "beta": "{scheme: single, layer: [1, 2, 3], optimizer.lr: 1e-3}",  # 3 trials, which no default lr reaches
    "gamma": "{scheme: scratch, seed: 'range(4)'}",  # 4 trials
}


class FixtureRepository:
    def __init__(self, folder: Path, out: Path) -> None:
        self.root, self.out = folder, out
        ignored = shutil.ignore_patterns("__pycache__")
        for name in ("bertxfer", "conf", "hydra_plugins"):
            shutil.copytree(PACKAGE.parent / name, folder / name, ignore=ignored)
        shutil.rmtree(folder / "conf" / "experiment")
        (folder / ".gitignore").write_text("__pycache__/\n")
        for name, grid in EXPERIMENTS.items():
            self.experiment(name, grid)
        self.git("init", "-q", "-b", "main")
        self.commit()

    def experiment(self, name: str, *grids: str) -> None:
        lines = "".join(f"  - {grid}\n" for grid in grids)
        self.write(f"conf/experiment/{name}.yaml", f"# @package _global_\ngrids:\n{lines}")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.root / name).read_text()
        assert text.count(old) == 1, (name, old)
        self.write(name, text.replace(old, new))

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        return subprocess.run(["git", *who, *words], cwd=self.root, check=True, capture_output=True, text=True).stdout

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a state of the experiments")

    def run(self, *words: str, env: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """`python -m bertxfer ...` with the repository's own package, from a folder outside of it."""
        around = {**os.environ, "PYTHONPATH": str(self.root), "BERTXFER_OUTPUT": str(self.out), **(env or {})}
        around |= {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
        if "BERTXFER_DATA" not in (env or {}):
            around.pop("BERTXFER_DATA", None)
        command = [sys.executable, "-m", "bertxfer", *words]
        return subprocess.run(command, cwd=self.out.parent, env=around, capture_output=True, text=True, timeout=300)

    def diff(self, *words: str, status: int = 0, env: dict[str, str] | None = None) -> dict[str, Any]:
        """What `diff` says as JSON; with --exit-code it ends with `status`."""
        ended = self.run("diff", "--format", "json", *words, *(["--exit-code"] if status else []), env=env)
        assert ended.returncode == status, ended.stderr
        told: dict[str, Any] = json.loads(ended.stdout)
        told["by_name"] = {experiment["name"]: experiment for experiment in told["experiments"]}
        return told

    def finish(self, trial_ids: Sequence[str]) -> None:
        """Marks trials as done, for questions that only ask whether they are."""
        for trial_id in trial_ids:
            folder = self.out / "trials" / trial_id
            folder.mkdir(parents=True)
            (folder / "result.json").write_text("{}")


def places(trials: Sequence[dict[str, Any]], *keys: str) -> set[tuple[Any, ...]]:
    """What the axes say at each of these trials."""
    return {tuple(trial["axes"].get(key) for key in keys) for trial in trials}
