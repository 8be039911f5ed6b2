"""Verbs about all experiments and all results."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from bertxfer import verbs
from bertxfer.config.composer import Composer
from bertxfer.config.experiments import names
from bertxfer.config.schema import conf_dir
from bertxfer.review import experiments
from bertxfer.store.store import Store
from bertxfer.system.package import PACKAGE
from tests.helpers.commands import Run, only_line
from tests.helpers.stored import finish, point

KOVALEVA = ("fig5", "fig6", "table1")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "out")
    places = [point("scheme=incremental", k=3), point("task=mini_cola", seed=4), point("data.n=all")]
    finish(places[0], made, 0.75)
    finish(places[1], made, None)
    made.begin(places[2].trial)
    made.fail_with(places[2].trial.id, "no memory")
    return made


@pytest.mark.parametrize("name", ["results.parquet", "results.csv"])
def test_export_writes_one_flat_row_a_trial(name: str, store: Store, bertxfer: Run, tmp_path: Path) -> None:
    ran = bertxfer("export", name)
    assert ran.returncode == 0, ran.stderr
    assert "3 trials, 2 of them done" in ran.stdout
    path = tmp_path / name
    table = (pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)).set_index("task")
    assert sorted(table["state"]) == ["done", "done", "failed"]
    assert (
        table.loc["mini_cola", "seed"] == 4
        and table.loc["mini_cola", "undefined"]
        and pd.isna(table.loc["mini_cola", "score"])
    )
    done = table[table["score"].notna()].iloc[0]
    assert (done["score"], done["optimizer.lr"], done["training.epochs"]) == (0.75, 5e-4, 5)
    assert done["treatment.redrawn"].startswith("layer 4 attention, layer 4 feedforward")
    assert table[table["state"] == "failed"]["reason"].tolist() == ["no memory"]
    assert set(table["data.n"].map(str)) == {"500", "all"}


def test_duckdb_opens_the_export(store: Store, bertxfer: Run, tmp_path: Path) -> None:
    import duckdb

    bertxfer("export", "results.parquet")
    query = f"""select "model.name", avg(score) from '{tmp_path}/results.parquet' where state = 'done' group by 1"""
    assert duckdb.sql(query).fetchall() == [("mini", 0.75)]


def test_export_says_what_it_leaves_out_and_refuses_other_names(store: Store, bertxfer: Run, tmp_path: Path) -> None:
    folder = next((tmp_path / "out" / "trials").iterdir())
    (folder / "config.yaml").write_text("{}")
    ran = bertxfer("export", "results.csv")
    assert ran.returncode == 1
    assert folder.name in only_line(ran.stderr) and "1 left out" in ran.stdout
    assert len(pd.read_csv(tmp_path / "results.csv")) == 2
    for name, reason in (("results.xlsx", ".parquet or .csv"), ("no/where.csv", "there is no folder")):
        refused = bertxfer("export", name)
        assert refused.returncode != 0 and reason in only_line(refused.stderr)
    assert "there is no trial" in only_line(bertxfer("export", "a.csv", "--output-dir", "empty").stderr)


def test_experiments_lists_what_is_asked_for_done_and_left(
    store: Store, bertxfer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a copy of conf/ with three presets: all of them ask for some thousand trials."""
    monkeypatch.delenv("BERTXFER_DATA", raising=False)
    assert len(names(conf_dir())) >= 30 and names(conf_dir())[0] == "mini"
    of_paper = [name for name in names(conf_dir()) if "cs224n2020/fig" in name]
    assert of_paper == [f"cs224n2020/fig{number}" for number in range(1, 11)]
    conf = tmp_path / "conf"
    shutil.copytree(conf_dir(), conf)
    kept = {"mini", "singh2020/fig5b", "kovaleva2019/fig5"}
    for name in set(names(conf)) - kept:
        (conf / "experiment" / f"{name}.yaml").unlink()
    finish(point("experiment=mini", "task=mini_qnli", "scheme=scratch"), store, 0.5)
    found = {preset.name: preset for preset in experiments.presets([], Composer(conf), store.root)}
    assert {name: (preset.trials, preset.done) for name, preset in found.items()} == {
        "mini": (15, 1),
        "singh2020/fig5b": (1, 0),
        "kovaleva2019/fig5": (7, 0),
    }
    assert found["kovaleva2019/fig5"].cost == "not known for 7"
    assert "not known" not in found["mini"].cost and found["mini"].cost  # a trial of that model has its timings
    nowhere = list(experiments.presets([f"data.root={tmp_path}"], Composer(conf), store.root))
    assert "which is not there" in str(nowhere[1].problem)


def test_experiments_are_listed_on_the_command_line(bertxfer: Run) -> None:
    ran = bertxfer("experiments", "model=mini", "scale=tiny", "data.root=null")
    assert ran.returncode == 0, ran.stderr
    assert next(line for line in ran.stdout.splitlines() if "tamkin2020/fig2" in line).split()[3] == "48"


def test_every_verb_is_in_help_completion_and_the_readme(bertxfer: Run) -> None:
    text = bertxfer("--help").stdout
    for verb in verbs.VERBS.values():
        assert f"  {verb.name} {verb.arguments}" in text and verb.promise in text
        shown = bertxfer(verb.name, "--help")
        assert shown.returncode == 0 and verb.promise[1:] in " ".join(shown.stdout.split())
    assert set(completed(bertxfer, "bertxfer ")) == set(verbs.VERBS)
    readme = (PACKAGE.parent / "README.md").read_text(encoding="utf-8")
    assert f"<!-- the verbs -->\n{verbs.markdown()}<!-- the end of the verbs -->" in readme


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("bertxfer ver", ["verify"]),
        ("bertxfer exp", ["explain", "experiments", "export"]),
        ("bertxfer plan sch", ["scheme="]),
        ("bertxfer report scheme=inc", ["scheme=incremental"]),
        ("bertxfer scheme=inc", ["scheme=incremental"]),
        ("bertxfer -m experiment=kovaleva2019/", [f"experiment=kovaleva2019/{name}" for name in KOVALEVA]),
        ("bertxfer plan -m experiment=kovaleva2019/fig", [f"experiment=kovaleva2019/{name}" for name in KOVALEVA[:2]]),
    ],
)
def test_completion(line: str, offered: list[str], bertxfer: Run) -> None:
    assert completed(bertxfer, line) == offered


def completed(bertxfer: Run, line: str) -> list[str]:
    """What a shell would offer, as the script of `-sc install=bash` asks for it."""
    ran = bertxfer("-sc", "query=bash", env={"COMP_LINE": line, "COMP_POINT": str(len(line))})
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
    return [word for word in ran.stdout.split() if word.startswith(line.rsplit(" ", 1)[-1])]
