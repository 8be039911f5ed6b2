"""Packing and trimming change no number: losses of fifty steps, the scores after, and what dropout does on average."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from pyarrow import parquet
from safetensors.torch import load_file

from bertxfer.learning import encoders, heads, packing, vocabulary
from bertxfer.store.store import Store
from bertxfer.trials.families import FAMILIES
from bertxfer.trials.trial import Trial
from tests.helpers.configs import TASKS
from tests.helpers.families import WORDS, loud, small
from tests.helpers.officialdata import write_official
from tests.helpers.running import drained, result, trial

FIFTY_STEPS = ("data.n=80", "training.batch_size=8", "training.epochs=5", "data.dev_n=40", "optimizer.lr=1e-3")


@pytest.fixture(scope="module", params=FAMILIES)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return loud(small(request.param, tmp_path_factory.mktemp("models"), layers=3, heads=4, width=24))


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_official(tmp_path_factory.mktemp("official"))


def run(store: Store, model: Path, *words: str) -> tuple[Trial, list[float]]:
    one = trial(f"model.name={model}", "runtime.device=cpu", *FIFTY_STEPS, *words)
    drained(store, one)
    rows = map(json.loads, (store.folder(one.id) / "history.jsonl").read_text().splitlines())
    return one, [row["loss"] for row in rows if "loss" in row]


SQUAD = "task=squad2 task.span.question_length=20 data.n=60 training.batch_size=6 data.max_length=64 data.stride=16"


@pytest.mark.parametrize(
    "what", ["task=mini_qnli model.pooling=cls", "task=mini_qnli model.pooling=mean", "task=stsb data.n=50", SQUAD]
)
def test_packed_is_padded_in_every_family(model: Path, what: str, official: Path, tmp_path: Path) -> None:
    """Classes, scores and spans: the losses of all steps, and what is said of every dev row after them."""
    words = ("model.dropout=0", f"data.root={official}", *what.split())
    words = (*words, "training.batch_size=5") if "stsb" in what else words
    store = Store(tmp_path)
    packed, losses = run(store, model, *words)
    padded, other_losses = run(store, model, *words, "training.packed=false")
    assert packed.id != padded.id
    assert len(losses) == len(other_losses) == 50
    assert losses == pytest.approx(other_losses, abs=1e-5)
    assert len(set(losses)) > 40  # it was trained, not only looked at
    said, other_said = (_outputs(store, one) for one in (packed, padded))
    assert len(said) >= 40 and len(set(said)) > 20
    assert said == pytest.approx(other_said, abs=1e-4)
    metrics, others = (_without_ranks(result(store, one)["metrics"]) for one in (packed, padded))
    assert metrics and metrics == pytest.approx(others, abs=1e-4)


def _without_ranks(metrics: dict[str, float]) -> dict[str, float]:
    """Outputs that agree to four digits with their neighbours may change places, and on some processors they do."""
    return {name: value for name, value in metrics.items() if "spearman" not in name}


def _outputs(store: Store, one: Trial) -> list[float]:
    """The numbers that the model gave for the dev rows, before a class or an answer is chosen."""
    table = parquet.read_table(store.folder(one.id) / "predictions.parquet")
    columns = table.to_pydict()
    if one.science.task.kind == "regression":
        return list(columns["prediction"])
    # What both have in common changes no loss and no answer, and drifts with the last bits of gradients.
    high, low = {"classification": ("logit_1", "logit_0"), "span": ("best_score", "null_score")}[one.science.task.kind]
    return [a - b for a, b in zip(columns[high], columns[low], strict=True)]


def test_a_span_is_found_in_packed_rows(model: Path) -> None:
    """The logits of starts and ends, a row a passage, with nothing to be found in the padding."""
    one = trial(f"model.name={model}", "model.dropout=0", *TASKS["span"])
    span = heads.HeadedModel(encoders.load(one.model_at, one.science.model), one.science)
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


@pytest.mark.parametrize("kind", ["attention_dropout", "output_dropout", "dropout"])
def test_dropout_does_the_same_on_average(model: Path, kind: str) -> None:
    """Of each kind inside layers, alone: mean and spread over many masks agree within what chance allows (z below 5 in
    every output)."""
    one = trial(f"model.name={model}", "model.dropout=0", "model.pooling=cls")
    torch.manual_seed(0)
    encoder = encoders.load(one.model_at, one.science.model)
    left_on = [getattr(layer, kind) for layer in packing.layers_of(encoder)]
    for module in filter(None, left_on):
        module.p = 0.3
    trained = heads.HeadedModel(encoder, one.science).train()
    times = 6000
    rows = [[2, 9, 8, 3], [2, 7, 9, 11, 13, 3]] * times
    longest = 6
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    with torch.no_grad():
        packed = trained(packing.pack(rows, None)).view(times, 4)
        padded = trained({"input_ids": ids, "attention_mask": (ids != 0).long()}).view(times, 4)
    if None in left_on:  # DistilBERT has none behind its attention
        assert one.science.model.family == "distilbert" and packed.std(0).max() < 1e-5
        return
    error = (packed.var(0) / times + padded.var(0) / times).sqrt()
    assert ((packed.mean(0) - padded.mean(0)).abs() < 5 * error).all()
    assert packed.std(0).min() > 1e-3
    torch.testing.assert_close(packed.std(0), padded.std(0), rtol=0.08, atol=0)


ADAMW = "optimizer=adamw optimizer.weight_decay=0.1"


@pytest.mark.parametrize(
    "how",
    [
        "optimizer=adam",
        ADAMW,
        f"{ADAMW} training.stop=dev_score training.patience=1",  # ends before the last step that was planned
        f"{ADAMW} scheme=scratch reinit_lr_factor=5",  # the words have a learning rate of their own
        # Two tasks, each with words and steps of its own.
        f"{ADAMW} training.warmup=0.2 training.epochs=3 intermediate_mode=interleave "
        "intermediate=[{task:mini_sst2,data:{n:53}}]",
    ],
)
def test_trimming_is_exact_to_the_bit(model: Path, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With dropout and weight decay: the losses of all steps and the scores; with Adam every weight at the end. Without
    clipping, whose norm has other last bits when rows of zeros are among its summands."""
    words = ("task=mini_cola", "model.dropout=0.1", "keep=model", "training.clip=null", *how.split())
    one, losses = run(Store(tmp_path / "trimmed"), model, *words)
    trimmed = result(Store(tmp_path / "trimmed"), one)
    monkeypatch.setattr(vocabulary, "trained_with", _everything)
    _, whole_losses = run(Store(tmp_path / "whole"), model, *words)
    whole = result(Store(tmp_path / "whole"), one)
    assert losses == whole_losses
    assert trimmed["metrics"] == whole["metrics"]
    assert (trimmed["steps"] < 50) == ("stop" in how)
    assert len(losses) == trimmed["steps"]
    if "adamw" not in how:  # the factor of unused rows is applied once instead of fifty times
        assert trimmed["weights_digest"] == whole["weights_digest"]
    embeddings = [_words(Store(tmp_path / which).folder(one.id) / "model") for which in ("trimmed", "whole")]
    torch.testing.assert_close(*embeddings, rtol=1e-5, atol=0)


def _everything(data: object, words: int, optimizer: object) -> list[int]:
    return list(range(words))


def test_trimming_with_clipping_is_exact_but_for_rounding(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("task=mini_cola", "model.dropout=0.1", "training.clip=0.1")
    one, losses = run(Store(tmp_path / "trimmed"), model, *words)
    monkeypatch.setattr(vocabulary, "trained_with", _everything)
    _, whole_losses = run(Store(tmp_path / "whole"), model, *words)
    assert losses == pytest.approx(whole_losses, abs=1e-5) and len(losses) == 50
    trimmed, whole = (result(Store(tmp_path / which), one) for which in ("trimmed", "whole"))
    assert trimmed["metrics"] == whole["metrics"]


def _words(folder: Path) -> torch.Tensor:
    tensors = load_file(folder / "model.safetensors")
    return next(tensor for name, tensor in tensors.items() if name.endswith("word_embeddings.weight"))


@pytest.mark.parametrize("padding", [9, 300])
def test_a_model_may_pad_with_another_word_than_its_tokenizer(
    padding: int, tmp_path: Path, low_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row that it does not train is the same with and without trimming."""
    folder = tmp_path / "model"
    shutil.copytree(low_model, folder)
    told = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**told, "pad_token_id": padding}))
    _, losses = run(Store(tmp_path / "trimmed"), folder, "task=mini_cola", "training.clip=null")
    monkeypatch.setattr(vocabulary, "trained_with", _everything)
    _, whole_losses = run(Store(tmp_path / "whole"), folder, "task=mini_cola", "training.clip=null")
    assert losses == whole_losses and len(losses) == 50


def test_unused_words_come_back_and_used_ones_are_trained(tmp_path: Path, low_model: Path) -> None:
    store = Store(tmp_path)
    one, _ = run(store, low_model, "task=mini_cola", "keep=model", "optimizer=adamw", "optimizer.weight_decay=0.01")
    before, after = _words(low_model), _words(store.folder(one.id) / "model")
    assert after.shape == before.shape
    ratio = (after / before).median(1).values
    unused = (after / before - ratio[:, None]).abs().amax(1) < 1e-5  # a whole row times one number
    assert 20 < int(unused.sum()) < WORDS - 20
    steps = torch.arange(50, dtype=torch.float64)
    shrunk = torch.prod(1 - 1e-3 * (1 - steps / 50) * 0.01)
    torch.testing.assert_close(ratio[unused].double(), shrunk.expand(int(unused.sum())), rtol=1e-6, atol=0)


def test_no_trial_writes_to_the_words_that_all_trials_begin_with(tmp_path: Path, low_model: Path) -> None:
    one, _ = run(Store(tmp_path), low_model, "task=mini_cola", "optimizer=adamw", "optimizer.weight_decay=0.01")
    assert torch.equal(encoders.words(one.model_at, one.science.model), _words(low_model))


def test_words_that_were_redrawn_do_not_come_back_as_pretrained(tmp_path: Path, low_model: Path) -> None:
    """Neither a row that was trained nor one that no text uses."""
    store = Store(tmp_path)
    one, _ = run(store, low_model, "task=mini_cola", "keep=model", "scheme=scratch")
    assert not (_words(store.folder(one.id) / "model") == _words(low_model)).all(1).any()


def test_adam_with_decay_in_the_gradient_trims_nothing(low_model: Path) -> None:
    one = trial(f"model.name={low_model}", "optimizer=adam", "optimizer.weight_decay=0.01")
    assert vocabulary.trained_with([], WORDS, one.science.optimizer) == list(range(WORDS))


@pytest.mark.parametrize("read", [1, 5])  # first tokens alone, or all
def test_what_a_gpu_is_asked_for_is_the_same_attention(read: int) -> None:
    """Off the CPU torch's own kernel is called. Here it gives what the plain way gives, with dropout on average."""
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 5, 6).unbind(0)
    query = query[:, :, :read]
    bias = torch.zeros(2, 1, 1, 5).masked_fill_(torch.arange(5) > 3, -torch.inf).expand(-1, 4, -1, -1)
    without, often = torch.nn.Dropout(0.3).eval(), torch.nn.Dropout(0.3).train()
    plain = packing._mixture(query, key, value, bias, without)
    torch.testing.assert_close(packing._kernel(query, key, value, bias, without), plain)
    many = torch.stack([packing._kernel(query, key, value, bias, often) for _ in range(4000)])
    others = torch.stack([packing._mixture(query, key, value, bias, often) for _ in range(4000)])
    assert ((many.mean(0) - plain).abs() < 5 * many.std(0) / 4000**0.5).all()
    torch.testing.assert_close(many.std(0), others.std(0), rtol=0.1, atol=1e-3)


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
