"""How a reader finds the way on the page: findings first, links to figures, a table to search, on any screen."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertxfer.report import page, subject
from bertxfer.store.store import Store
from tests.helpers import axe, warm
from tests.helpers.browser import Browser, chromium
from tests.helpers.charts import axes, overlapping
from tests.helpers.claimed import as_the_papers_say, invented
from tests.helpers.commands import Run, environment
from tests.helpers.stored import finish

WORDS = ["experiment=mini", "seed=0..7"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a sweep with claims, of which some trials failed for two reasons and some were not run."""
    folder = tmp_path_factory.mktemp("reading")
    asked = subject.of_words(WORDS, folder / "out")
    store = Store(folder / "out")
    *whole, last = [[p for p in asked.points if p.trial.science.seeds["order"] == seed] for seed in range(8)]
    for place in (place for places in whole for place in places):
        finish(place, store, as_the_papers_say(place), n_dev=800)
    for i, place in enumerate(last[:5]):
        store.begin(place.trial)
        store.fail_with(place.trial.id, f"the loss is nan at step {i}" if i < 3 else "the disk is full")
    ran = warm.run(["report", "-m", *WORDS], folder, environment(folder))
    assert ran.returncode == 0, ran.stderr
    return Path(ran.stdout.split("report in ")[1].strip())


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


def opened(browser: Browser, path: Path, width: int = 1300, dark: bool = False) -> None:
    browser.events.clear()
    browser.open(path, width, dark)
    browser.wait("document.body.dataset.drawn >= '1'")


def matching(browser: Browser) -> int:
    return int(browser.run("document.getElementById('trial-table').dataset.matching"))


def column(browser: Browser, number: int) -> list[str]:
    cells = f"[...document.querySelectorAll('#trial-table tbody tr')].map(row => row.cells[{number}].textContent)"
    found: list[str] = browser.run(cells)
    return found


def test_a_claims_link_leads_to_its_figure_and_navigation_stays(written: Path, browser: Browser) -> None:
    opened(browser, written)
    findings = browser.run("document.querySelector('#findings').innerText")
    assert "The more layers keep their pretraining, the better." in findings and "holds: 3" in findings
    assert browser.run("document.querySelector('#findings').getBoundingClientRect().top") < 900  # in the first screen
    browser.click("#findings a[href='#figure-1']")
    browser.wait("location.hash === '#figure-1'")
    assert 0 <= browser.run("document.querySelector('#figure-1').getBoundingClientRect().top") < 450
    assert browser.run("document.querySelector('nav').getBoundingClientRect().top") == 0
    browser.wait("document.querySelector('nav a[aria-current]').hash === '#figures'")
    assert browser.complaints() == [] and browser.requests() == []


def test_trials_are_sorted_filtered_and_searched(written: Path, browser: Browser) -> None:
    opened(browser, written)
    assert matching(browser) == 120 and len(column(browser, 0)) == 120
    heads = browser.run("[...document.querySelectorAll('#trial-table thead button')].map(one => one.textContent)")
    score, seed = heads.index("score ×100"), heads.index("seed")
    browser.click(f"#trial-table thead th:nth-child({score + 1}) button")
    shown = [float(text) for text in column(browser, score) if text]
    assert shown == sorted(shown) and len(shown) == 105 and column(browser, score)[-1] == ""  # no score is last
    browser.click(f"#trial-table thead th:nth-child({score + 1}) button")
    assert [float(text) for text in column(browser, score) if text] == shown[::-1]
    assert browser.run(f"document.querySelectorAll('#trial-table thead th')[{score}].ariaSort") == "descending"
    browser.run("(() => { const s = document.querySelector('select[data-column=state]'); s.value = 'failed';"
                " s.dispatchEvent(new Event('change')); })()")  # fmt: skip
    assert matching(browser) == 5 and set(column(browser, seed)) == {"7"}
    browser.click(".search button[type=reset]")
    browser.wait("document.getElementById('trial-table').dataset.matching === '120'")
    browser.click("#trial-search")
    browser.ask("Input.insertText", text="mini_cola permuted")
    assert matching(browser) == 8
    assert "8 of 120 trials" in browser.run("document.querySelector('#trial-count').textContent")


def test_reasons_are_told_once_and_lead_into_the_table(written: Path, browser: Browser) -> None:
    opened(browser, written)
    told = browser.run("[...document.querySelectorAll('.troubles li')].map(one => one.innerText)")
    assert [re.match(r"\d+ \w+: [^(]+", one)[0].strip() for one in told] == [  # type: ignore[index]
        "3 failed: the loss is nan at step 0",
        "2 failed: the disk is full",
        "10 missing: not run yet",
    ]
    browser.click("button[data-reason='the disk is full']")
    browser.wait("document.getElementById('trial-table').dataset.matching === '2'")


def test_it_reads_on_any_screen_by_keyboard_and_by_ear(written: Path, browser: Browser) -> None:
    for width, dark in ((1300, False), (1300, True), (420, False), (420, True)):
        opened(browser, written, width, dark)
        assert axe.serious(browser) == [], (width, dark)
        assert overlapping(browser) == [], width
        assert browser.run("document.documentElement.scrollWidth") <= width
        assert all(
            0 <= low < high <= 100 or "correlation" in title for title, low, high in axes(browser) if "×" in title
        )
    # On a narrow screen the first column stays where it is while the others are pushed past it.
    left = "document.querySelector('#tables tbody th').getBoundingClientRect().left"
    before = browser.run(left)
    browser.run("document.querySelector('#tables .wide').scrollLeft = 200")
    assert browser.run("document.querySelector('#tables .wide').scrollLeft") > 50 and browser.run(left) == before


def test_panels_are_wide_and_their_words_can_be_read(written: Path, browser: Browser) -> None:
    opened(browser, written)
    widths = browser.run(
        "[...document.querySelectorAll('#chart-0 .role-scope path.background')].map(one => one.getBBox().width)"
    )
    panels = [width for width in widths if width]  # what only holds others together has none
    assert len(panels) == 3 and min(panels) >= 360
    sizes = browser.run(
        "[...document.querySelectorAll('#chart-0 text')].map(one => parseFloat(one.getAttribute('font-size')))"
    )
    assert min(size for size in sizes if size) >= 11


def test_print_has_every_trial_and_no_buttons(written: Path, browser: Browser) -> None:
    opened(browser, written)
    told = browser.ask("Page.printToPDF", printBackground=False)
    assert base64.b64decode(told["data"]).startswith(b"%PDF")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    shown = "getComputedStyle(document.querySelector({})).display"
    assert [browser.run(shown.format(json.dumps(one))) for one in ("nav", ".search", ".troubles button")] == [
        "none"
    ] * 3
    browser.ask("Emulation.setEmulatedMedia", media="")


def test_an_index_a_paper_and_two_sweeps(
    bertxfer: Run, browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, names = tmp_path / "out", []
    for epochs, better in ((1, 0.0), (2, 0.05)):
        words = ["experiment=mini", "task=mini_sst2", "seed=0..6", f"training.epochs={epochs}"]
        monkeypatch.setattr("sys.argv", ["bertxfer", "-m", *words])
        names.append(invented(words, out, lambda place, more=better: as_the_papers_say(place) + more))
    told = bertxfer("report", "--all")
    assert told.returncode == 0, told.stderr
    index = Path(told.stdout.split("report in ")[1].strip())
    opened(browser, index)
    links = browser.run("[...document.querySelectorAll('#reports h3 a')].map(one => one.getAttribute('href'))")
    assert sorted(links) == sorted(f"{name}/index.html" for name in names)
    assert all((index.parent / link).is_file() for link in links)

    told = bertxfer("report", *names)
    assert told.returncode == 0, told.stderr
    both = Path(told.stdout.split("report in ")[1].strip())
    opened(browser, both)
    assert axe.serious(browser) == [] and overlapping(browser) == [] and browser.complaints() == []
    rows = browser.run("[...document.querySelectorAll('#differences tbody tr')].map(row => row.innerText)")
    assert len(rows) == 5 and all("+5.0" in row for row in rows)  # the same seed, five points higher
    assert "training.epochs" in browser.run("document.querySelector('#config').innerText")
    refused = bertxfer("report", "tamkin2020")
    assert refused.returncode != 0 and "no experiment of tamkin2020 was run" in refused.stderr


def test_figure_keys_count_beside_a_sweeps_name_and_a_figure_has_a_columns_width(
    bertxfer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["experiment=mini", "task=mini_sst2,mini_cola", "seed=0..3"]
    monkeypatch.setattr("sys.argv", ["bertxfer", "-m", *words])
    name = invented(words, tmp_path / "out")
    told = bertxfer("report", name, "figure.interval=sd2", "--width", "3.3in")
    assert told.returncode == 0, told.stderr
    path = Path(told.stdout.split("report in ")[1].strip())
    assert "Bars are ±2 standard deviations." in path.read_text()
    svg = (path.parent / "figures" / "figure-1.svg").read_text()
    assert re.search(r'<svg[^>]* width="317"', svg)
    pdf = (path.parent / "figures" / "figure-1.pdf").read_bytes()
    fonts = len(re.findall(rb"/Type\s*/FontDescriptor", pdf))
    assert fonts and len(re.findall(rb"/FontFile[23]?\s", pdf)) == fonts  # each font is in the file
    refused = bertxfer("report", name, "--width", "3.3")
    assert refused.returncode == 2 and "is no width between" in refused.stderr


def test_a_watched_page_says_when_it_was_renewed_and_ends_with_the_sweep(
    bertxfer: Run, tmp_path: Path, browser: Browser
) -> None:
    words = ["experiment=mini", "task=mini_sst2", "seed=0..1"]
    asked = subject.of_words(words, tmp_path / "out")
    for place in asked.points[:-1]:
        finish(place, asked.store, as_the_papers_say(place), n_dev=800)
    path = page.write(asked, 30)
    opened(browser, path)
    assert re.search(r"Renewed \d{4}-.*every 30 seconds", browser.run("document.querySelector('#renewed').innerText"))
    finish(asked.points[-1], asked.store, 0.5)
    told = bertxfer("report", "--watch", "1", "-m", *words)
    assert told.returncode == 0, told.stderr
    assert "data-renewed" not in Path(told.stdout.split("report in ")[1].strip()).read_text().split("<header>")[0]
