"""What a model's version is made of: all that a trial reads of it, and nothing else."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer, BertForMaskedLM

from bertxfer.errors import ConfigError
from bertxfer.trials import model_files, pretrained
from bertxfer.trials.trial import trial_of
from tests.helpers.configs import composed


@pytest.fixture
def folder(low_model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(low_model, tmp_path / "low"))


def edit(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    plain = json.loads(path.read_text())
    change(plain)
    path.write_text(json.dumps(plain))


def rewrite(path: Path, change: Callable[[dict[str, torch.Tensor]], dict[str, torch.Tensor]]) -> None:
    save_file(change({name: tensor.clone() for name, tensor in load_file(path).items()}), path)


READ = {
    "a weight": lambda f: rewrite(
        f / "model.safetensors",
        lambda t: {n: v + 1e-6 if "layer.1.output.dense.weight" in n else v for n, v in t.items()},
    ),
    "two tensors exchanged": lambda f: rewrite(
        f / "model.safetensors",
        lambda t: {
            **t,
            "encoder.layer.0.attention.self.query.weight": t["encoder.layer.0.attention.self.key.weight"],
            "encoder.layer.0.attention.self.key.weight": t["encoder.layer.0.attention.self.query.weight"],
        },
    ),
    "an activation": lambda f: edit(f / "config.json", lambda c: c.update(hidden_act="relu")),
    "a dropout": lambda f: edit(f / "config.json", lambda c: c.update(hidden_dropout_prob=0.3)),
    "a setting of the tokenizer": lambda f: edit(f / "tokenizer_config.json", lambda c: c.update(do_lower_case=False)),
    "the tokenizer": lambda f: edit(f / "tokenizer.json", lambda c: c.update(post_processor=None)),
}
NOT_READ = {
    "a card": lambda f: (f / "README.md").write_text("a card"),
    "another format": lambda f: (f / "pytorch_model.bin").write_bytes(b"never read beside safetensors"),
    "a vocabulary beside the tokenizer": lambda f: (f / "vocab.txt").write_text("[PAD]\n"),
    "who saved it": lambda f: edit(
        f / "config.json", lambda c: c.update(transformers_version="4.0", _name_or_path="x")
    ),
    "the layout of JSON": lambda f: (f / "config.json").write_text(
        json.dumps(json.loads((f / "config.json").read_text()), indent=7)
    ),
    "the order of tensors": lambda f: rewrite(f / "model.safetensors", lambda t: dict(reversed(t.items()))),
}


@pytest.mark.parametrize("what", READ)
def test_what_is_read_is_part_of_the_version(what: str, folder: Path) -> None:
    before = model_files.version(folder)
    READ[what](folder)
    assert model_files.version(folder) != before


@pytest.mark.parametrize("what", NOT_READ)
def test_what_is_not_read_is_no_part_of_it(what: str, folder: Path) -> None:
    before = model_files.version(folder)
    NOT_READ[what](folder)
    assert model_files.version(folder) == before


def test_what_is_called_not_read_is_not_read(folder: Path) -> None:
    """The encoder and the tokens are the same after all of it."""
    text = "the old film is fine"
    before, tokens = AutoModel.from_pretrained(folder).state_dict(), AutoTokenizer.from_pretrained(folder)(text)
    for change in NOT_READ.values():
        change(folder)
    after = AutoModel.from_pretrained(folder).state_dict()
    assert before.keys() == after.keys() and all(torch.equal(before[name], after[name]) for name in before)
    assert AutoTokenizer.from_pretrained(folder)(text).input_ids == tokens.input_ids


def test_the_class_that_saved_the_weights_does_not_matter(folder: Path, tmp_path: Path) -> None:
    """With its head and its prefix; what differs is only what a trial does not read."""
    torch.manual_seed(0)
    whole = BertForMaskedLM.from_pretrained(folder)
    whole.save_pretrained(tmp_path / "whole")
    names = load_file(tmp_path / "whole" / "model.safetensors")
    assert any(name.startswith("bert.encoder.") for name in names) and any(name.startswith("cls.") for name in names)
    encoder = {name for name in load_file(folder / "model.safetensors") if not name.startswith("pooler.")}
    alone = Path(shutil.copytree(folder, tmp_path / "alone"))
    rewrite(alone / "model.safetensors", lambda t: {name: tensor for name, tensor in t.items() if name in encoder})
    shutil.copy(tmp_path / "whole" / "model.safetensors", folder)
    assert model_files.version(folder) == model_files.version(alone)


def test_weights_in_parts(folder: Path) -> None:
    """Sharded weights are the same model, and each part is needed."""
    before = model_files.version(folder)
    AutoModel.from_pretrained(folder).save_pretrained(folder, max_shard_size="20KB")
    parts = sorted(folder.glob("model-*.safetensors"))
    assert len(parts) > 1
    (folder / "model.safetensors").unlink(missing_ok=True)
    assert model_files.version(folder) == before
    parts[0].unlink()
    assert not model_files.complete(folder)
    with pytest.raises(ConfigError, match=rf"has no {parts[0].name}, which model\.safetensors\.index\.json names"):
        model_files.version(folder)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda f: edit(f / "config.json", lambda c: c.pop("model_type")), "config.json has no model_type"),
        (lambda f: (f / "config.json").write_text("{"), "config.json cannot be read"),
        (lambda f: (f / "config.json").unlink(), "has no config.json, so it is not a Hugging Face model"),
        (
            lambda f: [p.unlink() for p in (f / "tokenizer.json", f / "vocab.txt") if p.exists()],
            "has no tokenizer (tokenizer.json or vocab.txt)",
        ),
        (lambda f: (f / "model.safetensors").unlink(), "has no weights (model.safetensors or pytorch_model.bin)"),
        (lambda f: (f / "model.safetensors").write_bytes(b""), "is not a whole safetensors file"),
        (
            lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-9]),
            "is not a whole safetensors file (it ends too early)",
        ),
    ],
)
def test_what_is_missing_is_said(folder: Path, damage: Callable[[Path], object], said: str) -> None:
    damage(folder)
    with pytest.raises(ConfigError) as refusal:
        trial_of(composed("model=other", f"model.name={folder}"))
    assert refusal.value.key == "model.name" and said in str(refusal.value), refusal.value


REDIRECTED = {
    "config.json has transformers_weights, so that alt.safetensors is read for model.safetensors": lambda f: edit(
        f / "config.json", lambda c: c.update(transformers_weights="alt.safetensors")
    ),
    "config.json has configuration_files, so that config.4.0.0.json is read for config.json": lambda f: edit(
        f / "config.json", lambda c: c.update(configuration_files=["config.4.0.0.json"])
    ),
    "has fast_tokenizer_files, so that tokenizer.4.0.0.json is read for tokenizer.json": lambda f: edit(
        f / "tokenizer_config.json", lambda c: c.update(fast_tokenizer_files=["tokenizer.4.0.0.json"])
    ),
    "are quantized (quantization_config)": lambda f: edit(
        f / "config.json", lambda c: c.update(quantization_config={"quant_method": "bitsandbytes"})
    ),
    "is a BertJapaneseTokenizer, whose files are not known here": lambda f: edit(
        f / "tokenizer_config.json", lambda c: c.update(tokenizer_class="BertJapaneseTokenizer")
    ),
    "has an adapter (adapter_config.json)": lambda f: (f / "adapter_config.json").write_text("{}"),
    "has tokenizer.model, which is read as its vocabulary": lambda f: (
        (f / "tokenizer.json").unlink(),
        (f / "tokenizer.model").write_text("x"),
    ),
}


@pytest.mark.parametrize("said", REDIRECTED)
def test_what_makes_transformers_read_other_files_is_refused(said: str, folder: Path) -> None:
    """Or two models that differ in the file that is read would have one version."""
    REDIRECTED[said](folder)
    with pytest.raises(ConfigError) as refusal:
        model_files.version(folder)
    assert refusal.value.key == "model.name" and said in str(refusal.value), refusal.value


def test_keys_that_redirect_nothing_are_no_reason_to_refuse(folder: Path) -> None:
    edit(folder / "config.json", lambda c: c.update(transformers_weights=None, quantization_config=None))
    edit(folder / "tokenizer_config.json", lambda c: c.update(fast_tokenizer_files=["tokenizer.json"]))
    assert model_files.version(folder)


def test_what_is_refused_is_read_in_place_of_what_is_hashed(folder: Path) -> None:
    """The day that transformers no longer follows these keys they need not be refused."""
    weights = {name: tensor + 1 for name, tensor in load_file(folder / "model.safetensors").items()}
    before = AutoModel.from_pretrained(folder).state_dict()
    save_file(weights, folder / "alt.safetensors", metadata={"format": "pt"})
    edit(folder / "config.json", lambda c: c.update(transformers_weights="alt.safetensors"))
    after = AutoModel.from_pretrained(folder).state_dict()
    assert not any(torch.equal(before[name], after[name]) for name in weights)


def test_the_prefix_of_another_family_is_another_name(folder: Path, tmp_path: Path) -> None:
    """A BERT loads bert.pooler as its pooler, and roberta.pooler not at all."""
    before = model_files.version(folder)

    def prefixed(prefix: str) -> str:
        copy = Path(shutil.copytree(folder, tmp_path / prefix))
        rewrite(
            copy / "model.safetensors",
            lambda t: {f"{prefix}.{n}" if n.startswith("pooler.") else n: tensor for n, tensor in t.items()},
        )
        return model_files.version(copy)

    assert prefixed("bert") == before != prefixed("roberta")


def test_a_copy_of_the_demonstration_model_is_called_what_it_is(tmp_path: Path) -> None:
    from bertxfer.trials.pretrained import _mini

    copy = shutil.copytree(_mini(), tmp_path / "bert-base-uncased")
    one, other = (trial_of(composed(f"model.name={name}")) for name in ("mini", copy))
    assert one.id == other.id and other.science.model.name == "mini"


def test_another_model_in_a_folder_called_mini_is_not_called_so(low_model: Path, tmp_path: Path) -> None:
    """Or it would be shown as the demonstration model, and elsewhere be looked for in the package."""
    copy = shutil.copytree(low_model, tmp_path / "mini")
    model = trial_of(composed("model=other", f"model.name={copy}")).science.model
    assert model.name == f"mini@{model.version[:8]}"
    at, name = str(tmp_path / "gone" / "mini"), model.name
    assert pretrained.still_at(at, name, model.version) == at


def test_folders_of_one_name_are_told_apart(low_model: Path, shallow_model: Path, tmp_path: Path) -> None:
    from bertxfer.trials import model_names

    copies = [shutil.copytree(model, tmp_path / model.name / "bert") for model in (low_model, shallow_model)]
    sciences = [trial_of(composed("model=other", f"model.name={copy}")).science for copy in copies]
    labels = model_names.labels(sciences)
    assert len(set(labels.values())) == 2 and all(label.startswith("bert@") for label in labels.values())
