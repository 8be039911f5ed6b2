"""How much of the variance of a score each stream of randomness is behind."""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bertxfer.report import cells as printed
from bertxfer.report import comparisons, statistics, variance
from bertxfer.report import frame as frames
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.stars import STREAMS, Star, drawn_from, stars
from bertxfer.report.tables.table import WORDS, Table, sentences
from bertxfer.store.store import Store

Array = NDArray[Any]
_TITLE = "Where the variance of a score comes from"
_NUMBERS = ("stream", "unused", "incomplete", *variance.Component.__dataclass_fields__, "words")
_EXPLAINED = (
    "A stream's share is of the variance that involves it, alone or together with others: what streams do together "
    "counts for each of them, so the shares need not sum to 100%. Alone: what it does by itself. Each interval is for "
    "one number, without a correction for many, and too short where only few runs collapse. Shares that "
    "chance puts below 0% or above 100% are shown as that"
)


def components(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """A row for each place and each stream that its trials draw from and that is another one in some of them."""
    table, by = comparisons.places(select(frames.measured(results, figure.y), figure.where), figure)
    rows: list[dict[str, Any]] = []
    without: set[str] = set()
    held: set[str] = set()
    for key, group in statistics.groups(table.drop_duplicates([*by, "id"]), by):
        drawn, found = drawn_from(group), stars(group)
        swept = [stream for stream in drawn if any(stream in star.changed for star in found)]
        without |= set(STREAMS) - set(drawn)
        held |= set(drawn) - set(swept)
        unused = len(group) - sum(1 + len(star.changed) + (star.other is not None) for star in found)
        for stream in swept:
            rows.append({**key, "stream": stream, "unused": unused, **_row(group, found, stream)})
    data = pd.DataFrame(rows, columns=[*by, *_NUMBERS])
    return Table("components", _TITLE, _cells(data, by), data, _note(data, by, without, held))


def _row(group: pd.DataFrame, found: list[Star], stream: str) -> dict[str, Any]:
    scores = group["y"].where(group["state"] == "done").to_numpy(dtype=float)
    having = [star for star in found if stream in star.changed]
    others = [math.nan if star.other is None else scores[star.other] for star in having]
    rounds = np.array([scores[[s.base for s in having]], scores[[s.changed[stream] for s in having]], others])
    whole = rounds[:, ~np.isnan(rounds[:2]).any(axis=0)]
    one = variance.component(*whole)
    incomplete = len(having) - whole.shape[1]
    return {"incomplete": incomplete, **vars(one), "words": variance.in_words(one, stream)}


def _cells(data: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in by})
    cells["stream"] = data["stream"]
    cells["sd x100, all streams"] = [printed.fixed(100 * math.sqrt(value), 2) for value in data["variance"]]
    cells["sd x100, this one"] = [printed.fixed(100 * math.sqrt(value), 2) for value in data["effect"]]
    for name, column in (("share (%)", "total"), ("alone (%)", "alone")):
        ends = zip(data[f"{column}_low"], data[f"{column}_high"], strict=True)
        cells[name] = [printed.fixed(100 * variance.possible(value), 0) for value in data[column]]
        cells[f"95% interval of {'the share' if column == 'total' else 'alone'}"] = [
            printed.span(100 * low, 100 * high, 0) for low, high in ends
        ]
    cells["rounds"] = data["rounds"].map(str)
    cells[WORDS] = data["words"]
    return cells


def _note(data: pd.DataFrame, by: list[str], without: set[str], held: set[str]) -> str:
    if data.empty:
        return "No two trials differ in the seed of one stream alone, so that no component can be told"
    places = data.drop_duplicates(by)
    unused, incomplete = int(places["unused"].sum()), int(data["incomplete"].sum())
    return sentences(
        _EXPLAINED,
        f"Fewer than {variance.FEWEST_ROUNDS} rounds are too few for an interval",
        f"No row for {_named(without)} where the trials do not draw from it" if without else "",
        f"{_named(held)} has one seed in each round of some place and no row there" if held else "",
        f"{unused} trials differ from no other in one stream alone, or a round has them already" if unused else "",
        f"{incomplete} pairs are not done or have no defined score, and are left out" if incomplete else "",
    )


def _named(streams: set[str]) -> str:
    return " and ".join(stream for stream in STREAMS if stream in streams)
