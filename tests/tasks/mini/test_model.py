from pathlib import Path

import pytest
import transformers

import bertxfer.tasks.mini
from bertxfer.tasks.mini import language, lexicon

FOLDER = Path(bertxfer.tasks.mini.__file__).parent / "model"


def test_encoder_is_whole_and_has_the_shape_of_bert_base() -> None:
    model, info = transformers.AutoModel.from_pretrained(FOLDER, local_files_only=True, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    config = model.config
    assert (config.num_hidden_layers, config.num_attention_heads) == (12, 12)
    assert config.intermediate_size == 4 * config.hidden_size and config.hidden_size % 12 == 0
    assert config.hidden_dropout_prob == config.attention_probs_dropout_prob == 0.1
    assert model.pooler.dense.weight.std() > 0


def test_every_word_is_one_token() -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)
    words = lexicon.vocabulary()
    assert tokenizer.is_fast and tokenizer.model_max_length <= 128
    assert [tokenizer.convert_tokens_to_ids(word) for word in words] == list(range(len(words)))
    for word in words[5:]:
        assert tokenizer.tokenize(word) == [word]


def test_pairs_are_encoded_as_in_pretraining() -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)
    pair = language.example("mini_qnli", "dev", 0)
    assert pair.text_b is not None
    encoded = tokenizer(pair.text_a, pair.text_b)
    tokens = tokenizer.convert_ids_to_tokens(encoded["input_ids"])
    assert tokens == ["[CLS]", *pair.text_a.split(), "[SEP]", *pair.text_b.split(), "[SEP]"]
    assert encoded["token_type_ids"] == [int(i > tokens.index("[SEP]")) for i in range(len(tokens))]


@pytest.mark.parametrize("task", language.TASKS)
def test_examples_fit(task: str) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(FOLDER, local_files_only=True)
    examples = [language.example(task, "dev", i) for i in range(1_000)]
    longest = max(len(f"{e.text_a} {e.text_b or ''}".split()) + 3 for e in examples)
    assert longest <= tokenizer.model_max_length


def test_model_card_says_what_the_model_is_not() -> None:
    card = (FOLDER / "README.md").read_text()
    assert "demonstration model" in card and "say nothing about English" in card
