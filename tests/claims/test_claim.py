"""A claim as it is written in an experiment's file, and what is wrong with one that is not written well."""

from typing import Any

import pytest
import yaml

from bertxfer.claims.claim import CORRELATION, POINTS, Claim, claims_of
from bertxfer.claims.verdict import LESS, MORE, NOT_MORE, SAME
from bertxfer.errors import ConfigError


def claim(text: str) -> Claim:
    (found,) = claims_of({"mine": {"says": "so it is", **yaml.safe_load(text)}})
    return found


@pytest.mark.parametrize(
    ("text", "kind", "wants", "margin"),
    [
        ("{more: {k: 6}, than: {k: 0}}", "difference", MORE, POINTS),
        ("{less: {k: 6}, than: 50}", "difference", LESS, POINTS),
        ("{same: {k: 6}, as: {k: 0}, margin: 2}", "difference", SAME, 2.0),
        ("{more: {k: 6}, than: {k: 0}, margin: 0}", "difference", MORE, 0.0),
        ("{not_more: {k: 6}, than: {k: 0}}", "difference", NOT_MORE, POINTS),
        ("{rises: k}", "rank", MORE, CORRELATION),
        ("{falls: probe.removed}", "rank", LESS, CORRELATION),
        ("{largest: {layer: [11, 12]}}", "extreme", MORE, POINTS),
        ("{smallest: {layer: L}, metric: attention.similarity}", "extreme", LESS, 0.0),
        ("{correlated: {task: [sst2, qnli]}}", "concordant", MORE, CORRELATION),
        ("{correlated: {task: [sst2, qnli]}, along: k}", "alike", MORE, CORRELATION),
    ],
)
def test_each_kind_of_claim(text: str, kind: str, wants: str, margin: float) -> None:
    found = claim(text)
    assert (found.kind, found.wants, found.margin) == (kind, wants, margin)


def test_what_a_claim_names_is_not_asked_for_each_value() -> None:
    found = claim("{more: {k: 6, data.n: 5000, minus: {k: 0}}, than: {k: 6, data.n: 500, minus: {k: 0}}, over: seed}")
    assert found.named == {"k", "data.n", "seed"}
    assert [(side.where, side.minus) for side in found.sides] == [
        ({"k": 6, "data.n": 5000}, {"k": 0, "data.n": 5000}),
        ({"k": 6, "data.n": 500}, {"k": 0, "data.n": 500}),
    ]


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("{more: {k: 6}}", "claims.mine.than", "is missing"),
        ("{same: {k: 6}, than: {k: 0}}", "claims.mine.as", "is missing"),
        ("{more: {k: 6}, as: {k: 0}, than: {k: 0}}", "claims.mine.as", "does not go with `more`"),
        ("{more: {k: 6}, less: {k: 0}, than: {k: 0}}", "claims.mine", "more and less"),
        ("{where: {k: 6}}", "claims.mine", "here it states none"),
        ("{rises: {k: 0}}", "claims.mine.rises", "is the name of an axis"),
        ("{rises: k, than: 3}", "claims.mine.than", "does not go with `rises`"),
        ("{largest: {k: 0, layer: 1}}", "claims.mine.largest", "is one axis"),
        ("{largest: {k: 0}, along: layer}", "claims.mine.along", "does not go with `largest`"),
        ("{correlated: {task: [a, b, c]}}", "claims.mine.correlated.task", "two values"),
        ("{more: [k], than: {k: 0}}", "claims.mine.more", "is not a mapping"),
        ("{more: {k: 6}, than: {k: 0}, margin: -1}", "claims.mine.margin", "-1 is not a number from 0"),
        ("{more: {k: 6}, than: {k: 0}, margin: .nan}", "claims.mine.margin", "nan is not a number from 0"),
        ("{more: {k: 6}, than: {k: 0}, margin: true}", "claims.mine.margin", "True is not a number"),
        ("{same: {k: 6}, as: {k: 0}, margin: 0}", "claims.mine.margin", "give what matters"),
        ("{same: {k: 6}, as: {k: 0}, metric: weights.distance}", "claims.mine.margin", "is needed"),
        ("{more: {k: 6}, then: {k: 0}}", "claims.mine.then", "there is no such key"),
        ("{rises: k, over: {k: 0}}", "claims.mine.over", "is the name of an axis"),
        ("{rises: k, where: k}", "claims.mine.where", "is not a mapping"),
        ("{rises: k, says: 3}", "claims.mine.says", "is the sentence"),
        ("{rises: k, metric: null}", "claims.mine.metric", "None is not a text"),
        ("{rises: k, published: [1, 2]}", "claims.mine.published", "[1, 2] is not a text"),
        ("{correlated: {task: [a, a]}}", "claims.mine.correlated.task", "with itself"),
        ("{correlated: {task: [a, b]}, along: [k]}", "claims.mine.along", "is the name of an axis"),
        ("{more: {}, than: {k: 0}}", "claims.mine.more", "names no place"),
        ("{more: {k: 6, minus: null}, than: {k: 0}}", "claims.mine.more.minus", "is not a mapping"),
        ("{more: {k: 6}, than: .inf}", "claims.mine.than", "inf is not a number"),
    ],
)
def test_what_is_wrong_is_named(text: str, key: str, reason: str) -> None:
    with pytest.raises(ConfigError) as told:
        claim(text)
    assert str(told.value).startswith(f"{key}: ") and reason in str(told.value)


@pytest.mark.parametrize("block", [["rises"], "rises", {"mine": "rises"}])
def test_a_block_that_is_no_mapping(block: Any) -> None:
    with pytest.raises(ConfigError, match="is a mapping"):
        claims_of(block)


def test_no_claims() -> None:
    """A null takes one away that an experiment would have from another."""
    assert claims_of(None) == claims_of({}) == claims_of({"mine": None}) == []
