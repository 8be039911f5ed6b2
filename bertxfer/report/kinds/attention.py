"""Layers by heads: what the heads attend to, or how much their attention changed, from attention.parquet."""

import dataclasses

import altair as alt
import pandas as pd

from bertxfer.report import heatmaps, stored
from bertxfer.report import places as placed
from bertxfer.report.analysed import unanalysed
from bertxfer.report.charts import Chart
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind, counted
from bertxfer.report.marks import Marks, order_of
from bertxfer.store.store import Store

MEASURES = {"similarity": "cosine similarity", "to_sep": "attention to [SEP]", "to_cls": "attention to [CLS]"}


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    """Means over the trials of a facet."""
    cells = dataclasses.replace(figure, x=None, series=())
    places, notes = placed.places_of(cells, results, apart="facet", heading=placed.task_alone)
    done = places[places["state"] == "done"]
    maps = stored.attention(done["id"], store)
    notes += unanalysed(done["id"], maps, "attention")
    settings = figure.measure if isinstance(figure.measure, dict) else {"measure": figure.measure}
    measures = settings.get("measure") or "similarity"
    measures = [measures] if isinstance(measures, str) else list(measures)
    maps = maps[maps["measure"].isin(measures)]
    # Similarity compares the fine-tuned model with another; what is attended to belongs to one model.
    model = settings.get("model")
    chosen = maps["model"] == (model or "finetuned")
    maps = maps[chosen | ((maps["measure"] == "similarity") & (maps["model"] == (model or "pretrained")))]
    joined = maps.merge(done[["id", "facet", "task", "size"]], on="id")
    joined = joined.sort_values("measure", key=lambda column: column.map(measures.index), kind="stable")
    if len(measures) == 1:
        joined["facet"] = joined["facet"] + ": " + joined["measure"].map(MEASURES)
    grouped = joined.groupby(["facet", "task", "size", "layer", "head", "measure"], sort=False)
    data = grouped.agg(y=("value", "mean"), n=("id", "nunique"), examples=("examples", "sum")).reset_index()
    return Marks(data.assign(role="cell"), notes)


def chart(figure: Figure, marks: Marks) -> Chart:
    """One measure, or a row of panels for each of several, as kovaleva2019's figure 6 has them."""
    measures = order_of(marks.data["measure"].tolist())
    colours = {one: _colour(one, marks.data.loc[marks.data["measure"] == one, "y"]) for one in measures}
    tips = heatmaps.of_cell(
        alt.Tooltip("y:Q", title="mean", format=".4f"),
        alt.Tooltip("n:Q", title="trials"),
        alt.Tooltip("examples:Q"),
    )
    if len(measures) == 1:
        return heatmaps.layers_by_heads(figure, marks, colours[measures[0]], tips)
    return heatmaps.grid(figure, marks, "measure", colours, tips)


def _colour(measure: str, values: "pd.Series[float]") -> alt.Color:
    """The paper's darkness: more change, or more attention. All rows and panels of a measure have one scale."""
    ends = float(values.min()), float(values.max())
    if ends[0] == ends[1]:
        ends = min(0.0, ends[0]), max(1.0, ends[1])
    scale = alt.Scale(scheme="viridis", reverse=measure != "similarity", domain=ends)
    shown = heatmaps.legend(MEASURES[measure], [ends[0], sum(ends) / 2, ends[1]], ".2f")
    return alt.Color("y:Q", scale=scale, legend=shown)


def _caption(figure: Figure, marks: Marks) -> str:
    return f"Means over dev examples and {counted(marks.data['n'], 'trial')}."


KIND = Kind("attention", marks, chart, widest=480, caption=_caption, has_bars=False)
