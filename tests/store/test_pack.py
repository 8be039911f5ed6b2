"""A sweep as one file, and back: the same trials, no trace of the machine, and no trust in what is inside."""

import hashlib
import io
import json
import platform
import re
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from bertxfer.errors import BertxferError
from bertxfer.store import pack, portable
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.system.files import digest
from tests.helpers.commands import Run, only_line, tiny_words
from tests.helpers.travelling import TINY, merged, ran, view

USER = "zelda"


@pytest.fixture(scope="module")
def source(shallow_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    root = tmp_path_factory.mktemp("source") / "out"
    ran(root, shallow_model, 2, "analysis=weights")
    return Store(root)


@pytest.fixture
def packed(source: Store, bertxfer: Run, tmp_path: Path) -> Path:
    ended = bertxfer("pack", "sweep", "sweep.tar", "--output-dir", str(source.root))
    assert ended.returncode == 0, ended.stderr
    assert "sweep.tar: 2 of 2 trials, " in ended.stdout
    return tmp_path / "sweep.tar"


def test_what_was_packed_comes_back_and_is_what_is_there(
    source: Store, packed: Path, bertxfer: Run, tmp_path: Path
) -> None:
    taken = bertxfer("merge", "sweep.tar")
    assert taken.returncode == 0, taken.stderr
    assert "2 trials: 2 taken" in taken.stdout and "1 sweep taken" in taken.stdout
    assert view(tmp_path / "out") == view(source.root)
    name = next((source.root / "sweeps").iterdir()).name
    reported = bertxfer("report", name)
    assert reported.returncode == 0, reported.stderr
    page = (tmp_path / "out" / "reports" / name / "index.html").read_text()
    assert str(source.root) not in page
    # A result without places is equal to the one with them, in both directions.
    assert merged(source.root, tmp_path / "out") == (True, ["2 trials: 2 already here"])
    assert merged(packed, source.root) == (True, ["2 trials: 2 already here"])
    # What is packed again from there is the same file.
    assert bertxfer("pack", name, "again.tar").returncode == 0
    assert (tmp_path / "again.tar").read_bytes() == packed.read_bytes()


def test_a_packed_trial_of_a_model_that_is_not_here_says_why_it_cannot_be_run_again(
    packed: Path, bertxfer: Run
) -> None:
    assert bertxfer("merge", "sweep.tar").returncode == 0
    ran_again = bertxfer("verify", "--sample", "1")
    assert ran_again.returncode == 1
    assert "could not be run again: it came in a packed file" in ran_again.stdout
    refused = bertxfer("merge", "sweep.tar", "--verify", "1", "--output-dir", "elsewhere")
    assert refused.returncode == 1 and "nothing was taken" in refused.stdout


def test_a_packed_trial_of_the_embedded_model_is_run_again(bertxfer: Run, tmp_path: Path) -> None:
    words = (*TINY, "runtime.device=cpu", "-m", "seed=0", "hydra/launcher=inline")
    assert bertxfer(*words).returncode == 0
    assert bertxfer("pack", "sweep", "mini.tar").returncode == 0
    taken = bertxfer("merge", "mini.tar", "--verify", "1", "--output-dir", "elsewhere")
    assert taken.returncode == 0 and "1 run again: 1 bit for bit" in taken.stdout, taken.stdout


# --- no trace of the machine -----------------------------------------------------------------------------------------


def test_nothing_in_a_packed_file_says_where_or_by_whom_it_was_made(
    shallow_model: Path, bertxfer: Run, tmp_path: Path
) -> None:
    """A chain of a model, a stage and rows that all lie in a home, run with a config folder of one's own there."""
    home = tmp_path / "home" / USER
    data = home / f"{USER}-data"
    data.mkdir(parents=True)
    shutil.copytree(shallow_model, home / "models" / "tiny")
    (home / "conf" / "task").mkdir(parents=True)
    for split in ("train", "dev"):
        rows = [{"text": f"word {i}", "label": i % 2} for i in range(16)]
        (data / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = {"name": "own", "text": ["text"], "labels": ["a", "b"], "metrics": ["accuracy"], "headline": "accuracy"}
    task["files"] = {"train": "train.jsonl", "dev": "dev.jsonl"}
    (home / "conf" / "task" / "own.yaml").write_text(json.dumps(task))
    out, around = home / "results", {"HOME": str(home), "USER": USER, "LOGNAME": USER}
    words = [*tiny_words(home / "models" / "tiny", *TINY), "--config-dir", str(home / "conf"), "task=own"]
    words += [f"data.root={data}", f"runtime.output_dir={out}", "analysis=weights", "keep=model"]
    words += ["scheme=sequential", "intermediate=own", "-m", "seed=0,1"]
    made = bertxfer(*words, "hydra/launcher=inline", env=around)
    assert made.returncode == 0, made.stderr
    ended = bertxfer("pack", "sweep", "sweep.tar", "--output-dir", str(out), env=around)
    assert ended.returncode == 0, ended.stderr
    assert "2 of 2 trials and 2 stages before them" in ended.stdout
    secrets = [USER, str(home), str(tmp_path), str(shallow_model), str(Path.home())]
    host = re.compile(rf"\b{re.escape(platform.node())}\b")  # the letters of a short one are in any weights
    for place in (out / "sweeps").glob("*/manifest.json"):
        assert str(home) in place.read_text(), "there was nothing to leave out"
    seen = set()
    with tarfile.open(tmp_path / "sweep.tar") as tar:
        for member in tar:
            assert (member.mtime, member.uid, member.gid, member.uname, member.gname) == (0, 0, 0, "", "")
            opened = tar.extractfile(member)
            assert opened is not None
            content = opened.read()
            texts = texts_of(member.name, content)
            for text in (content.decode("latin-1"), *texts):
                assert not [secret for secret in secrets if secret in text], f"{member.name}: {text[:300]}"
            assert not [text for text in texts if host.search(text)], member.name
            seen.add(member.name.split("/", 2)[-1])
    assert seen >= {"config.yaml", "result.json", "predictions.parquet", "weights.parquet", "model/README.md"}
    # It is read as any other, and the trials that were asked for are those that were packed.
    good, said = merged(tmp_path / "sweep.tar", tmp_path / "out")
    assert good and said[0] == "4 trials: 4 taken"
    frozen = manifest.read(manifest.find(tmp_path / "out", "sweep"))
    assert {trial.id for trial in frozen.trials} <= Store(tmp_path / "out").finished()
    assert frozen.trials[0].model_at == "..." and frozen.trials[0].stages_at == ("...",)
    assert bertxfer("report", frozen.name).returncode == 0
    assert view(tmp_path / "out") == view(out)


def texts_of(name: str, content: bytes) -> list[str]:
    """All that can be read in a file, also what Parquet has compressed."""
    if name.endswith(".parquet"):
        file = parquet.ParquetFile(io.BytesIO(content))
        parts = (file.metadata, file.metadata.metadata, file.schema_arrow, file.read().to_pydict())
        return [str(part) for part in parts]
    if name.endswith(".safetensors"):
        return [content[8 : 8 + int.from_bytes(content[:8], "little")].decode()]
    return [content.decode()]


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        ("/data/glue/SST-2", ".../SST-2"),
        ("/home/zelda", "..."),
        ("~/data", ".../data"),
        ("~zelda", "..."),
        ("../zelda/models/tiny", ".../tiny"),
        ("/data/My Own Things/tiny", ".../tiny"),
        ("google/bert", "google/bert"),
        ("1/2", "1/2"),
        ("bert-base-uncased", "bert-base-uncased"),
        ("either / or", "either / or"),
        ("[{task: rte, data: {root: /data/glue}}]", "[{task: rte, data: {root: .../glue}}]"),
        ("sqlite:////data/x.db", "sqlite:.../x.db"),
    ],
)
def test_paths_are_shortened_and_names_are_not(whole: str, short: str) -> None:
    assert portable.shortened(whole) == short
    assert portable.word(f"model.name={whole}") == f"model.name={short}"
    assert portable.shortened(short) == short


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        ("[/scratch/my data/alice/t.tsv]", "[.../t.tsv]"),
        (
            "task.files={train:/scratch/my data/alice/t.tsv, dev: /alice/d.tsv}",
            "task.files={train:.../t.tsv, dev: .../d.tsv}",
        ),
        ("['/scratch/my data/alice/a b.tsv','org/model']", "['.../a b.tsv','org/model']"),
        ("x-/home/alice/b", "x-.../b"),
        ("x./home/alice/b", "x..../b"),
        ("x/home/alice/b", "x.../b"),
        ("analysis=[weights,attention]", "analysis=[weights,attention]"),
        ("model.name=google-bert/bert-base-uncased", "model.name=google-bert/bert-base-uncased"),
    ],
)
def test_a_word_of_a_command_names_no_folder_on_the_way(whole: str, short: str) -> None:
    assert portable.word(whole) == short
    assert portable.word(short) == short


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        (f"scratch/{USER}/glue", ".../glue"),
        (f"data.root={USER}/glue", "data.root=.../glue"),
        (f"scratch/{USER}-data/glue", ".../glue"),
        (
            f"task.files={{train: scratch/{USER}/t.tsv, dev: org/d.tsv}}",
            "task.files={train: .../t.tsv, dev: org/d.tsv}",
        ),
        ("scratch/others/glue", "scratch/others/glue"),
    ],
)
def test_a_relative_path_names_neither_user_nor_machine(
    whole: str, short: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", USER)
    assert portable.word(whole) == short
    assert portable.word(short) == short


def test_versions_stay_and_places_go() -> None:
    inputs = {"model_version": "a1", "model_at": "/x/tiny", "data_at": "nyu-mll/glue", "stages_at": ["/x/rte", None]}
    told = portable.result({"id": "x", "score": 0.5, "inputs": inputs, "environment": {"host": "node7", "torch": "2"}})
    assert told["inputs"] == {
        "model_version": "a1",
        "model_at": "...",
        "data_at": "nyu-mll/glue",
        "stages_at": ["...", None],
    }
    assert told["environment"] == {"torch": "2"} and told["score"] == 0.5


def test_the_place_of_a_model_in_its_own_config_goes_too() -> None:
    told = json.loads(portable.model_file("config.json", b'{"_name_or_path": "/x/tiny", "layers": 3}'))
    assert told == {"_name_or_path": ".../tiny", "layers": 3}


def test_a_path_that_slipped_through_is_refused(source: Store, tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    shutil.copytree(source.root, store.root)
    trial_id = sorted(store.finished())[0]
    (store.folder(trial_id) / "history.jsonl").write_text(json.dumps({"seen": str(store.root)}) + "\n")
    with pytest.raises(BertxferError, match="which a packed file must not have"):
        pack.pack(tmp_path / "sweep.tar", store, [trial_id], {})
    assert not (tmp_path / "sweep.tar").exists()


# --- no trust in what is inside --------------------------------------------------------------------------------------


def member(name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.type, entry.linkname = len(content) if kind == tarfile.REGTYPE else 0, kind, target
    return entry


def rewritten(source: Path, target: Path, change: Callable[[str, bytes], bytes | None], *more: tarfile.TarInfo) -> None:
    """The same tar with other content, or without a member, or with more of them."""
    with tarfile.open(source) as old, tarfile.open(target, "w") as new:
        for entry in old:
            opened = old.extractfile(entry)
            assert opened is not None
            content = change(entry.name, opened.read())
            if content is not None:
                entry.size = len(content)
                new.addfile(entry, io.BytesIO(content))
        for extra in more:
            new.addfile(extra, io.BytesIO(b"x" * extra.size))


ID = "0123456789abcdef"
HOSTILE = {
    "absolute": member("/tmp/owned"),
    "upwards": member(f"trials/{ID}/../../../owned"),
    "upwards in a model": member(f"trials/{ID}/model/../../owned"),
    "link": member(f"trials/{ID}/result.json", kind=tarfile.SYMTYPE, target="/etc/passwd"),
    "hard link": member(f"trials/{ID}/result.json", kind=tarfile.LNKTYPE, target="contents.json"),
    "device": member(f"trials/{ID}/result.json", kind=tarfile.CHRTYPE),
    "pipe": member(f"trials/{ID}/history.jsonl", kind=tarfile.FIFOTYPE),
    "folder": member(f"trials/{ID}", kind=tarfile.DIRTYPE),
    "another name": member(f"trials/{ID}/run.sh"),
    "another place": member("artifacts/encoders/x/y.safetensors"),
    "not in the contents": member(f"trials/{ID}/result.json"),
    "hidden": member(f"trials/{ID}/model/.hidden"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_with_anything_else_in_it_is_refused_whole(
    name: str, packed: Path, bertxfer: Run, tmp_path: Path
) -> None:
    """Also where its list of contents has it: whoever made it wrote that, too."""
    extra = HOSTILE[name]

    def listed(of: str, content: bytes) -> bytes:
        if of != "contents.json" or name == "not in the contents":
            return content
        told = json.loads(content)
        told["files"][extra.name] = hashlib.sha256(b"x" * extra.size).hexdigest()[:32]
        return json.dumps(told).encode()

    rewritten(packed, tmp_path / "hostile.tar", listed, extra)
    refused = bertxfer("merge", "hostile.tar")
    assert refused.returncode == 1 and "which no packed file has; nothing was taken" in only_line(refused.stderr)
    assert not Store(tmp_path / "out").finished() and not list((tmp_path / "out" / "trials").iterdir())
    assert not list(tmp_path.rglob("owned"))


def test_a_name_that_comes_twice_is_refused(packed: Path, tmp_path: Path) -> None:
    with tarfile.open(packed) as tar:
        twice = next(entry for entry in tar if entry.name.endswith("result.json"))
    rewritten(packed, tmp_path / "twice.tar", lambda _, content: content, member(twice.name))
    with pytest.raises(BertxferError, match="which no packed file has"):
        merged(tmp_path / "twice.tar", tmp_path / "here")


def test_a_changed_file_is_a_damaged_trial_and_the_others_are_taken(
    source: Store, packed: Path, tmp_path: Path
) -> None:
    """A digit of a score would be believed; the digest tells."""
    first, second = sorted(source.finished())

    def change(name: str, content: bytes) -> bytes:
        return content.replace(b'"steps": 2', b'"steps": 3') if name == f"trials/{first}/result.json" else content

    rewritten(packed, tmp_path / "changed.tar", change)
    assert digest(tmp_path / "changed.tar") != digest(packed)
    good, said = merged(tmp_path / "changed.tar", tmp_path / "here")
    assert not good
    assert (
        said[0] == f"damaged  trials/{first}: {tmp_path}/changed.tar: trials/{first}/result.json is not what was packed"
    )
    assert said[1] == "2 trials: 1 taken, 1 damaged"
    assert Store(tmp_path / "here").finished() == {second}


def test_a_file_without_some_of_its_parts_is_noticed(source: Store, packed: Path, tmp_path: Path) -> None:
    first, second = sorted(source.finished())
    lost = f"trials/{second}/result.json"
    rewritten(packed, tmp_path / "short.tar", lambda name, content: None if name == lost else content)
    good, said = merged(tmp_path / "short.tar", tmp_path / "here")
    assert not good and f"{lost} is missing" in said[0] and Store(tmp_path / "here").finished() == {first}


@pytest.mark.parametrize("part", [0.2, 0.5, 0.9])
def test_a_file_that_was_cut_is_refused_or_named(part: float, packed: Path, tmp_path: Path) -> None:
    content = packed.read_bytes()
    (tmp_path / "cut.tar").write_bytes(content[: int(len(content.rstrip(b"\0")) * part)])
    try:
        good, said = merged(tmp_path / "cut.tar", tmp_path / "here")
    except BertxferError as error:
        assert "nothing was taken" in str(error)
    else:
        assert not good and any(line.startswith("damaged") for line in said)
    for trial_id in Store(tmp_path / "here").finished():
        assert view(tmp_path / "here")[trial_id]


def test_what_cannot_be_packed_is_said(source: Store, bertxfer: Run, tmp_path: Path) -> None:
    where = ("--output-dir", str(source.root))
    for words, reason in {
        ("sweep", "sweep.zip"): "ends in .tar",
        ("sweep", "no/where.tar"): "there is no folder",
        ("nothing", "sweep.tar"): "is not a sweep",
    }.items():
        refused = bertxfer("pack", *words, *where)
        assert refused.returncode == 1 and reason in only_line(refused.stderr)
    other = Store(tmp_path / "other")
    shutil.copytree(source.root, other.root)
    first, second = sorted(other.finished())
    (other.folder(first) / "history.jsonl").write_text("{")
    ended = bertxfer("pack", "sweep", "sweep.tar", "--output-dir", "other")
    assert ended.returncode == 1 and f"left out  {first}: " in ended.stdout and "1 of 2 trials" in ended.stdout
    shutil.rmtree(other.folder(second))
    refused = bertxfer("pack", "sweep", "sweep.tar", "--output-dir", "other")
    assert "has no finished trial that could be packed" in refused.stderr
