"""Pairs: trials that agree in every stream of randomness that both draw from, and no others."""

import dataclasses
import itertools
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.errors import BertxferError
from bertxfer.report.frame import frame
from bertxfer.report.pairs import pairs
from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from bertxfer.trials.science import Science
from tests.helpers.stored import point


def matched(one: Science, other: Science) -> bool:
    return all(one.seeds[stream] == other.seeds[stream] for stream in one.seeds.keys() & other.seeds.keys())


def test_a_table_has_the_pairs_that_the_configs_have(tmp_path: Path) -> None:
    """Baselines and reinitialized layers, whole and sampled data, with every mixture of three seeds."""
    places = [place for words in (["k=12"], ["k=6"], ["k=6", "data.n=all"]) for place in _reseeded(*words)]
    table = frame(places, Store(tmp_path))
    groups = [table[table["group"] == group] for group in table["group"].unique()]
    assert len(groups) == 3
    sciences = {place.trial.id: place.trial.science for place in places}
    for some, others in itertools.permutations(groups, 2):
        expected = {(a, b) for a in some["id"] for b in others["id"] if matched(sciences[a], sciences[b])}
        assert {(some["id"].iloc[i], others["id"].iloc[j]) for i, j in pairs(some, others)} == expected
        assert expected


def _reseeded(*words: str) -> list[Point]:
    science = point("scheme=incremental", *words).trial.science
    found = {}
    for seeds in itertools.product((0, 1), repeat=3):
        own = {**science.seeds, **dict(zip(("order", "redraw", "subsample"), seeds, strict=True))}
        other = dataclasses.replace(science, seeds={name: own[name] for name in science.seeds})
        trial = dataclasses.replace(point("scheme=incremental", *words).trial, id=other.id, science=other)
        found[other.id] = Point({}, trial)
    return list(found.values())


def test_a_trial_whose_partners_are_unlike_has_none() -> None:
    some = pd.DataFrame({"id": ["a"], "group": ["g"], "seeds.order": [0]})
    others = pd.DataFrame({"id": ["b", "c"], "group": ["h", "i"], "seeds.order": [0, 0]})
    assert pairs(some, others) == []
    assert pairs(some, others.assign(group="h", **{"seeds.redraw": [0, 1]})) == [(0, 0), (0, 1)]


def test_rows_that_were_seen_must_be_the_same_where_both_are_known() -> None:
    some = pd.DataFrame({"id": ["a"], "seeds.order": [0], "data_digest": ["x"]})
    other = pd.DataFrame({"id": ["b"], "seeds.order": [0], "data_digest": ["y"]})
    assert pairs(some, other) == []
    assert pairs(some, other.assign(data_digest=None)) == pairs(some, other.assign(data_digest="x")) == [(0, 0)]


def test_trials_that_nothing_tells_apart_are_refused() -> None:
    twins = pd.DataFrame({"id": ["a", "b"], "group": "g", "seeds.order": 0})
    with pytest.raises(BertxferError, match="trials a, b: they have the same seeds"):
        pairs(twins, twins.head(1))
