"""Final task by intermediate task; the diagonal is the final task alone."""

import altair as alt
import pandas as pd

from bertxfer.report import words
from bertxfer.report.charts import Chart, panels
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind, over_seeds
from bertxfer.report.marks import Marks, means, order_of
from bertxfer.report.places import places_of
from bertxfer.report.style import GREY
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
    cells = means(places.assign(facet=places["facet"].str.partition(", ")[2]), "t95", "cell", figure.center)
    metric = filled.drop_duplicates("task").set_index("task")["headline"].map(words.metric)
    cells = cells.assign(row=cells["series"], column=cells["x"].map(lambda task: words.value("intermediate", task)))
    cells["own"] = cells["x"].astype(str) == cells["task"].astype(str)
    rows = cells.groupby(["facet", "row"])
    cells["best"] = cells["y"] == rows["y"].transform("max")
    alone = cells["y"].where(cells["own"]).groupby([cells["facet"], cells["row"]]).transform("max")
    cells["above"] = cells["y"] > alone
    cells["metric"] = cells["task"].map(metric)
    if figure.center == "median":
        ends = zip(cells["low"], cells["high"], strict=True)
        cells["range"] = [f"{low:.3f} to {high:.3f}" if low < high else "" for low, high in ends]
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
        alt.Tooltip("y:Q", title=figure.center, format=".4f"),
        alt.Tooltip("low:Q", title="from", format=".4f"),
        alt.Tooltip("high:Q", title="to", format=".4f"),
        alt.Tooltip("n:Q", title="trials"),
        alt.Tooltip("trials:N", title="by seed"),
    ]
    number = {"text": alt.Text("y:Q", format=".3f"), "color": on_shade}
    layers = [
        base.mark_rect(stroke=GREY, strokeWidth=0.5).encode(x, y, color=shade, tooltip=tips),
        base.transform_filter("!datum.above").mark_text(fontSize=12).encode(x, y, **number),
        base.transform_filter("datum.above").mark_text(fontSize=12, fontWeight="bold").encode(x, y, **number),
    ]
    wide, high = 62, 34
    if "range" in marks.data:
        wide, high = 92, 44
        ends = base.mark_text(fontSize=9, dy=13).encode(x, y, text="range:N", color=on_shade)
        layers.append(ends)
    size = max(1, len(tasks))
    return panels(layers, marks, wide * size, high * size, 1)


def caption(figure: Figure, marks: Marks) -> str:
    shades = "The highest of each row is shaded, what beats the task alone (the diagonal) is bold."
    ends = " Under each median is the range of its runs." if figure.center == "median" else ""
    return f"{over_seeds(figure, marks)}{ends} {shades}"


KIND = Kind(
    "matrix",
    marks,
    chart,
    caption=caption,
    any_center=True,
    has_bars=False,
    labels="row",
)
