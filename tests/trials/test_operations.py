"""Lists of operations: equal effects are equal ids, and different effects are not."""

import dataclasses
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bertxfer.config.schema import Config
from bertxfer.errors import ConfigError
from bertxfer.trials.families import FAMILIES
from bertxfer.trials.operations import treatment_of
from bertxfer.trials.regions import Anatomy
from bertxfer.trials.schemes import Donor
from bertxfer.trials.treatment import Treatment, describe
from bertxfer.trials.trial import trial_of
from tests.helpers import symbolic
from tests.helpers.configs import composed
from tests.helpers.operations import HEADS, LAYERS, Listed, lists

EMBEDDINGS = (("word", "w"), ("position", "w"), ("type", "w"), ("norm", "n"))


@cache
def config() -> Config:
    return composed("scheme=baseline")


def treatment(listed: Any, family: str = "bert", **changes: Any) -> Treatment:
    anatomy = Anatomy(family, changes.pop("layers", LAYERS), changes.pop("heads", HEADS))
    whole = dataclasses.replace(config(), treatments=listed, **changes)
    return treatment_of(whole, anatomy, "own", lambda name: Donor(name, f"the model {name}", True))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(lists(), lists())
@example([{"transplant": "layer 1", "donor": "other"}, {"permute": [2, 1, 3]}], [{"permute": [2, 1, 3]}])
def test_equal_effects_are_equal_treatments_and_no_others(one: Listed, other: Listed) -> None:
    effects = [symbolic.effect(listed, LAYERS, HEADS, EMBEDDINGS) for listed in (one, other)]
    assert (effects[0] == effects[1]) == (treatment(one) == treatment(other))


def shuffled(draw: Any, listed: Listed) -> Listed:
    """The same list with two neighbours exchanged, one repeated, or one taken out: often the same effect."""
    if not listed:
        return listed
    at = draw(st.integers(0, len(listed) - 1))
    way = draw(st.sampled_from(["exchange", "repeat", "drop"]))
    if way == "repeat" and not {"permute", "delete"} & set(listed[at]):
        return [*listed[: at + 1], *listed[at:]]
    if way == "exchange" and not any({"permute", "delete"} & set(item) for item in listed[at : at + 2]):
        return [*listed[:at], *reversed(listed[at : at + 2]), *listed[at + 2 :]]
    return listed if "delete" in listed[at] else [*listed[:at], *listed[at + 1 :]]


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.data())
def test_order_matters_only_where_it_matters(data: Any) -> None:
    one = data.draw(lists())
    other = shuffled(data.draw, one)
    effects = [symbolic.effect(listed, LAYERS, HEADS, EMBEDDINGS) for listed in (one, other)]
    assert (effects[0] == effects[1]) == (treatment(one) == treatment(other)), other


IDENTITIES: Listed = [
    {"corrupt": "everything", "amount": 0},
    {"average": "layers", "donor": "other", "amount": 0},
    {"permute": [1, 2, 3]},
]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(lists(), st.sampled_from(IDENTITIES), st.integers(0, 5))
def test_what_changes_nothing_changes_no_id(listed: Listed, identity: Mapping[str, Any], at: int) -> None:
    if "permute" in identity and any("delete" in item for item in listed):
        return
    assert treatment([*listed[:at], identity, *listed[at:]]) == treatment(listed)
    assert treatment([{"transplant": "everything", "donor": "own"}, *listed]) == treatment(listed)


def scheme(*words: str) -> Treatment:
    return treatment_of(composed(*words), Anatomy("bert", 12, 12))


def base(listed: Any, **changes: Any) -> Treatment:
    return treatment(listed, layers=12, heads=12, **changes)


@pytest.mark.parametrize(
    ("words", "listed"),
    [
        ("scheme=incremental k=9", [{"reinitialize": "layers 10-12"}]),
        ("scheme=incremental k=9", [{"reinitialize": "layers 10..L"}]),
        ("scheme=incremental k=0", [{"reinitialize": "layers"}]),
        ("scheme=localized block=3 preserve=true", [{"reinitialize": "layers except layers 3-5"}]),
        ("scheme=localized block=3 part=attention", [{"reinitialize": ["layers 3-4 attention", "layer 5 attention"]}]),
        ("scheme=single layer=[7,4]", [{"reinitialize": "layer 7"}, {"reinitialize": "layer 4"}]),
        ("scheme=single layer=4 keep_layernorm=true", [{"reinitialize": "layer 4 except layernorms"}]),
        ("scheme=single layer=4 init=weights", [{"reinitialize": "layer 4 weights"}]),
        ("scheme=head layer=11 head=[1,2]", [{"reinitialize": "layer 11 heads 1-2"}]),
        ("scheme=scratch", [{"reinitialize": "everything"}]),
        ("scheme=scratch", [{"corrupt": "everything", "amount": 0.5}, {"reinitialize": "everything"}]),
        ("scheme=delete layer=[9,10]", [{"delete": "layers 9-10"}]),
        ("scheme=delete layer=[9,10]", [{"delete": 9}, {"delete": 9}]),
        ("scheme=permutation", [{"permute": "drawn"}]),
        (
            "scheme=baseline",
            [{"reinitialize": "layers 1-6"}, {"delete": "layers 1-6"}, {"permute": [1, 2, 3, 4, 5, 6]}],
        ),
    ],
)
def test_a_scheme_is_a_short_name_for_a_list(words: str, listed: Listed) -> None:
    if words == "scheme=baseline":  # reinitialized layers that are deleted leave no trace
        assert base(listed) == scheme("scheme=delete", "layer=[1,2,3,4,5,6]")
    else:
        assert base(listed) == scheme(*words.split())


@pytest.mark.parametrize(
    ("layers", "region", "meant"),
    [
        (12, "layers 1..3L/4", range(1, 10)),
        (6, "layers 1..3L/4", range(1, 5)),  # 4.5 is rounded down
        (12, "layers L/2+1..L", range(7, 13)),
        (12, "layers L/4..L/2-1", range(3, 6)),
        (12, "layers 1-3 + layers L-1..L", [1, 2, 3, 11, 12]),
        (12, "layers 1-3 + layers 2-5 except layers 3-4", [1, 2, 3, 5]),  # a hole is in its own part
    ],
)
def test_regions_count_in_parts_of_the_model_and_are_joined(layers: int, region: str, meant: Iterable[int]) -> None:
    plain = [{"stats": f"layer {layer}"} for layer in meant]
    assert treatment([{"stats": region}], layers=layers) == treatment(plain, layers=layers)


def test_a_head_may_be_taken_out_of_a_region() -> None:
    one, all_of_it = (base([{"stats": words}]) for words in ("layer 3 query except head 3", "layer 3 query"))
    heads = tuple(f"layer 3 head {head} attention.query.{kind}" for head in (1, 2) for kind in ("weight", "bias"))
    assert one != all_of_it and one.operations[0].regions[:4] == heads
    with pytest.raises(ConfigError, match="has nothing in it"):
        base([{"stats": "layer 1 heads 1-2 heads 4"}])


def test_after_a_chain_the_pretrained_weights_are_no_longer_there() -> None:
    words = ["scheme=sequential", "intermediate=[mini_sst2]", "task=mini_cola", "treat_before=last"]
    back = "treatments=[{transplant: layers 1-6, donor: mini}]"
    assert trial_of(composed(*words, back)).id != trial_of(composed(*words)).id
    assert trial_of(composed(*words[:-1], back)).id == trial_of(composed(*words[:-1])).id


def test_what_draws_nothing_has_no_seed_of_draws() -> None:
    seeds = [trial_of(composed("treatments=[{reinitialize: layers biases}]", f"seeds.redraw={n}")).id for n in (7, 8)]
    assert seeds[0] == seeds[1] != trial_of(composed("seeds.redraw=7")).id


def test_a_list_goes_on_where_the_scheme_ends() -> None:
    config = composed("scheme=incremental", "k=10", "treatments=[{reinitialize: pooler}]")
    made = treatment_of(config, Anatomy("bert", 12, 12))
    parts = tuple(f"layer {layer} {part}" for layer in (11, 12) for part in ("attention", "feedforward"))
    assert (made.redrawn, made.operations) == ((*parts, "pooler"), ())


@pytest.mark.parametrize(
    ("listed", "words"),
    [
        ([{"stats": "layers 7-12"}], "layers 7-12 drawn by mean and sd"),
        ([{"corrupt": "everything", "amount": 0.3}], "everything corrupted by 0.3"),
        ([{"corrupt": "layers except layernorms", "amount": 1}], "layers 1-12 except LayerNorm corrupted by 1"),
        ([{"transplant": "layer 3 heads 1-2", "donor": "x"}], "layer 3 heads 1-2 from the model x"),
        ([{"average": "embeddings", "donor": "x", "amount": 0.5}], "embeddings averaged with 0.5 of the model x"),
        ([{"stats": "layers 1-2 weights"}, {"corrupt": "layer 1 query weights", "amount": 0.5}], None),
        ([{"reinitialize": "layers 1-2 biases"}], "layers 1-2 biases reinitialized"),
        (
            [{"reinitialize": ["embeddings", "layers 1-2", "pooler"]}],
            "embeddings and layers 1-2 and pooler reinitialized",
        ),
        ([{"stats": "embeddings word"}], "word embeddings drawn by mean and sd"),
        ([{"reinitialize": "pooler"}], "pooler reinitialized"),  # which has no LayerNorm to keep
    ],
)
def test_words_of_a_table(listed: Listed, words: str | None) -> None:
    said = describe(base(listed), 12)
    expected = "layers 1-2 weights drawn by mean and sd, then layer 1 attention.query.weight corrupted by 0.5"
    assert said == (words or expected)


@pytest.mark.parametrize(
    ("listed", "key", "part"),
    [
        ([{"stats": "layers 1-99"}], "treatments", "layers are 1..12"),
        ([{"stats": "layer L"}, {"delete": "layers 1-11"}, {"stats": "layer 2"}], "treatments", "layers are 1..1"),
        ([{"stats": "the top"}], "treatments", "'the' is not a part"),
        ([{"stats": "layers 1-2 except layers"}], "treatments", "has nothing in it"),
        ([{"stats": "embeddings + layer L+1"}], "treatments", "layers are 1..12"),
        ([{"stats": "layers 1..L/0"}], "treatments", "is not a number of a layer"),
        ([{"stats": ""}], "treatments", "is not a region"),
        ([{"stats": []}], "treatments", "is not a region"),
        ([{"delete": []}], "treatments", "is not a region"),
        ([{"shake": "layers"}], "treatments", "is not one of"),
        ([{"stats": "layers", "amount": 1}], "treatments", "amount does not go with stats"),
        ([{"corrupt": "layers"}], "amount", "is not a number from 0 to 1"),
        ([{"corrupt": "layers", "amount": 1.5}], "amount", "is not a number from 0 to 1"),
        ([{"transplant": "layers"}], "donor", "give donor="),
        ([{"permute": [1, 2]}], "treatments", "each of the layers 1..12 once"),
        ([{"delete": "layers"}], "treatments", "some others are left"),
        ([{"delete": "layer 3 attention"}], "treatments", "whole layers"),
        ([{"reinitialize": "layers", "init": {"sdd": 1}}], "treatments.init", "sdd is not one of"),
    ],
)
def test_refusals_name_the_key_and_what_would_be_right(listed: Listed, key: str, part: str) -> None:
    with pytest.raises(ConfigError) as refused:
        base(listed)
    assert refused.value.key == key and part in str(refused.value)


def test_a_rate_of_their_own_is_refused_for_heads() -> None:
    with pytest.raises(ConfigError, match="larger tensors"):
        base([{"reinitialize": "layer 1 head 1"}], reinit_lr_factor=5.0)
    assert base([{"corrupt": "layers", "amount": 0.5}], reinit_lr_factor=5.0).lr_factor == 1
    assert base([{"stats": "layers"}], reinit_lr_factor=5.0).lr_factor == 5


@pytest.mark.parametrize("family", FAMILIES)
def test_everything_is_what_scratch_reinitializes_in_each_family(family: str) -> None:
    made = treatment([{"reinitialize": "everything"}], family)
    assert made == treatment_of(composed("scheme=scratch"), Anatomy(family, LAYERS, HEADS))
