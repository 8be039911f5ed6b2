"""Models and data from the hub: brought once before anything runs, known by their content, and never half."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from tests.helpers.commands import Run, environment, only_line
from tests.helpers.hub import Hub
from tests.helpers.hub_files import glue_like_files, glue_like_rows, tiny_bert_files

MODEL = "models", "tiny/bert"
GLUE = "datasets", "tiny/glue"
BERT = ["model=other", "model.name=tiny/bert"]
ROWS = ["task=sst2", "data.root=null", "task.hub.path=tiny/glue"]
SHORT = ["data.n=16", "training.epochs=1", "runtime.device=cpu"]
NOT_HERE = "not on this machine: model"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        hub.add(*MODEL, tiny_bert_files())
        hub.add(*GLUE, glue_like_files())
        yield hub


@pytest.fixture
def env(hub: Hub, tmp_path: Path) -> dict[str, str]:
    """A machine that has never asked the hub."""
    return {**hub.environment(tmp_path / "hf"), "BERTXFER_CACHE": ""}


def stored(tmp_path: Path) -> dict[str, dict[str, object]]:
    results = [json.loads(path.read_text()) for path in (tmp_path / "out" / "trials").glob("*/result.json")]
    return {str(result["id"]): result for result in results}


def planned(bertxfer: Run, env: dict[str, str], *words: str) -> tuple[str, ...]:
    ran = bertxfer("plan", "--json", *BERT, *ROWS, *SHORT, *words, env=env)
    assert ran.returncode == 0, ran.stderr
    return tuple(trial["id"] for trial in json.loads(ran.stdout)["trials"])


def test_the_same_weights_and_rows_are_one_trial_wherever_they_come_from(
    bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path
) -> None:
    ran = bertxfer(*BERT, *ROWS, *SHORT, env=env)
    assert ran.returncode == 0, ran.stderr
    ((trial_id, result),) = stored(tmp_path).items()
    assert ran.stdout.startswith("done") and result["model"] == "tiny/bert"
    hub.down()

    folder = tmp_path / "my-bert"
    folder.mkdir()
    for name, content in tiny_bert_files().items():
        (folder / name).write_bytes(content)
    splits = {"train": glue_like_rows("sst2")["train"], "dev": glue_like_rows("sst2")["validation"]}
    forms = {
        "tsv": lambda rows, path: rows.to_csv(path, sep="\t", index=False),
        "csv": lambda rows, path: rows.rename(columns={"sentence": "text"}).to_csv(path, index=False),
        "parquet": lambda rows, path: rows.to_parquet(path),
    }
    for ending, write in forms.items():
        data = tmp_path / ending
        data.mkdir()
        for split, rows in splits.items():
            write(pd.DataFrame(rows), data / f"{split}.{ending}")
        files = [f"task.files.train=train.{ending}", f"task.files.dev=dev.{ending}", "task.files.folders=[.]"]
        columns = ["+task.files.columns.sentence=text"] if ending == "csv" else []
        words = ["model=other", f"model.name={folder}", "task=sst2", f"data.root={data}", *files, *columns, *SHORT]
        again = bertxfer(*words, env=env)
        assert again.returncode == 0, again.stderr
        assert again.stdout.startswith(f"stored  {trial_id}"), again.stdout
    assert stored(tmp_path) == {trial_id: result}


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        (("data/train-a.parquet", "data/more/train-b.parquet"), "data/**/*.parquet"),
        (("data/train[1].parquet", "data/train2.parquet"), "data/train*.parquet"),
    ],
    ids=["folders", "brackets"],
)
def test_all_files_of_a_split_come(
    names: tuple[str, str], pattern: str, bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path
) -> None:
    """Half of the rows would be rows, too: as many as from a copy of the repository."""
    files = glue_like_files(configs=("sst2",))
    halves = pq.read_table(io.BytesIO(files.pop("sst2/train-00000-of-00001.parquet")))
    for name, half in zip(names, (halves.slice(0, 20), halves.slice(20)), strict=True):
        pq.write_table(half, buffer := io.BytesIO())
        files[name] = buffer.getvalue()
    places = [{"split": "train", "path": pattern}, {"split": "validation", "path": "sst2/validation-*"}]
    card = json.dumps({"configs": [{"config_name": "sst2", "data_files": places}]})  # JSON is YAML
    files["README.md"] = f"---\n{card}\n---\n".encode()
    hub.add("datasets", "tiny/parts", files)
    for name, content in files.items():
        (tmp_path / "copy" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "copy" / name).write_bytes(content)
    shelves = []
    for path in ("tiny/parts", tmp_path / "copy"):
        ran = bertxfer("fetch", *BERT, "task=sst2", "data.root=null", f"task.hub.path={path}", *SHORT, env=env)
        assert ran.returncode == 0, ran.stderr
        shelves += [line.split(": ")[1] for line in ran.stdout.splitlines() if line.startswith("rows ")]
    assert shelves[0] == shelves[1]
    assert pq.read_table(shelves[0])["split"].to_pylist().count("train") == 40


def test_a_file_that_is_listed_and_does_not_come_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    from bertxfer.errors import NotFetched
    from bertxfer.system import hub

    (tmp_path / "one.parquet").touch()
    monkeypatch.setattr(hub, "_reachable", lambda: True)
    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_files", lambda self, **where: ["one.parquet", "two.parquet"])
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda **where: str(tmp_path))
    wanted = hub.Repository("dataset", "tiny/glue", None, "task.hub.path", "give another")
    with pytest.raises(NotFetched, match=r"the data set tiny/glue came without two\.parquet, which .* lists"):
        hub.fetch(wanted, lambda names, bring: iter([names]))


def test_what_was_fetched_runs_without_a_network(bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path) -> None:
    ran = bertxfer("fetch", *BERT, *ROWS, *SHORT, "-m", "seed=0,1", env=env)
    assert ran.returncode == 0, ran.stderr
    assert (
        "model tiny/bert: " in ran.stdout
        and "2 trials have all that they need" in ran.stdout
        and not (tmp_path / "out").exists()
    )
    asked = len(hub.requests)
    hub.down()
    ids = planned(bertxfer, env, "-m", "seed=0,1")
    ran = bertxfer(*BERT, *ROWS, *SHORT, "-m", "seed=0,1", "hydra.launcher.workers=1", env=env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert set(ids) == set(stored(tmp_path)) and len(ids) == 2
    assert len(hub.requests) == asked


def test_only_the_launch_asks_the_network(bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path) -> None:
    bertxfer("fetch", *BERT, *ROWS, env=env)
    manifests, asked = tmp_path / "out" / "sweeps", len(hub.requests)
    words = [*BERT, *ROWS, *SHORT, "-m", "seed=0,1", "hydra.launcher.workers=1"]
    ran = bertxfer(*words, env=env)
    assert ran.returncode == 0, ran.stderr
    (manifest,) = manifests.glob("*/manifest.json")
    frozen = json.loads(manifest.read_text())["trials"]
    assert all(Path(trial["model_at"]).is_dir() and Path(trial["data_at"]).is_file() for trial in frozen)
    again = hub.requests[asked:]
    # Once for the sweep, however many trials: whether anything has moved on, and no content.
    assert (
        again
        and len(again) < 20
        and not any(request.method == "GET" and "/resolve/" in request.path for request in again)
    )


def test_plan_never_fetches(bertxfer: Run, hub: Hub, env: dict[str, str]) -> None:
    words = [*BERT, *ROWS, *SHORT, "model.family=bert", "model.layers=2", "model.heads=2", "model.positions=64"]
    ran = bertxfer("plan", *words, env=env)
    assert ran.returncode == 0, ran.stderr
    assert f"{NOT_HERE} tiny/bert, data of task sst2; the ids of their trials are stand-ins" in ran.stdout
    assert not hub.requests
    unknown = bertxfer("plan", *BERT, *ROWS, env=env)
    assert unknown.returncode == 2 and "was not asked; `python -m bertxfer fetch` with" in only_line(unknown.stderr)
    assert bertxfer("fetch", *words, env=env).returncode == 0
    asked = len(hub.requests)
    known = bertxfer("plan", *words, env=env)
    assert NOT_HERE not in known.stdout and len(hub.requests) == asked


def test_main_moves_on_between_two_launches(bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path) -> None:
    first = hub.add(*MODEL, {"README.md": b"only the card has changed"})
    assert bertxfer("fetch", *BERT, *ROWS, env=env).returncode == 0
    (before,) = planned(bertxfer, env)
    hub.add(*MODEL, {"README.md": b"and again"})
    ran = bertxfer("fetch", *BERT, *ROWS, env=env)
    assert f"main has moved on from {first[:12]}" in ran.stderr
    assert planned(bertxfer, env) == (before,)  # the card is not read
    hub.add(*MODEL, tiny_bert_files(seed=1))
    assert planned(bertxfer, env) == (before,)  # nobody has asked
    assert "main has moved on" in bertxfer("fetch", *BERT, *ROWS, env=env).stderr
    other_weights = planned(bertxfer, env)
    (glue,) = (path.name for path in (tmp_path / "hf" / "hub" / "datasets--tiny--glue" / "snapshots").iterdir())
    hub.add(*GLUE, glue_like_files(seed=1))
    ran = bertxfer("fetch", *BERT, *ROWS, env=env)
    assert f"task.hub.revision={glue} means the earlier one" in ran.stderr
    other_rows = planned(bertxfer, env)
    assert len({(before,), other_weights, other_rows}) == 3
    assert planned(bertxfer, env, f"model.revision={first}", f"task.hub.revision={glue}") == (before,)


@pytest.mark.parametrize(
    ("fault", "words", "said"),
    [
        (lambda hub: hub.gate(*MODEL), [], "gives it only to those who were granted access"),
        (lambda hub: None, ["model.name=tiny/none"], "has no such repository, or a private one"),
        (lambda hub: None, ["model.revision=v9"], "it has no revision v9"),
        (lambda hub: None, ["task.hub.path=tiny/none"], "has no such repository, or a private one"),
        (lambda hub: hub.limit(times=100), [], "takes no more requests from here for now (429)"),
        (lambda hub: hub.fail(times=100, status=500), [], "answered 500"),
        (lambda hub: hub.break_off("model.safetensors", after=1000, times=100), [], "broke off"),
        (lambda hub: hub.down(), [], "did not answer within 3 s"),
        (lambda hub: hub.add(*MODEL, {"tokenizer.json": None, "vocab.txt": None}), [], "it has no tokenizer"),
        (lambda hub: hub.add(*MODEL, {"model.safetensors": None}), [], "it has no weights"),
    ],
)
def test_what_cannot_be_had_is_said_in_one_sentence_and_nothing_is_half_there(
    bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path, fault: object, words: list[str], said: str
) -> None:
    fault(hub)  # type: ignore[operator]
    given = {word.split("=")[0] for word in words}
    typed = [*(word for word in [*BERT, *ROWS, *SHORT] if word.split("=")[0] not in given), *words]
    shape = ["model.family=bert", "model.layers=2", "model.heads=2", "model.positions=64"]
    ran = bertxfer(*typed, *shape, "-m", "seed=0,1", env=env, timeout=120)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    (line,) = (line for line in ran.stderr.splitlines() if line.startswith("bertxfer: "))
    assert said in line and "Traceback" not in ran.stderr, ran.stderr
    assert not (tmp_path / "out").exists()  # nothing was queued
    hub.down()
    offline = bertxfer("plan", *typed, *shape, env=env)
    assert "not on this machine: " in offline.stdout, offline.stdout


def test_rows_that_came_in_part_are_not_used(bertxfer: Run, hub: Hub, env: dict[str, str]) -> None:
    hub.break_off("sst2/validation-00000-of-00001.parquet", after=100, times=100)
    ran = bertxfer("fetch", *BERT, *ROWS, env=env, timeout=120)
    assert ran.returncode == 2 and "the data set tiny/glue cannot be fetched" in ran.stderr
    hub.down()
    ran = bertxfer(*BERT, *ROWS, *SHORT, env=env)
    assert ran.returncode == 2 and "the data set tiny/glue was looked for in the cache" in ran.stderr
    hub.up()
    hub._faults.clear()
    assert bertxfer("fetch", *BERT, *ROWS, env=env).returncode == 0


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "sst2/train-00000-of-00001.parquet"])
def test_a_byte_that_changes_on_the_way_is_noticed(
    bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path, file: str
) -> None:
    """Size and headers are right, so the library keeps it; a trial would be that of another model."""
    hub.damage(file)
    ran = bertxfer(*BERT, *ROWS, *SHORT, env=env)
    assert ran.returncode == 2 and f"came damaged, or was damaged later: {file}" in ran.stderr, ran.stderr
    assert not (tmp_path / "out").exists() and not list((tmp_path / "hf").rglob(file))
    assert bertxfer("fetch", *BERT, *ROWS, env=env).returncode == 0
    (kept,) = (tmp_path / "hf" / "hub").rglob(f"snapshots/*/{file}")
    hub.down()
    content = bytearray(kept.read_bytes())
    content[-1] ^= 1
    kept.resolve().write_bytes(content)
    ran = bertxfer(*BERT, *ROWS, *SHORT, env=env)  # without a network it is noticed, too
    assert ran.returncode == 2 and "came damaged, or was damaged later" in ran.stderr, ran.stderr


def test_an_update_that_breaks_off_says_how_to_go_on_without_it(
    bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path
) -> None:
    assert bertxfer("fetch", *BERT, *ROWS, env=env).returncode == 0
    (before,) = planned(bertxfer, env)
    (commit,) = (path.name for path in (tmp_path / "hf" / "hub" / "models--tiny--bert" / "snapshots").iterdir())
    hub.add(*MODEL, tiny_bert_files(seed=1))
    hub.break_off("model.safetensors", after=1000, times=100)
    ran = bertxfer(*BERT, *ROWS, *SHORT, env=env, timeout=120)
    assert ran.returncode == 2 and ran.stderr.rstrip().endswith(
        f"model.revision={commit} means what was fetched earlier"
    )
    hub.down()
    assert planned(bertxfer, env, f"model.revision={commit}") == (before,)


@pytest.mark.parametrize(
    "fault", [lambda hub: hub.limit(times=100), lambda hub: hub._repositories.clear()], ids=["429", "removed"]
)
def test_a_commit_that_was_fetched_runs_whatever_the_hub_answers(
    bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path, fault: object
) -> None:
    assert bertxfer("fetch", *BERT, *ROWS, env=env).returncode == 0
    kept = tmp_path / "hf" / "hub"
    model, rows = (
        next((kept / name / "snapshots").iterdir()) for name in ("models--tiny--bert", "datasets--tiny--glue")
    )
    fault(hub)  # type: ignore[operator]
    words = [f"model.revision={model.name}", f"task.hub.revision={rows.name}"]
    ran = bertxfer(*BERT, *ROWS, *SHORT, *words, env=env)
    assert ran.returncode == 0, ran.stderr
    (model / "model.safetensors").unlink()
    ran = bertxfer("fetch", *BERT, *ROWS, *words, env=env)
    assert ran.returncode == 2 and "the model tiny/bert cannot be fetched: " in ran.stderr
    assert "means what was fetched earlier" not in ran.stderr


def test_a_name_that_cannot_be_and_a_cache_that_cannot_be_written(
    bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for name, home, said in (
        ("models/bert/base", "hf", "there is no such folder, and the hub calls its repositories NAME or OWNER/NAME"),
        ("tiny/bert", "file", f"the cache {tmp_path}/file/hub cannot be written (Not a directory)"),
    ):
        ran = bertxfer("fetch", "model=other", f"model.name={name}", env={**env, "HF_HOME": str(tmp_path / home)})
        (line,) = (line for line in ran.stderr.splitlines() if line.startswith("bertxfer: "))
        assert ran.returncode == 2 and said in line and "broke off" not in line, ran.stderr


def test_a_killed_fetch_is_gone_on_with(bertxfer: Run, hub: Hub, env: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bertxfer", "fetch", *BERT, *ROWS]
    with hub.held("model.safetensors", after=1000) as fault:
        process = subprocess.Popen(command, cwd=tmp_path, env=environment(tmp_path, env), stderr=subprocess.DEVNULL)
        fault.wait_until_reached()
        process.send_signal(signal.SIGKILL)
        process.wait()
    hub.down()
    shape = ["model.family=bert", "model.layers=2", "model.heads=2", "model.positions=64"]
    assert NOT_HERE in bertxfer("plan", *BERT, *shape, env=env).stdout
    hub.up()
    ran = bertxfer("fetch", *BERT, *ROWS, env=env)
    assert ran.returncode == 0, ran.stderr
    snapshot = next((tmp_path / "hf" / "hub" / "models--tiny--bert" / "snapshots").iterdir())
    assert (snapshot / "model.safetensors").read_bytes() == tiny_bert_files()["model.safetensors"]


def test_two_launches_at_once(hub: Hub, env: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bertxfer", "fetch", *BERT, *ROWS]
    settings = {"cwd": tmp_path, "env": environment(tmp_path, env), "text": True}
    with hub.held("model.safetensors", after=1000) as fault:
        processes = [
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings) for _ in range(2)
        ]
        fault.wait_until_reached()
    ended = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ended
    assert ended[0][0] == ended[1][0]


def test_one_missing_data_set_is_said_with_what_runs_without_it(bertxfer: Run, low_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "SST-2"
    folder.mkdir(parents=True)
    for split in ("train", "dev"):
        (folder / f"{split}.tsv").write_text("sentence\tlabel\n" + "fine\t1\nnot fine\t0\n" * 8)
    words = ["model=other", f"model.name={low_model}", f"data.root={tmp_path / 'data'}", "-m", "task=sst2,cola,rte"]
    ran = bertxfer(*words)
    line = only_line(ran.stderr)
    assert ran.returncode == 2 and "data.root: task=cola needs " in line
    assert line.endswith("; absent too: data of task rte; task=sst2 runs the rest")
    assert not (tmp_path / "out").exists()


def test_a_model_given_by_name_alone_has_not_the_mini_models_settings(bertxfer: Run, low_model: Path) -> None:
    def science(*words: str) -> dict[str, dict[str, object]]:
        ran = bertxfer("plan", "--json", *words)
        assert ran.returncode == 0, ran.stderr
        (one,) = json.loads(ran.stdout)["trials"]
        return dict(one["science"])

    bare, other = science(f"model.name={low_model}"), science("model=other", f"model.name={low_model}")
    assert bare == other and bare["optimizer"]["lr"] == 2e-5 and bare["model"]["pooling"] == "cls"
    refused = bertxfer("-m", "experiment=mini", f"model.name={low_model}")
    assert refused.returncode == 2 and "model.name: add model=other" in only_line(refused.stderr)
