"""seed=until(N): rounds are run while a claim needs them, and what is not needed is said to be so."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bertxfer.report import subject
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.sweep import Point
from tests.helpers import warm
from tests.helpers.commands import Run, environment, only_line, tiny_words
from tests.helpers.stored import finish

EXPERIMENT = """# @package _global_
grids:
  - {task: mini_sst2, scheme: [baseline, scratch], seed: SEED}
claims:
  scratch:
    says: a model without any pretraining is worse
    less: {scheme: scratch}
    than: {treatment_text: as pretrained}
"""
WORDS = ["-m", "experiment=mine", "--config-dir", "own", "hydra/launcher=inline"]


def write(tmp_path: Path, text: str = EXPERIMENT, seed: str = "0") -> None:
    folder = tmp_path / "own" / "experiment"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "mine.yaml").write_text(text.replace("SEED", seed))


def clear(place: Point) -> float:
    """Every round has scratch ten points lower, give or take one."""
    seed = place.trial.science.seeds["order"]
    return 0.8 + seed / 1000 if place.axes["scheme"] == "baseline" else 0.7 + seed % 2 / 100


@pytest.fixture
def begun(tmp_path: Path, shallow_model: Path) -> Callable[[int, int], list[str]]:
    """The words of a sweep until(N), of which so many rounds are stored."""

    def begin(most: int, stored: int, score: Callable[[Point], float] = clear) -> list[str]:
        words = [*tiny_words(shallow_model), *WORDS, f"seed=until({most})"]
        ours = [word for word in words if word not in ("-m", "--config-dir", "own")]
        found = subject.of_words(ours, tmp_path / "out", [str(tmp_path / "own")])
        store = Store(tmp_path / "out")
        for place in found.points:
            if place.trial.science.seeds["order"] < stored:
                finish(place, store, score(place), n_dev=800)
        return words

    return begin


def test_what_is_decided_needs_no_more_trials(
    bertxfer: Run, tmp_path: Path, begun: Callable[[int, int], list[str]]
) -> None:
    write(tmp_path)
    words = begun(20, 8)
    planned = json.loads(bertxfer("plan", *words, "--json").stdout)
    assert planned["counts"] == {"done": 16, "running": 0, "failed": 0, "missing": 0, "not needed": 24}
    (claim,) = planned["claims"]
    assert claim["verdict"] == "holds" and claim["decided_after"] in (6, 7, 8)
    ran = bertxfer(*words)
    assert ran.returncode == 0, ran.stderr
    assert "at most 40 trials, 16 done before" in ran.stdout
    assert "24 trials are not needed: what they would help to decide is decided without them" in ran.stdout
    assert "1 question of the claims: 1 holds" in ran.stdout
    assert len(list((tmp_path / "out" / "trials").iterdir())) == 16
    (folder,) = (tmp_path / "out" / "sweeps").iterdir()
    told = bertxfer("status", folder.name).stdout
    assert "16 of 40 done, 0 running, 0 failed, 0 waiting, 24 not needed" in told
    assert "40 (24 not needed)" in bertxfer("status").stdout
    text = (Path(bertxfer("report").stdout.split("report in ")[1].strip())).read_text()
    assert (
        "16 of 40 trials done, 24 not needed" in text and "24 of the 40 trials of this figure were not needed" in text
    )


def test_a_plan_before_anything_ran_says_at_most_and_expected(
    bertxfer: Run, tmp_path: Path, begun: Callable[[int, int], list[str]]
) -> None:
    write(tmp_path)
    told = bertxfer("plan", *begun(50, 0)).stdout
    assert "at most 100 distinct trials: 0 done, 0 running, 0 failed, 100 missing, 0 not needed" in told
    assert "claim scratch: a model without any pretraining is worse (1 question, margin of 1 point)" in told
    expected = re.search(r"until decided: about (\d+) of these 100 trials", told)
    assert expected and 12 <= int(expected[1]) <= 40
    planned = json.loads(bertxfer("plan", *begun(50, 0), "--json").stdout)
    assert (planned["expected"]["unknown_trials"], planned["cost"]["unknown_trials"]) == (int(expected[1]), 100)


def test_the_rest_is_run_round_by_round_until_it_is_decided(
    bertxfer: Run, tmp_path: Path, begun: Callable[[int, int], list[str]]
) -> None:
    """Whatever the model says: as many whole rounds as the claim takes, and no trial more."""
    write(tmp_path)
    ran = bertxfer(*begun(9, 5))
    assert ran.returncode == 0, ran.stderr
    (folder,) = (tmp_path / "out" / "sweeps").iterdir()
    frozen = manifest.read(folder)
    done = {trial.id for trial in frozen.trials if Store(tmp_path / "out").complete(trial.id)}
    (claim,) = json.loads(bertxfer("claims", "--json", "--config-dir", "own", folder.name).stdout)
    rounds = claim["decided_after"] or 9
    assert {trial.science.seeds["order"] for trial in frozen.trials if trial.id in done} == set(range(rounds))
    assert len(done) == 2 * rounds and claim["rounds"] == rounds


def test_a_trial_that_fails_holds_back_what_waits_for_it_and_nothing_hangs(
    bertxfer: Run, tmp_path: Path, begun: Callable[[int, int], list[str]]
) -> None:
    write(tmp_path)
    words = [*begun(20, 5), "runtime.device=cuda"]
    ended = bertxfer(*words, timeout=120)
    assert ended.returncode == 1
    assert "2 of 40 trials failed" in ended.stderr and "28 wait for them" in ended.stderr
    (folder,) = (tmp_path / "out" / "sweeps").iterdir()
    told = bertxfer("status", folder.name).stdout
    assert "10 of 40 done, 0 running, 2 failed, 0 waiting, 28 held back" in told
    again = bertxfer(*[word for word in words if word != "runtime.device=cuda"])
    assert again.returncode == 0, again.stderr


def test_a_damaged_result_holds_back_what_waits_for_it(
    bertxfer: Run, tmp_path: Path, begun: Callable[[int, int], list[str]]
) -> None:
    write(tmp_path)
    words = begun(20, 8)
    planned = json.loads(bertxfer("plan", *words, "--json").stdout)
    damaged = next(one["id"] for one in planned["trials"] if one["science"]["seeds"]["order"] == 2)
    path = tmp_path / "out" / "trials" / damaged / "result.json"
    path.write_text(path.read_text()[:50])
    ended = bertxfer(*words, timeout=120)
    assert ended.returncode == 1
    assert f"damaged  {damaged}: " in ended.stderr
    assert "1 of 40 trials have results that are not to be trusted, and 24 wait for them" in ended.stderr
    (folder,) = (tmp_path / "out" / "sweeps").iterdir()
    assert "24 held back" in bertxfer("status", folder.name).stdout
    path.unlink()
    again = bertxfer(*words)
    assert again.returncode == 0, again.stderr


def test_it_may_stand_in_the_experiment_and_what_is_typed_wins(
    bertxfer: Run, tmp_path: Path, shallow_model: Path
) -> None:
    write(tmp_path, seed="until(7)")
    words = [*tiny_words(shallow_model), *WORDS]
    planned = json.loads(bertxfer("plan", *words, "--json").stdout)
    assert planned["distinct"] == 14 and planned["expected"]["unknown_trials"] > 0
    typed = json.loads(bertxfer("plan", *words, "seed=0..3", "--json").stdout)
    assert typed["distinct"] == 8 and typed["expected"] is None
    tiny = json.loads(bertxfer("plan", *words, "scale=tiny", "--json").stdout)
    assert tiny["distinct"] == 4
    same = [
        json.loads(bertxfer("plan", *words, word, "--json").stdout) for word in ("seed=until(9)", "seed='until(9)'")
    ]
    assert same[0] == same[1] and same[0]["distinct"] == 18


@pytest.mark.parametrize(
    ("text", "words", "said"),
    [
        (EXPERIMENT, ["seed=until(0)"], "seed: until(0): how many rounds at most is a number from 1 to 1000"),
        (EXPERIMENT, ["data.n=until(5)"], "data.n: until(5) is for seed alone"),
        (EXPERIMENT.split("claims")[0], ["seed=until(5)"], "seed: until(N) needs claims that decide how many rounds"),
        (
            EXPERIMENT.replace("scheme: scratch}", "scheme: localized}"),
            ["seed=until(5)"],
            "seed: until(N) needs claims",
        ),
        (
            EXPERIMENT.replace("claims:", "  - {task: mini_sst2, scheme: incremental, k: 1, seed: until(3)}\nclaims:"),
            [],
            "seed: until(N) holds for a whole sweep; give it alone, and in each of the grids",
        ),
        (EXPERIMENT.replace("scheme: scratch}", "scehme: scratch}"), [], "claims.scratch: 'scehme' is not a column"),
        (EXPERIMENT.replace("less:", "fewer:"), [], "claims.scratch.fewer: there is no such key"),
        (f"{EXPERIMENT}    metric: acuracy\n", [], "claims.scratch.metric: 'acuracy' is none of score, accuracy"),
        (f"{EXPERIMENT}    metric: weights.distance\n", [], "leave behind; it takes analysis=[weights]"),
        (f"{EXPERIMENT}    metric: course.score\n", [], "leave behind; it takes training.evaluate=every"),
        (f"{EXPERIMENT}    metric: weights.distnce\n", ["analysis=weights"], "is none of weights.distance"),
        (
            EXPERIMENT.replace("{scheme: scratch}", "{layer: 1, module: attention.key}", 1)
            + "    metric: weights.distance\n",
            ["analysis=weights"],
            "claims.scratch: 'module' holds for a whole claim; give it in `where`",
        ),
        (f"{EXPERIMENT}    metric: weights\n", ["analysis=weights"], "is none of weights.distance"),
        (f"{EXPERIMENT.split('claims')[0]}claims: hello\n", [], "claims: is a mapping of names to claims"),
        (EXPERIMENT.replace("than: {treatment_text: as pretrained}", "than: .nan"), [], "claims.scratch.than: nan is"),
        (EXPERIMENT, ["seed=until(5)", "seeds.order=3"], "seeds.order: does not go with until(N)"),
        (EXPERIMENT, ["seed=until(1000000000)"], "seed: until(1000000000): how many rounds at most"),
        (EXPERIMENT, ["seed=until()"], "seed: until(): how many rounds at most"),
        (EXPERIMENT, ["seed=until(5),9"], "seed=until(5),9"),
    ],
)
def test_what_cannot_be_decided_is_refused(
    bertxfer: Run, tmp_path: Path, shallow_model: Path, text: str, words: list[str], said: str
) -> None:
    write(tmp_path, text)
    for verb in ([], ["plan"]):
        ended = bertxfer(*verb, *tiny_words(shallow_model), *WORDS, *words)
        assert ended.returncode == 2, ended.stdout
        assert said in only_line(ended.stderr)
    assert not (tmp_path / "out").exists()


def test_without_an_experiment_there_is_nothing_to_decide(bertxfer: Run, shallow_model: Path) -> None:
    ended = bertxfer(*tiny_words(shallow_model), "-m", "seed=until(5)")
    assert ended.returncode == 2
    assert "seed: until(N) needs claims" in only_line(ended.stderr)


def test_edited_claims_are_those_of_the_next_launch(
    bertxfer: Run, tmp_path: Path, begun: Callable[[int, int], list[str]]
) -> None:
    """The trials are the same sweep; what is needed of them is asked anew."""
    write(tmp_path)
    words = begun(9, 7)
    assert "4 trials are not needed" in bertxfer(*words).stdout
    write(tmp_path, EXPERIMENT.replace("less: {scheme: scratch}", "margin: 30\n    same: {scheme: scratch}").replace(
        "than:", "as:"))  # fmt: skip
    ran = bertxfer(*words)
    assert ran.returncode == 0 and "1 question of the claims: 1 holds" in ran.stdout
    write(tmp_path, EXPERIMENT.replace("less: {scheme: scratch}", "less: {scheme: scratch}\n    over: nothing"))
    assert "'nothing' is not a column" in bertxfer(*words).stderr


def test_what_is_claimed_is_found_from_any_folder_or_said_to_be_missing(
    bertxfer: Run, tmp_path: Path, begun: Callable[[int, int], list[str]]
) -> None:
    """A relative --config-dir is that of the folder of the launch; and a gate in a CI is not opened by a lost file."""
    write(tmp_path)
    assert bertxfer(*begun(9, 9)).returncode == 0
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    words = ["claims", "--exit-code", "--output-dir", str(tmp_path / "out"), "mine"]

    def asked(*more: str) -> subprocess.CompletedProcess[str]:
        return warm.run([*words, *more], elsewhere, environment(tmp_path))

    assert asked().returncode == 0 and "1 question of the claims: 1 holds" in asked().stdout
    (tmp_path / "own").rename(tmp_path / "moved")
    lost = asked()
    assert lost.returncode == 3
    assert "the experiment mine is not here, so what it claims is not known" in lost.stdout
    there = asked("--config-dir", "../moved")
    assert there.returncode == 0 and "1 question of the claims: 1 holds" in there.stdout


def test_a_claim_about_nothing_is_named(bertxfer: Run, tmp_path: Path, begun: Callable[[int, int], list[str]]) -> None:
    typo = "  other:\n    says: another\n    rises: optimizer.lr\n"
    write(tmp_path, EXPERIMENT + typo)
    words = begun(9, 9)
    assert "claim other: another (not about any trial here)" in bertxfer("plan", *words).stdout
    told = bertxfer("claims", "--exit-code", *words)
    assert told.returncode == 3 and "about none of its trials: other" in told.stdout
