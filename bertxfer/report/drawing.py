"""A figure from beginning to end: its marks, its chart with a title that names the model, its files."""

import json
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from bertxfer.report import centers, column
from bertxfer.report.figure import Figure
from bertxfer.report.kinds import KINDS, Kind
from bertxfer.report.marks import Marks, not_dashed, order_of
from bertxfer.report.presenting import is_cut, presented
from bertxfer.report.published import Published
from bertxfer.report.sheets import csv
from bertxfer.store.store import Store
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.system.files import write_text, write_whole

LINE = 110  # letters of a caption's line
FORMATS = ("svg", "png", "pdf", "csv")
# currentColor is black on paper, and on a page the colour of its text, in light and in dark.
_INK = {"labelColor": "currentColor", "titleColor": "currentColor"}
_LINES = {"gridColor": "currentColor", "gridOpacity": 0.12, "domainColor": "currentColor", "tickColor": "currentColor"}
LOOK: dict[str, Any] = {
    "background": "white",
    "padding": 10,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {**_INK, **_LINES, "labelFontSize": 12, "titleFontSize": 13, "titleFontWeight": "normal"},
    "legend": {**_INK, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titleLimit": 400},
    "header": {**_INK},
    "text": {"color": "currentColor"},
    "title": {
        "anchor": "start",
        "color": "currentColor",
        "subtitleColor": "currentColor",
        "fontSize": 15,
        "subtitleFontSize": 12,
        "subtitlePadding": 6,
        "offset": 14,
    },
}


@dataclass(frozen=True)
class Drawing:
    figure: Figure
    title: str
    explanation: str  # what the marks are
    marks: Marks
    spec: dict[str, Any]  # Vega-Lite

    @property
    def has_published(self) -> bool:
        """Whether the paper's numbers are among the marks."""
        data = self.marks.data
        return "printed" in data or bool(
            data.get("series", pd.Series(dtype=str)).astype(str).str.startswith("published").any()
        )

    def write(self, folder: Path, name: str, width: float | None = None) -> list[Path]:
        """The same chart as SVG, PNG and PDF, and the data behind it as CSV. None of it needs a network. With a
        `width`, in inches, it fits the column of a journal."""
        folder.mkdir(parents=True, exist_ok=True)
        svg = column.fitted(self.spec, width) if width else vl_convert.vegalite_to_svg(self.spec, show_warnings=False)
        paths = {kind: folder / f"{name}.{kind}" for kind in FORMATS}
        write_text(paths["svg"], svg)
        write_whole(paths["png"], lambda path: path.write_bytes(vl_convert.svg_to_png(svg, scale=2)))
        write_whole(paths["pdf"], lambda path: path.write_bytes(vl_convert.svg_to_pdf(svg)))
        write_text(paths["csv"], csv(self.table()))
        return list(paths.values())

    def table(self) -> pd.DataFrame:
        """The data of the marks, with the columns called as the config calls them."""
        figure, data = self.figure, self.marks.data
        names = {"x": figure.x, "series": "+".join(figure.series), "facet": figure.facets, "role": "mark"}
        renamed = {old: new for old, new in names.items() if new and old in data and new not in data}
        data = data.assign(role=data["role"].replace("mean", figure.center))
        return data.rename(columns=renamed).dropna(axis="columns", how="all")


def draw(
    figure: Figure,
    results: pd.DataFrame,
    store: Store,
    name: str,
    dashed: pd.DataFrame | None = None,
    printed: Published | None = None,
) -> Drawing | None:
    """The drawing of a figure; None for a kind that is only a table, or where there is nothing to draw yet."""
    kind = KINDS[figure.kind]
    if kind.marks is None or kind.chart is None:
        return None
    marks = kind.marks(figure, results, store, dashed)
    if marks.data.empty:
        return None
    if printed is not None:
        marks = _with_published(kind, figure, marks, printed)
    chart = kind.chart(figure, presented(marks, figure, kind))
    title = f"{name} · {', '.join(models(results))}"
    explanation = _explanation(kind, figure, marks)
    subtitle = textwrap.wrap(explanation, LINE)
    if figure.dashed and dashed is None:  # on paper a figure stands without the notes of its page
        subtitle.append(not_dashed(figure))
    if is_demonstration(results):
        subtitle.append(f"Demonstration: {MINI_NOTE}.")
    labels = {"labels": _labels(kind, marks), "most": kind.widest}
    titled = chart.properties(title=alt.Title(title, subtitle=subtitle), usermeta=labels).configure(**LOOK)
    return Drawing(figure, title, explanation, marks, json.loads(titled.to_json()))


def _with_published(kind: Kind, figure: Figure, marks: Marks, printed: Published) -> Marks:
    """With what the paper prints among the marks: by the kind itself, or as lines in the panels of its tasks."""
    if kind.published is not None:
        return kind.published(figure, marks, printed)
    data = marks.data
    if "metric" not in data or not printed.levels:
        return marks
    lines = []
    for level in printed.levels:
        panel = data[(data["task"] == level["task"]) & (data["metric"] == level["metric"])]
        about = {"role": "level", "series": f"published: {level['name']}", "y": level["score"], "n": 0}
        about |= {"task": level["task"], "metric": level["metric"], "trials": printed.where}
        lines += [{**about, "facet": facet} for facet in order_of(panel["facet"].tolist())]
    return replace(marks, data=pd.concat([data, pd.DataFrame(lines)], ignore_index=True) if lines else data)


def _explanation(kind: Kind, figure: Figure, marks: Marks) -> str:
    caption = kind.caption if isinstance(kind.caption, str) else kind.caption(figure, marks)
    parts, data = [caption], marks.data
    # Of levels the kind's own caption says what is around them.
    if kind.has_bars and data.loc[data["role"] != "level", "low"].notna().any():
        parts.append(centers.bars(figure.center, figure.interval))
    if is_cut(marks, figure, kind):
        parts.append("Bars end where the metric ends.")
    if len(marks.of("missing")):
        parts.append("A cross at the foot of a panel: no result yet, or none that is defined.")
    return " ".join(part for part in parts if part)


def _labels(kind: Kind, marks: Marks) -> int:
    """How wide the labels left of the first panel are, which a page must leave room for."""
    longest = marks.data[kind.labels].map(len).max() if kind.labels else 0
    return 60 + min(220, 6 * int(longest))


def models(results: pd.DataFrame) -> list[str]:
    """The models that were run, by the names a reader knows."""
    names = results["model"].dropna().unique()
    return ["mini (demonstration model)" if name == "mini" else str(name) for name in names]


def is_demonstration(results: pd.DataFrame) -> bool:
    return bool((results["model.name"] == "mini").any())
