"""Models that were kept, loaded again by transformers alone, say what the trial said."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoModel,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    RobertaConfig,
    RobertaModel,
)

from bertxfer.store.store import Store
from bertxfer.tasks import source_of
from bertxfer.trials.trial import Trial
from tests.helpers.commands import tiny_words
from tests.helpers.configs import TASKS
from tests.helpers.models import saved
from tests.helpers.running import drained, result, trial


@pytest.fixture(scope="session")
def roberta_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = {"hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 12, "intermediate_size": 32}
    model_config = RobertaConfig(vocab_size=1200, max_position_embeddings=130, type_vocab_size=1, **shape)
    return saved(RobertaModel, model_config, tmp_path_factory.mktemp("roberta") / "roberta")


def kept(store: Store, one: Trial) -> tuple[Path, list[str], torch.Tensor]:
    """The folder of the model, three dev texts, and what the trial said of them."""
    drained(store, one)
    result(store, one)
    columns = pq.read_table(store.folder(one.id) / "predictions.parquet").to_pydict()
    texts = [row[0] for row in source_of(one.science.task, one.data_at).rows("dev", [0, 1, 2]).texts]
    said = torch.tensor([[columns[f"logit_{i}"][row] for i in range(2)] for row in range(3)])
    return store.folder(one.id) / "model", texts, said


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_classifier_is_loaded_whole(family: str, shallow_model: Path, roberta_model: Path, tmp_path: Path) -> None:
    model_at = shallow_model if family == "bert" else roberta_model
    words = ["scheme=single", "layer=1", "model.pooling=cls", "keep=model", "task=mini_cola"]
    folder, texts, said = kept(Store(tmp_path), trial(*tiny_words(model_at), *words))
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = [tokenizer(text, return_tensors="pt") for text in texts]
    if family == "roberta":
        inputs = [{name: tensor for name, tensor in one.items() if name != "token_type_ids"} for one in inputs]
    with torch.no_grad():
        logits = torch.cat([model(**one).logits for one in inputs])
    torch.testing.assert_close(logits, said, atol=1e-5, rtol=1e-4)
    assert model.config.id2label == {0: "unacceptable", 1: "acceptable"}
    card = (folder / "README.md").read_text()
    assert "layer 1 reinitialized" in card
    assert "ForSequenceClassification" in card


def test_a_head_that_transformers_does_not_have_lies_beside_the_encoder(shallow_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(shallow_model), "model.pooling=mean", "keep=model"]
    folder, texts, said = kept(Store(tmp_path), trial(*words))
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    head = load_file(folder / "head.safetensors")
    with torch.no_grad():
        means = torch.cat([model(**tokenizer(t, return_tensors="pt")).last_hidden_state.mean(1) for t in texts])
    logits = means @ head["classifier.weight"].T + head["classifier.bias"]
    torch.testing.assert_close(logits, said, atol=1e-5, rtol=1e-4)


def test_a_span_model_is_loaded_whole(shallow_model: Path, tmp_path: Path) -> None:
    from bertxfer.learning import heads, kept_model, start

    one = trial(*tiny_words(shallow_model, *TASKS["span"]))
    model = heads.HeadedModel(start.pretrained(one), one.science).eval()
    kept_model.write(one, model, tmp_path / "model")
    loaded = AutoModelForQuestionAnswering.from_pretrained(tmp_path / "model").eval()
    batch = {"input_ids": torch.tensor([[2, 5, 6, 3]]), "attention_mask": torch.ones(1, 4, dtype=torch.long)}
    with torch.no_grad():
        found = loaded(**batch)
        starts_and_ends = torch.stack([found.start_logits, found.end_logits], -1)
        torch.testing.assert_close(starts_and_ends, model(batch))
    assert not list(tmp_path.glob(".*"))
