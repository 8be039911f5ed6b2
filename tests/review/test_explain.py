"""explain: which file, defaults list or override gave a key its value."""

from pathlib import Path

from bertxfer.config.schema import conf_dir
from tests.helpers.commands import Run, only_line


def line_of(file: str, text: str) -> str:
    """`conf/...:<line>` of the only line that says so."""
    root = conf_dir().parent
    (number,) = [n for n, line in enumerate((root / file).read_text().splitlines(), 1) if line.strip().startswith(text)]
    return f"{file}:{number}"


def test_through_an_interpolation(bertxfer: Run) -> None:
    told = bertxfer("explain", "optimizer.lr").stdout.splitlines()
    model, optimizer = line_of("conf/model/mini.yaml", "lr:"), line_of("conf/optimizer/adam.yaml", "lr:")
    assert told == ["optimizer.lr = 0.0005", f"  {model}, through `lr: ${{model.lr}}` in {optimizer}"]


def test_overrides_and_what_they_replace(bertxfer: Run) -> None:
    told = bertxfer("explain", "training.epochs", "training.epochs=9").stdout.splitlines()
    file = line_of("conf/training/finetune.yaml", "epochs:")
    schema = line_of("bertxfer/config/schema.py", "epochs: int")
    assert told == [
        "training.epochs = 9",
        "  the command line (training.epochs=9)",
        f"  replaces `epochs: 5` in {file}",
        f"  replaces `epochs: int = 5` in {schema}",
    ]


def test_who_chose_a_group(bertxfer: Run, tmp_path: Path) -> None:
    entry = line_of("conf/config.yaml", "- optimizer: adam")
    assert f"optimizer is chosen by `optimizer: adam` in {entry}" in bertxfer("explain", "optimizer").stdout
    assert (
        "chosen by `optimizer=adamw` in the command line" in bertxfer("explain", "optimizer", "optimizer=adamw").stdout
    )
    (tmp_path / "own" / "experiment").mkdir(parents=True)
    file = tmp_path / "own" / "experiment" / "mine.yaml"
    file.write_text(
        "# @package _global_\ndefaults:\n  - override /optimizer: adamw\nseed: 3\ngrids:\n  - {seed: [4, 5]}\n"
    )
    own = ("experiment=mine", "--config-dir", "own")
    decay = line_of("conf/optimizer/adamw.yaml", "weight_decay:")
    chosen = f"{decay}, chosen by `override /optimizer: adamw` in {file}:3"
    assert chosen in bertxfer("explain", "optimizer.weight_decay", *own).stdout
    seed = bertxfer("explain", "seed", *own).stdout.splitlines()
    assert seed[:2] == ["seed = 3", f"  {file}:4, chosen by `experiment=mine` in the command line"]
    assert seed[-1] == f"  with -m the grids sweep over seed: `seed: [...]` in {file}:6"


def test_a_key_that_is_not_there(bertxfer: Run) -> None:
    ended = bertxfer("explain", "otimizer.lr")
    assert ended.returncode == 2
    assert only_line(ended.stderr).startswith(
        "bertxfer: otimizer.lr: there is no such key (did you mean optimizer.lr?)"
    )
