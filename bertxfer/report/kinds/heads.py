"""Layers by heads: the difference from the baseline where that head alone is reinitialized, paired by seed."""

import dataclasses

import altair as alt
import numpy as np
import pandas as pd

from bertxfer.report import heatmaps
from bertxfer.report.charts import Chart
from bertxfer.report.comparisons import only_baseline
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind, counted
from bertxfer.report.marks import Marks
from bertxfer.report.places import places_of
from bertxfer.report.published import Published
from bertxfer.report.statistics import differences
from bertxfer.report.units import UNIT
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    cells = dataclasses.replace(figure, x=None, series=("layer", "head"), series_labels={})
    places, notes = places_of(cells, results, apart="facet")
    groups = ["facet", "task", "size", "layer", "head"]
    baseline = only_baseline(figure, "kind=heads")
    compared = differences(places, groups, baseline, ["facet", "task", "size"], "y")
    compared = compared[compared["layer"].notna() & compared["head"].notna()]
    undefined = int(compared["undefined"].sum())
    if undefined:
        notes.append(f"{undefined} pairs have no defined score and are in no difference.")
    compared = compared[compared["n"] > 0]
    if compared.empty:
        notes.append("No head has a pair of trials, with and without it reinitialized: there is no difference to show.")
    unpaired = int(compared["unpaired"].sum())
    if unpaired:
        notes.append(f"{unpaired} trials have no baseline of the same seed and are in no difference.")
    points = {end: 100 * compared[name] for end, name in (("y", "mean"), ("low", "low"), ("high", "high"))}
    data = compared.assign(role="cell", **points)
    data["label"] = data["y"].map(lambda points: f"{points:+.1f}".replace("-", "−") if abs(points) >= 0.05 else "0.0")
    return Marks(data.drop(columns=["mean"]), notes)


def published(figure: Figure, marks: Marks, printed: Published) -> Marks:
    """The paper's difference in each cell of its task that it has."""
    points, data = printed.points(), marks.data
    places = zip(data["task"], data["layer"], data["head"], strict=True)
    found = [
        points.get((f"Layer {layer}", f"Head {head}")) if task == printed.task else None for task, layer, head in places
    ]
    return dataclasses.replace(marks, data=data.assign(printed=found)) if any(v is not None for v in found) else marks


def chart(figure: Figure, marks: Marks) -> Chart:
    """Differences diverge around zero and are written into the cells."""
    far = float(np.nanmax(np.abs(marks.data["y"]))) or 1.0
    scale = alt.Scale(scheme="blueorange", domain=[-far, far], domainMid=0, reverse=True)
    colour = alt.Color("y:Q", scale=scale, legend=heatmaps.legend("difference, points", [-far, 0, far], "+.1f"))
    # Dark numbers on light cells, white ones on the darkest.
    ink = alt.condition(f"abs(datum.y) > {0.7 * far:.6g}", alt.value("white"), alt.value("#1a1a1a"))
    text = alt.Chart().mark_text(fontSize=11).encode(text="label:N", color=ink)
    tips = heatmaps.of_cell(
        alt.Tooltip("y:Q", title="difference, points", format="+.2f"),
        alt.Tooltip("low:Q", title="from", format="+.2f"),
        alt.Tooltip("high:Q", title="to", format="+.2f"),
        alt.Tooltip("n:Q", title="pairs"),
        alt.Tooltip("words:N", title="in words"),
    )
    texts = [text]
    if "printed" in marks.data:
        paper = alt.Chart().transform_filter("isValid(datum.printed)").mark_text(fontSize=9, dy=11, fontStyle="italic")
        texts = [text.mark_text(fontSize=11, dy=-3), paper.encode(text=alt.Text("printed:Q", format="+.1f"), color=ink)]
        tips.append(alt.Tooltip("printed:Q", title="published, points", format="+.2f"))
    return heatmaps.layers_by_heads(figure, marks, colour, tips, texts)


def _caption(figure: Figure, marks: Marks) -> str:
    printed = " In italics is what the paper prints." if "printed" in marks.data else ""
    pairs = counted(marks.data["n"], "pair")
    return f"Differences from the baseline of the same seed, in points (score {UNIT}), of {pairs} each.{printed}"


KIND = Kind(
    "heads",
    marks,
    chart,
    caption=_caption,
    published=published,
    widest=640,
    has_bars=False,
    needs={"baseline": "shows differences; name what they are taken from: {treatment_text: as pretrained}"},
)
