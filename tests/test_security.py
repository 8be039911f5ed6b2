"""What is not trusted: pickles, code of models and data sets, names that are paths or markup, other users' modes."""

import json
import os
import pickle
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from bertxfer.errors import BertxferError, ConfigError, DataError
from bertxfer.learning.checkpoints import Checkpoints
from bertxfer.store.store import Store
from bertxfer.sweeps import launchers, manifest
from bertxfer.sweeps.sweep import Sweep
from bertxfer.system.files import digest
from tests.helpers.commands import Run, only_line, tiny_words
from tests.helpers.models import MINI
from tests.helpers.running import drained, result, trial
from tests.helpers.stored import point

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> [/bold] [red] {{ 7*7 }} $(touch owned) `touch own`"


class Harm:
    """A pickle that makes a file when it is read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_the_pickle_does_harm_where_it_is_read(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Harm(tmp_path / "owned")))
    assert (tmp_path / "owned").exists()


def test_a_checkpoint_is_never_code(shallow_model: Path, tmp_path: Path) -> None:
    """It has the name that its content asks for, as whoever writes into the folder can give it."""
    store = Store(tmp_path / "out")
    one = trial(*tiny_words(shallow_model), "training.epochs=1", "data.n=8", "data.dev_n=8")
    folder = store.checkpoint(one.id)
    folder.mkdir(parents=True)
    torch.save({"model": Harm(tmp_path / "owned")}, folder / "x.pt")
    (folder / "x.pt").rename(folder / f"{digest(folder / 'x.pt')}.pt")
    assert Checkpoints(folder, 1).load() is None
    drained(store, one)
    assert not (tmp_path / "owned").exists()
    assert result(store, one)["resumed_at_step"] is None


def test_weights_of_a_model_are_never_code(shallow_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(shallow_model, folder)
    (folder / "model.safetensors").unlink()
    torch.save({"embeddings.word_embeddings.weight": Harm(tmp_path / "owned")}, folder / "pytorch_model.bin")
    store = Store(tmp_path / "out")
    one = trial(*tiny_words(folder))
    drained(store, one)
    assert store.result(one.id) is None and store.why_failed(one.id)
    assert not (tmp_path / "owned").exists()


def test_code_beside_a_model_is_not_run(shallow_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(shallow_model, folder)
    (folder / "modeling.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'owned')!r})\n")
    told = json.loads((folder / "config.json").read_text())
    told["auto_map"] = {"AutoModel": "modeling.Own", "AutoConfig": "modeling.Own", "AutoTokenizer": "modeling.Own"}
    (folder / "config.json").write_text(json.dumps(told))
    store = Store(tmp_path / "out")
    one = trial(*tiny_words(folder), "training.epochs=0", "data.dev_n=8")
    drained(store, one)
    assert not (tmp_path / "owned").exists()
    assert result(store, one)["steps"] == 0


def test_code_beside_a_data_set_is_not_run(shallow_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "rows"
    folder.mkdir()
    (folder / "rows.py").write_text(f"import os\nos.mkdir({str(tmp_path / 'owned')!r})\n")
    words = ("task=sst2", "data.root=null", f"task.hub.path={folder}", "task.hub.config=null")
    with pytest.raises(DataError, match="there is no split train of rows in it"):
        trial(*tiny_words(shallow_model), *words)
    assert not (tmp_path / "owned").exists()


def test_a_worker_is_not_handed_a_pickle(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    ran = bertxfer(*tiny_words(shallow_model), "training.epochs=1", "data.dev_n=8", "-m", "seed=0")
    assert ran.returncode == 0, ran.stderr
    logs = next((tmp_path / "out" / "sweeps").iterdir()) / "logs"
    said = "".join(path.read_text() for path in logs.glob("*.out"))
    assert "done" in said and "Loading pickle" not in said


@pytest.mark.parametrize("name", ["../../up", "/etc/passwd", "..", "a/../../b", "x\ny", "~root", "$(id)"])
def test_a_sweep_stays_in_the_output_folder(name: str, tmp_path: Path) -> None:
    from bertxfer.config.schema import ArtifactSettings, Runtime

    root = tmp_path / "deep" / "out"
    frozen = manifest.freeze(Sweep([point()], Runtime(output_dir=str(root)), ArtifactSettings(), name))
    assert frozen.folder.resolve().parent == (root / "sweeps").resolve()
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]


@pytest.mark.parametrize("name", ["..", ".", "../out", "/etc", "", "0" * 15 + "/"])
def test_a_name_that_is_a_path_is_no_trial(name: str, bertxfer: Run, tmp_path: Path) -> None:
    (tmp_path / "out" / "trials").mkdir(parents=True)
    assert not Store(tmp_path / "out").has(name)
    with pytest.raises(BertxferError, match="is not a sweep"):
        manifest.find(tmp_path / "out", name or "nothing")


def test_an_experiment_is_one_of_the_configs(bertxfer: Run, tmp_path: Path) -> None:
    (tmp_path / "evil.yaml").write_text("# @package _global_\nseed: 3\n")
    ran = bertxfer(f"experiment=../../../../../../../../{tmp_path}/evil", "-m", "seed=0")
    assert ran.returncode == 2 and only_line(ran.stderr)
    assert not (tmp_path / "out").exists()


def test_hostile_words_are_words_on_the_page_and_in_the_terminal(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    """A task's name, its labels, its texts and a failure's reason, through a run, status, report and the model card."""
    (tmp_path / "conf" / "task").mkdir(parents=True)
    for split in ("train", "dev"):
        rows = [{"text": f"{HOSTILE} {i}", "label": i % 2} for i in range(8)]
        (tmp_path / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    labels = [HOSTILE, f"{HOSTILE}2"]
    task = {"name": HOSTILE, "text": ["text"], "labels": labels, "metrics": ["accuracy"], "headline": "accuracy"}
    task["files"] = {"train": "train.jsonl", "dev": "dev.jsonl"}
    (tmp_path / "conf" / "task" / "hostile.yaml").write_text(json.dumps(task))
    words = [*tiny_words(shallow_model), "--config-dir", "conf", "task=hostile", "data.n=8", "training.epochs=1"]
    ran = bertxfer(*words, "keep=model", "-m", "seed=0,1", "hydra/launcher=inline")
    assert ran.returncode == 0, ran.stderr
    name = next((tmp_path / "out" / "sweeps").iterdir()).name
    store = Store(tmp_path / "out")
    broken = sorted((tmp_path / "out" / "trials").iterdir())[0]
    (broken / "result.json").unlink()
    store.fail_with(broken.name, HOSTILE)
    told = bertxfer("status", broken.name, env={"COLUMNS": "400"})
    assert told.returncode == 0 and "[/bold] [red]" in told.stdout, told.stderr
    reported = bertxfer("report", name)
    assert reported.returncode == 0, reported.stderr
    page = (tmp_path / "out" / "reports" / name / "index.html").read_text()
    assert "<script>alert" not in page and "<img src=x" not in page
    assert "&lt;script&gt;alert(1)" in page and "{{ 7*7 }}" in page
    for svg in (tmp_path / "out" / "reports" / name).rglob("*.svg"):
        assert "<script>alert" not in svg.read_text() and "<img" not in svg.read_text()
    card = next((tmp_path / "out" / "trials").glob("*/model/README.md")).read_text()
    assert "<script>" not in card.split("```yaml")[0]
    assert not list(tmp_path.rglob("owned"))


def test_a_setting_of_sbatch_is_one_line() -> None:
    with pytest.raises(ConfigError, match="more than one line"):
        launchers.make({"kind": "slurm", "partition": "gpu\ntouch owned"})
    with pytest.raises(ConfigError, match="more than one line"):
        launchers.make({"kind": "slurm", "extra": {"comment": "a\nb"}})


def test_what_a_run_leaves_has_the_modes_of_the_umask(shallow_model: Path, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        words = ("training.epochs=1", "data.n=8", "data.dev_n=8", "keep=model", "analysis=weights")
        words = (*words, "scheme=sequential", "intermediate=mini_cola", "runtime.checkpoint_seconds=0")
        drained(Store(tmp_path / "out"), trial(*tiny_words(shallow_model), *words))
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").rglob("*")}
    assert {p.suffix for p in modes} >= {".json", ".yaml", ".parquet", ".jsonl", ".safetensors"}
    wrong = {str(p): oct(m) for p, m in modes.items() if m != (0o750 if p.is_dir() else 0o640) and p.name != "lock"}
    assert wrong == {}


def test_the_package_reads_no_pickle() -> None:
    """Except through torch.load, which is told weights_only."""
    package = MINI.parent.parent
    bad = r"pickle\.load|allow_pickle=True|[^_]shell=True|yaml\.unsafe|trust_remote_code=True|torch\.load"
    grep = ["grep", "-rnE", bad, "--include=*.py", str(package)]
    found = subprocess.run(grep, capture_output=True, text=True, check=False).stdout
    assert [line for line in found.splitlines() if "weights_only=True" not in line] == []
