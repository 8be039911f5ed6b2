"""The course of a trial: its headline score, or its dev loss, after each epoch, from history.jsonl."""

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
    stored before there were dev losses has no row of them."""
    history = stored.history(done["id"], store)
    history = history[history["epoch"].notna()].astype({"epoch": "int64"})
    history = history.merge(done[["id", "headline"]].drop_duplicates(), on="id")
    names = [LOSS] * len(history) if is_loss(figure) else history["headline"]
    values = [row.get(name) for row, name in zip(history.to_dict("records"), names, strict=True)]
    found = history[[*KEYS, "epoch"]].assign(y=pd.Series(values, history.index, dtype="float64"))
    return found[found.groupby("id")["y"].transform("count") > 0] if is_loss(figure) else found


def without_loss(done: pd.DataFrame, found: pd.DataFrame) -> str:
    """The note on finished trials that have no dev loss."""
    count = len(stored.without_rows(done["id"], found))
    trials = "1 finished trial was" if count == 1 else f"{count} finished trials were"
    return f"{trials} stored without dev losses and {'is' if count == 1 else 'are'} left out" if count else ""
