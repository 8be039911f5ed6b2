"""A figure from beginning to end: its marks, its chart with a title that names the model, its files."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import vl_convert

from bertxfer.report import charts, courses, heatmaps, words
from bertxfer.report.figures import Figure
from bertxfer.report.marks import Marks, marks_of, not_dashed
from bertxfer.store.store import Store
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.system.files import write_text, write_whole

FORMATS = ("svg", "png", "pdf", "csv")
# currentColor is black on paper, and on a page the colour of its text, in light and in dark.
_INK = {"labelColor": "currentColor", "titleColor": "currentColor"}
_LINES = {"gridColor": "currentColor", "gridOpacity": 0.12, "domainColor": "currentColor", "tickColor": "currentColor"}
LOOK: dict[str, Any] = {
    "background": "white",
    "padding": 10,
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {**_INK, **_LINES, "labelFontSize": 10, "titleFontSize": 11, "titleFontWeight": "normal"},
    "legend": {**_INK, "labelFontSize": 11, "titleFontWeight": "normal", "titleLimit": 400},
    "header": {**_INK},
    "text": {"color": "currentColor"},
    "title": {
        "anchor": "start",
        "color": "currentColor",
        "subtitleColor": "currentColor",
        "fontSize": 14,
        "subtitleFontSize": 11,
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

    def write(self, folder: Path, name: str) -> list[Path]:
        """The same chart as SVG, PNG and PDF, and the data behind it as CSV. None of it needs a network."""
        folder.mkdir(parents=True, exist_ok=True)
        svg = vl_convert.vegalite_to_svg(self.spec, show_warnings=False)
        paths = {kind: folder / f"{name}.{kind}" for kind in FORMATS}
        write_text(paths["svg"], svg)
        write_whole(paths["png"], lambda path: path.write_bytes(vl_convert.svg_to_png(svg, scale=2)))
        write_whole(paths["pdf"], lambda path: path.write_bytes(vl_convert.svg_to_pdf(svg)))
        write_whole(paths["csv"], lambda path: self.table().to_csv(path, index=False))
        return list(paths.values())

    def table(self) -> pd.DataFrame:
        """The data of the marks, with the columns called as the config calls them."""
        figure, data = self.figure, self.marks.data
        names = {"x": figure.x, "series": "+".join(figure.series), "facet": figure.facets, "role": "mark"}
        renamed = {old: new for old, new in names.items() if new and old in data and new not in data}
        return data.rename(columns=renamed).dropna(axis="columns", how="all")


def draw(
    figure: Figure, results: pd.DataFrame, store: Store, name: str, dashed: pd.DataFrame | None = None
) -> Drawing | None:
    """The drawing of a figure; none of a kind that is only a table, or where there is nothing to draw yet."""
    if figure.kind == "table":
        return None
    marks, chart = _chart(figure, results, store, dashed)
    if chart is None:
        return None
    title = f"{figure.title or name} · {', '.join(models(results))}"
    explanation = _explanation(figure)
    subtitle = [explanation] if explanation else []
    if figure.dashed and dashed is None:  # on paper a figure stands without the notes of its page
        subtitle.append(not_dashed(figure))
    if is_demonstration(results):
        subtitle.append(f"Demonstration: {MINI_NOTE}.")
    labels = {"labels": _labels(figure, marks)}
    titled = chart.properties(title=alt.Title(title, subtitle=subtitle), usermeta=labels).configure(**LOOK)
    return Drawing(figure, title, explanation, marks, json.loads(titled.to_json()))


def _chart(
    figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None
) -> tuple[Marks, charts.Chart | None]:
    if figure.kind == "heads":
        marks = heatmaps.heads(figure, results)
    elif figure.kind == "attention":
        marks = heatmaps.attention(figure, results, store)
    elif figure.kind == "matrix":
        marks = heatmaps.matrix(figure, results)
    elif figure.kind in ("loss", "epochs", "weights"):
        marks = getattr(courses, figure.kind)(figure, results, store)
    else:
        marks = marks_of(figure, results, dashed)
    if marks.data.empty:
        return marks, None
    if figure.kind in ("heads", "attention"):
        return marks, heatmaps.layers_by_heads(figure, marks)
    if figure.kind == "matrix":
        return marks, heatmaps.intermediate_tasks(figure, marks)
    if figure.kind in ("points", "treatments"):
        return marks, getattr(charts, figure.kind)(figure, marks)
    return marks, charts.curves(_labelled(figure), marks)


def _labels(figure: Figure, marks: Marks) -> int:
    """How wide the labels left of the first panel are, which a page must leave room for."""
    column = {"treatments": "x", "matrix": "row"}.get(figure.kind)
    longest = marks.data[column].map(len).max() if column else 0
    return 60 + min(220, 6 * int(longest))


def models(results: pd.DataFrame) -> list[str]:
    """The models that were run, by the names a reader knows."""
    names = results["model.name"].dropna().unique()
    return ["mini (demonstration model)" if name == "mini" else str(name) for name in names]


def is_demonstration(results: pd.DataFrame) -> bool:
    return bool((results["model.name"] == "mini").any())


def _labelled(figure: Figure) -> Figure:
    """The axes of what is followed, which are not columns of the results."""
    relative = isinstance(figure.measure, dict) and figure.measure.get("value") == "relative"
    labels = {
        "loss": ("step", "training loss"),
        "epochs": ("epoch", "dev score"),
        "weights": ("layer", "L2 distance / norm" if relative else "L2 distance from the pretrained weights"),
    }.get(figure.kind)
    if labels is None:
        return figure
    x = figure.x or labels[0]
    return dataclasses.replace(
        figure, x=x, x_label=figure.x_label or words.axis(x), y_label=figure.y_label or labels[1]
    )


def _explanation(figure: Figure) -> str:
    what = {
        "heads": "Difference from the baseline of the same seed, in points (score ×100).",
        "attention": "Means over dev examples and trials.",
        "matrix": "Means over seeds. The best of each row is shaded, what beats the task alone (the diagonal) is bold.",
        "loss": "Means over seeds and neighbouring steps.",
        "scatter": "Each small point is a trial; the line joins the means.",
        "points": "Each circle is a permutation; the line is their mean, the shaded shape their density.",
        "treatments": "Ticks are trials, dots their means.",
    }.get(figure.kind, "Means over seeds.")
    if figure.kind in ("heads", "attention", "matrix", "loss"):
        return what
    return f"{what} {charts.INTERVALS[figure.interval]}".strip()
