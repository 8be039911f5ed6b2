"""Layers by heads, and tasks by intermediate tasks: what each cell holds, and the cells as a chart."""

import dataclasses
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from bertxfer.report import frame, words
from bertxfer.report.charts import GREY, Chart, panels
from bertxfer.report.figures import Figure
from bertxfer.report.marks import Marks, means, order_of, places_of
from bertxfer.report.statistics import differences
from bertxfer.store.store import Store

CELL = 25
_NUMBERS = (("y", "low", "high"), ("mean", "from", "to"))
MEASURES = {"similarity": "cosine similarity", "to_sep": "attention to [SEP]", "to_cls": "attention to [CLS]"}


def heads(figure: Figure, results: pd.DataFrame) -> Marks:
    """The difference from the baseline of every head redrawn alone, paired by seed."""
    cells = dataclasses.replace(figure, x=None, series=("layer", "head"), series_labels={})
    places, notes = places_of(cells, results, apart="facet")
    groups = ["facet", "task", "size", "layer", "head"]
    told = differences(places, groups, figure.baseline, ["facet", "task", "size"], "y")
    told = told[told["layer"].notna() & told["head"].notna()]
    undefined = int(told["undefined"].sum())
    if undefined:
        notes.append(f"{undefined} pairs have no defined score and are in no difference.")
    told = told[told["n"] > 0]
    if told.empty:
        notes.append("No head has a pair of trials, with and without it redrawn, so there is no difference to show.")
    unpaired = int(told["unpaired"].sum())
    if unpaired:
        notes.append(f"{unpaired} trials have no baseline of the same seed and are in no difference.")
    data = told.assign(role="cell", y=100 * told["mean"], low=100 * told["low"], high=100 * told["high"])
    data["label"] = data["y"].map(lambda points: f"{points:+.1f}".replace("-", "−") if abs(points) >= 0.05 else "0.0")
    return Marks(data.drop(columns=["mean"]), notes)


def attention(figure: Figure, results: pd.DataFrame, store: Store) -> Marks:
    """What the heads attend to, or how much their attention changed: means over the trials of a facet."""
    places, notes = places_of(dataclasses.replace(figure, x=None, series=()), results, apart="facet")
    done = places[places["state"] == "done"]
    told = frame.attention(done["id"], store)
    notes += _unanalysed(done["id"], told, "attention")
    asked = figure.measure if isinstance(figure.measure, dict) else {"measure": figure.measure}
    measures = asked.get("measure") or "similarity"
    measures = [measures] if isinstance(measures, str) else list(measures)
    told = told[told["measure"].isin(measures)]
    # Similarity is of the fine-tuned model with another; what is attended to is of one model.
    of = asked.get("model")
    chosen = told["model"] == (of or "finetuned")
    told = told[chosen | ((told["measure"] == "similarity") & (told["model"] == (of or "pretrained")))]
    cells = told.merge(done[["id", "facet", "task", "size"]], on="id")
    cells = cells.sort_values("measure", key=lambda column: column.map(measures.index), kind="stable")
    cells["facet"] = cells["facet"] + ": " + cells["measure"].map(MEASURES)
    grouped = cells.groupby(["facet", "task", "size", "layer", "head", "measure"], sort=False)
    data = grouped.agg(y=("value", "mean"), n=("id", "nunique"), examples=("examples", "sum")).reset_index()
    return Marks(data.assign(role="cell"), notes)


def matrix(figure: Figure, results: pd.DataFrame) -> Marks:
    """Scores of each final task after each intermediate one; the diagonal is the final task alone."""
    if "intermediate" not in results:
        results = results.assign(intermediate=None)
    own = results["intermediate"].isna() | (results["intermediate"] == results["task"])
    filled = results.assign(intermediate=results["intermediate"].where(~own, results["task"]))
    plain = Figure("curves", x="intermediate", series=("task",), facets=None, y=figure.y, where=figure.where)
    places, notes = places_of(plain, filled, apart="facet")
    # Rows have metrics of their own, so the panel is not named by them; only unlike trials have panels of their own.
    cells = means(places.assign(facet=places["facet"].str.partition(", ")[2]), "t95", "cell")
    metric = filled.drop_duplicates("task").set_index("task")["task.headline"].map(words.metric)
    cells = cells.assign(row=cells["series"], column=cells["x"].map(lambda said: words.value("intermediate", said)))
    cells["own"] = cells["x"].astype(str) == cells["task"].astype(str)
    rows = cells.groupby(["facet", "row"])
    cells["best"] = cells["y"] == rows["y"].transform("max")
    alone = cells["y"].where(cells["own"]).groupby([cells["facet"], cells["row"]]).transform("max")
    cells["above"] = cells["y"] > alone
    cells["metric"] = cells["task"].map(metric)
    return Marks(cells, notes)


def layers_by_heads(figure: Figure, marks: Marks) -> Chart:
    """A cell for every layer and head; differences diverge around zero and are written into the cells."""
    data = marks.data
    signed = figure.kind == "heads"
    numbers = [order_of(sorted(data[axis].tolist())) for axis in ("head", "layer")]
    x = alt.X("head:O", sort=numbers[0], title=figure.x_label or words.axis("head"), axis=alt.Axis(labelAngle=0))
    y = alt.Y("layer:O", sort=numbers[1], title=figure.y_label or words.axis("layer"))
    base = alt.Chart()
    layers = [base.mark_rect().encode(x, y, color=_colour(data, signed, marks), tooltip=_tips(signed))]
    if signed:
        text = base.mark_text(fontSize=9).encode(x, y, text="label:N", color=_ink(data))
        layers.append(text)
    width, height = CELL * max(1, len(numbers[0])), CELL * max(1, len(numbers[1]))
    return panels(layers, marks, width, height, 2)


def intermediate_tasks(figure: Figure, marks: Marks) -> Chart:
    """The matrix of cs224n2020: best of each row shaded, what is above the diagonal in bold."""
    data = marks.data
    tasks = order_of([*data["row"], *data["column"]])
    x = alt.X("column:N", sort=tasks, title="intermediate task", axis=alt.Axis(orient="top", labelAngle=0))
    y = alt.Y("row:N", sort=tasks, title="final task")
    base = alt.Chart()
    shade = alt.condition("datum.best", alt.value("#56B4E9"), alt.value("transparent"))
    tips = [
        alt.Tooltip("row:N", title="final task"),
        alt.Tooltip("column:N", title="intermediate task"),
        alt.Tooltip("metric:N"),
        *(alt.Tooltip(f"{end}:Q", title=said, format=".4f") for end, said in zip(*_NUMBERS, strict=True)),
        alt.Tooltip("n:Q", title="trials"),
        alt.Tooltip("trials:N", title="by seed"),
    ]
    number = {"text": alt.Text("y:Q", format=".3f"), "color": _on_shade()}
    layers = [
        base.mark_rect(stroke=GREY, strokeWidth=0.5).encode(x, y, color=shade, tooltip=tips),
        base.transform_filter("!datum.above").mark_text(fontSize=12).encode(x, y, **number),
        base.transform_filter("datum.above").mark_text(fontSize=12, fontWeight="bold").encode(x, y, **number),
    ]
    size = max(1, len(tasks))
    return panels(layers, marks, 62 * size, 34 * size, 1)


def _unanalysed(ids: Any, told: pd.DataFrame, what: str) -> list[str]:
    without = len(frame.lacking(ids, told))
    return [f"{without} finished trials have no {what}.parquet; run them with analysis=[{what}]."] if without else []


def _colour(data: pd.DataFrame, signed: bool, marks: Marks) -> alt.Color:
    if signed:
        far = float(np.nanmax(np.abs(data["y"]))) if len(data) else 1.0
        scale = alt.Scale(scheme="blueorange", domain=[-(far or 1.0), far or 1.0], domainMid=0, reverse=True)
        return alt.Color("y:Q", scale=scale, legend=alt.Legend(title="difference, points", orient="top"))
    similar = len(data) and (data["measure"] == "similarity").all()
    # The paper's darkness: more change, or more attention.
    scale = alt.Scale(scheme="viridis", reverse=not similar)
    return alt.Color("y:Q", scale=scale, legend=alt.Legend(title=figure_title(data), orient="top"))


def figure_title(data: pd.DataFrame) -> str:
    return ", ".join(MEASURES[measure] for measure in order_of(data["measure"].tolist()))


def _ink(data: pd.DataFrame) -> Any:
    """Dark numbers on light cells, white ones on the darkest."""
    far = float(np.nanmax(np.abs(data["y"]))) if len(data) else 1.0
    return alt.condition(f"abs(datum.y) > {0.7 * far:.6g}", alt.value("white"), alt.value("#1a1a1a"))


def _on_shade() -> Any:
    return alt.condition("datum.best", alt.value("#1a1a1a"), alt.value("currentColor"))


def _tips(signed: bool) -> list[alt.Tooltip]:
    where = [alt.Tooltip("facet:N", title="task"), alt.Tooltip("layer:O"), alt.Tooltip("head:O")]
    if not signed:
        return [
            *where,
            alt.Tooltip("y:Q", title="mean", format=".4f"),
            alt.Tooltip("n:Q", title="trials"),
            alt.Tooltip("examples:Q"),
        ]
    return [
        *where,
        alt.Tooltip("y:Q", title="difference, points", format="+.2f"),
        alt.Tooltip("low:Q", title="from", format="+.2f"),
        alt.Tooltip("high:Q", title="to", format="+.2f"),
        alt.Tooltip("n:Q", title="pairs"),
        alt.Tooltip("words:N", title="in words"),
    ]
