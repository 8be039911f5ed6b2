"""Packing and trimming change no number: losses of fifty steps, the scores after, and what dropout does on average."""

import json
from pathlib import Path

import pytest
import torch

from bertxfer import encoders, heads, packing, vocabulary
from bertxfer.architectures import FAMILIES
from bertxfer.identity import Trial
from bertxfer.store import Store
from tests.families import WORDS, small
from tests.running import drained, result, trial

FIFTY_STEPS = ("data.n=80", "training.batch_size=8", "training.epochs=5", "data.dev_n=40", "optimizer.lr=1e-3")


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small(request.param, tmp_path_factory.mktemp("models"), layers=3, heads=4, width=24)


def run(store: Store, model: Path, *words: str) -> tuple[Trial, list[float]]:
    one = trial(f"model.name={model}", "runtime.device=cpu", *FIFTY_STEPS, *words)
    drained(store, one)
    rows = map(json.loads, (store.folder(one.id) / "history.jsonl").read_text().splitlines())
    return one, [row["loss"] for row in rows if "loss" in row]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_packed_is_padded_in_every_family(model: Path, pooling: str, tmp_path: Path) -> None:
    words = ("model.dropout=0", f"model.pooling={pooling}", "task=mini_qnli")
    store = Store(tmp_path)
    packed, losses = run(store, model, *words)
    padded, other_losses = run(store, model, *words, "training.packed=false")
    assert packed.id != padded.id
    assert len(losses) == len(other_losses) == 50
    assert losses == pytest.approx(other_losses, abs=1e-5)
    assert len(set(losses)) > 40  # it was trained, not only looked at
    assert result(store, packed)["score"] == result(store, padded)["score"]


def test_a_span_is_found_in_packed_rows(model: Path) -> None:
    """The logits of starts and ends, a row a passage, with nothing to be found in the padding."""
    from tests.test_heads import TASKS

    one = trial(f"model.name={model}", "model.dropout=0", *TASKS["span"])
    span = heads.Model(encoders.load(one.model_at, one.science.model), one.science)
    rows = [[2, 9, 8, 3], [2, 7, 9, 11, 13, 3]]
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])
    padded = span({"input_ids": torch.tensor([rows[0] + [0, 0], rows[1]]), "attention_mask": mask})
    packed = span(packing.pack(rows, None))
    torch.testing.assert_close(packed, padded, rtol=1e-4, atol=1e-5)
    assert (packed[0, 4:] == torch.finfo(torch.float32).min).all()


def test_no_sequence_sees_its_neighbours(model: Path) -> None:
    encoder = encoders.load(str(model), trial(f"model.name={model}").science.model).eval()
    layers = packing.layers_of(encoder)
    with torch.no_grad():
        alone = packing.encode(encoder, layers, packing.pack([[2, 9, 8, 3]], None))
        beside = packing.encode(encoder, layers, packing.pack([[2, 30, 3], [2, 9, 8, 3], [2, 31, 32, 33, 34, 3]], None))
    torch.testing.assert_close(beside[3:7], alone, rtol=1e-4, atol=1e-5)


def test_dropout_does_the_same_on_average(model: Path) -> None:
    """Mean and spread over many masks agree within what chance allows (z below 5 in every output)."""
    one = trial(f"model.name={model}", "model.dropout=0.3", "model.pooling=cls")
    torch.manual_seed(0)
    trained = heads.Model(encoders.load(one.model_at, one.science.model), one.science).train()
    times = 600
    rows = [[2, 9, 8, 3], [2, 7, 9, 11, 13, 3]] * times
    longest = 6
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    with torch.no_grad():
        packed = trained(packing.pack(rows, None)).view(times, 4)
        padded = trained({"input_ids": ids, "attention_mask": (ids != 0).long()}).view(times, 4)
    error = (packed.var(0) / times + padded.var(0) / times).sqrt()
    assert ((packed.mean(0) - padded.mean(0)).abs() < 5 * error).all()
    assert packed.std(0).min() > 0
    torch.testing.assert_close(packed.std(0), padded.std(0), rtol=0.2, atol=0)


@pytest.mark.parametrize("decay", ["optimizer=adam", "optimizer=adamw optimizer.weight_decay=0.01"])
def test_trimming_is_exact_to_the_bit(model: Path, decay: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With dropout and weight decay: the losses of all steps and the scores; with Adam every weight at the end."""
    words = ("task=mini_cola", "model.dropout=0.1", *decay.split())
    one, losses = run(Store(tmp_path / "trimmed"), model, *words)
    trimmed = result(Store(tmp_path / "trimmed"), one)

    def everything(data: object, words: int, optimizer: object) -> list[int]:
        return list(range(words))

    monkeypatch.setattr(vocabulary, "trained_with", everything)
    _, whole_losses = run(Store(tmp_path / "whole"), model, *words)
    whole = result(Store(tmp_path / "whole"), one)
    assert losses == whole_losses
    assert trimmed["metrics"] == whole["metrics"]
    if "adamw" not in decay:  # the factor of unused rows is applied once instead of fifty times
        assert trimmed["weights_digest"] == whole["weights_digest"]


def test_unused_words_come_back_and_used_ones_are_trained(tmp_path: Path, low_model: Path) -> None:
    from safetensors.torch import load_file

    store = Store(tmp_path)
    one, _ = run(store, low_model, "task=mini_cola", "keep=model", "optimizer=adamw", "optimizer.weight_decay=0.01")
    name = "embeddings.word_embeddings.weight"
    before = load_file(low_model / "model.safetensors")[name]
    after = next(t for key, t in load_file(store.folder(one.id) / "model" / "model.safetensors").items() if name in key)
    assert after.shape == before.shape
    ratio = (after / before).median(1).values
    unused = (after / before - ratio[:, None]).abs().amax(1) < 1e-5  # a whole row times one number
    assert 20 < int(unused.sum()) < WORDS - 20
    steps = torch.arange(50, dtype=torch.float64)
    shrunk = torch.prod(1 - 1e-3 * (1 - steps / 50) * 0.01)
    torch.testing.assert_close(ratio[unused].double(), shrunk.expand(int(unused.sum())), rtol=1e-6, atol=0)


def test_no_trial_writes_to_the_words_that_all_trials_begin_with(tmp_path: Path, low_model: Path) -> None:
    from safetensors.torch import load_file

    one, _ = run(Store(tmp_path), low_model, "task=mini_cola", "optimizer=adamw", "optimizer.weight_decay=0.01")
    stored = load_file(low_model / "model.safetensors")["embeddings.word_embeddings.weight"]
    assert torch.equal(encoders.words(one.model_at, one.science.model), stored)


def test_words_that_were_redrawn_do_not_come_back_as_pretrained(tmp_path: Path, low_model: Path) -> None:
    """Neither a row that was trained nor one that no text uses."""
    from safetensors.torch import load_file

    store, name = Store(tmp_path), "embeddings.word_embeddings.weight"
    one, _ = run(store, low_model, "task=mini_cola", "keep=model", "scheme=scratch")
    after = next(t for key, t in load_file(store.folder(one.id) / "model" / "model.safetensors").items() if name in key)
    pretrained = load_file(low_model / "model.safetensors")[name]
    assert not (after == pretrained).all(1).any()


def test_adam_with_decay_in_the_gradient_trims_nothing(low_model: Path) -> None:
    one = trial(f"model.name={low_model}", "optimizer=adam", "optimizer.weight_decay=0.01")
    assert vocabulary.trained_with([], WORDS, one.science.optimizer) == list(range(WORDS))


def test_a_gpu_would_be_asked_for_the_same_attention() -> None:
    """Off the CPU torch's own kernel is called; here it gives what the plain way gives."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 5, 6).unbind(0)
    bias = torch.zeros(2, 1, 1, 5).masked_fill_(torch.arange(5) > 3, -torch.inf).expand(-1, 4, -1, -1)
    plain = packing._mixture(query, key, value, bias, torch.nn.Dropout(0.0))
    kernel = torch.nn.functional.scaled_dot_product_attention(query, key, value, bias.expand(-1, -1, 5, -1))
    torch.testing.assert_close(plain, kernel)


@pytest.mark.parametrize("width", [1, 5, 15, 16, 20])
def test_short_rows_have_the_softmax_of_long_ones(width: int) -> None:
    """Values and gradients, with padding hidden, against the definition in double precision."""
    torch.manual_seed(0)
    scores = torch.randn(3, 4, width)
    scores[0, :, (width + 1) // 2 :] = -torch.inf
    scores.requires_grad_()
    factors = torch.randn(3, 4, width)
    exponents = scores.detach().double().exp()
    expected = exponents / exponents.sum(-1, keepdim=True)
    slope = expected * (factors - (expected * factors).sum(-1, keepdim=True))
    weights = packing._softmax(scores)
    (weights * factors).sum().backward()
    torch.testing.assert_close(weights.double(), expected, rtol=1e-6, atol=1e-7)
    assert scores.grad is not None
    torch.testing.assert_close(scores.grad.double(), slope, rtol=1e-5, atol=1e-6)
