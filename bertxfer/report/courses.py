"""The course of a trial: its headline score, or its dev loss, after each epoch."""

import pandas as pd

from bertxfer.errors import ConfigError
from bertxfer.report import stored
from bertxfer.report.figure import Figure
from bertxfer.store.store import Store

LOSS = "dev_loss"
KEYS = ["id", "headline"]  # a trial may be looked at by two metrics


def is_loss(figure: Figure) -> bool:
    """Whether a figure of epochs is about the dev loss, and not the score."""
    if figure.measure not in (None, "score", LOSS):
        raise ConfigError("figure.measure", f"{figure.measure!r} is not one of score, {LOSS}")
    return bool(figure.measure == LOSS)


def courses(done: pd.DataFrame, figure: Figure, store: Store) -> pd.DataFrame:
    """`id`, `headline`, `epoch` and `y` of finished trials, each by every metric that it is looked at by. One that was
    not evaluated after each epoch has no row, nor one that was stored before there were dev losses, if they are asked
    for."""
    course = stored.course(done["id"], store).astype({"epoch": "int64"})
    epochs = course.groupby("id")["epoch"]
    course = course[epochs.transform("nunique") == epochs.transform("max")]
    course = course.merge(done[KEYS].drop_duplicates(), on="id")
    names = [LOSS] * len(course) if is_loss(figure) else course["headline"]
    values = [row.get(name) for row, name in zip(course.to_dict("records"), names, strict=True)]
    found = course[[*KEYS, "epoch"]].assign(y=pd.Series(values, course.index, dtype="float64"))
    return found[found.groupby("id")["y"].transform("count") > 0] if is_loss(figure) else found


def left_out(done: pd.DataFrame, found: pd.DataFrame, loss: bool) -> str:
    """The note on finished trials that have no course of what is shown."""
    count = len(stored.without_rows(done["id"], found))
    trials = "1 finished trial was" if count == 1 else f"{count} finished trials were"
    are = "is" if count == 1 else "are"
    left = f"stored without dev {'losses' if loss else 'scores'} of every epoch and {are} left out"
    return f"{trials} {left}; a run with training.evaluate=every adds them" if count else ""
