"""Every preset asks for what its paper reports, and runs whole at a tiny scale: figures, tables and report."""

import html
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from bertxfer.config.composer import Composer
from bertxfer.config.experiments import names
from bertxfer.config.schema import conf_dir
from bertxfer.report import page, scorecard, subject
from bertxfer.report.frame import completeness, frame
from bertxfer.review.listing import Broken, listing
from bertxfer.store.store import Store
from bertxfer.sweeps import runs
from bertxfer.sweeps.launchers.inline import Inline
from bertxfer.sweeps.sweep import Sweep
from bertxfer.sweeps.wanted import notes_of, stated_claims, sweep_of
from tests.helpers.officialdata import write_official

PRESETS = sorted(names(conf_dir()))
OTHER_READINGS = [preset for preset in PRESETS if preset.startswith(("tamkin2020/", "singh2020/"))]
HEADS = 4 * 12 + 1
# Distinct trials on BERT-base, counted by hand from the papers: tasks x places x trials.
TRIALS = {
    "mini": 15,
    "tamkin2020/fig2": 3 * 13 * 50 + 3 * 13 * 3 + 2 * 13 * 3,
    "tamkin2020/fig3": 3 * 10 * 2 * 10 + 3 * 2 * 10,
    "tamkin2020/fig4": 3 * 10 + 3 * 2 * 10,
    "tamkin2020/fig5": 3 * 13 * 50,
    "tamkin2020/fig6": 3 * 12 * 3 + 3 * 2 * 3,
    "tamkin2020/fig7": 3 * (13 + 12) * 3,  # at k=12 there is nothing to learn faster
    "tamkin2020/fig8": 3 * (13 + 12) * 3,
    "tamkin2020/table1": 3 * 10 + 3 * 2 * 10,
    "tamkin2020/epochs": 3 * 3 * 2 * 3,
    "singh2020/fig1": 2 * 13 * 3 + 13,
    "singh2020/fig1c": 2 * 13,
    "cs224n2020/fig3": 5 * 13,
    "cs224n2020/fig4": 5 * 13,
    "cs224n2020/fig5": HEADS,
    "cs224n2020/fig6": HEADS,
    "cs224n2020/fig7": HEADS,
    "cs224n2020/fig8": HEADS,
    "cs224n2020/fig9": HEADS,
    "cs224n2020/fig10": HEADS,
    "cs224n2020/wanted_layers": 4 * 13 * 10,
    "cs224n2020/wanted_squad": 13 * 10,
    "cs224n2020/wanted_intermediate": 4 * 4 * 10,
    "cs224n2020/wanted_chains": 4 * (1 + 3 + 6) * 10,
    "cs224n2020/wanted_heads": 2 * (3 + 1) * 10,
    "cs224n2020/wanted_deletion": 2 * 2 * 10,
    "cs224n2020/fig1": 4 * 4 * 2,  # the better of two runs
    "cs224n2020/fig2": 4 * 4 * 2,
    "tamkin2020/probing": 3 * 12 * 8,
    "singh2020/fig2": 2 * 12,  # 1 to 11 layers removed, and none
    "singh2020/fig3": 2 * 3,
    "singh2020/fig5a": 12,
    "singh2020/fig5b": 1,
    "kovaleva2019/table1": 7 * 3,
    "kovaleva2019/fig5": 7,
    "kovaleva2019/fig6": 7,
    "dodge2020/components": 4 * 20 * (7 + 6),  # with all layers kept nothing is redrawn
    "wu2022/statistics": 3 * (4 + 2 + 1) * 10,
    "wu2022/corruption": 3 * (6 + 1) * 10,
    "lee2019/frozen": 4 * (4 + 4 + 1) * 5,
    "zhang2022/surgery": 3 * 5,
    "merchant2020/similarity": 4 * 5,
    "hao2019/path": 3 * 2 * 5,
    "zhang2021/bias_correction": 4 * 2 * 20,
    "zhang2021/reinitialized": 4 * (7 + 1) * 20,
    "zhang2021/epochs": 4 * 3 * 20,
    "mosbach2021/stability": 3 * 2 * 25,
}
# They count quarters of the layers, or name layers by their number.
TWELVE_LAYERS = {"cs224n2020/wanted_deletion", "lee2019/frozen", "zhang2021/reinitialized"}


# They redraw the trials of another preset, which has the claims; or their paper has no finding about them.
WITHOUT_CLAIMS = {
    *(f"cs224n2020/fig{number}" for number in (1, 4, 7, 8, 9, 10)),
    "cs224n2020/wanted_chains",
    "dodge2020/components",
    "kovaleva2019/fig6",
    "singh2020/fig5b",
    "tamkin2020/fig5",
}


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listing trials needs no data: what the hub has is known by its name."""
    monkeypatch.delenv("BERTXFER_DATA", raising=False)


@cache
def ids(preset: str) -> frozenset[str]:
    """The trials of a preset as `diff` and the pre-commit hook list them."""
    found = listing(conf_dir(), [preset]).experiments[preset]
    assert not isinstance(found, Broken), str(found)
    return frozenset(place.id for place in found)


def test_every_preset_has_its_number_of_trials_written_here() -> None:
    assert sorted(TRIALS) == PRESETS


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_asks_for_the_papers_trials(preset: str, composer: Composer) -> None:
    assert len(ids(preset)) == TRIALS[preset]
    cfg = composer.compose([f"experiment={preset}"])
    assert cfg.description and cfg.figure


def test_the_page_of_the_papers_has_every_preset_with_its_trials(composer: Composer) -> None:
    page = (Path(__file__).parents[2] / "docs" / "papers.md").read_text()
    rows = re.findall(r"^\|.*`(\w+/\w+)`.*\| (\d+)(?: \((\d+)\))? \|[^|]*\|$", page, re.MULTILINE)
    assert {name: int(trials) for name, trials, _ in rows} == {k: n for k, n in TRIALS.items() if k != "mini"}
    assert len(rows) == len(TRIALS) - 1
    for name, trials, of_code in rows:
        if name in OTHER_READINGS:
            sweep = sweep_of([f"experiment={name}", "reading=code"], composer)
            assert len(sweep.trials) == int(of_code or trials), name


@pytest.mark.parametrize(
    ("preset", "of"),
    [
        ("tamkin2020/fig5", "tamkin2020/fig2"),
        ("tamkin2020/table1", "tamkin2020/fig4"),
        ("cs224n2020/wanted_intermediate", "cs224n2020/wanted_chains"),
        ("singh2020/fig3", "singh2020/fig1"),
        ("singh2020/fig5b", "singh2020/fig1"),
        ("cs224n2020/fig1", "cs224n2020/fig2"),
        ("kovaleva2019/fig5", "kovaleva2019/table1"),
        ("kovaleva2019/fig6", "kovaleva2019/table1"),
        ("cs224n2020/fig4", "cs224n2020/fig3"),
        ("cs224n2020/fig7", "cs224n2020/fig5"),
        ("cs224n2020/fig8", "cs224n2020/fig6"),
        ("cs224n2020/fig9", "cs224n2020/fig5"),
        ("cs224n2020/fig10", "cs224n2020/fig6"),
    ],
)
def test_what_only_redraws_runs_nothing_of_its_own(preset: str, of: str) -> None:
    assert ids(preset) <= ids(of)


def test_figures_that_share_trials_share_their_ids() -> None:
    incremental = ids("tamkin2020/fig2")
    for preset in ("tamkin2020/fig7", "tamkin2020/fig8"):
        assert len(ids(preset) & incremental) == 3 * 13 * 3  # n=5000
    assert len(ids("tamkin2020/fig3") & ids("tamkin2020/fig4")) == 3 * 2 * 10


def fig3(composer: Composer, *words: str) -> Sweep:
    return sweep_of(["experiment=tamkin2020/fig3", *words], composer)


def test_a_preset_fits_a_model_of_six_layers(composer: Composer) -> None:
    blocks = {point.axes.get("block") for point in fig3(composer, "model=distilbert", "seed=0").points}
    assert blocks == {None, 1, 2, 3, 4}


def test_the_mini_model_has_stand_ins_and_what_is_typed_wins(composer: Composer) -> None:
    words = ["experiment=tamkin2020/fig3", "model=mini", "seed=0"]
    assert {point.axes["task"] for point in sweep_of(words, composer).points} == {"mini_sst2", "mini_qnli", "mini_cola"}
    note, reading = notes_of(words, composer)
    assert "mini_sst2 stands for sst2" in note and reading.startswith("reading=text")
    typed = sweep_of([*words, "task=sst2", "data.n=500"], composer)
    assert {(point.axes["task"], point.trial.science.data.n) for point in typed.points} == {("sst2", 500)}
    assert notes_of(["experiment=cs224n2020/fig3", "seed=0"], composer) == []


def test_two_models_at_once_have_each_their_own_layers(composer: Composer) -> None:
    found = fig3(composer, "model=mini,distilbert", "seed=0", "scale=tiny").points
    by_model = {
        model: {p.axes.get("block") for p in found if p.axes["model"] == model} for model in ("mini", "distilbert")
    }
    assert by_model == {"mini": {None, 1, 6, 10}, "distilbert": {None, 1, 2, 3, 4}}
    assert {point.axes["task"] for point in found if point.axes["model"] == "distilbert"} == {"sst2", "qnli", "cola"}


@pytest.mark.parametrize("preset", PRESETS)
def test_each_claim_of_a_preset_is_about_its_own_trials(preset: str, composer: Composer) -> None:
    """On the model that the paper used; a misspelt place would make a claim that nothing answers."""
    sweep = sweep_of([f"experiment={preset}", "seed=0,1"], composer)
    stated = stated_claims({"experiment": [f"experiment={preset}"]}, composer)
    assert {case.claim for case in sweep.cases} == {claim.name for claim in stated}
    assert (not stated) == (preset in WITHOUT_CLAIMS)
    assert len({case.rounds for case in sweep.cases}) == len(sweep.cases), "a question is asked twice"
    for case in sweep.cases:
        assert [number for number, _ in case.rounds] == [0, 1]
        assert case.trials <= {trial.id for trial in sweep.trials}


@pytest.fixture(scope="session")
def official(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_official(tmp_path_factory.mktemp("official"))


@pytest.fixture(scope="session")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all presets, so that what they share is run once."""
    return tmp_path_factory.mktemp("presets") / "out"


@pytest.mark.parametrize(
    ("preset", "reading"),
    [*((preset, "text") for preset in PRESETS), *((preset, "code") for preset in OTHER_READINGS)],
)
def test_a_preset_runs_whole_at_a_tiny_scale(
    preset: str, reading: str, composer: Composer, official: Path, out: Path, low_model: Path, tiny_model: Path
) -> None:
    model = tiny_model if preset in TWELVE_LAYERS else low_model
    words = [f"experiment={preset}", "model=mini", f"model.name={model}", "scale=tiny", f"data.root={official}"]
    if preset == "mini":
        words += ["data.n=16", "data.dev_n=16", "training.epochs=1"]
    if reading == "code":
        words += ["reading=code"]
    sweep = sweep_of([*words, f"runtime.output_dir={out}", "runtime.device=cpu"], composer)
    results = runs.run_sweep(sweep, Inline())
    assert all(result is not None and result["n_dev"] <= 32 and result["n_train"] <= 32 for result in results)
    assert completeness(frame(sweep.points, Store(out))).done == len(sweep.trials)
    index = page.write(subject.of_words([*words, f"runtime.output_dir={out}"]))
    blocks = figures(composer, words)
    drawn = [block for block in blocks if block.get("kind") != "table"]
    for suffix in ("svg", "png", "pdf", "csv"):
        files = list((index.parent / "figures").glob(f"*.{suffix}"))
        assert len(files) == len(drawn)
        assert all(path.stat().st_size > 100 for path in files)
    wanted = [name for block in blocks for name in block.get("tables") or []]
    for suffix in ("md", "tex", "csv"):
        assert len(list((index.parent / "tables").rglob(f"*.{suffix}"))) >= len(wanted)
    text = index.read_text()
    card = scorecard.of(subject.of_words([*words, f"runtime.output_dir={out}"]))
    for entry in card.entries:
        assert entry.sentence in html.unescape(text)
        assert all(len(decision.rounds) == len(decision.case.rounds) > 0 for decision in entry.decisions)
    assert preset not in OTHER_READINGS or f"{preset}, reading={reading}" in text
    assert f"{len(sweep.trials)} of {len(sweep.trials)} trials done" in text
    assert 'src="http' not in text


def figures(composer: Composer, words: list[str]) -> list[dict[str, Any]]:
    figure = OmegaConf.to_container(composer.compose(words).figure)
    return figure if isinstance(figure, list) else [figure]  # type: ignore[list-item,return-value]
