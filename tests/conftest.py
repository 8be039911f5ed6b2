"""What tests share: the command line as a user types it, composed configs, and small models of every family."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir

from bertxfer.config import schema
from bertxfer.config.composer import Composer
from bertxfer.config.schema import Config
from bertxfer.sweeps.sweep import config_with, task_finder
from bertxfer.system.package import PACKAGE

MINI = PACKAGE / "tasks" / "mini" / "model"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def bertxfer(tmp_path: Path) -> Run:
    """`python -m bertxfer ...` in an empty folder, results in tmp_path/out."""

    def run(*words: str, env: dict[str, str] | None = None, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bertxfer", *words],
            cwd=tmp_path,
            env=environment(tmp_path, env),
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


def environment(tmp_path: Path, more: dict[str, str] | None = None) -> dict[str, str]:
    return {
        **os.environ,
        "BERTXFER_OUTPUT": str(tmp_path / "out"),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
        **(more or {}),
    }


def composed(*words: str) -> Config:
    """The config that these words on a command line mean."""
    schema.register()
    with initialize_config_dir(str(schema.conf_dir()), version_base="1.3"):
        return config_with(compose("config", overrides=list(words)), task_finder(partial(compose, "config")))


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 12-layer, 12-head BERT that speaks the mini language, with random weights."""
    return bert(12, tmp_path_factory.mktemp("tiny") / "tiny")


@pytest.fixture(scope="session")
def low_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with three layers, for tests that tell layers apart."""
    return bert(3, tmp_path_factory.mktemp("low") / "low")


@pytest.fixture(scope="session")
def shallow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with one layer, for tests in which the training is not what matters."""
    return bert(1, tmp_path_factory.mktemp("shallow") / "shallow")


def bert(layers: int, folder: Path) -> Path:
    from transformers import BertConfig, BertModel

    from bertxfer.tasks.mini import lexicon

    shape = {"hidden_size": 24, "num_attention_heads": 12, "intermediate_size": 32, "max_position_embeddings": 128}
    words = len(lexicon.vocabulary())
    return saved(BertModel, BertConfig(vocab_size=words, num_hidden_layers=layers, **shape), folder)


def saved(model_class: type, model_config: object, folder: Path) -> Path:
    """A model with random weights, no two tensors alike, saved as a folder with the mini tokenizer."""
    import torch

    torch.manual_seed(0)
    model = model_class(model_config)
    with torch.no_grad():
        for parameter in model.parameters():  # biases and LayerNorm too, so that any change can be seen
            parameter.add_(torch.randn_like(parameter) * 0.02)
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if (MINI / name).exists():
            shutil.copy(MINI / name, folder / name)
    return folder


def only_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 1, text
    return lines[0]


def tiny_words(tiny_model: Path, *words: str) -> Sequence[str]:
    return [f"model.name={tiny_model}", "data.n=24", "training.epochs=2", "runtime.device=cpu", *words]


@pytest.fixture(scope="session")
def composer() -> Composer:
    """Composes as a run does, for tests that want the trials of a multirun and run none."""
    return Composer(schema.conf_dir())
