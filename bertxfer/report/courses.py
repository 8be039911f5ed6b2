"""What is followed rather than scored: losses over steps, dev scores over epochs, distances of weights over layers."""

import dataclasses

import numpy as np
import pandas as pd

from bertxfer.report import frame
from bertxfer.report.figures import Figure
from bertxfer.report.marks import KEYS, Marks, as_first_seen, means, places_of
from bertxfer.store.store import Store

POINTS = 120  # of a loss curve; more cannot be told apart in a panel


def loss(figure: Figure, results: pd.DataFrame, store: Store) -> Marks:
    """The training loss against iterations, averaged within up to 120 stretches of steps and over seeds."""
    places, notes = places_of(dataclasses.replace(figure, x=None), results)
    done = places[places["state"] == "done"]
    told = frame.history(done["id"], store)
    told = told[told["loss"].notna()] if "loss" in told else told
    steps = told.merge(done[["id", "steps"]].drop_duplicates(), on="id")
    width = np.maximum(1, np.ceil(steps["steps"].astype("float64") / POINTS))
    steps["x"] = (((steps["step"] - 1) // width + 1) * width).clip(upper=steps["steps"].astype("float64")).astype(int)
    each = steps.groupby(["id", "x"], sort=False)["loss"].mean().rename("y").reset_index()
    joined = done.drop(columns=["x", "y"]).merge(each, on="id")
    # Many marks, and none that needs its trials listed: averaged directly.
    groups = joined.groupby([*KEYS, "task", "size"], sort=False, dropna=False)
    data = groups.agg(y=("y", "mean"), n=("id", "nunique")).reset_index()
    data = as_first_seen(data, joined)
    return Marks(data.assign(role="mean", low=np.nan, high=np.nan, sd=np.nan, trials=""), notes)


def epochs(figure: Figure, results: pd.DataFrame, store: Store) -> Marks:
    """The dev score after each epoch."""
    places, notes = places_of(dataclasses.replace(figure, x=None), results)
    done = places[places["state"] == "done"]
    told = frame.history(done["id"], store)
    if "epoch" in told:
        told = told[told["epoch"].notna()]
    told = told.merge(done[["id", "task.headline"]].drop_duplicates(), on="id")
    told["x"] = told["epoch"].astype("int64") if len(told) else []
    told["y"] = [row.get(row["task.headline"]) for row in told.to_dict("records")]
    each = told[["id", "x", "y"]].astype({"y": "float64"})
    return _over(done, each, figure.interval, notes)


def weights(figure: Figure, results: pd.DataFrame, store: Store) -> Marks:
    """The distance between weights before and after fine-tuning, layer by layer."""
    asked = {"reference": "pretrained", "module": "feedforward.output", "value": "distance", **(figure.measure or {})}
    places, notes = places_of(dataclasses.replace(figure, x=None), results)
    done = places[places["state"] == "done"]
    told = frame.weights(done["id"], store)
    without = len(frame.lacking(done["id"], told))
    if without:
        notes.append(f"{without} finished trials have no weights.parquet; run them with analysis=[weights].")
    told = told[(told["reference"] == asked["reference"]) & (told["module"] == asked["module"])]
    each = pd.DataFrame({"id": told["id"], "x": told["layer"], "y": told[asked["value"]].astype("float64")})
    return _over(done, each, figure.interval, notes)


def _over(done: pd.DataFrame, each: pd.DataFrame, interval: str, notes: list[str]) -> Marks:
    """Means over seeds of what each trial has at each x."""
    joined = done.drop(columns=["x", "y"]).merge(each, on="id")
    undefined = int(each["y"].isna().sum())
    if undefined:
        notes = [*notes, f"{undefined} of {len(each)} values are not defined; no mean includes them."]
    return Marks(means(joined, interval, "mean"), notes)
