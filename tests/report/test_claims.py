"""The scorecard of claims: on the command line, for programs, and first on the page."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bertxfer.report import subject
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.sweep import Point
from bertxfer.sweeps.wanted import sweep_of
from tests.helpers.browser import chromium
from tests.helpers.claimed import as_the_papers_say, invented, reversed_permutation
from tests.helpers.commands import Run
from tests.helpers.stored import finish

WORDS = ["experiment=mini", "task=mini_sst2,mini_cola", "seed=0..7"]


def freeze(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, score: Callable[[Point], float] = as_the_papers_say) -> str:
    monkeypatch.setattr("sys.argv", ["bertxfer", "-m", *WORDS])
    return invented(WORDS, tmp_path / "out", score)


def test_the_scorecard_of_all_that_is_stored(bertxfer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = freeze(tmp_path, monkeypatch)
    told = bertxfer("claims")
    assert told.returncode == 0, told.stderr
    assert f"mini ({name})" in told.stdout
    assert "6 questions of the claims: all hold" in told.stdout
    assert "say nothing about English" in told.stdout
    found = json.loads(bertxfer("claims", "--json").stdout)
    assert [(one["claim"], one["place"]["task"], one["verdict"]) for one in found] == [
        (claim, task, "holds") for claim in ("depth", "permutation", "scratch") for task in ("mini_sst2", "mini_cola")
    ]
    permuted = found[2]
    assert permuted["effect"] == pytest.approx(-8, abs=1) and permuted["low"] < -8 < permuted["high"] < 0
    assert permuted["unit"] == "points" and permuted["rounds"] == 8 and len(permuted["trials"]) == 16
    assert found[0]["effect"] == pytest.approx(1.0) and found[0]["unit"] == "rank correlation"
    for words in (["mini"], [name], ["-m", *WORDS]):
        assert json.loads(bertxfer("claims", "--json", *words).stdout) == found
    assert bertxfer("claims", "--exit-code").returncode == 0


def test_a_planted_reversal_is_found(bertxfer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    freeze(tmp_path, monkeypatch, reversed_permutation)
    told = bertxfer("claims", "--exit-code")
    assert told.returncode == 1
    assert "6 questions of the claims: 4 hold, 2 are the other way round" in told.stdout
    found = json.loads(bertxfer("claims", "--json").stdout)
    assert {one["claim"] for one in found if one["verdict"] == "the opposite holds"} == {"permutation"}


def test_what_is_undecided_says_what_it_would_take(
    bertxfer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    freeze(tmp_path, monkeypatch)
    asked = bertxfer("claims", "--exit-code", "-m", *WORDS[:2], "seed=0..3")
    assert asked.returncode == 3
    assert "undecided: 4 rounds so far, about" in asked.stdout and "more if they are like these" in asked.stdout
    assert "6 questions of the claims: all are undecided" in asked.stdout
    nothing = bertxfer("claims", "-m", *WORDS[:2], "seed=100")
    assert "undecided: no round is whole, and at least 6 are needed" in nothing.stdout


def test_it_needs_no_torch_and_says_what_it_cannot_read(
    bertxfer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "none of the sweeps that are stored here has claims" in bertxfer("claims").stdout
    freeze(tmp_path, monkeypatch)
    broken = tmp_path / "out" / "sweeps" / "broken-1"
    broken.mkdir()
    (broken / "manifest.json").write_text("{")
    told = bertxfer("claims")
    assert told.returncode == 0 and "6 questions of the claims: all hold" in told.stdout
    assert "left out: " in told.stderr and "broken-1" in told.stderr
    wrong = bertxfer("claims", "nothing")
    assert wrong.returncode != 0
    assert "'nothing' is neither a sweep nor an experiment that was run" in wrong.stderr and "mini" in wrong.stderr


def test_claims_come_first_on_the_page(bertxfer: Run, tmp_path: Path) -> None:
    output = [f"runtime.output_dir={tmp_path / 'out'}"]
    words = [*WORDS[:2], "seed=until(20)"]
    asked = subject.of_words([*words, *output])
    for place in asked.points:
        if place.trial.science.seeds["order"] < 8:
            finish(place, Store(tmp_path / "out"), as_the_papers_say(place), n_dev=800)
    ran = bertxfer("report", "-m", *words)
    assert ran.returncode == 0, ran.stderr
    page = Path(ran.stdout.split("report in ")[1].strip())
    with chromium(tmp_path / "profile") as browser:
        browser.open(page)
        browser.wait("document.body.dataset.drawn === '1'")
        sections = browser.run("[...document.querySelectorAll('main > section')].map(one => one.id)")
        assert sections[:2] == ["findings", "figures"]
        browser.run("document.querySelector('#findings details').open = true")
        text = browser.run("document.querySelector('#findings').innerText")
        assert "6 questions of the claims: all hold" in text
        assert "Another order of the pretrained layers lowers the score." in text
        assert text.count("holds (after 6 rounds of 8)") + text.count("holds (after 7 rounds of 8)") == 6
        assert browser.run(
            "document.querySelector('#findings').scrollWidth <= document.querySelector('#findings').clientWidth"
        )
        assert browser.complaints() == []
    assert "80 of 200 trials done, 120 not needed" in page.read_text()


def test_text_of_claims_is_only_text(bertxfer: Run, tmp_path: Path) -> None:
    evil = "<script>window.pwned=1</script>"
    (tmp_path / "own" / "experiment").mkdir(parents=True)
    (tmp_path / "own" / "experiment" / "mine.yaml").write_text(
        "# @package _global_\n"
        "grids:\n  - {task: mini_sst2, scheme: [baseline, scratch], seed: 0..2}\n"
        f"claims:\n  one:\n    says: '{evil}'\n    published: '{evil}'\n"
        "    less: {scheme: scratch}\n    than: {scheme: baseline}\n"
    )
    ran = bertxfer("report", "-m", "experiment=mine", "--config-dir", "own")
    assert ran.returncode == 0, ran.stderr
    text = Path(ran.stdout.split("report in ")[1].strip()).read_text()
    assert evil not in text and "&lt;script&gt;window.pwned=1" in text
    told = bertxfer("claims", "-m", "experiment=mine", "--config-dir", "own")
    assert evil in told.stdout


def test_a_manifest_keeps_what_is_asked_and_no_claim_is_part_of_an_id(tmp_path: Path) -> None:
    output = [f"runtime.output_dir={tmp_path / 'out'}"]
    fixed = subject.of_words([*WORDS, *output])
    words = [*WORDS[:2], "seed=choice('until(8)')", *output]  # as the command line makes it of seed=until(8)
    until = subject.of_words(words)
    assert [place.trial.id for place in fixed.points] == [place.trial.id for place in until.points]
    frozen_sweep = manifest.freeze(sweep_of(words, until.composer))
    assert frozen_sweep.cases == tuple(until.cases) and frozen_sweep.name == until.name == fixed.name
    assert manifest.freeze(sweep_of([*WORDS, *output], fixed.composer)).cases == ()
