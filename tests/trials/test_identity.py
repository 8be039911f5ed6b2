"""Ids: equal experiments share one, different ones never do, and none changes by accident."""

import json
from pathlib import Path

import pytest

from bertxfer.trials.science import Science, identify
from bertxfer.trials.trial import trial_of
from tests.helpers.configs import composed

GOLDEN = Path(__file__).parent / "golden_ids.json"


def trial_id(*words: str) -> str:
    return trial_of(composed(*words)).id


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("scheme=baseline", "scheme=incremental k=12"),
        ("scheme=baseline", "scheme=localized block=4 block_size=0"),
        ("scheme=baseline", "scheme=permutation order=[1,2,3,4,5,6,7,8,9,10,11,12]"),
        ("scheme=incremental k=9", "scheme=localized block=10"),
        ("scheme=incremental k=9", "scheme=localized block=1 block_size=9 preserve=true"),
        ("scheme=single layer=4", "scheme=localized block=4 block_size=1"),
        ("scheme=single layer=[4,5]", "scheme=localized block=4 block_size=2"),
        ("scheme=incremental k=6 init=weights", "scheme=incremental k=6 init=weights keep_layernorm=true"),
        ("scheme=delete layer=[2,3]", "scheme=delete layer=[3,2,3]"),
        ("scheme=single layer=1 init=shuffle", "scheme=single layer=1 init=shuffle init.biases=draw"),
        ("task.metrics=[accuracy]", "task.metrics=[accuracy,f1] task.headline=f1"),
        ("optimizer=adam", "optimizer=adamw optimizer.weight_decay=0"),
        ("scheme=baseline", "scheme=baseline init=normal seeds.redraw=7"),
        ("scheme=permutation seed=3", "scheme=permutation seed=3 permutation_seed=3"),
        ("optimizer.lr=5e-4", "optimizer.lr=0.0005"),
        ("reinit_lr_factor=1 scheme=single layer=1", "reinit_lr_factor=1.0 scheme=single layer=1"),
        ("seed=3", "seed=0 seeds.subsample=3 seeds.head=3 seeds.order=3 seeds.dropout=3"),
        ("data.n=500", "data.n=null"),
        ("", "runtime.device=cpu runtime.threads=1 runtime.output_dir=elsewhere runtime.checkpoint_seconds=1"),
        ("data.max_length=null", "data.max_length=96"),
    ],
)
def test_the_same_experiment_has_one_id(one: str, other: str) -> None:
    assert trial_id(*one.split()) == trial_id(*other.split())


@pytest.mark.parametrize(
    "words",
    [
        "seed=1",
        "seeds.dropout=1",
        "task=mini_cola",
        "scheme=incremental k=0",
        "scheme=scratch",
        "scheme=permutation",
        "data.n=501",
        "data.fraction=0.1",
        "data.n=all",
        "data.max_length=32",
        "optimizer=adamw",
        "optimizer.lr=1e-3",
        "optimizer.weight_decay=0.1",
        "training.epochs=6",
        "training.batch_size=16",
        "training.report=best",
        "training.precision=bf16",
        "model.pooling=cls",
        "model.dropout=0",
    ],
)
def test_another_experiment_has_another_id(words: str) -> None:
    assert trial_id(*words.split()) != trial_id()


def test_other_weights_in_the_same_folder_are_another_model(tiny_model: Path, tmp_path: Path) -> None:
    import shutil

    folder = tmp_path / "model"
    shutil.copytree(tiny_model, folder)
    before = trial_id(f"model.name={folder}")
    moved = folder.rename(tmp_path / "elsewhere")
    renamed = moved.rename(folder)
    assert trial_id(f"model.name={renamed}") == before
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert trial_id(f"model.name={folder}") != before


def test_a_stored_config_gives_back_the_trial() -> None:
    science = trial_of(composed("scheme=head", "layer=3", "head=[1,2]", "seed=5")).science
    again = Science.from_dict(json.loads(json.dumps(science.as_dict())))
    assert again == science
    assert again.id == science.id == identify(science.as_dict())


def test_golden_ids() -> None:
    """If this fails, results on disk are no longer found. Raise SEMANTICS, or take the change back."""
    golden: dict[str, str] = json.loads(GOLDEN.read_text())
    assert len(golden) >= 15
    found = {words: trial_id(*words.split()) for words in golden}
    assert found == golden
