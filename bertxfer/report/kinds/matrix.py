"""Final task by intermediate task; the diagonal is the final task alone."""

from dataclasses import replace

import altair as alt
import pandas as pd

from bertxfer.report import words
from bertxfer.report.charts import Chart, panels
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind, over_seeds
from bertxfer.report.marks import Marks, means, order_of
from bertxfer.report.places import places_of
from bertxfer.report.published import Published
from bertxfer.report.style import GREY
from bertxfer.report.units import POINTS, SCORE, UNIT
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    """Scores of each final task after each intermediate one."""
    if "intermediate" not in results:
        results = results.assign(intermediate=None)
    on_diagonal = results["intermediate"].isna() | (results["intermediate"] == results["task"])
    filled = results.assign(intermediate=results["intermediate"].where(~on_diagonal, results["task"]))
    plain = Figure("matrix", x="intermediate", series=("task",), facets=None, y=figure.y, where=figure.where)
    places, notes = places_of(plain, filled, apart="facet")
    # Rows have metrics of their own, so the panel is not named by them; only unlike trials have panels of their own.
    cells = means(places.assign(facet=places["facet"].str.partition(", ")[2]), "t95", "cell", figure.center, SCORE)
    metric = filled.drop_duplicates("task").set_index("task")["headline"].map(words.metric)
    cells = cells.assign(row=cells["series"], column=cells["x"].map(lambda task: words.value("intermediate", task)))
    cells["own"] = cells["x"].astype(str) == cells["task"].astype(str)
    rows = cells.groupby(["facet", "row"])
    # Where all of a row are equal, none is the best of them.
    cells["best"] = (cells["y"] == rows["y"].transform("max")) & (rows["y"].transform("nunique") > 1)
    alone = cells["y"].where(cells["own"]).groupby([cells["facet"], cells["row"]]).transform("max")
    cells["above"] = cells["y"] > alone
    cells["metric"] = cells["task"].map(metric)
    if figure.center == "median":
        ends = zip(cells["low"], cells["high"], strict=True)
        cells["range"] = [f"{POINTS * low:.1f} to {POINTS * high:.1f}" if low < high else "" for low, high in ends]
    return Marks(cells, notes)


def chart(figure: Figure, marks: Marks) -> Chart:
    """The matrix of cs224n2020: best of each row shaded, what is above the diagonal in bold."""
    tasks = order_of([*marks.data["row"], *marks.data["column"]])
    x = alt.X("column:N", sort=tasks, title="intermediate task", axis=alt.Axis(orient="top", labelAngle=0))
    y = alt.Y("row:N", sort=tasks, title="final task")
    base = alt.Chart()
    shade = alt.condition("datum.best", alt.value("#56B4E9"), alt.value("transparent"))
    on_shade = alt.condition("datum.best", alt.value("#1a1a1a"), alt.value("currentColor"))
    tips = [
        alt.Tooltip("row:N", title="final task"),
        alt.Tooltip("column:N", title="intermediate task"),
        alt.Tooltip("metric:N"),
        alt.Tooltip("y:Q", title=figure.center, format=".4~g"),
        alt.Tooltip("low:Q", title="from", format=".4~g"),
        alt.Tooltip("high:Q", title="to", format=".4~g"),
        alt.Tooltip("n:Q", title="trials"),
        alt.Tooltip("trials:N", title="by seed"),
    ]
    number = {"text": alt.Text("y:Q", format=".1f"), "color": on_shade}
    layers = [
        base.mark_rect(stroke=GREY, strokeWidth=0.5).encode(x, y, color=shade, tooltip=tips),
        base.transform_filter("!datum.above").mark_text(fontSize=13).encode(x, y, **number),
        base.transform_filter("datum.above").mark_text(fontSize=13, fontWeight="bold").encode(x, y, **number),
    ]
    wide, high = 72, 40
    if "range" in marks.data:
        wide, high = 104, 50
        ends = base.mark_text(fontSize=10, dy=15).encode(x, y, text="range:N", color=on_shade)
        layers.append(ends)
    if "printed" in marks.data:
        high += 14
        below = 29 if "range" in marks.data else 15
        paper = base.transform_filter("isValid(datum.printed)").mark_text(fontSize=11, dy=below, fontStyle="italic")
        layers.append(paper.encode(x, y, text=alt.Text("printed:Q", format=".1f"), color=on_shade))
    size = max(1, len(tasks))
    return panels(layers, marks, wide * size, high * size, 1)


def published(figure: Figure, marks: Marks, printed: Published) -> Marks:
    """The paper's number in each cell that it has."""
    points = printed.points()
    cells = zip(marks.data["row"], marks.data["column"], strict=True)
    found = [points.get(cell) for cell in cells]
    return replace(marks, data=marks.data.assign(printed=found)) if any(v is not None for v in found) else marks


def caption(figure: Figure, marks: Marks) -> str:
    shades = (
        "The highest of each row is shaded (not where all are equal), what beats the task alone (the diagonal) is bold."
    )
    ends = " Under each median is the range of its runs." if figure.center == "median" else ""
    printed = " In italics is what the paper prints." if "printed" in marks.data else ""
    return f"{over_seeds(figure, marks)} Scores are {UNIT}.{ends} {shades}{printed}"


KIND = Kind(
    "matrix",
    marks,
    chart,
    unit=SCORE,
    caption=caption,
    published=published,
    widest=900,
    any_center=True,
    has_bars=False,
    labels="row",
)
