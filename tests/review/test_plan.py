"""plan: what a run would do, and that it does none of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from bertxfer.system.files import write_json
from tests.helpers.commands import Run, only_line, split_imports, tiny_words


def test_the_plan_of_a_sweep_before_and_after_it_ran(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(shallow_model), "data.n=16", "training.epochs=1", "-m", "seed=0..2", "scheme=baseline,scratch"]
    before = json.loads(bertxfer("plan", *words, "--json").stdout)
    assert (before["places"], before["distinct"]) == (6, 6)
    assert before["counts"] == {"done": 0, "running": 0, "failed": 0, "missing": 6}
    assert before["cost"]["unknown_trials"] == 6
    assert not (tmp_path / "out").exists()

    assert bertxfer(*words[:-2], "hydra/launcher=inline", "seed=0..1", "scheme=baseline").returncode == 0
    missing = next(trial["id"] for trial in before["trials"] if trial["science"]["seeds"]["order"] == 2)
    failed = tmp_path / "out" / "trials" / missing / "attempts" / "1.json"
    failed.parent.mkdir(parents=True)
    write_json(failed, {"outcome": "failed"})
    after = json.loads(bertxfer("plan", *words, "--json").stdout)
    assert after["counts"] == {"done": 2, "running": 0, "failed": 1, "missing": 3}
    results = [json.loads(path.read_text()) for path in (tmp_path / "out").glob("trials/*/result.json")]
    seconds = [sum(s for name, s in result["timings"].items() if name != "evaluate") for result in results]
    assert after["cost"]["like_trials"] == 4
    assert after["cost"]["seconds"] == pytest.approx(4 * sum(seconds) / 2)
    told = bertxfer("plan", *words, "hydra.launcher.workers=2").stdout
    assert "6 distinct trials: 2 done, 0 running, 1 failed, 3 missing" in told
    assert "with 2 workers" in told
    listed = bertxfer("plan", *words, "--trials").stdout
    assert all(trial["id"] in listed for trial in after["trials"])


def test_places_that_mean_one_trial_are_counted_once(bertxfer: Run) -> None:
    told = json.loads(bertxfer("plan", "-m", "scheme=incremental", "k=12", "init=bert,normal", "--json").stdout)
    assert (told["places"], told["distinct"]) == (2, 1)


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("experiment=mini", "experiment"),
        ("-m scheme=incremental k=12,13", "k"),
        ("seed=0..2", "seed"),
        ("-m hydra.launcher.workers=two", "hydra.launcher.workers"),
        ("optimzer.lr=3", "optimzer.lr"),
        ("-m task=rte data.root=nowhere", "data.root"),
        ("--config-dir nowhere", "--config-dir"),
    ],
)
def test_refused_as_a_run_is(bertxfer: Run, words: str, key: str) -> None:
    ended = bertxfer("plan", *words.split())
    assert ended.returncode == 2
    assert only_line(ended.stderr).startswith(f"bertxfer: {key}: ")


def test_stand_ins_plan_what_is_elsewhere_without_torch(bertxfer: Run, tmp_path: Path) -> None:
    (tmp_path / "own" / "experiment").mkdir(parents=True)
    grids = "# @package _global_\ngrids:\n  - {task: [rte, mrpc], data.n: 8, seed: [0, 1]}\n"
    (tmp_path / "own" / "experiment" / "mine.yaml").write_text(grids)
    words = ["-m", "experiment=mine", "--config-dir", "own", "data.root=nowhere", "--stand-ins"]
    ended = bertxfer("plan", *words, env={"PYTHONPROFILEIMPORTTIME": "1"})
    imports, said = split_imports(ended.stderr)
    assert ended.returncode == 0, said
    assert "4 distinct trials" in ended.stdout
    assert "shared: tokenized data, 2 sets for 4 trials" in ended.stdout
    assert "not on this machine: data of task rte, data of task mrpc" in ended.stdout
    assert imports.isdisjoint({"torch", "transformers", "datasets"})


def test_a_broken_file_is_one_sentence(bertxfer: Run, tmp_path: Path) -> None:
    (tmp_path / "own" / "experiment").mkdir(parents=True)
    (tmp_path / "own" / "experiment" / "mine.yaml").write_text("# @package _global_\nseed: [0\n")
    for verb in (["plan"], []):
        ended = bertxfer(*verb, "-m", "experiment=mine", "--config-dir", "own")
        assert ended.returncode == 2
        assert "own/experiment/mine.yaml:3: is not valid YAML" in only_line(ended.stderr)


def asked(bertxfer: Run, words: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The scientific configs that a command means, and the notes beside them; data need not be here."""
    ran = bertxfer("plan", "--json", "--stand-ins", "-m", *words.split(), env={"BERTXFER_DATA": ""})
    assert ran.returncode == 0, ran.stderr
    plan = json.loads(ran.stdout)
    return [trial["science"] for trial in plan["trials"]], plan["shared"]


def test_typed_values_select_a_part_of_an_experiment(bertxfer: Run) -> None:
    trials, notes = asked(bertxfer, "experiment=tamkin2020/fig2 task=cola data.n=500")
    assert len(trials) == 13 * 50 and not [note for note in notes if "instead" in note]
    assert {(t["task"]["name"], t["data"]["n"], t["training"]["epochs"]) for t in trials} == {("cola", 500, 5)}


def test_a_typed_task_keeps_what_its_own_grid_says(bertxfer: Run) -> None:
    trials, _ = asked(bertxfer, "experiment=cs224n2020/fig2 task=cola")
    assert len(trials) == 4 * 2 and {t["task"]["name"] for t in trials} == {"cola"}
    trials, _ = asked(bertxfer, "experiment=cs224n2020/fig3 task=squad2")
    assert len(trials) == 13
    assert {(t["data"]["fraction"], t["training"]["batch_size"]) for t in trials} == {(0.1, 1)}
    trials, _ = asked(bertxfer, "experiment=singh2020/fig1 task=cola")
    assert {t["data"]["fraction"] for t in trials} == {1.0}


def test_an_axis_is_typed_where_only_some_grids_have_it(bertxfer: Run) -> None:
    trials, notes = asked(bertxfer, "experiment=mini k=3")
    kept = [t for t in trials if len(t["treatment"]["redrawn"]) == 2 * 9]
    assert len(kept) == 3 and len(trials) == 9  # beside the permuted and the reinitialized ones of each task
    assert [note for note in notes if note.startswith("k=3: not in the grids of the experiment")]


def test_a_value_of_no_grid_replaces_theirs_and_says_so(bertxfer: Run) -> None:
    trials, notes = asked(bertxfer, "experiment=tamkin2020/fig3 data.n=100 task=sst2")
    assert {t["data"]["n"] for t in trials} == {100} and len(trials) == 10 * (2 * 10 + 2)
    assert [note for note in notes if note.startswith("data.n=100: not in the grids")]


def test_words_of_an_experiment_do_not_reach_its_dashed_line(bertxfer: Run, tmp_path: Path) -> None:
    words = ["model=mini", "scale=tiny", "k=0,12", "task=sst2", "seed=0"]
    ran = bertxfer("report", "-m", "experiment=tamkin2020/fig2", *words)
    assert ran.returncode == 0, ran.stderr
