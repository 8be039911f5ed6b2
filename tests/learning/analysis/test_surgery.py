"""Surgery, similarity and path, against transformers alone: tensors replaced by hand, padded batches, Gram matrices."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from torch import Tensor, nn
from transformers import AutoModel

from bertxfer.learning.analysis import examples
from bertxfer.learning.analysis.surgery import AS_BERT
from bertxfer.store.store import Store
from bertxfer.system import seeds
from bertxfer.trials.analyses import PAIRS
from bertxfer.trials.families import FAMILIES
from bertxfer.trials.initializer import initializer_of
from bertxfer.trials.trial import Trial
from tests.helpers.configs import composed
from tests.helpers.families import loud, small
from tests.helpers.officialdata import write_official
from tests.helpers.plain import Plain, achieved, dev_batch
from tests.helpers.running import drained, result, trial

ALL = "analysis=[surgery,similarity,path]"
SHORT = ("runtime.device=cpu", "data.n=48", "data.dev_n=32", "training.epochs=2", "optimizer.lr=1e-3")
# By hand, for each family: where a layer is, what its attention is, and the last projection of each part.
BERT = ("encoder.layer.{}.", ("attention.",), "attention.output.dense", "output.dense")
BY_HAND = {
    "bert": BERT,
    "roberta": BERT,
    "electra": BERT,
    "distilbert": ("transformer.layer.{}.", ("attention.", "sa_layer_norm."), "attention.out_lin", "ffn.lin2"),
}


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return loud(small(request.param, tmp_path_factory.mktemp("models"), layers=3, heads=4, width=24))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return loud(small("bert", tmp_path_factory.mktemp("models"), layers=3, heads=4, width=24))


def run(store: Store, model: Path, *words: str) -> Trial:
    one = trial(f"model.name={model}", *SHORT, *words)
    drained(store, one)
    result(store, one)
    return one


def rows(store: Store, one: Trial, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(store.folder(one.id) / f"{name}.parquet").to_pylist()
    return found


def tuned_and_begun(store: Store, model: Path, *words: str) -> tuple[Trial, Path, Path]:
    """A fine-tuned trial with its kept model, and the kept model of the same trial without any fine-tuning."""
    one = run(store, model, *words, ALL, "keep=model")
    begun = run(store, model, *words, "training=none", "training.epochs=0", "keep=model")
    return one, store.folder(one.id) / "model", store.folder(begun.id) / "model"


def pretrained_of(model: Path, order: tuple[int, ...]) -> Any:
    """BERT itself; of deleted layers nothing is left."""
    encoder = AutoModel.from_pretrained(model).eval()
    if 0 < len(order) < 3:
        layers = layers_of(encoder)
        kept = [layers[layer - 1] for layer in order]
        del layers[:]
        layers.extend(kept)
    return encoder


def layers_of(encoder: Any) -> nn.ModuleList:
    layers: nn.ModuleList = encoder.transformer.layer if hasattr(encoder, "transformer") else encoder.encoder.layer
    return layers


def names_in(encoder: nn.Module, family: str, layer: int, module: str) -> Iterator[str]:
    """The tensors of a layer or of one of its parts."""
    prefix, attention, _, _ = BY_HAND[family]
    for name, _ in encoder.named_parameters():
        if module == "embeddings":
            if name.startswith("embeddings"):
                yield name
        elif name.startswith(prefix.format(layer - 1)):
            in_attention = name.removeprefix(prefix.format(layer - 1)).startswith(attention)
            if module == "layer" or (module == "attention") == in_attention:
                yield name


def operated(plain: Plain, row: dict[str, Any], references: dict[str, Any], family: str, seed: int) -> None:
    """What the row says was done, done by hand."""
    encoder, layer, module, operation = plain.encoder, row["layer"], row["module"], row["operation"]
    prefix, _, attended, fed = BY_HAND[family]
    tensors: dict[str, Tensor] = dict(encoder.named_parameters())
    with torch.no_grad():
        if operation in references:
            others = dict(references[operation].named_parameters())
            for name in names_in(encoder, family, layer, module):
                tensors[name].copy_(others[name])
        elif operation == "reinitialized":
            for name in names_in(encoder, family, layer, module):
                if "LayerNorm" in name or "layer_norm" in name or name.endswith("bias"):
                    tensors[name].fill_(1 if name.endswith("weight") else 0)
                else:
                    stream = seeds.derive(seeds.derive(seed, "surgery"), "redraw", name)
                    generator = torch.Generator().manual_seed(stream)
                    nn.init.trunc_normal_(tensors[name], std=0.02, a=-0.04, b=0.04, generator=generator)
        elif operation == "skipped" and module == "layer":
            del layers_of(encoder)[layer - 1]
        elif operation == "skipped":
            for kind in ("weight", "bias"):
                name = f"{prefix.format(layer - 1)}{attended if module == 'attention' else fed}.{kind}"
                tensors[name].zero_()
        else:
            assert operation == "intact"


def check_surgery(store: Store, one: Trial, references: dict[str, Any], tuned: Path, metric: str = "accuracy") -> None:
    family, depth = one.science.model.family, one.science.depth
    batch, labels = dev_batch(one)
    measured = rows(store, one, "surgery")
    losses = set()
    for row in measured:
        plain = Plain(tuned)
        operated(plain, row, references, family, one.science.seeds["order"])
        loss, score = achieved(plain, batch, labels)
        assert row["dev_loss"] == pytest.approx(loss, rel=1e-4, abs=1e-5), row
        assert row[metric] == pytest.approx(score, abs=1e-3), row
        losses.add(round(loss, 7))
    places = {(row["layer"], row["module"], row["operation"]) for row in measured}
    operations = ("pretrained", "treated", "reinitialized", "skipped")
    expected = {
        (layer, module, operation)
        for layer in range(1, depth + 1)
        for module in ("layer", "attention", "feedforward")
        for operation in operations
    }
    expected |= {(0, "embeddings", "pretrained"), (0, "embeddings", "treated"), (None, None, "intact")}
    if depth == 1:
        expected.remove((1, "layer", "skipped"))
    assert places == expected and len(measured) == len(expected)
    assert len(losses) > len(measured) / 2  # the operations do something, each its own
    assert measured[0][metric] == pytest.approx(result(store, one)["metrics"][metric])
    assert measured[0]["dev_loss"] == result(store, one)["dev_loss"]


def test_of_every_family_with_a_layer_reinitialized(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three analyses. What was begun with comes from a trial that trained nothing, classifier and all."""
    monkeypatch.setattr(examples, "EXAMPLES", 12)
    store = Store(tmp_path)
    words = ("task=mini_qnli", "model.pooling=mean", "scheme=single", "layer=2")
    one, tuned, begun = tuned_and_begun(store, model, *words)
    references = {"pretrained": pretrained_of(model, ()), "treated": Plain(begun).encoder}
    check_surgery(store, one, references, tuned)
    check_similarity(store, one, {**references, "finetuned": Plain(tuned).encoder})
    check_path(rows(store, one, "path"), one, begun, tuned)


@pytest.mark.parametrize(
    "words",
    [
        ("scheme=delete", "layer=1"),
        ("scheme=delete", "layer=[1,3]"),
        ("scheme=permutation", "order=[3,1,2]"),
        ("scheme=baseline", "training.packed=false"),
        ("scheme=scratch",),
    ],
    ids=" ".join,
)
def test_under_other_treatments(bert: Path, words: tuple[str, ...], tmp_path: Path) -> None:
    """With a pooler and padded batches, too; a class of transformers has the whole model."""
    store = Store(tmp_path)
    one, tuned, begun = tuned_and_begun(store, bert, "task=mini_sst2", "model.pooling=cls", *words)
    references = {"pretrained": pretrained_of(bert, one.science.treatment.order), "treated": Plain(begun).encoder}
    check_surgery(store, one, references, tuned)
    check_similarity(store, one, {**references, "finetuned": Plain(tuned).encoder})
    check_path(rows(store, one, "path"), one, begun, tuned)


def test_after_a_chain_the_start_is_where_the_chain_ended(bert: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    words = ("task=mini_sst2", "model.pooling=mean", "scheme=sequential", "intermediate=mini_cola", ALL, "keep=model")
    stage = run(store, bert, "task=mini_cola", "model.pooling=mean", "keep=model")
    one = trial(f"model.name={bert}", *SHORT, *words)
    drained(store, stage, one)  # the stage runs again for its encoder
    assert result(store, one)["begun_from"]["trial"] == stage.id
    references = {"pretrained": pretrained_of(bert, ()), "treated": Plain(store.folder(stage.id) / "model").encoder}
    check_surgery(store, one, references, store.folder(one.id) / "model")


def test_of_scores(bert: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    words = (f"data.root={write_official(tmp_path / 'official')}", "task=stsb", "model.pooling=cls")
    one, tuned, begun = tuned_and_begun(store, bert, *words)
    references = {"pretrained": pretrained_of(bert, ()), "treated": Plain(begun).encoder}
    check_surgery(store, one, references, tuned, "pearson")
    check_path(rows(store, one, "path"), one, begun, tuned, "pearson")


def test_of_spans(bert: Path, tmp_path: Path) -> None:
    """The loss of every window, its start and its end, without what F1 makes of them."""
    from bertxfer.learning.run import load_data

    store = Store(tmp_path)
    words = [f"data.root={write_official(tmp_path / 'official')}", "task=squad2", "task.span.question_length=20"]
    one, tuned, begun = tuned_and_begun(store, bert, *words, "data.max_length=64", "data.stride=16")
    _, dev = load_data(one, store)
    references = {"pretrained": pretrained_of(bert, ()), "treated": AutoModel.from_pretrained(begun)}
    found = rows(store, one, "surgery")
    assert len(found) == 39 and found[0]["f1"] == result(store, one)["metrics"]["f1"]

    def loss_of(plain: Plain) -> float:
        total = 0.0
        for i, (begin, end) in enumerate(dev.labels):
            with torch.no_grad():
                said = plain.whole(**{name: torch.tensor([values[i]]) for name, values in dev.columns.items()})
            for logits, place in ((said.start_logits, begin), (said.end_logits, end)):
                total -= float(logits[0].double().log_softmax(0)[place]) / 2
        return total / len(dev.labels)

    for row in found:
        plain = Plain(tuned, "span")
        operated(plain, row, references, "bert", one.science.seeds["order"])
        assert row["dev_loss"] == pytest.approx(loss_of(plain), rel=1e-4, abs=1e-5), row
    for row in rows(store, one, "path"):
        plain, first = Plain(tuned, "span"), Plain(begun, "span")
        between(plain, first, row["alpha"])
        assert row["dev_loss"] == pytest.approx(loss_of(plain), rel=1e-4, abs=1e-5), row
    assert len(rows(store, one, "similarity")) == 4 * 3


def check_similarity(store: Store, one: Trial, encoders: dict[str, Any]) -> None:
    """From the n x n matrices of products of all tokens with each other, by HSIC."""
    batch, labels = dev_batch(one)
    chosen = examples.sample(len(labels), one.science.seeds["order"])
    batch = {name: tensor[chosen] for name, tensor in batch.items()}
    there = batch["attention_mask"].bool()
    grams: dict[tuple[str, int], Tensor] = {}
    for name, encoder in encoders.items():
        with torch.no_grad():
            every = encoder.eval()(**batch, output_hidden_states=True).hidden_states
        for layer, states in enumerate(every):
            tokens = states[there].double()
            centring = torch.eye(len(tokens), dtype=torch.float64) - 1 / len(tokens)
            grams[name, layer] = centring @ (tokens @ tokens.T) @ centring
    measured = rows(store, one, "similarity")
    assert len(measured) == (one.science.depth + 1) * len(PAIRS)
    assert {row["tokens"] for row in measured} == {int(there.sum())}
    assert {row["examples"] for row in measured} == {len(chosen)}
    for row in measured:
        some, others = grams[row["reference"], row["layer"]], grams[row["model"], row["layer"]]
        hsic = torch.trace(some @ others)
        expected = float(hsic / torch.sqrt(torch.trace(some @ some) * torch.trace(others @ others)))
        assert row["cka"] == pytest.approx(expected, rel=1e-5), row
    assert len({round(row["cka"], 6) for row in measured}) > one.science.depth


def between(plain: Plain, first: Plain, alpha: float) -> None:
    others = dict(first.named_parameters())
    with torch.no_grad():
        for name, tensor in plain.named_parameters():
            tensor.copy_((1 - alpha) * others[name].double() + alpha * tensor.double())


def check_path(measured: list[dict[str, Any]], one: Trial, first: Path, last: Path, metric: str = "accuracy") -> None:
    batch, labels = dev_batch(one)
    assert [row["alpha"] for row in measured] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    for row in measured:
        plain = Plain(last)
        between(plain, Plain(first), row["alpha"])
        loss, score = achieved(plain, batch, labels)
        assert row["dev_loss"] == pytest.approx(loss, rel=1e-4, abs=1e-5), row
        assert row[metric] == pytest.approx(score, abs=1e-3), row
    assert len({row["dev_loss"] for row in measured}) == 11


def test_what_was_not_trained_has_lost_nothing(bert: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    one = run(store, bert, "training=none", "training.epochs=0", ALL)
    of = {(row["layer"], row["module"], row["operation"]): row["dev_loss"] for row in rows(store, one, "surgery")}
    same = {loss for (_, _, operation), loss in of.items() if operation in ("intact", "pretrained", "treated")}
    assert same == {result(store, one)["dev_loss"]}
    assert of[2, "layer", "reinitialized"] not in same and of[2, "attention", "skipped"] not in same
    assert [row["cka"] for row in rows(store, one, "similarity")] == pytest.approx([1.0] * 12, abs=1e-12)
    assert {row["dev_loss"] for row in rows(store, one, "path")} == same


def test_the_model_that_is_kept_after_them_is_that_of_the_result(bert: Path, tmp_path: Path) -> None:
    """To the bit, whatever was done to it in between."""
    stores = Store(tmp_path / "analysed"), Store(tmp_path / "alone")
    trials = [run(store, bert, "keep=model", *more) for store, more in zip(stores, ([ALL], []), strict=True)]
    assert trials[0].id == trials[1].id
    kept = [store.folder(trials[0].id) / "model" / "model.safetensors" for store in stores]
    assert kept[0].read_bytes() == kept[1].read_bytes()


def test_an_analysis_that_leaves_another_model_fails_its_trial(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bertxfer.learning.analysis.path.alphas", lambda: [0.0, 0.5])
    store = Store(tmp_path)
    one = trial(f"model.name={bert}", *SHORT, "analysis=path", "keep=model")
    drained(store, one)
    assert store.result(one.id) is None and "path changed the model" in store.why_failed(one.id)


def test_drawn_anew_is_as_init_bert_draws() -> None:
    assert initializer_of(composed("init=bert")) == AS_BERT
