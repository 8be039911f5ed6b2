"""The page of every preset in a real Chromium: axes within what scores can be, and nothing on top of anything."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bertxfer.config import experiments
from bertxfer.config.schema import conf_dir
from bertxfer.report import page, subject
from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from tests.helpers.browser import Browser, chromium
from tests.helpers.charts import axes, overlapping
from tests.helpers.stored import finish

PRESETS = experiments.names(conf_dir())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_has_axes_within_range_and_nothing_on_top_of_anything(
    preset: str, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BERTXFER_DATA", raising=False)
    asked = subject.of_words([f"experiment={preset}", "scale=tiny", "seed=0..2"], tmp_path)  # bars need three
    for i, place in enumerate({point.trial.id: point for point in asked.points}.values()):
        _invent(place, asked.store, i)
    path = page.write(asked)
    browser.events.clear()
    for width, dark in ((1300, False), (420, True)):
        browser.open(path, width, dark)
        browser.wait("document.body.dataset.drawn >= '1'")
        for title, low, high in axes(browser):
            if "×100" in title:
                assert -100 <= low < high <= 100, title
        assert overlapping(browser) == [], (preset, width)
        assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.complaints() == [] and browser.requests() == []


def _invent(place: Point, store: Store, i: int) -> None:
    """Scores near what they can be at most, so that every interval would be beyond it, and whatever analyses are."""
    scores = dict.fromkeys(place.trial.metrics, 0.5 + i * 7919 % 100 / 200)
    finish(place, store, scores[place.trial.headline], metrics=scores, steps=4, epochs=2, n_dev=80)
    folder = store.folder(place.trial.id)
    events: list[dict[str, Any]] = [{"step": step, "loss": 2.0 / step, "lr": 1e-4} for step in range(1, 5)]
    events += [{"step": 2 * epoch, "epoch": epoch, "dev_loss": 1.0 / epoch, **scores} for epoch in (1, 2)]
    (folder / "history.jsonl").write_text("\n".join(map(json.dumps, events)))
    rows = {"index": range(4), "label": [0, 1, 0, 1], "prediction": [0, 1, 1, 1]}
    answers = dict.fromkeys(("question", *place.trial.metrics), 0.5) if "exact_match" in place.trial.metrics else {}
    pd.DataFrame(rows).assign(**answers).rename(columns={"question": "id"}).to_parquet(folder / "predictions.parquet")
    layers = range(1, place.trial.science.model.layers + 1)
    weights = [
        {"reference": "pretrained", "layer": n, "module": "feedforward.output", "distance": 0.1 * n, "norm": 2.0}
        for n in layers
    ]
    pd.DataFrame(weights).assign(relative=0.1).to_parquet(folder / "weights.parquet")
    cells = [
        {"layer": n, "head": head, "measure": measure, "model": model, "value": n / 20, "examples": 5}
        for n in layers
        for head in range(1, 13)
        for measure in ("similarity", "to_sep", "to_cls")
        for model in ("pretrained", "finetuned")
    ]
    pd.DataFrame(cells).to_parquet(folder / "attention.parquet")
