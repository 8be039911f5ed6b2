"""The hub that tests run on loopback: the Hugging Face libraries take it for the real one, in its faults too."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.helpers.hub import Hub, Request
from tests.helpers.hub_files import glue_like_files, glue_like_rows, squad_like_files, squad_like_rows, tiny_bert_files

MODEL = "models", "tiny/bert"
GLUE = "datasets", "tiny/glue"
WEIGHTS = Random(0).randbytes(50_000)
FILES = {"config.json": b"{}", "vocab.txt": b"[PAD]\n", "model.safetensors": WEIGHTS}
DOWNLOAD = "from huggingface_hub import hf_hub_download as get\n"
SNAPSHOT = "from huggingface_hub import snapshot_download as get\n"
# Prints what an expression is, or what it raises and the causes of that.
TRYING = """
import json
def told(error):
    return [type(error).__name__, *(told(error.__cause__) if error.__cause__ else [])]
try:
    said = {}
except Exception as error:
    said = told(error)
print(json.dumps(said))
"""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "hf"


def started(hub: Hub, home: Path, code: str, expression: str, **more: str) -> subprocess.Popen[str]:
    """A process that has imported the libraries with this hub as theirs, and says what an expression is."""
    env = {**os.environ, **hub.environment(home), "HF_HUB_DISABLE_PROGRESS_BARS": "1", **more}
    words = [sys.executable, "-c", code + TRYING.replace("{}", expression)]
    return subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> Any:
    said, complaints = process.communicate(timeout=120)
    assert process.returncode == 0, complaints
    return json.loads(said)


def run(hub: Hub, home: Path, code: str, expression: str, **more: str) -> tuple[Any, list[Request]]:
    """What the process said, and what it asked the hub for."""
    before = len(hub.requests)
    said = ended(started(hub, home, code, expression, **more))
    return said, hub.requests[before:]


def cached(home: Path, kind: str = "models", name: str = "tiny/bert") -> dict[str, bytes]:
    """What the cache has under final names, by the path in the snapshot of its only commit."""
    (snapshot,) = (home / "hub" / f"{kind}--{name.replace('/', '--')}" / "snapshots").iterdir()
    return {str(path.relative_to(snapshot)): path.read_bytes() for path in snapshot.rglob("*") if path.is_file()}


def leftovers(home: Path) -> list[str]:
    return [path.name for path in home.rglob("*.incomplete")]


def test_one_file_is_downloaded_once(hub: Hub, home: Path) -> None:
    commit = hub.add(*MODEL, FILES)
    path, asked = run(hub, home, DOWNLOAD, "get('tiny/bert', 'model.safetensors')")
    assert path == str(home / "hub" / "models--tiny--bert" / "snapshots" / commit / "model.safetensors")
    assert cached(home) == {"model.safetensors": WEIGHTS}
    assert [(one.method, one.status) for one in asked] == [("HEAD", 302), ("GET", 200)]
    again, asked = run(hub, home, DOWNLOAD, "get('tiny/bert', 'model.safetensors')")
    assert again == path
    assert [one.method for one in asked] == ["HEAD"]
    again, asked = run(hub, home, DOWNLOAD, f"get('tiny/bert', 'model.safetensors', revision='{commit}')")
    assert (again, asked) == (path, [])


def test_a_snapshot_first_again_and_without_a_hub(hub: Hub, home: Path) -> None:
    commit = hub.add(*MODEL, {**FILES, "onnx/model.onnx": b"not wanted"})
    wanted = "get('tiny/bert', allow_patterns=['*.json', '*.txt', '*.safetensors'])"
    path, _ = run(hub, home, SNAPSHOT, wanted)
    assert path.endswith(f"/snapshots/{commit}")
    assert cached(home) == FILES
    _, asked = run(hub, home, SNAPSHOT, wanted)
    assert [(one.method, one.path) for one in asked] == [("GET", "/api/models/tiny/bert/revision/main")]
    assert run(hub, home, SNAPSHOT, wanted, HF_HUB_OFFLINE="1") == (path, [])
    said, asked = run(hub, home, SNAPSHOT, "get('tiny/bert')", HF_HUB_OFFLINE="1")
    assert (said[0], asked) == ("IncompleteSnapshotError", [])
    hub.down()
    assert run(hub, home, SNAPSHOT, wanted) == (path, [])
    hub.up()
    assert run(hub, home, SNAPSHOT, wanted)[0] == path


def test_a_long_listing_comes_in_pages(home: Path) -> None:
    with Hub(page=3) as hub:
        files = {f"part{number}.txt": str(number).encode() for number in range(8)}
        hub.add(*MODEL, files)
        _, asked = run(hub, home, SNAPSHOT, "get('tiny/bert')")
        assert cached(home) == files
        assert sum("/tree/" in one.path for one in asked) == 3


def test_main_moves_on_and_earlier_commits_stay(hub: Hub, home: Path) -> None:
    first = hub.add(*MODEL, FILES)
    second = hub.add(*MODEL, {"config.json": b'{"other": 1}'})
    assert first != second
    code = SNAPSHOT + "from pathlib import Path\n"
    read = "(Path(get('tiny/bert', revision={})) / 'config.json').read_text()"
    assert run(hub, home, code, read.format("None"))[0] == '{"other": 1}'
    assert run(hub, home, code, read.format(f"'{first}'"))[0] == "{}"
    hub.add(*MODEL, {"config.json": b'{"other": 2}', "vocab.txt": None})
    text, asked = run(hub, home, code, read.format("None"))
    assert text == '{"other": 2}'
    assert not any("model.safetensors" in one.path and one.method == "GET" for one in asked)


def test_another_branch_and_a_former_name(hub: Hub, home: Path) -> None:
    hub.add(*MODEL, FILES)
    hub.add(*MODEL, {"config.json": b'{"branch": 1}'}, branch="step-100")
    hub.rename("models", "bert", "tiny/bert")
    code = DOWNLOAD + "from pathlib import Path\n"
    text, _ = run(hub, home, code, "Path(get('tiny/bert', 'config.json', revision='step-100')).read_text()")
    assert text == '{"branch": 1}'
    assert run(hub, home, code, "Path(get('bert', 'config.json')).read_text()")[0] == "{}"


def test_a_connection_that_breaks_off_is_resumed(hub: Hub, home: Path) -> None:
    large = WEIGHTS * 230  # more than the 10 MiB that are written at once, so that there is something to resume
    hub.add(*MODEL, {"config.json": b'{"long": "enough"}', "model.safetensors": large})
    hub.break_off("model.safetensors", after=11_000_000)
    hub.break_off("config.json", after=5)
    _, asked = run(hub, home, SNAPSHOT, "get('tiny/bert')")
    assert cached(home) == {"config.json": b'{"long": "enough"}', "model.safetensors": large}
    assert leftovers(home) == []
    begun, resumed = (one for one in asked if one.path.startswith("/storage/"))
    assert (begun.status, begun.range) == (200, None)
    assert (resumed.status, resumed.range) == (206, "bytes=10485760-")
    assert sum(one.method == "GET" and one.path.endswith("/config.json") for one in asked) == 2


def test_a_download_that_is_killed_leaves_nothing_under_a_final_name(hub: Hub, home: Path) -> None:
    hub.add(*MODEL, FILES)
    with hub.held("model.safetensors", after=20_000) as held:
        process = started(hub, home, DOWNLOAD, "get('tiny/bert', 'model.safetensors')")
        held.wait_until_reached()
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert cached(home) == {}
    assert len(leftovers(home)) == 1
    run(hub, home, DOWNLOAD, "get('tiny/bert', 'model.safetensors')")
    assert cached(home) == {"model.safetensors": WEIGHTS}
    assert len(leftovers(home)) == 1  # nobody takes it up, and nobody removes it


def test_two_at_once_download_once(hub: Hub, home: Path) -> None:
    hub.add(*MODEL, FILES)
    with hub.held("model.safetensors", after=20_000) as held:
        first = started(hub, home, DOWNLOAD, "get('tiny/bert', 'model.safetensors')")
        held.wait_until_reached()
        second = started(hub, home, DOWNLOAD, "get('tiny/bert', 'model.safetensors')")
        while sum(one.method == "HEAD" for one in hub.requests) < 2:
            assert second.poll() is None
            time.sleep(0.01)
    assert ended(first) == ended(second)
    assert cached(home) == {"model.safetensors": WEIGHTS}
    assert leftovers(home) == []
    assert sum(one.method == "GET" for one in hub.requests) == 1


def test_bytes_that_change_on_the_way_are_not_noticed_by_the_library(hub: Hub, home: Path) -> None:
    hub.add(*MODEL, FILES)
    hub.damage("model.safetensors")
    run(hub, home, SNAPSHOT, "get('tiny/bert')")
    got = cached(home)["model.safetensors"]
    assert (len(got), got == WEIGHTS) == (len(WEIGHTS), False)


@pytest.mark.parametrize(
    ("words", "raised"),
    [
        ("'nobody/nothing', 'config.json'", "RepositoryNotFoundError"),
        ("'tiny/bert', 'config.json', revision='v9'", "RevisionNotFoundError"),
        (f"'tiny/bert', 'config.json', revision='{'0' * 40}'", "RevisionNotFoundError"),
        ("'tiny/bert', 'nothing.json'", "RemoteEntryNotFoundError"),
        ("'tiny/gated', 'config.json'", "GatedRepoError"),
        ("'tiny/gated', 'config.json', token='hf_other'", "GatedRepoError"),
        ("'tiny/glue', 'README.md', repo_type='dataset', revision='v9'", "RevisionNotFoundError"),
    ],
)
def test_what_cannot_be_had(hub: Hub, home: Path, words: str, raised: str) -> None:
    hub.add(*MODEL, FILES)
    hub.add("models", "tiny/gated", FILES)
    hub.gate("models", "tiny/gated")
    hub.add(*GLUE, {"README.md": b""})
    assert run(hub, home, DOWNLOAD, f"get({words})")[0][0] == raised


def test_snapshots_that_cannot_be_had_and_the_token_that_opens_one(hub: Hub, home: Path) -> None:
    hub.add("models", "tiny/gated", FILES)
    hub.gate("models", "tiny/gated", token="hf_mine")
    assert run(hub, home, SNAPSHOT, "get('nobody/nothing')")[0][0] == "RepositoryNotFoundError"
    assert run(hub, home, SNAPSHOT, "get('tiny/gated')")[0][0] == "GatedRepoError"
    assert list(home.rglob("snapshots/*/*")) == []
    run(hub, home, SNAPSHOT, "get('tiny/gated')", HF_TOKEN="hf_mine")
    assert cached(home, name="tiny/gated") == FILES


def test_too_many_requests_and_a_server_that_fails_are_waited_for(hub: Hub, home: Path) -> None:
    hub.add(*MODEL, FILES)
    hub.limit(times=2)
    hub.fail(times=1)
    _, asked = run(hub, home, DOWNLOAD, "get('tiny/bert', 'config.json')")
    assert [one.status for one in asked] == [429, 429, 503, 200, 200]
    assert cached(home) == {"config.json": b"{}"}


def test_data_sets_with_a_hub_and_without(hub: Hub, home: Path) -> None:
    code = "import datasets\ndef get(*words, **more): return list(datasets.load_dataset(*words, **more))\n"
    first = hub.add(*GLUE, glue_like_files(configs=("sst2", "mnli")))
    hub.add("datasets", "tiny/squad", squad_like_files())
    rows = glue_like_rows("sst2")
    both = "[get('tiny/glue', 'sst2', split=split) for split in ('train', 'validation')]"
    said, asked = run(hub, home, code, both)
    assert said == [rows["train"], rows["validation"]]
    assert {one.path.split("/")[-1] for one in asked if one.path.startswith("/storage/")} == {
        f"{split}-00000-of-00001.parquet" for split in rows
    }
    mixed = "[get('tiny/glue', 'mnli', split='validation_mismatched'), get('tiny/squad', split='train')]"
    assert run(hub, home, code, mixed)[0] == [
        glue_like_rows("mnli")["validation_mismatched"],
        squad_like_rows()["train"],
    ]
    hub.down()
    said, asked = run(hub, home, code, both, HF_HUB_OFFLINE="1")
    assert (said, asked) == ([rows["train"], rows["validation"]], [])
    hub.up()
    hub.add(*GLUE, glue_like_files(seed=1, configs=("sst2", "mnli")))
    newer = glue_like_rows("sst2", seed=1)["train"]
    versions = f"[get('tiny/glue', 'sst2', split='train', revision=revision) for revision in ('{first}', None)]"
    assert run(hub, home, code, versions)[0] == [rows["train"], newer]
    assert run(hub, home, code, versions, HF_HUB_OFFLINE="1")[0] == [newer, newer]  # whatever revision is asked for


def test_names_and_scores_of_the_data_sets(hub: Hub, home: Path) -> None:
    hub.add(*GLUE, glue_like_files())
    code = "import datasets\n"
    names = "datasets.load_dataset('tiny/glue', 'sst2', split='test').features['label'].names"
    assert run(hub, home, code, names)[0] == ["negative", "positive"]
    said, _ = run(hub, home, code, "list(datasets.load_dataset('tiny/glue', 'stsb', split='train')['label'])")
    assert said == pytest.approx([row["label"] for row in glue_like_rows("stsb")["train"]], abs=1e-6)
    assert said[19] != glue_like_rows("stsb")["train"][19]["label"] == 3.8
    wrong, _ = run(hub, home, code, "datasets.load_dataset('tiny/nothing', 'sst2', split='test')")
    assert wrong[0] == "DatasetNotFoundError"


def test_a_tiny_bert_from_the_hub(hub: Hub, home: Path) -> None:
    files = tiny_bert_files(seed=3)
    assert files["model.safetensors"] != tiny_bert_files(seed=4)["model.safetensors"]
    hub.add(*MODEL, files)
    code = "from transformers import AutoModel, AutoTokenizer\n"
    model, tokenizer = (f"{kind}.from_pretrained('tiny/bert')" for kind in ("AutoModel", "AutoTokenizer"))
    told = f"[{model}.config.num_hidden_layers, len({tokenizer})]"
    assert run(hub, home, code, told)[0] == [2, len(files["vocab.txt"].split())]
    assert files.items() >= cached(home).items()
