"""The words of the command line."""

from pathlib import Path

import pytest

from bertxfer.config import command_line
from bertxfer.config.command_line import in_order, with_absolute_dirs
from bertxfer.errors import ConfigError
from bertxfer.trials import (
    pretrained,
    schemes,  # noqa: F401  their axes are part of the schema
)


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("a=1 -m b=range(3)", "-m a=1 b=range(3)"),
        ("a=1 --cfg job b=2", "--cfg job a=1 b=2"),
        ("a=1 -c job b=2 -m", "-c job -m a=1 b=2"),
        ("a=1 --info b=2", "--info a=1 b=2"),
        ("a=1 --info defaults b=2", "--info defaults a=1 b=2"),
        ("-m seed=0..9", "-m seed=range(0,10)"),
        ("-m data.n=5..5", "-m data.n=range(5,6)"),
        ("analysis=weights,attention", "analysis=[weights,attention]"),
        ("runtime.track=tensorboard keep=null", "runtime.track=[tensorboard] keep=null"),
        ("-m k=0..L layer=L-1..L head=1..3", "-m k=choice(0..L) layer=choice(L-1..L) head=range(1,4)"),
        ("--config-dir=own a=1", "--config-dir own a=1"),
        ("-m seed=until(9)", "-m seed=choice('until(9)')"),
        ("name=1..L k=L k=0..M", "name=1..L k=L k=0..M"),
        ("name=a..b +x=1 ~y", "name=a..b +x=1 ~y"),
    ],
)
def test_flags_come_first(typed: str, understood: str) -> None:
    assert in_order(typed.split()) == understood.split()


def test_a_command_that_is_read_elsewhere_has_whole_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["--config-dir", "own", "-m"], ["--config-dir=own", "-m"]):
        assert with_absolute_dirs(words) == ["--config-dir", str(tmp_path / "own"), "-m"]


@pytest.mark.parametrize(
    ("typed", "understood"),
    [
        ("model.name=/a/folder", "model=other model.name=/a/folder"),
        ("model.name=mini", "model=mini model.name=mini"),
        ("seed=1 model.name='minilm'", "model=minilm seed=1 model.name='minilm'"),
        ("-m model.name=mini,minilm", "-m model=mini,minilm"),
        ("-m model.name=a/b,c/d", "-m model=other model.name=a/b,c/d"),
        ("model=other model.name=mini", "model=other model.name=mini"),
        ("experiment=x model.name=mini", "experiment=x model.name=mini"),
    ],
)
def test_a_model_by_its_name_alone_has_the_settings_that_belong_to_it(typed: str, understood: str) -> None:
    assert in_order(typed.split()) == understood.split()


def test_models_with_and_without_settings_of_their_own_are_not_swept_by_name() -> None:
    with pytest.raises(ConfigError, match=r"mini has settings of its own; launch it as model=mini, by itself"):
        in_order(["-m", "model.name=/a/folder,mini"])


def test_the_models_with_settings_of_their_own() -> None:
    assert set(command_line.OWN_MODELS) == set(pretrained._EMBEDDED)
