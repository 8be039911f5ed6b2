"""Numbers for LaTeX: what `macros` writes is what LaTeX prints, and `check` sees what no longer follows."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.report import subject
from tests.helpers.claimed import as_the_papers_say, invented, numbers
from tests.helpers.commands import Run, only_line

WORDS = ["-m", "experiment=mini", "task=mini_cola", "seed=0..7"]
ABOUT = "mini/claims/permutation"
PLACE = "mini/mini_cola/n=500/as-pretrained/matthews_correlation"


@pytest.fixture
def written(tmp_path: Path, bertxfer: Run, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The macros of a sweep that is done."""
    monkeypatch.setattr("sys.argv", ["bertxfer", *WORDS])
    invented(WORDS[1:], tmp_path / "out")
    ran = bertxfer("macros", "results.tex", "mini")
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"results\.tex: \d+ numbers; `python -m bertxfer check results\.tex` says", ran.stdout)
    return tmp_path / "results.tex"


def test_each_number_has_a_name_and_the_trials_behind_it(written: Path, bertxfer: Run, tmp_path: Path) -> None:
    found = numbers(written)
    (claim,) = [one for one in json.loads(bertxfer("claims", "--json").stdout) if one["claim"] == "permutation"]
    assert found[f"{ABOUT}/verdict"] == claim["verdict"] == "holds"
    assert found[f"{ABOUT}/effect"] == f"{claim['effect']:.1f}"
    assert (found[f"{ABOUT}/low"], found[f"{ABOUT}/high"]) == (f"{claim['low']:.1f}", f"{claim['high']:.1f}")
    assert found[f"{ABOUT}/decided-after"] == str(claim["decided_after"])
    places = [place for place in subject.of_words(WORDS[1:]).points if place.axes.get("k") == 12]
    scores = pd.Series([100 * as_the_papers_say(place) for place in places])
    assert len(scores) == 8 and found["mini/mini_cola/n=500/as-pretrained/n"] == "8"
    for name in ("mean", "median", "min", "max"):
        assert found[f"{PLACE}/{name}"] == f"{getattr(scores, name)():.1f}"
    assert found[f"{PLACE}/sd"] == f"{scores.std(ddof=1):.1f}"
    lines = written.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if f"{ABOUT}/effect" in line)
    behind = next(line for line in reversed(lines[:at]) if line.startswith("%< "))
    assert sorted(behind.split()[1:]) == claim["trials"]
    for trial in claim["trials"]:
        assert any(line.startswith(f"%= {trial} ") for line in lines)


def check(bertxfer: Run) -> subprocess.CompletedProcess[str]:
    return bertxfer("check", "results.tex")


def test_what_follows_is_said_to_follow(written: Path, bertxfer: Run, tmp_path: Path) -> None:
    told = check(bertxfer)
    assert told.returncode == 0, told.stdout
    assert f"all {len(numbers(written)):,} numbers follow from the trials in {tmp_path / 'out'}" in told.stdout
    assert bertxfer("macros", "again.tex", *WORDS).returncode == 0
    assert numbers(tmp_path / "again.tex") == numbers(written)
    assert bertxfer("check", "again.tex").returncode == 0


def test_one_changed_digit_is_seen(written: Path, bertxfer: Run) -> None:
    name = f"{ABOUT}/effect"
    before = numbers(written)[name]
    after = before[:-1] + ("7" if before[-1] != "7" else "3")
    text = written.read_text()
    assert text.count(f"{{{name}}}{{{before}}}") == 1
    written.write_text(text.replace(f"{{{name}}}{{{before}}}", f"{{{name}}}{{{after}}}"))
    told = check(bertxfer)
    assert told.returncode == 1
    assert f"{name}: says {after}, and the trials say {before}" in told.stdout
    assert told.stdout.count(": says") == 1


def test_one_changed_trial_is_seen(written: Path, bertxfer: Run, tmp_path: Path) -> None:
    """Even one that changes no printed digit."""
    path = sorted((tmp_path / "out" / "trials").glob("*/result.json"))[3]
    result = json.loads(path.read_text())
    result["score"] += 1e-9
    result["metrics"][result["headline"]] = result["score"]
    path.write_text(json.dumps(result))
    told = check(bertxfer)
    assert told.returncode == 1
    assert f"trial {result['id']}: its result is another one than that which was quoted" in told.stdout
    shutil.rmtree(path.parent)
    gone = check(bertxfer)
    assert gone.returncode == 1
    assert f"trial {result['id']}: there is no result of it" in gone.stdout


def test_a_place_that_grew_is_seen(written: Path, bertxfer: Run, tmp_path: Path) -> None:
    """Numbers of four trials, and now there are eight."""
    assert bertxfer("macros", "few.tex", *WORDS[:-1], "seed=0..3").returncode == 0
    text = (tmp_path / "few.tex").read_text()
    assert bertxfer("check", "few.tex").returncode == 0
    (tmp_path / "few.tex").write_text(text.replace('"seed=range(0,4)"', '"seed=range(0,8)"'))
    told = bertxfer("check", "few.tex")
    assert told.returncode == 1 and "the trials say" in told.stdout


def test_what_was_not_written_by_it_is_refused(written: Path, bertxfer: Run, tmp_path: Path) -> None:
    (tmp_path / "own.tex").write_text(written.read_text() + "\\newcommand{\\mine}{73.1}\n")
    told = bertxfer("check", "own.tex")
    assert told.returncode == 1 and "was not written by `macros`" in only_line(told.stderr)
    (tmp_path / "empty.tex").write_text("")
    assert "is not a file that `macros` wrote" in bertxfer("check", "empty.tex").stderr
    assert "cannot be read" in bertxfer("check", "nowhere.tex").stderr
    nothing = bertxfer("macros", "nothing.tex", "-m", "experiment=mini", "seed=100")
    assert nothing.returncode == 1 and "so nothing can be quoted" in only_line(nothing.stderr)
    assert not (tmp_path / "nothing.tex").exists()


def test_a_store_that_is_elsewhere_now(written: Path, bertxfer: Run, tmp_path: Path) -> None:
    """The file names no path; the results folder is given."""
    (tmp_path / "out").rename(tmp_path / "archive")
    assert bertxfer("check", "results.tex").returncode == 1
    told = bertxfer("check", "results.tex", "--output-dir", "archive")
    assert told.returncode == 0, told.stdout
    assert str(tmp_path) not in written.read_text()
