"""Analyses of what fine-tuning changed, against slow and obvious reimplementations."""

import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch

from bertxfer.learning import analysis, encoders, heads, start
from bertxfer.learning.analysis import examples
from bertxfer.learning.analysis.finished import Finished
from bertxfer.learning.digests import weights_digest
from bertxfer.learning.run import load_data
from bertxfer.store.store import Store
from bertxfer.trials.families import SUBMODULES
from bertxfer.trials.trial import Trial
from tests.helpers.commands import Run, tiny_words
from tests.helpers.running import attempts, drained, result, trial

WANTED = "analysis=[weights,attention]"
LAYER_1 = {
    "attention.query": "encoder.layer.0.attention.self.query",
    "attention.key": "encoder.layer.0.attention.self.key",
    "attention.value": "encoder.layer.0.attention.self.value",
    "attention.output": "encoder.layer.0.attention.output.dense",
    "attention.layernorm": "encoder.layer.0.attention.output.LayerNorm",
    "feedforward.intermediate": "encoder.layer.0.intermediate.dense",
    "feedforward.output": "encoder.layer.0.output.dense",
    "feedforward.layernorm": "encoder.layer.0.output.LayerNorm",
}


@pytest.fixture(autouse=True)
def _few_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "EXAMPLES", 20)


def rows(store: Store, one: Trial, name: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = pq.read_table(store.folder(one.id) / f"{name}.parquet").to_pylist()
    return found


@pytest.fixture
def changed(low_model: Path, tmp_path: Path) -> tuple[Store, Trial, heads.HeadedModel]:
    """A trial whose model was moved by known amounts instead of trained, and analysed."""
    one = trial(*tiny_words(low_model), "scheme=single", "layer=2", "model.pooling=cls", WANTED)
    store = Store(tmp_path)
    store.begin(one)
    model = heads.HeadedModel(start.start(one, store.artifacts).encoder, one.science)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.03)
    _, dev = load_data(one, store)
    analysis.write(Finished(one, model, dev, store, torch.device("cpu"), []), weights_digest(model.state_dict()))
    return store, one, model


def test_distances(changed: tuple[Store, Trial, heads.HeadedModel], low_model: Path) -> None:
    store, one, model = changed
    measured = {(r["reference"], r["layer"], r["module"]): r for r in rows(store, one, "weights")}
    pretrained = encoders.load(str(low_model), one.science.model)
    before, after = pretrained.state_dict(), model.encoder.state_dict()
    for module, name in LAYER_1.items():
        distance = norm = 0.0
        for kind in ("weight", "bias"):
            for x, y in zip(before[f"{name}.{kind}"].flatten(), after[f"{name}.{kind}"].flatten(), strict=True):
                distance += (x.item() - y.item()) ** 2
                norm += x.item() ** 2
            if kind == "weight" and before[f"{name}.weight"].dim() == 2:
                alone = measured["pretrained", 1, f"{module}.weight"]
                assert alone["distance"] == pytest.approx(math.sqrt(distance), rel=1e-5)
                assert alone["norm"] == pytest.approx(math.sqrt(norm), rel=1e-5)
        told = measured["pretrained", 1, module]
        assert told["distance"] == pytest.approx(math.sqrt(distance), rel=1e-5)
        assert told["relative"] == pytest.approx(math.sqrt(distance / norm), rel=1e-5)
    modules = {(layer, module) for _, layer, module in measured}
    embeddings = {(0, f"embeddings.{n}") for n in ("word_embeddings", "position_embeddings", "token_type_embeddings")}
    expected = {*((layer, module) for layer in (1, 2, 3) for module in SUBMODULES), *embeddings}
    matrices = {(layer, f"{module}.weight") for layer in (1, 2, 3) for module in SUBMODULES if "norm" not in module}
    assert modules == {*expected, *matrices, (0, "embeddings.layernorm"), (4, "pooler"), (4, "pooler.weight")}
    # Layer 2 was redrawn: far from the pretrained weights, near those that fine-tuning began with.
    far, near = (measured[reference, 2, "attention.key"]["distance"] for reference in ("pretrained", "treated"))
    assert near < far  # type: ignore[operator]
    same = (measured[reference, 1, "attention.key"]["distance"] for reference in ("pretrained", "treated"))
    assert len(set(same)) == 1


def test_attention(changed: tuple[Store, Trial, heads.HeadedModel], low_model: Path) -> None:
    store, one, model = changed
    measured = {(r["model"], r["measure"], r["layer"], r["head"]): r["value"] for r in rows(store, one, "attention")}
    assert {r["examples"] for r in rows(store, one, "attention")} == {20}
    _, dev = load_data(one, store)
    pretrained = encoders.load(str(low_model), one.science.model)
    tokenizer = encoders.tokenizer(str(low_model), one.science.model.version)
    chosen = examples.sample(1000, 0)
    layer, head = 3, 5
    similar, to_cls, to_sep = [], [], []
    for encoder in (pretrained, model.encoder):
        encoder.set_attn_implementation("eager")
        encoder.eval()
    for place in chosen:
        ids = dev.columns["input_ids"][place]
        batch = {name: torch.tensor([dev.columns[name][place]]) for name in dev.columns}
        with torch.no_grad():
            before, after = (
                encoder(**batch, output_attentions=True).attentions[layer - 1][0, head - 1].tolist()
                for encoder in (pretrained, model.encoder)
            )
        one_flat, other_flat = ([x for row in maps for x in row] for maps in (before, after))
        product = sum(x * y for x, y in zip(one_flat, other_flat, strict=True))
        similar.append(product / math.sqrt(sum(x * x for x in one_flat)) / math.sqrt(sum(x * x for x in other_flat)))
        to_cls.append(sum(row[0] for row in after) / len(after))
        separators = [i for i, token in enumerate(ids) if tokenizer.convert_ids_to_tokens(token) == "[SEP]"]
        assert separators
        to_sep.append(sum(row[i] for row in after for i in separators) / len(after))
    mean = [sum(values) / len(chosen) for values in (similar, to_cls, to_sep)]
    assert measured["pretrained", "similarity", layer, head] == pytest.approx(mean[0], rel=1e-5)
    assert measured["finetuned", "to_cls", layer, head] == pytest.approx(mean[1], rel=1e-5)
    assert measured["finetuned", "to_sep", layer, head] == pytest.approx(mean[2], rel=1e-5)
    assert len(measured) == 3 * 12 * (3 + 3 + 2)


def test_what_was_not_trained_has_not_changed(shallow_model: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    one = trial(*tiny_words(shallow_model), "training=none", "training.epochs=0", WANTED)
    drained(store, one)
    assert result(store, one)["steps"] == 0
    assert result(store, one)["treatment_text"] == "as pretrained, not fine-tuned"
    assert {r["distance"] for r in rows(store, one, "weights")} == {0.0}
    similar = [r["value"] for r in rows(store, one, "attention") if r["measure"] == "similarity"]
    assert len(similar) == 2 * 12
    assert similar == pytest.approx([1.0] * 24, abs=1e-12)


def test_an_analysis_asked_for_later_leaves_the_result_as_it_was(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    words = tiny_words(shallow_model)
    bertxfer(*words)
    store, one = Store(tmp_path / "out"), trial(*words)
    before = (store.folder(one.id) / "result.json").read_bytes()
    later = bertxfer(*words, "analysis=weights")
    assert later.returncode == 0, later.stderr
    assert (store.folder(one.id) / "result.json").read_bytes() == before
    table = pq.read_table(store.folder(one.id) / "weights.parquet")
    assert table.schema.metadata[b"weights_digest"].decode() == result(store, one)["weights_digest"]
    assert len(attempts(store, one)) == 2
    again = bertxfer(*words, "analysis=weights")
    assert again.stdout.startswith("stored")


def test_settings_that_do_not_matter_without_training_are_not_in_the_id() -> None:
    assert trial("training=none", "optimizer.lr=1").id == trial("training=none", "training.batch_size=3").id
    assert trial("training=none").id != trial("training.epochs=1").id
