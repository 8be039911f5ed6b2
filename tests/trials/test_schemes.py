"""Treatments, decided from the words a user types."""

import pytest

from bertxfer.config.checks import check
from bertxfer.errors import ConfigError
from bertxfer.trials.operations import treatment_of
from bertxfer.trials.regions import Anatomy
from bertxfer.trials.treatment import Treatment, describe
from tests.helpers.configs import composed


def treatment(*words: str, layers: int = 12, heads: int = 12) -> Treatment:
    config = composed(*words)
    check(config)
    return treatment_of(config, Anatomy("bert", layers, heads))


def both_parts(*layers: int) -> tuple[str, ...]:
    return tuple(f"layer {layer} {part}" for layer in layers for part in ("attention", "feedforward"))


@pytest.mark.parametrize(
    ("words", "redrawn"),
    [
        ("scheme=baseline", ()),
        ("scheme=incremental k=9", both_parts(10, 11, 12)),
        ("scheme=incremental k=0", both_parts(*range(1, 13))),
        ("scheme=incremental k=12", ()),
        ("scheme=incremental k=11 part=attention", ("layer 12 attention",)),
        ("scheme=localized block=3", both_parts(3, 4, 5)),
        ("scheme=localized block=3 preserve=true", both_parts(1, 2, *range(6, 13))),
        ("scheme=localized block=10", both_parts(10, 11, 12)),
        ("scheme=localized block=1 block_size=0", ()),
        ("scheme=single layer=4", both_parts(4)),
        ("scheme=single layer=[7,4] part=feedforward", ("layer 4 feedforward", "layer 7 feedforward")),
        ("scheme=head layer=11 head=4", ("layer 11 head 4",)),
        (
            "scheme=head layer=[1,2] head=[3,12]",
            ("layer 1 head 3", "layer 1 head 12", "layer 2 head 3", "layer 2 head 12"),
        ),
        ("scheme=scratch", ("embeddings", *both_parts(*range(1, 13)), "pooler")),
    ],
)
def test_what_is_redrawn(words: str, redrawn: tuple[str, ...]) -> None:
    made = treatment(*words.split())
    assert made.redrawn == redrawn
    assert made.order == ()
    assert (made.initializer is None) == (redrawn == ())


def test_same_permutation_for_every_task_and_another_for_every_seed() -> None:
    orders = [treatment("scheme=permutation", f"task={task}", "seed=3").order for task in ("mini_sst2", "mini_cola")]
    assert orders[0] == orders[1]
    assert sorted(orders[0]) == list(range(1, 13))
    assert treatment("scheme=permutation", "seed=4").order != orders[0]
    assert treatment("scheme=permutation", "seed=4", "permutation_seed=3").order == orders[0]


def test_all_heads_of_a_layer_are_all_its_heads() -> None:
    made = treatment("scheme=head", "layer=[11,12]", "head=[1,2,3,4,5,6,7,8,9,10,11,12]")
    assert made.redrawn == tuple(f"layer {layer} head {head}" for layer in (11, 12) for head in range(1, 13))
    assert made.initializer == treatment("scheme=head", "layer=1", "head=1").initializer
    assert made.operations == ()


def test_explicit_order() -> None:
    swapped = "2,1,3,4,5,6,7,8,9,10,11,12"
    assert treatment("scheme=permutation", f"order=[{swapped}]").order == tuple(map(int, swapped.split(",")))
    assert treatment("scheme=permutation", "order=[1,2,3]", layers=3) == Treatment()


def test_options_of_what_is_not_redrawn_do_not_matter() -> None:
    plain = treatment("scheme=baseline")
    assert treatment("scheme=baseline", "init=normal", "keep_layernorm=true", "reinit_lr_factor=5") == plain
    kept = treatment("scheme=head", "layer=1", "head=1", "keep_layernorm=true")
    assert kept == treatment("scheme=head", "layer=1", "head=1")  # a head has no LayerNorm


def test_deleted_layers_close_ranks() -> None:
    assert treatment("scheme=delete", "layer=[9,10,11]").order == (1, 2, 3, 4, 5, 6, 7, 8, 12)
    assert treatment("scheme=delete", "layer=2", layers=3).order == (1, 3)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("scheme=incremental k=-1", "k"),
        ("scheme=incremental block=3", "block"),
        ("scheme=single layer=0", "layer"),
        ("scheme=single layer=1.5", "layer"),
        ("scheme=single layer=[]", "layer"),
        ("scheme=delete layer=[]", "layer"),
        ("scheme=delete layer=13", "layer"),
        ("scheme=delete layer=[1,2,3,4,5,6,7,8,9,10,11,12]", "layer"),
        ("scheme=delete layer=3 part=attention", "part"),
        ("scheme=head layer=13 head=1", "layer"),
        ("scheme=permutation order=[1,1,2,3,4,5,6,7,8,9,10,11]", "order"),
        ("scheme=permutation order=[2,1,3,4,5,6,7,8,9,10,11,12] permutation_seed=1", "order"),
        ("scheme=localized block=2 block_size=12", "block"),
        ("scheme=localized block=2 block_size=13", "block_size"),
        ("scheme=localized block=2 preserve=null", "preserve"),
        ("scheme=scratch part=attention", "part"),
        ("scheme=single layer=1 part=half", "part"),
        ("scheme=head layer=1 head=1 reinit_lr_factor=5", "reinit_lr_factor"),
        ("scheme=single layer=1 reinit_lr_factor=0", "reinit_lr_factor"),
        ("scheme=single layer=1 init.sd=0", "init.sd"),
        ("scheme=single layer=1 init.distribution=uniform", "init.distribution"),
    ],
)
def test_refused(words: str, key: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        treatment(*words.split())
    assert refusal.value.key == key


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("scheme=baseline", "as pretrained"),
        ("scheme=incremental k=6", "layers 7-12 reinitialized"),
        ("scheme=single layer=4", "layer 4 reinitialized"),
        ("scheme=localized block=2 preserve=true", "layers 1,5-12 reinitialized"),
        ("scheme=head layer=[1,2] head=[3,4]", "layers 1-2 heads 3-4 reinitialized"),
        (
            "scheme=incremental k=10 part=attention keep_layernorm=true",
            "layers 11-12 attention reinitialized, LayerNorm kept",
        ),
        ("scheme=scratch init=normal", "everything reinitialized, normal sd=0.02"),
        ("scheme=single layer=1 reinit_lr_factor=5", "layer 1 reinitialized, lr x5"),
        (
            "scheme=single layer=1 init=paper_code",
            "layer 1 reinitialized, truncated normal sd=0.02 cut=0.04, biases kept",
        ),
        ("scheme=single layer=1 init=weights", "layer 1 reinitialized, biases kept, LayerNorm kept"),
        ("scheme=delete layer=[9,10,11]", "only layers 1-8,12 left, the others deleted"),
        ("scheme=delete layer=[11,12]", "only layers 1-10 left, the others deleted"),
    ],
)
def test_description(words: str, text: str) -> None:
    assert describe(treatment(*words.split()), 12) == text
