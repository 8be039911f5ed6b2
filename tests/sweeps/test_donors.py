"""Weights from another model, through the command line: known by content, found again, refused where they differ."""

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.commands import Run, tiny_words
from tests.helpers.families import small


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, two of its shape with other weights, one of another shape, and one with other word pieces."""
    at = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(("own", "donor", "other")):
        small("bert", at / name, 2, 2, 16, seed)
    small("bert", at / "wide", 2, 2, 32)
    small("bert", at / "deep", 3, 2, 16)
    shutil.copytree(at / "donor", at / "foreign")
    tokenizer = at / "foreign" / "bert" / "tokenizer.json"
    plain = json.loads(tokenizer.read_text())
    words = plain["model"]["vocab"]
    one, two = list(words)[-2:]
    words[one], words[two] = words[two], words[one]
    tokenizer.write_text(json.dumps(plain))
    return at


def words(models: Path, donor: str, *more: str) -> list[str]:
    return [*tiny_words(models / "own" / "bert", "training.epochs=1", *more), f"donor={models / donor / 'bert'}"]


def trials(out: Path) -> dict[str, Path]:
    return {path.name: path for path in (out / "trials").iterdir()}


def test_a_donor_is_known_by_its_content_and_found_again(bertxfer: Run, models: Path, tmp_path: Path) -> None:
    shutil.copytree(models / "donor", models / "a copy", dirs_exist_ok=True)
    for donor in ("donor", "a copy", "other"):
        ended = bertxfer(*words(models, donor, "scheme=transplant", "-m", "seed=0,1"))
        assert ended.returncode == 0, ended.stderr
    found = trials(tmp_path / "out")
    assert len(found) == 4  # the copy's are the donor's
    again = bertxfer("verify", "--sample", "4")
    assert again.returncode == 0 and "4 bit for bit" in again.stdout, again.stdout
    result = json.loads((next(iter(found.values())) / "result.json").read_text())
    assert result["treatment_text"] == "layers 1-2 from bert"


def test_the_model_itself_as_donor_is_no_treatment(bertxfer: Run, models: Path, tmp_path: Path) -> None:
    for more in (["scheme=transplant"], ["scheme=average", "amount=0.5"], ["scheme=transplant", "region=everything"]):
        assert bertxfer(*words(models, "own", *more)).returncode == 0
    assert bertxfer(*tiny_words(models / "own" / "bert", "training.epochs=1")).returncode == 0
    assert len(trials(tmp_path / "out")) == 1


@pytest.mark.parametrize(
    ("donor", "more", "said"),
    [
        ("deep", ["scheme=transplant"], "donor: is 2, but"),
        ("wide", ["scheme=transplant"], "donor: bert has tensors of shape [32, 32] for [16, 16]"),
        ("foreign", ["scheme=transplant", "region=embeddings"], "has other word pieces"),
        ("gone", ["scheme=transplant"], "there is no folder"),
    ],
)
def test_what_does_not_fit_is_refused(bertxfer: Run, models: Path, donor: str, more: list[str], said: str) -> None:
    ended = bertxfer(*words(models, donor, *more))
    assert ended.returncode != 0 and said in ended.stderr + ended.stdout, ended.stderr


def test_layers_of_a_model_with_other_words_may_be_taken(bertxfer: Run, models: Path) -> None:
    ended = bertxfer(*words(models, "foreign", "scheme=transplant"))
    assert ended.returncode == 0, ended.stderr
