"""The likeliest mistakes, made on purpose: each is told in one sentence that helps. docs/mistakes.md has the words."""

import json
import shutil
from pathlib import Path

import pytest
import yaml

from bertxfer.trials.science import identify
from tests.helpers.commands import Run, only_line
from tests.helpers.stored import FIRST_RELEASE

SAID = [
    ("optimzer.lr=1e-3", "optimzer.lr: there is no such key (did you mean optimizer.lr?)"),
    ("k=3", "k: is an axis of scheme=incremental, but scheme=baseline has no axes"),
    ("scheme=incremental k=13", "k: 13 is out of range; on this model it is 0..12"),
    ("seed=0..9", "seed: several values are a sweep; add -m"),
    ("seed = 3", "an override is key=value, without spaces around the ="),
    ("statsu", "'statsu' is not a verb; there are status"),
    ("task=0", "a config group is chosen by the name of one of its files, not by a number"),
    ("-m experiment=tamkin2020/fig33", "experiment: 'tamkin2020/fig33' is not there (did you mean tamkin2020/fig"),
    ("task=sst2 data.root=/nowhere", "data.root: task=sst2 needs /nowhere/glue/SST-2/train.tsv or"),
    (
        "model=other model.name=conf",
        "model.name: the folder conf has no config.json, so it is not a Hugging Face model",
    ),
    ("report --output-dir nowhere", "there is no sweep in "),
    ("worker nosuch", "'nosuch' is not a sweep; there are: "),
    ("status sweep", "'sweep' is more than one sweep; there are: sweep-7f5f2738, sweep-e5f9942b"),
    ("hydra/launcher=submitit_slurm -m seed=0,1", "submitit_slurm is slurm here"),
    ("runtime.output_dir=/proc/none data.n=8", "No such file or directory; runtime.output_dir (or BERTXFER_OUTPUT)"),
    ("export results.xlsx", "results.xlsx: the name must end in .parquet or .csv"),
    ("--config-dir conf task=torn", "torn.yaml:3: is not valid YAML"),
]


@pytest.mark.parametrize(("words", "said"), SAID)
def test_a_mistake_is_told_in_one_sentence(words: str, said: str, bertxfer: Run, tmp_path: Path) -> None:
    shutil.copytree(FIRST_RELEASE, tmp_path / "out")
    (tmp_path / "conf" / "task").mkdir(parents=True)
    (tmp_path / "conf" / "task" / "torn.yaml").write_text("name: torn\nlabels: [a, b\nmetrics: [accuracy]\n")
    ended = bertxfer(*words.split())
    assert ended.returncode in (1, 2)
    assert said in only_line(ended.stderr)


def test_a_wrong_results_folder_is_named(bertxfer: Run, tmp_path: Path) -> None:
    said = only_line(bertxfer("status", "--output-dir", "nowhere").stdout)
    assert f"no sweeps in {tmp_path / 'nowhere'}, which is not there; --output-dir or BERTXFER_OUTPUT" in said


def test_an_old_checkout_does_not_guess_at_what_a_newer_one_wrote(bertxfer: Run, tmp_path: Path) -> None:
    """A key that this version does not know is part of the trial's id, so the trial is another one than it looks."""
    shutil.copytree(FIRST_RELEASE, tmp_path / "out")
    one = sorted((tmp_path / "out" / "trials").iterdir())[0]
    plain = {**yaml.safe_load((one / "config.yaml").read_text()), "adapters": {"rank": 8}}
    newer = one.with_name(identify(plain))
    one.rename(newer)
    (newer / "config.yaml").write_text(yaml.safe_dump(plain))
    result = {**json.loads((newer / "result.json").read_text()), "id": newer.name}
    (newer / "result.json").write_text(json.dumps(result))
    ended = bertxfer("export", "all.csv")
    assert ended.returncode == 1
    assert f"{newer.name}: its config has keys that this version does not know" in only_line(ended.stderr)
