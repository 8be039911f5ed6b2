"""The command line, as a user meets it: refusals, help, and how fast and light they are."""

from pathlib import Path

import pytest

from tests.helpers.commands import Run, only_line, split_imports

REFUSED = [
    ("optimzer.lr=1e-3", "optimzer.lr", "optimizer.lr"),
    ("training.epoch=3", "training.epoch", "training.epochs"),
    ("scheme=incrmental", "scheme", "incremental"),
    ("schem=baseline", "schem", "scheme"),
    ("+foo=1", "foo", "no such key"),
    ("+data.foo=1", "data.foo", "no such key"),
    ("k=3", "k", "scheme=incremental"),
    ("scheme=incremental block=3", "block", "scheme=localized"),
    ("scheme=incremental", "k", "k=0..12"),
    ("scheme=incremental k=13", "k", "0..12"),
    ("scheme=incremental k=three", "k", "integer"),
    ("scheme=localized block=11", "block", "1..10"),
    ("scheme=head layer=12 head=13", "head", "1..12"),
    ("data.n=60001", "data.n", "60000"),
    ("data.n=many", "data.n", "whole number"),
    ("data.n=500 data.fraction=0.1", "data.n", "one of the two"),
    ("data.fraction=1.5", "data.fraction", "at most 1"),
    ("data.max_length=4096", "data.max_length", "tokens"),
    ("training.stop=dev_score", "training.patience", "training.stop"),
    ("optimizer.name=sgd", "optimizer.name", "adam, adamw"),
    ("seed=0..9", "seed", "-m"),
    ("model.name=./nowhere", "model.name", "no folder"),
    ("training.clip=inf", "training.clip", "finite"),
    ("scheme=single layer=1 reinit_lr_factor=nan", "reinit_lr_factor", "not a finite number"),
    ("data.n=all data.fraction=0.1", "data.n", "one of the two"),
    ("seed=1,2", "seed", "add -m"),
    ("-m seed=0 hydra/launcher=inline hydra.launcher.stale_seconds=null", "hydra.launcher.stale_seconds", "a number"),
    ("task=squad2 task.span.null_threshold=nan", "task.span.null_threshold", "finite"),
    ("optimizer.beta1=1", "optimizer.beta1", "less than 1"),
    ("runtime.device=cuda:x", "runtime.device", "cuda, mps, cpu"),
    ("model.positions=9999", "model.positions", "takes 96 tokens"),
    ('scheme=permutation order=["2","1"]', "order", "each of the layers"),
    ("model.family=distilbert", "model.family", "bert"),
    ("experiment=mini", "experiment", "-m"),
    ("task.headline=f1", "task.headline", "accuracy"),
]


@pytest.mark.parametrize(("words", "key", "hint"), REFUSED)
def test_refused_in_one_sentence_without_torch(bertxfer: Run, words: str, key: str, hint: str) -> None:
    ended = bertxfer(*words.split(), env={"PYTHONPROFILEIMPORTTIME": "1"})
    imports, said = split_imports(ended.stderr)
    line = only_line(said)
    assert ended.returncode == 2
    assert line.startswith(f"bertxfer: {key}: "), line
    assert hint in line
    assert "torch" not in imports


@pytest.mark.parametrize("words", ["--help", "--cfg job", "--info defaults", "scheme=incremental --cfg job k=3"])
def test_looking_imports_no_torch(bertxfer: Run, words: str) -> None:
    ended = bertxfer(*words.split(), env={"PYTHONPROFILEIMPORTTIME": "1"})
    imports, said = split_imports(ended.stderr)
    assert ended.returncode == 0, said
    assert ended.stdout.strip()
    assert imports.isdisjoint({"torch", "transformers", "datasets"})


def test_help_lists_every_scheme(bertxfer: Run) -> None:
    text = bertxfer("--help").stdout
    assert "baseline, corrupt, delete, head, incremental, localized, permutation, scratch, sequential, single" in text


def test_a_sweep_refuses_a_bad_point_before_any_trial_runs(bertxfer: Run) -> None:
    ended = bertxfer("scheme=incremental", "-m", "k=12,13")
    assert ended.returncode == 2
    assert only_line(ended.stderr) == "bertxfer: k: 13 is out of range; on this model it is 0..12"
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("setting", "hint"),
    [("workers=two", "'two' is not a whole number"), ("threads=0", "from 1"), ("partion=gpu", "no such")],
)
def test_settings_of_a_launcher_are_refused_in_one_sentence(bertxfer: Run, setting: str, hint: str) -> None:
    ended = bertxfer(
        f"+hydra.launcher.{setting}" if "partion" in setting else f"hydra.launcher.{setting}", "-m", "seed=0,1"
    )
    assert ended.returncode == 2
    assert hint in only_line(ended.stderr)


def test_a_word_that_is_no_verb(bertxfer: Run) -> None:
    ended = bertxfer("statsu")
    assert ended.returncode == 2
    assert only_line(ended.stderr).startswith("bertxfer: 'statsu' is not a verb; there are status, worker, cancel")


def test_a_folder_that_cannot_be_made(bertxfer: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = bertxfer("runtime.output_dir=file/results")
    assert ended.returncode == 1
    assert "Not a directory" in only_line(ended.stderr)
