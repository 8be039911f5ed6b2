"""The dev score with one layer of the fine-tuned model set back, reinitialized or left out, from surgery.parquet."""

import pandas as pd

from bertxfer.report import analysed, charts, stored
from bertxfer.report.charts import Chart
from bertxfer.report.courses import KEYS, LOSS
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import START, Choice, Kind, over_seeds
from bertxfer.report.marks import Marks, means
from bertxfer.store.store import Store
from bertxfer.trials.analyses import INTACT, MODULES, OPERATIONS, WHOLE

CHANGE = "change"  # of the score, from the same trial's model as it is
_OPERATIONS = {
    "pretrained": "back to pretrained",
    "treated": "back to start",
    "reinitialized": "reinitialized",
    "skipped": "left out",
}
_MODULES = {WHOLE: "", "attention": "attention ", "feedforward": "feed-forward part "}


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    (value,) = figure.measure["value"]
    of_score = LOSS if value == LOSS else "score"
    parts = []
    for places, found, notes in analysed.by_metric(figure, results, store, "surgery", stored.surgery, of_score):
        intact = found.loc[found["operation"] == INTACT, [*KEYS, "y"]]
        each = _operated(figure, found)
        if value == CHANGE:
            both = each.merge(intact.rename(columns={"y": "intact"}), on=KEYS)
            each, intact = both.assign(y=100 * (both["y"] - both["intact"])), intact.assign(y=intact["y"] * 0)
        made = analysed.lines(places, each, figure, notes, analysed.unit_of(figure), ("series",))
        parts.append(Marks(pd.concat([made.data, _level(places, intact, figure)], ignore_index=True), made.notes))
    return analysed.together(parts)


def _operated(figure: Figure, found: pd.DataFrame) -> pd.DataFrame:
    """Line by line, in the order of the block; the embeddings, which are set back as a whole, stand at layer 0."""
    parts = []
    for module in figure.measure["module"]:
        modules = (WHOLE, "embeddings") if module == WHOLE else (module,)
        for operation in figure.measure["operation"]:
            rows = found[(found["operation"] == operation) & found["module"].isin(modules)]
            parts.append(rows.assign(x=rows["layer"].astype(int), series=_MODULES[module] + _OPERATIONS[operation]))
    return pd.concat(parts, ignore_index=True)


def _level(places: pd.DataFrame, intact: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """The model as fine-tuned. Changes from it have one for all series: zero."""
    zero = figure.measure["value"] == (CHANGE,)
    done = places[places["state"] == "done"].drop(columns="y").merge(intact, on=KEYS)
    named = [f"{series}, {INTACT}" if series and not zero else INTACT for series in done["series"]]
    return means(done.assign(series=named), "none", "level", unit=analysed.unit_of(figure)).assign(x=None)


def chart(figure: Figure, marks: Marks) -> Chart:
    (value,) = figure.measure["value"]
    label = {CHANGE: "change of the dev score, points", LOSS: "dev loss"}.get(value, "dev score")
    return charts.curves(charts.labelled(figure, "layer", label), marks)


def caption(figure: Figure, marks: Marks) -> str:
    embeddings = " Layer 0: the embeddings." if (marks.data["x"] == 0).any() else ""
    start = START if "treated" in figure.measure["operation"] else ""
    what = "One region of the fine-tuned model at a time, without training."
    return f"{what}{embeddings}{start} {over_seeds(figure, marks)}"


KIND = Kind(
    "surgery",
    marks,
    chart,
    caption=caption,
    unit=analysed.unit_of,
    measures={
        "operation": Choice(OPERATIONS, ("pretrained", "reinitialized", "skipped")),
        "module": Choice(MODULES, (WHOLE,)),
        "value": Choice(("score", CHANGE, LOSS), ("score",), several=False),
    },
)
