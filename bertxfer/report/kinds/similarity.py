"""How alike the states of two encoders are, layer by layer: linear CKA, from similarity.parquet."""

import pandas as pd

from bertxfer.report import analysed, charts, stored
from bertxfer.report.charts import Chart
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import START, Choice, Kind, over_seeds
from bertxfer.report.marks import Marks
from bertxfer.report.units import AMOUNT
from bertxfer.store.store import Store
from bertxfer.trials.analyses import PAIRS

_WORDS = {"pretrained": "pretrained", "treated": "start", "finetuned": "fine-tuned"}
_REFERENCES, _MODELS = (tuple(dict.fromkeys(names)) for names in zip(*PAIRS, strict=True))


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    parts = []
    for places, found, notes in analysed.by_metric(figure, results, store, "similarity", stored.similarity, "cka"):
        chosen = found["reference"].isin(figure.measure["reference"]) & found["model"].isin(figure.measure["model"])
        each = found[chosen]
        pairs = zip(each["reference"], each["model"], strict=True)
        named = [f"{_WORDS[reference]} – {_WORDS[model]}" for reference, model in pairs]
        parts.append(
            analysed.lines(places, each.assign(x=each["layer"], series=named), figure, notes, AMOUNT, ("series",))
        )
    return analysed.together(parts)


def chart(figure: Figure, marks: Marks) -> Chart:
    return charts.curves(charts.labelled(figure, "layer", "linear CKA"), marks)


def caption(figure: Figure, marks: Marks) -> str:
    return f"Layer 0: what the embeddings give.{START} {over_seeds(figure, marks)}"


KIND = Kind(
    "similarity",
    marks,
    chart,
    caption=caption,
    unit=AMOUNT,
    measures={"reference": Choice(_REFERENCES, _REFERENCES), "model": Choice(_MODELS, _MODELS)},
)
