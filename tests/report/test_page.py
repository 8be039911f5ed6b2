"""The report as a reader meets it: written by the command line, opened in a real Chromium without a network."""

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertxfer.command import run
from bertxfer.report import subject
from bertxfer.store.store import Store
from tests.helpers import warm
from tests.helpers.browser import Browser, chromium
from tests.helpers.commands import Run, environment, only_line, tiny_words
from tests.helpers.stored import finish

SWEEP = ["task=mini_sst2,mini_cola", "scheme=incremental", "k=0,6,12", "data.n=100,400", "seed=0,1"]
EVIL = "<script>window.pwned=1</script><img src=x onerror='window.pwned=1'>"
ENVIRONMENT = {"device": "cpu", "torch": "9.9.9", "git_revision": "cafe"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a sweep that is done."""
    folder = tmp_path_factory.mktemp("whole")
    _fill(folder, SWEEP)
    ran = warm.run(["report", "-m", *SWEEP], folder, environment(folder))
    assert ran.returncode == 0, ran.stderr
    return _written(ran.stdout)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    with chromium(tmp_path / "profile") as opened:
        yield opened


def test_a_report_is_drawn_filtered_and_asks_nobody(whole: Path, browser: Browser) -> None:
    _open(browser, whole)
    assert _headings(browser) == ["mini_cola (Matthews correlation)", "mini_sst2 (accuracy)"]
    assert _symbols(browser) == 3 * 12  # two tasks, two sizes, three k: a mean and two trials each
    _hover_a_mark(browser)
    browser.wait("document.querySelector('#vg-tooltip-element.visible') !== null")
    told = browser.run("document.querySelector('#vg-tooltip-element').innerText")
    assert "seed 0: " in told and "seed 1: " in told

    _choose(browser, "button[data-value=mini_sst2]", redrawn=2)
    assert _headings(browser) == ["mini_sst2 (accuracy)"]
    assert _symbols(browser) == 3 * 6
    assert browser.run("document.querySelectorAll('#tables tr[data-task=mini_cola]:not([hidden])').length") == 0
    assert browser.run("document.querySelectorAll('#tables tr[data-task=mini_sst2]:not([hidden])').length") > 0
    _choose(browser, "button[data-value='n=100']", redrawn=3)
    assert _symbols(browser) == 3 * 3
    _choose(browser, "#everything", redrawn=4)
    assert _symbols(browser) == 3 * 12

    browser.click("#chart-0 .mark-symbol.role-mark path")
    browser.wait("document.body.dataset.drawn === '5'")
    assert len(_headings(browser)) == 1
    assert browser.complaints() == []
    assert browser.requests() == []


def test_nothing_is_cut_off_wide_or_narrow_light_or_dark(whole: Path, browser: Browser) -> None:
    for width, dark in ((1200, False), (1200, True), (390, False), (390, True)):
        _open(browser, whole, width, dark)
        assert browser.run("document.documentElement.scrollWidth") <= width
        charts = "[...document.querySelectorAll('.chart')]"
        assert browser.run(f"{charts}.every(chart => chart.scrollWidth <= chart.clientWidth)")
        paper = [
            int(part) for part in re.findall(r"\d+", browser.run("getComputedStyle(document.body).backgroundColor"))
        ]
        ink = [int(part) for part in re.findall(r"\d+", browser.run(f"getComputedStyle({_LABEL}).fill"))]
        assert (sum(paper) < sum(ink)) == dark  # the text of charts too is light on dark, dark on light
        assert browser.complaints() == []


def test_text_of_data_and_configs_is_only_text(bertxfer: Run, browser: Browser, tmp_path: Path) -> None:
    # One trial a place: what is drawn without any interval must not make the console complain either.
    words = [f'task.name="{EVIL}"', "scheme=incremental", "k=0,6,12", "seed=0"]
    asked = subject.of_words(words, tmp_path / "out")
    first, *rest = asked.points
    store = Store(tmp_path / "out")
    store.begin(first.trial)
    store.fail_with(first.trial.id, f"reason {EVIL}")
    for place in rest:
        finish(place, store, 0.5, environment={"device": EVIL})
    page = _written(bertxfer("report", "-m", *words).stdout)
    _open(browser, page)
    assert browser.run("window.pwned") is None
    assert f"reason {EVIL}" in browser.run("document.querySelector('.troubles').innerText")
    assert EVIL in browser.run("document.querySelector('#chart-0').textContent")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.complaints() == [] and browser.requests() == []


def test_an_incomplete_sweep_says_what_is_missing(bertxfer: Run, tmp_path: Path) -> None:
    asked = _fill(tmp_path, SWEEP, leave_out=3, fail=1)
    ran = bertxfer("report", "-m", *SWEEP)
    text = _written(ran.stdout).read_text()
    assert "20 of 24 trials done, 1 failed, 3 missing" in text
    assert "<strong>3 missing</strong>: not run yet" in text and "<strong>1 failed</strong>: the disk is full" in text
    assert "4 of the 24 trials of this figure have no result (1 of them failed)" in text
    missing = asked.points[-1].trial.id
    assert missing in text
    assert "mini (demonstration model)" in text and "say nothing about English" in text
    commands = html.unescape(text[text.index("<pre") : text.index("</pre>")])
    assert "python -m bertxfer -m task=mini_sst2,mini_cola" in commands and "bertxfer report -m" in commands
    assert "9.9.9" in text and "cafe" in text  # versions of the results


def test_a_sweep_without_any_result_has_a_report(bertxfer: Run) -> None:
    text = _written(bertxfer("report", "-m", *SWEEP).stdout).read_text()
    assert "0 of 24 trials done, 24 missing" in text and "There is nothing to draw yet" in text


def test_a_real_sweep_by_its_name(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(shallow_model), "data.n=16", "training.epochs=1", "-m", "seed=0,1"]
    ran = bertxfer(*words, "hydra/launcher=inline")
    assert ran.returncode == 0, ran.stderr
    (manifest,) = (tmp_path / "out" / "sweeps").glob("*/manifest.json")
    for asked in (["report"], ["report", manifest.parent.name[:5]], ["report", *words]):
        told = bertxfer(*asked)
        page = _written(told.stdout)
        assert page == tmp_path / "out" / "reports" / manifest.parent.name / "index.html", told.stderr
    scores = [json.loads(path.read_text())["score"] for path in (tmp_path / "out" / "trials").glob("*/result.json")]
    text = page.read_text()
    assert all(f"seed {seed}: " in text for seed in (0, 1)) and all(f"{100 * score:.2f}" in text for score in scores)
    assert {path.suffix for path in (page.parent / "figures").iterdir()} == {".svg", ".png", ".pdf", ".csv"}
    assert {path.suffix for path in (page.parent / "tables").iterdir()} == {".md", ".tex", ".csv"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "'nothing' is not a sweep"),
        (["-m", "experiment=nothing"], "experiment: 'nothing' is not there"),
        (["-m", "k=3", "nonsense"], "nonsense: is neither key=value nor the name of a sweep"),
        ([], "there is no sweep in"),
    ],
)
def test_what_cannot_be_reported_is_said_in_one_sentence(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("BERTXFER_OUTPUT", str(tmp_path))
    assert run(["report", *words]) != 0
    assert said in only_line(capsys.readouterr().err)


_LABEL = "document.querySelector('#chart-0 .role-axis-label text')"


def _fill(tmp_path: Path, words: list[str], leave_out: int = 0, fail: int = 0) -> subject.Subject:
    """Results of a sweep that nobody ran: the later, the better."""
    asked = subject.of_words(words, tmp_path / "out")
    store = Store(tmp_path / "out")
    places = asked.points[: len(asked.points) - leave_out]
    for i, place in enumerate(places):
        if i < fail:
            store.begin(place.trial)
            store.fail_with(place.trial.id, "the disk is full")
        else:
            finish(place, store, 0.5 + i / 100, environment=ENVIRONMENT)
    return asked


def _written(stdout: str) -> Path:
    said = re.search(r"report in (.+/index\.html)$", stdout.strip())
    assert said, stdout
    return Path(said[1])


def _open(browser: Browser, page: Path, width: int = 1200, dark: bool = False) -> None:
    browser.open(page, width, dark)
    browser.wait("document.body.dataset.drawn === '1'")


def _choose(browser: Browser, selector: str, redrawn: int) -> None:
    browser.click(selector)
    browser.wait(f"document.body.dataset.drawn === '{redrawn}'")


def _headings(browser: Browser) -> list[str]:
    found = browser.run("[...document.querySelectorAll('#chart-0 text')].map(text => text.textContent)")
    return sorted(text for text in found if text.endswith(")") and text.startswith("mini_"))


def _symbols(browser: Browser) -> int:
    """Marks for means that the charts have."""
    return int(browser.run("document.querySelectorAll('#chart-0 .mark-symbol.role-mark path').length"))


def _hover_a_mark(browser: Browser) -> None:
    place = browser.run(
        "(() => { const e = [...document.querySelectorAll('#chart-0 .mark-symbol.role-mark path')].pop();"
        " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
    )
    browser.hover(*place)
