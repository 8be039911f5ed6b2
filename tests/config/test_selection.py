"""Typed words select among an experiment's grids."""

import pytest

from bertxfer.config.grids import Axes
from bertxfer.config.selection import select
from bertxfer.trials import schemes

assert schemes  # whose axes are known by name


def grid(**axes: str) -> Axes:
    """`task="a b"` as the words task=a and task=b; a double underscore is a dot."""
    keys = {key.replace("__", "."): values.split() for key, values in axes.items()}
    return {key: [f"{key}={value}" for value in values] for key, values in keys.items()}


FIG2 = [
    grid(task="sst2 qnli cola", k="0 6 12", data__n="500", training__epochs="5", seed="0 1 2 3"),
    grid(task="sst2 qnli cola", k="0 6 12", data__n="5000", training__epochs="3", seed="0 1"),
    grid(task="sst2 qnli", k="0 6 12", data__n="50000", training__epochs="3", seed="0 1"),
]


def test_a_value_selects_the_grids_that_have_it_with_all_that_they_say() -> None:
    chosen = select(grid(task="cola", data__n="500"), FIG2)
    assert chosen.grids == [grid(task="cola", k="0 6 12", data__n="500", training__epochs="5", seed="0 1 2 3")]
    assert not chosen.replaced


def test_several_values_select_each_its_own() -> None:
    chosen = select(grid(data__n="500 5000", task="qnli"), FIG2)
    assert chosen.grids == [{**FIG2[0], **grid(task="qnli")}, {**FIG2[1], **grid(task="qnli")}]


def test_points_of_an_axis_are_selected() -> None:
    chosen = select(grid(k="0 12", seed="0 1"), FIG2)
    assert chosen.grids == [{**one, **grid(k="0 12", seed="0 1")} for one in FIG2]
    assert not chosen.replaced


def test_a_value_that_no_grid_has_replaces_what_they_say_and_that_is_told() -> None:
    chosen = select(grid(data__n="100"), FIG2)
    assert [one["data.n"] for one in chosen.grids] == [["data.n=100"]] * 3
    assert chosen.replaced == {"data.n": ["data.n=100"]}


def test_seeds_beyond_those_of_the_grids_are_added_to_all() -> None:
    chosen = select(grid(seed="0 1 2 3 4"), FIG2[:1])
    assert chosen.grids == [{**FIG2[0], **grid(seed="0 1 2 3 4")}]
    assert chosen.replaced == {"seed": ["seed=4"]}


def test_a_combination_that_no_grid_has_replaces_what_was_typed_later() -> None:
    chosen = select(grid(task="cola", data__n="50000"), FIG2)
    assert {one["task"][0] for one in chosen.grids} == {"task=cola"}
    assert chosen.replaced == {"data.n": ["data.n=50000"]}


def test_an_axis_applies_where_it_is() -> None:
    mini = [grid(scheme="incremental", k="12 6 0", seed="0"), grid(scheme="permutation scratch", seed="0")]
    assert select(grid(k="3"), mini).grids == [{**mini[0], **grid(k="3")}, mini[1]]
    assert select(grid(k="6"), mini).grids == [{**mini[0], **grid(k="6")}]


def test_what_no_grid_fixes_is_added_to_all() -> None:
    chosen = select(grid(optimizer__lr="1e-4 1e-5", task="sst2"), FIG2)
    assert chosen.grids == [{**one, **grid(task="sst2", optimizer__lr="1e-4 1e-5")} for one in FIG2]


@pytest.mark.parametrize("typed", [{}, grid(model="mini")])
def test_nothing_typed_of_the_grids_leaves_them(typed: Axes) -> None:
    assert select(typed, FIG2).grids == [{**one, **typed} for one in FIG2]
