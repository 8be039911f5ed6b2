"""diff on a repository with known changes: the exact sets of trials that were added, removed and changed."""

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest

from bertxfer.review import comparison
from bertxfer.review.listing import Broken, ListedPoint, Listing
from tests.helpers.commands import split_imports
from tests.helpers.fixture_repository import FixtureRepository, places


@pytest.fixture
def repository(tmp_path: Path) -> FixtureRepository:
    return FixtureRepository(tmp_path / "repository", tmp_path / "out")


def counts(experiment: dict[str, Any]) -> tuple[int, int, int, int]:
    changed = sum(len(group["trials"]) for group in experiment["changed"])
    return len(experiment["added"]), len(experiment["removed"]), changed, experiment["kept"]


def test_known_changes_of_experiments(repository: FixtureRepository) -> None:
    """An added seed, a new experiment, a removed one, a comment and an unbroken order, in one change."""
    repository.experiment("alpha", "{task: [mini_sst2, mini_cola], scheme: incremental, k: [0, 6], seed: [0, 1, 2]}")
    repository.edit("conf/experiment/beta.yaml", "grids:", "# three layers\ngrids:")
    (repository.root / "conf/experiment/gamma.yaml").unlink()
    repository.experiment("delta", "{scheme: permutation, seed: [0, 1]}")
    told = repository.diff(status=1)
    alpha, beta, gamma, delta = (told["by_name"][name] for name in ("alpha", "beta", "gamma", "delta"))
    assert counts(alpha) == (4, 0, 0, 8)
    assert places(alpha["added"], "task", "k", "seed") == {
        ("mini_sst2", 0, 2),
        ("mini_sst2", 6, 2),
        ("mini_cola", 0, 2),
        ("mini_cola", 6, 2),
    }
    assert counts(beta) == (0, 0, 0, 3)
    assert counts(gamma) == (0, 4, 0, 0)
    assert (gamma["was"], gamma["now"]) == ("gamma", None)
    assert places(gamma["removed"], "seed") == {(0,), (1,), (2,), (3,)}
    assert counts(delta) == (2, 0, 0, 0)
    assert (delta["was"], delta["now"]) == (None, "delta")
    said = repository.run("diff").stdout
    assert "alpha: 4 added, 8 as before" in said
    assert "added: task=mini_sst2,mini_cola × scheme=incremental × k=0,6 × seed=2" in said
    assert "delta: a new experiment, 2 added" in said
    assert "gamma: is gone, 4 removed" in said
    assert "no trial changes: beta" in said


def test_a_changed_default_reaches_experiments_that_do_not_mention_it(repository: FixtureRepository) -> None:
    repository.edit("conf/model/mini.yaml", "lr: 5e-4", "lr: 7e-4")
    line = (repository.root / "conf/model/mini.yaml").read_text().splitlines().index("lr: 7e-4") + 1
    told = repository.diff()
    assert {name: counts(found) for name, found in told["by_name"].items()} == {
        "alpha": (0, 0, 8, 0),
        "beta": (0, 0, 0, 3),
        "gamma": (0, 0, 4, 0),
    }
    (group,) = told["by_name"]["alpha"]["changed"]
    (difference,) = group["differences"]
    assert (difference["key"], difference["old"], difference["new"]) == ("optimizer.lr", 5e-4, 7e-4)
    assert difference["source"].startswith(
        f"conf/model/mini.yaml:{line}, through `lr: ${{model.lr}}` in conf/optimizer"
    )
    assert all(trial["old"] != trial["new"] for trial in group["trials"])
    assert places(group["trials"], "task", "k", "seed") == {
        (task, k, seed) for task in ("mini_sst2", "mini_cola") for k in (0, 6) for seed in (0, 1)
    }


def test_an_edit_of_what_the_other_reading_means_is_seen(repository: FixtureRepository) -> None:
    text = (repository.root / "conf" / "experiment" / "alpha.yaml").read_text()
    repository.write("conf/experiment/alpha.yaml", text.replace("grids:", "readings: [text, code]\ngrids:"))
    repository.commit()
    repository.edit("conf/init/paper_code.yaml", "cut: 0.04", "cut: 0.05")
    told = repository.diff("HEAD", status=1)
    assert counts(told["by_name"]["alpha, reading=code"]) == (0, 0, 8, 0)
    assert counts(told["by_name"]["alpha"]) == (0, 0, 0, 8)
    said = repository.run("diff", "HEAD").stdout
    assert "init.cut: 0.04 -> 0.05, conf/init/paper_code.yaml:6, chosen by `override /init: paper_code`" in said


def test_names_orders_and_comments_change_no_trial(repository: FixtureRepository) -> None:
    repository.git("mv", "conf/experiment/gamma.yaml", "conf/experiment/renamed.yaml")
    repository.experiment("alpha", "{seed: [1, 0], k: [6, 0], scheme: incremental, task: [mini_cola, mini_sst2]}")
    repository.edit("conf/experiment/beta.yaml", "optimizer.lr: 1e-3", "optimizer.lr: 0.001")
    repository.edit("conf/optimizer/adam.yaml", "name: adam", "# the usual\nname: adam")
    told = repository.diff()
    assert {name: counts(found) for name, found in told["by_name"].items()} == {
        "alpha": (0, 0, 0, 8),
        "beta": (0, 0, 0, 3),
        "renamed": (0, 0, 0, 4),
    }
    assert told["by_name"]["renamed"]["was"] == "gamma"
    ended = repository.run("diff", "--exit-code")
    assert ended.returncode == 0
    assert "only renamed, no trial changes: gamma is now renamed" in ended.stdout
    assert "no trial changes: alpha, beta" in ended.stdout


def test_a_broken_experiment_is_placed_and_hides_no_other(repository: FixtureRepository) -> None:
    repository.write("conf/experiment/broken_before.yaml", "# @package _global_\ngrids:\n  - {seed: [0, 1]}\n  oops\n")
    repository.commit()
    repository.experiment("broken_before", "{seed: [0, 1]}")
    repository.experiment("alpha", "{scheme: incremental, k: 6}", "{scheme: incremental, k: [0, 13]}")
    repository.write("conf/experiment/beta.yaml", "# @package _global_\noptimizer:\n  learning_rate: 3\n")
    repository.write("conf/experiment/delta.yaml", "# @package _global_\ndefaults:\n  - override /task: nosuch\n")
    repository.write("conf/experiment/epsilon.yaml", "# @package _global_\ngrids:\n  - {seed: [0, 1}\n")
    repository.experiment("gamma", "{scheme: scratch, seed: 'range(5)'}")
    told = repository.diff("HEAD", status=2)
    found = told["by_name"]
    assert counts(found["gamma"]) == (1, 0, 0, 4)
    assert found["broken_before"]["broken_before"].startswith("conf/experiment/broken_before.yaml:4: is not valid YAML")
    assert found["broken_before"]["broken_now"] is None
    assert found["alpha"]["broken_now"].startswith("conf/experiment/alpha.yaml:4: k: 13 is out of range; on this")
    assert found["beta"]["broken_now"].startswith("conf/experiment/beta.yaml:3: optimizer.learning_rate: there is no")
    assert found["delta"]["broken_now"].startswith("conf/experiment/delta.yaml:3: task: 'nosuch' is not there")
    assert found["epsilon"]["broken_now"].startswith("conf/experiment/epsilon.yaml:3: is not valid YAML")
    checked = repository.run("plan", "--all")
    assert checked.returncode == 2
    assert "gamma: 5 trials" in checked.stdout
    assert "alpha: broken: conf/experiment/alpha.yaml:4: k: 13 is out of range" in checked.stdout


def test_finished_results_become_unused_or_stay(repository: FixtureRepository) -> None:
    before = json.loads(repository.run("plan", "-m", "experiment=gamma", "--json").stdout)
    by_seed = {trial["science"]["seeds"]["order"]: trial["id"] for trial in before["trials"]}
    repository.finish([by_seed[0], by_seed[1], by_seed[3], "0123456789abcdef"])
    repository.experiment("gamma", "{scheme: scratch, seed: 'range(1,3)'}")
    repository.experiment("delta", "{scheme: scratch, seed: 3}")
    told = repository.diff()
    assert told["finished"] == {"unused": {"gamma": [by_seed[0]]}, "valid": 2, "new": 0}
    named = repository.diff("main", "gamma")
    assert [experiment["name"] for experiment in named["experiments"]] == ["gamma"]
    assert named["finished"]["unused"] == {"gamma": [by_seed[0]]}  # delta still means seed 3


def test_another_semantics_of_the_code_invalidates_all(repository: FixtureRepository) -> None:
    path = repository.root / "bertxfer" / "trials" / "science.py"
    tree = ast.parse(path.read_text())
    (number,) = [
        node.lineno
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "SEMANTICS"
    ]
    lines = path.read_text().splitlines()
    before = int(lines[number - 1].split("=")[1])
    lines[number - 1] = f"SEMANTICS = {before + 1}"
    path.write_text("\n".join(lines) + "\n")
    told = repository.diff()
    assert sum(counts(found)[2] for found in told["experiments"]) == 15
    (difference,) = told["by_name"]["beta"]["changed"][0]["differences"]
    assert (difference["key"], difference["old"], difference["new"]) == ("semantics", before, before + 1)
    assert difference["source"].startswith(f"bertxfer/trials/science.py:{number}:")


def test_a_changed_default_of_the_schema_is_found_in_the_code(repository: FixtureRepository) -> None:
    repository.edit("bertxfer/config/schema.py", "clip: float | None = ranged(1.0,", "clip: float | None = ranged(2.0,")
    told = repository.diff("main", "beta")
    (group,) = told["by_name"]["beta"]["changed"]
    (difference,) = group["differences"]
    assert (difference["key"], difference["old"], difference["new"]) == ("training.clip", 1.0, 2.0)
    assert difference["source"].startswith("bertxfer/config/schema.py:")


def test_a_revision_without_a_listing_is_read_by_the_code_of_the_working_tree(repository: FixtureRepository) -> None:
    (repository.root / "bertxfer" / "review" / "listing.py").rename(repository.root / "listing.py")
    repository.commit()
    (repository.root / "listing.py").rename(repository.root / "bertxfer" / "review" / "listing.py")
    repository.experiment("gamma", "{scheme: scratch, seed: 'range(5)'}")
    told = repository.diff("HEAD")
    assert counts(told["by_name"]["gamma"]) == (1, 0, 0, 4)
    assert any("was read by the code of the working tree" in note for note in told["notes"])


def test_what_is_absent_has_a_stand_in_and_is_named(repository: FixtureRepository, tmp_path: Path) -> None:
    repository.experiment("alpha", "{task: rte, data.n: 8, seed: [0, 1]}")
    repository.commit()
    repository.experiment("alpha", "{task: rte, data.n: 8, seed: [0, 1, 2]}")
    told = repository.diff("HEAD", env={"BERTXFER_DATA": str(tmp_path)})
    assert counts(told["by_name"]["alpha"]) == (1, 0, 0, 2)
    assert any(note.startswith("not on this machine: data of task rte;") for note in told["notes"])


def test_the_working_tree_is_not_touched(repository: FixtureRepository) -> None:
    repository.experiment("gamma", "{scheme: scratch, seed: 'range(5)'}")

    def state() -> dict[str, tuple[int, int]]:
        files = (Path(folder) / name for folder, _, names in os.walk(repository.root) for name in names)
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in files}

    before, status = state(), repository.git("--no-optional-locks", "status", "--porcelain")
    ended = repository.run("diff", env={"PYTHONPROFILEIMPORTTIME": "1"})
    imports, said = split_imports(ended.stderr)
    assert ended.returncode == 0, said
    assert state() == before
    assert repository.git("--no-optional-locks", "status", "--porcelain") == status
    assert imports.isdisjoint({"torch", "transformers", "datasets", "pyarrow"})


def test_refusals_and_nothing_to_do(repository: FixtureRepository) -> None:
    same = repository.run("diff", "--exit-code")
    assert same.returncode == 0
    assert "conf/ and the code are the same" in same.stdout
    ended = repository.run("diff", "nosuch")
    assert (ended.returncode, ended.stderr.count("\n")) == (1, 1)
    assert "'nosuch' is not a revision" in ended.stderr
    repository.experiment("delta", "{seed: 0}")
    assert "is an experiment neither of" in repository.run("diff", "main", "nosuch").stderr


def place(trial: str, science: dict[str, Any], config: dict[str, Any], **axes: Any) -> ListedPoint:
    return ListedPoint(axes, trial, science, config)


def listed(**experiments: list[ListedPoint] | Broken) -> Listing:
    return Listing(experiments, [], 1)


def test_a_place_is_what_the_varying_axes_say() -> None:
    def at(trial: str, axes: dict[str, int], seed: int, epochs: int) -> ListedPoint:
        config = {"seed": seed, "training": {"epochs": epochs}}
        return ListedPoint(axes, trial, {"training": {"epochs": epochs}}, config)

    old = listed(e=[at("a", {"k": 1}, 0, 5), at("b", {"k": 2}, 0, 5)])  # seed 0 by default
    axes = [{"k": k, "seed": seed, "training.epochs": 3} for k in (1, 2) for seed in (1, 0)]
    new = listed(e=[at(f"{said['k']}{said['seed']}", said, said["seed"], 3) for said in axes])
    (found,) = comparison.compare(old, new)
    (group,) = found.changed
    assert {(before.id, now.id) for before, now in group.pairs} == {("a", "10"), ("b", "20")}
    assert [(d.key, d.old, d.new) for d in group.differences] == [("training.epochs", 5, 3)]
    assert {place.id for place in found.added} == {"11", "21"}


def test_a_cause_is_named_by_its_config_key() -> None:
    one = place("a", {"treatment": {"sd": 0.02}, "seeds": {"head": 0}}, {"init": {"sd": 0.02}, "seed": 0, "x": 1})
    other = place("b", {"treatment": {"sd": 0.03}, "seeds": {"head": 0}}, {"init": {"sd": 0.03}, "seed": 0, "x": 2})
    assert [(d.key, d.old, d.new) for d in comparison.differences_of(one, other)] == [("init.sd", 0.02, 0.03)]
    newer = place("c", {"treatment": {"sd": 0.02}, "seeds": {"head": 0}, "task": {"version": "2"}}, one.config)
    assert [d.key for d in comparison.differences_of(one, newer)] == ["task.version"]
