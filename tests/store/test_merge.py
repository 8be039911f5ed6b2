"""Trials of another store taken into this one: real trials, real damage, real kills."""

import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from bertxfer.errors import BertxferError
from bertxfer.store import portable, whole
from bertxfer.store.store import Store
from bertxfer.sweeps import merging, verify
from bertxfer.sweeps.queue import Queue
from bertxfer.system.files import write_json
from bertxfer.tasks import metrics
from tests.helpers import warm
from tests.helpers.commands import Run, environment, only_line
from tests.helpers.travelling import change_result, copied, many, merged, plant, ran, swap, view

SEEDS = 4
DRAWN = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def source(shallow_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Four trials of one sweep, each with an analysis and its model."""
    root = tmp_path_factory.mktemp("source") / "out"
    ran(root, shallow_model, SEEDS, "analysis=weights", "keep=model")
    return Store(root)


@pytest.fixture
def ids(source: Store) -> list[str]:
    found = sorted(source.finished())
    assert len(found) == SEEDS
    return found


# --- laws ------------------------------------------------------------------------------------------------------------

# What a store may have of a trial: nothing, a beginning, a result, one from a packed file, one with all outputs.
HELD = st.sampled_from(["none", "begun", "bare", "packed", "weights", "whole"])
STORES = st.lists(st.lists(HELD, min_size=SEEDS, max_size=SEEDS), min_size=3, max_size=3)


def held(source: Store, trial_id: str, what: str, root: Path) -> None:
    if what == "none":
        return
    copied(source, [trial_id], root)
    folder = root / "trials" / trial_id
    if what != "whole":
        shutil.rmtree(folder / "model")
    if what in ("begun", "bare", "packed"):
        (folder / "weights.parquet").unlink()
    if what == "packed":
        told = json.loads((folder / "result.json").read_text())
        write_json(folder / "result.json", portable.result(told))
    if what == "begun":
        (folder / "result.json").unlink()
        (folder / "failure.json").write_text('{"reason": "no memory"}')


@DRAWN
@given(wanted=STORES)
def test_merging_has_no_order_and_needs_no_repeating(
    wanted: list[list[str]], source: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ids = sorted(source.finished())
    root = tmp_path_factory.mktemp("law")
    for name, store in zip("abc", wanted, strict=True):
        (root / name / "trials").mkdir(parents=True)
        for trial_id, what in zip(ids, store, strict=True):
            held(source, trial_id, what, root / name)

    def sum_of(*names: str) -> Path:
        """The first store with the others merged into it, in this order."""
        target = root / f"sum-{'-'.join(names).replace('/', '_')}"
        shutil.copytree(root / names[0], target)
        for name in names[1:]:
            good, said = merged(root / name, target)
            assert good, said
        return target

    sums = [view(sum_of(*order)) for order in permutations("abc")]
    assert all(one == sums[0] for one in sums[1:])
    inner = sum_of("b", "c")
    assert view(sum_of("a", inner.name)) == sums[0]
    # What any of them had of a trial is there now.
    for trial_id, parts in zip(ids, zip(*wanted, strict=True), strict=True):
        assert (trial_id in sums[0]) == bool({*parts} & {"bare", "packed", "weights", "whole"})
        assert ("model/model.safetensors" in sums[0].get(trial_id, {})) == ("whole" in parts)
        assert ("weights.parquet" in sums[0].get(trial_id, {})) == bool({*parts} & {"weights", "whole"})
    before = stamps(inner)
    assert merged(root / "b", inner)[0] and merged(root / "c", inner)[0] and merged(sum_of("a"), sum_of("b", "a"))[0]
    assert stamps(inner) == before
    shutil.rmtree(root)


def stamps(root: Path) -> dict[str, tuple[int, int]]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def test_a_merged_store_is_the_other_one(source: Store, bertxfer: Run, tmp_path: Path) -> None:
    """Through the command line: trials and sweep, so that status and report know it; and a second time nothing."""
    taken = bertxfer("merge", str(source.root))
    assert taken.returncode == 0, taken.stderr
    assert "4 trials: 4 taken" in taken.stdout and "1 sweep taken" in taken.stdout
    assert view(tmp_path / "out") == view(source.root)
    assert not list((tmp_path / "out" / "trials").glob(".*")) and not list((tmp_path / "out").rglob("attempts"))
    before = stamps(tmp_path / "out")
    assert only_line(bertxfer("merge", str(source.root)).stdout) == "4 trials: 4 already here"
    assert stamps(tmp_path / "out") == before
    name = next((source.root / "sweeps").iterdir()).name
    assert name in bertxfer("status").stdout
    reported = bertxfer("report", name)
    assert reported.returncode == 0, reported.stderr
    assert (tmp_path / "out" / "reports" / name / "index.html").is_file()


# --- damage ----------------------------------------------------------------------------------------------------------


def cut(name: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        whole_file = (folder / name).read_bytes()
        (folder / name).write_bytes(whole_file[: len(whole_file) // 2])

    return damage


def edited(name: str, old: str, new: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return damage


def fewer_rows(folder: Path) -> None:
    table = parquet.ParquetFile(folder / "predictions.parquet").read()
    parquet.write_table(table.slice(0, 15), folder / "predictions.parquet")


def other_columns(folder: Path) -> None:
    parquet.write_table(pa.table({"x": list(range(16))}), folder / "predictions.parquet")


def linked(name: str) -> Callable[[Path], None]:
    """The thing itself, but elsewhere, with a link in its place."""

    def damage(folder: Path) -> None:
        elsewhere = folder.parents[2] / "elsewhere"
        (folder / name).rename(elsewhere)
        (folder / name).symlink_to(elsewhere)

    return damage


def linked_folder(folder: Path) -> None:
    elsewhere = folder.parents[2] / "elsewhere"
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)


def waiting_pipe(folder: Path) -> None:
    (folder / "history.jsonl").unlink()
    os.mkfifo(folder / "history.jsonl")


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "edited config": (edited("config.yaml", "epochs: 1", "epochs: 2"), "hashes to"),
    "cut config": (cut("config.yaml"), "config.yaml"),
    "deep config": (lambda folder: (folder / "config.yaml").write_text("[" * 40_000), "config.yaml cannot be read"),
    "config of dashes": (lambda folder: (folder / "config.yaml").write_text("- " * 40_000), "nested more deeply"),
    "config of steps": (
        lambda folder: (folder / "config.yaml").write_text("\n".join(f"{' ' * i}a:" for i in range(1400))),
        "nested more deeply",
    ),
    "config of aliases": (lambda folder: (folder / "config.yaml").write_text("a: &a [1]\nb: *a\n"), "has aliases"),
    "huge config": (lambda folder: (folder / "config.yaml").write_text("#" * (1 << 21)), "larger than any config"),
    "no config": (lambda folder: (folder / "config.yaml").unlink(), "has no config.yaml"),
    "cut result": (cut("result.json"), "result.json cannot be read"),
    "result of another": (edited("result.json", '"id": "', '"id": "0'), "is the result of"),
    "no number": (edited("result.json", '"score": ', '"score": true, "was": '), "neither a finite number nor null"),
    "cut predictions": (cut("predictions.parquet"), "predictions.parquet cannot be read"),
    "fewer predictions": (fewer_rows, "one prediction for each of the 16 dev rows"),
    "other predictions": (other_columns, "one prediction for each of the 16 dev rows"),
    "no predictions": (lambda folder: (folder / "predictions.parquet").unlink(), "has no predictions.parquet"),
    "cut history": (cut("history.jsonl"), "history.jsonl"),
    "half a line": (
        lambda folder: (folder / "history.jsonl").write_text('{"step": 1}\n{"step": 2}'),
        "history.jsonl is cut short",
    ),
    "cut analysis": (cut("weights.parquet"), "weights.parquet cannot be read"),
    "linked predictions": (linked("predictions.parquet"), "is a link"),
    "linked result": (linked("result.json"), "is a link"),
    "linked model": (linked("model"), "is a link"),
    "link in the model": (linked("model/config.json"), "is a link"),
    "linked folder": (linked_folder, "is a link"),
    "pipe": (waiting_pipe, "not a plain file"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_trial_is_named_and_the_others_are_taken(
    name: str, source: Store, ids: list[str], tmp_path: Path
) -> None:
    damage, words = DAMAGES[name]
    other = copied(source, ids[:2], tmp_path / "other")
    damage(other.folder(ids[0]))
    good, said = merged(other.root, tmp_path / "here")
    assert not good
    told = next(line for line in said if line.startswith(f"damaged  {ids[0]}: "))
    assert words in told and str(other.root) in told
    assert said[-1] == "2 trials: 1 taken, 1 damaged"
    assert view(tmp_path / "here") == view(copied(source, ids[1:2], tmp_path / "right").root)
    assert [path.name for path in (tmp_path / "here" / "trials").iterdir()] == [ids[1]]


def test_a_damaged_store_ends_with_status_1(source: Store, ids: list[str], bertxfer: Run, tmp_path: Path) -> None:
    other = copied(source, ids, tmp_path / "other")
    cut("predictions.parquet")(other.folder(ids[2]))
    (other.root / "trials" / "notes").mkdir()
    (other.root / "trials" / "notes" / "result.json").write_text("{}")
    ended = bertxfer("merge", "other")
    assert ended.returncode == 1 and "5 trials: 3 taken, 2 damaged" in ended.stdout
    assert f"damaged  {ids[2]}: {other.folder(ids[2])}/predictions.parquet cannot be read" in ended.stdout
    assert "damaged  notes: " in ended.stdout


def test_a_result_here_that_cannot_be_read_is_not_replaced(source: Store, ids: list[str], tmp_path: Path) -> None:
    here = copied(source, ids[:1], tmp_path / "here")
    cut("result.json")(here.folder(ids[0]))
    before = stamps(here.root)
    good, said = merged(source.root, here.root)
    assert not good and f"damaged  {ids[0]}: here: {here.folder(ids[0])}" in said[0]
    assert said[1] == "4 trials: 3 taken, 1 damaged"
    assert before.items() <= stamps(here.root).items()


# --- two results -----------------------------------------------------------------------------------------------------


def test_where_results_differ_both_are_named_and_none_is_changed(
    source: Store, ids: list[str], bertxfer: Run, tmp_path: Path
) -> None:
    other = copied(source, ids[:2], tmp_path / "other")
    plant(other, ids[0])
    here = copied(source, ids[:1], tmp_path / "out")
    before = stamps(here.root)
    ended = bertxfer("merge", "other")
    assert ended.returncode == 1
    told = next(line for line in ended.stdout.splitlines() if line.startswith("differs"))
    assert str(here.folder(ids[0])) in told and str(other.folder(ids[0])) in told
    assert "other score, metrics" in told and "is off by 0.25" in told
    assert "2 trials: 1 taken, 1 with another result here" in ended.stdout
    assert before.items() <= stamps(here.root).items()
    assert view(here.root)[ids[0]] == view(source.root)[ids[0]]


def test_other_predictions_with_equal_numbers_are_another_result(source: Store, ids: list[str], tmp_path: Path) -> None:
    other, here = (copied(source, ids[:1], tmp_path / name) for name in ("other", "here"))
    swap(other, ids[0])
    good, said = merged(other.root, here.root)
    assert not good and "other predictions; equal metrics; 14 of 16 predictions are the same" in said[0]


def test_a_result_that_was_asked_for_other_metrics_is_the_same(source: Store, ids: list[str], tmp_path: Path) -> None:
    """Metrics are no part of an id: what both have measured decides."""
    other, here = (copied(source, ids[:1], tmp_path / name) for name in ("other", "here"))
    result = other.result(ids[0])
    assert result is not None and result["headline"] == "accuracy"
    columns = whole.table(other.folder(ids[0]) / "predictions.parquet").to_pydict()
    score = metrics.METRICS["classification"]["macro_f1"].score(columns["label"], columns["prediction"])
    change_result(other, ids[0], headline="macro_f1", score=score, metrics={**result["metrics"], "macro_f1": score})
    assert merged(other.root, here.root) == (True, ["1 trial: 1 already here"])
    plant(here, ids[0])
    good, said = merged(other.root, here.root)
    assert not good and "accuracy is off by 0.25" in said[0]


def test_predictions_that_were_lost_here_come_back(source: Store, ids: list[str], tmp_path: Path) -> None:
    here = copied(source, ids[:1], tmp_path / "here")
    (here.folder(ids[0]) / "predictions.parquet").unlink()
    (here.folder(ids[0]) / "history.jsonl").unlink()
    assert merged(source.root, here.root)[0]
    assert view(here.root) == view(source.root)


@pytest.mark.parametrize("name", ["predictions.parquet", "weights.parquet"])
def test_a_table_that_was_damaged_here_is_mended(name: str, source: Store, ids: list[str], tmp_path: Path) -> None:
    here = copied(source, ids[:1], tmp_path / "here")
    cut(name)(here.folder(ids[0]))
    good, said = merged(copied(source, ids[:1], tmp_path / "other").root, here.root)
    assert good and said == ["1 trial: 1 already here, with more taken beside them"]
    assert view(here.root)[ids[0]] == view(source.root)[ids[0]]


@pytest.mark.parametrize("begun", [False, True])
def test_a_trial_that_is_a_link_here_is_not_written_through(
    begun: bool, source: Store, ids: list[str], tmp_path: Path
) -> None:
    here, elsewhere = Store(tmp_path / "here"), tmp_path / "elsewhere"
    (here.root / "trials").mkdir(parents=True)
    elsewhere.mkdir()
    if begun:
        shutil.copy(source.folder(ids[0]) / "config.yaml", elsewhere)
    here.folder(ids[0]).symlink_to(elsewhere)
    before = stamps(elsewhere)
    good, said = merged(copied(source, ids[:2], tmp_path / "other").root, here.root)
    assert not good and f"damaged  {ids[0]}: here: {here.folder(ids[0])} is a link" in said[0]
    assert said[-1] == "2 trials: 1 taken, 1 damaged" and stamps(elsewhere) == before


# --- trials that were begun here -------------------------------------------------------------------------------------


def test_a_trial_that_failed_here_is_finished_by_the_other_result(
    source: Store, ids: list[str], tmp_path: Path
) -> None:
    here = Store(tmp_path / "here")
    folder = here.folder(ids[0])
    (folder / "checkpoint").mkdir(parents=True)
    (folder / "checkpoint" / "x.pt").write_text("half way")
    (folder / "config.yaml").write_text("{}")  # cut short when it failed
    (folder / "weights.parquet").write_text("of a run that never recorded its result")
    (folder / "model").mkdir()
    (folder / "model" / "config.json").write_text("{}")
    here.fail_with(ids[0], "no memory")
    bare = copied(source, ids[:1], tmp_path / "other")
    (bare.folder(ids[0]) / "weights.parquet").unlink()
    assert merged(bare.root, here.root)[0]
    assert view(here.root) == view(bare.root)
    assert not (folder / "failure.json").exists() and not (folder / "checkpoint").exists()


def test_a_trial_that_is_being_run_here_is_left_to_its_worker(source: Store, ids: list[str], tmp_path: Path) -> None:
    """Or the predictions of one run could come to stand beside the result of the other."""
    here = Store(tmp_path / "here")
    attempt = Queue(here, "worker").take(ids[0])
    assert attempt is not None
    before = stamps(here.root)
    good, said = merged(source.root, here.root)
    assert good and said[0] == f"busy  {ids[0]}: it is being run here, and is left to that"
    assert said[1] == "4 trials: 3 taken, 1 being run here"
    assert stamps(here.folder(ids[0])) == before and here.result(ids[0]) is None
    attempt.end("released")
    assert merged(source.root, here.root)[0] and view(here.root) == view(source.root)


# --- kill -9 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("begun", [False, True], ids=["new", "begun"])
def test_a_killed_merge_leaves_no_half_trial_and_the_next_one_goes_on(
    begun: bool, source: Store, ids: list[str], tmp_path: Path
) -> None:
    """Killed when the first of sixty trials is there, the eighth, ...: whatever has a result then is whole."""
    other = many(source, ids[0], 60, tmp_path / "other")
    out = tmp_path / "out"
    if begun:
        for trial_id in other.finished():
            Store(out).folder(trial_id).mkdir(parents=True)
            Store(out).fail_with(trial_id, "no memory")
    numbers = []
    for moment in (1, 8, 20, 37, 52):
        process = warm.start(["merge", str(other.root)], tmp_path, environment(tmp_path), stdout=os.open(os.devnull, 1))
        until = time.monotonic() + 60
        while len(Store(out).finished()) < moment and time.monotonic() < until:
            time.sleep(0.0002)
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) in (-signal.SIGKILL, 0)  # on a busy machine the last ones may be faster
        numbers.append(len(Store(out).finished()))
        for trial_id in Store(out).finished():
            assert whole.check(Store(out), trial_id)["id"] == trial_id
    assert numbers == sorted(numbers) and numbers[0] < 60, "no kill came in the middle"
    good, said = merged(other.root, out)
    assert good, said
    assert view(out) == view(other.root)
    left = [path for path in out.rglob("*") if path.name.startswith(".") or path.name == "failure.json"]
    assert not left
    assert not any(Queue(Store(out), "next").is_running(trial_id) for trial_id in other.finished())


# --- a sample run again ----------------------------------------------------------------------------------------------


def test_a_planted_wrong_result_is_found_before_anything_is_taken(
    source: Store, ids: list[str], bertxfer: Run, tmp_path: Path
) -> None:
    other = copied(source, ids, tmp_path / "other")
    plant(other, ids[1])
    ended = bertxfer("merge", "other", "--verify", "4")
    assert ended.returncode == 1 and "nothing was taken" in ended.stdout
    assert f"{ids[1]}  does not agree: accuracy is off by 0.25, 0.01 is allowed" in ended.stdout
    assert "4 run again: 3 bit for bit, 1 does not agree" in ended.stdout
    assert not Store(tmp_path / "out").finished()
    good = bertxfer("merge", str(source.root), "--verify", "1", "--seed", "3")
    assert good.returncode == 0, good.stderr
    assert "1 of 4 new trials run again: one wrong result among them is found with probability 0.25" in good.stdout
    assert view(tmp_path / "out") == view(source.root)


def test_what_cannot_be_run_again_does_not_agree(source: Store, ids: list[str], tmp_path: Path) -> None:
    other = copied(source, ids[:1], tmp_path / "other")
    told = json.loads((other.folder(ids[0]) / "result.json").read_text())
    change_result(other, ids[0], inputs={**told["inputs"], "model_at": str(tmp_path / "gone")})
    said: list[str] = []
    assert not merging.merge(other.root, Store(tmp_path / "here"), merging.Check(1), said.append)
    assert "1 run again: 1 could not be run again" in said and said[-1] == "nothing was taken"
    assert not Store(tmp_path / "here").finished()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"inputs": {}}, "does not say where its model and its rows were"),
        ({"inputs": {"model_at": 5}}, "does not say where its model and its rows were"),
        ({"inputs": {"stages_at": "x"}}, "does not say where its model and its rows were"),
        ({"inputs": {"stages_metrics": [5]}}, "does not say where its model and its rows were"),
        ({"headline": None}, "does not say which metric its score is"),
        ({"environment": {"threads": -3, "device": "cpu"}}, "bit for bit"),
    ],
)
def test_a_result_that_says_too_little_is_no_reason_to_fall_over(
    changes: dict[str, object], said: str, source: Store, ids: list[str], tmp_path: Path
) -> None:
    other = copied(source, ids[:1], tmp_path / "other")
    told = json.loads((other.folder(ids[0]) / "result.json").read_text())
    inputs = changes.get("inputs")
    if inputs:
        changes = {"inputs": {**told["inputs"], **dict(inputs)}}  # type: ignore[call-overload]
    change_result(other, ids[0], **changes)
    assert said in str(verify.verify(ids[0], other, 0.01))


@pytest.mark.parametrize(("trials", "wrong", "sample"), [(20, 1, 5), (40, 3, 10), (7, 1, 1), (5, 2, 5)])
def test_the_rate_at_which_wrong_results_are_found(trials: int, wrong: int, sample: int) -> None:
    """What is printed is how often a random sample has one of them in it, counted over many seeds."""
    ids = [f"{i:016x}" for i in range(trials)]
    planted = set(ids[3 : 3 + wrong])
    seeds = 3000
    found = sum(bool(planted & set(verify.sample(ids, sample, seed))) for seed in range(seeds)) / seeds
    rate = merging.chance(trials, wrong, sample)
    if wrong == 1:
        assert rate == pytest.approx(sample / trials)
    assert abs(found - rate) <= 4 * (rate * (1 - rate) / seeds) ** 0.5 + 1e-9


def test_planted_results_are_found_as_often_as_is_said(
    source: Store, ids: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Merges with samples of every kind: either the planted result was drawn, and nothing is taken, or all is."""
    other = copied(source, ids, tmp_path / "other")
    for trial_id in ids:
        shutil.rmtree(other.folder(trial_id) / "model")
    plant(other, ids[2])
    monkeypatch.setattr(verify, "verify", lru_cache(verify.verify))  # every trial is run again, and only once
    for size, draws in ((1, 80), (2, 80), (4, 3)):
        found = 0
        for seed in range(draws):
            here, said = Store(tmp_path / f"{size}-{seed}"), list[str]()
            good = merging.merge(other.root, here, merging.Check(size, seed), said.append)
            assert len(here.finished()) == (SEEDS if good else 0)
            found += not good
        rate = merging.chance(SEEDS, 1, size)
        assert f"one wrong result among them is found with probability {rate:.2g}" in said[0]
        assert abs(found / draws - rate) <= 3 * (rate * (1 - rate) / draws) ** 0.5, (size, found, draws, rate)


PLANTED: dict[str, dict[str, object]] = {
    "has n_train = 400, but its config has 16": {"n_train": 400},
    "has model = 'bert-large', but its config has": {"model": "bert-large"},
    "has task = 'cola', but its config has 'mini_sst2'": {"task": "cola"},
    "has seed = 77, but its config has": {"seed": 77},
    "has n_dev = 1600": {"n_dev": 1600},
    "has epochs = 9, but its config has 1": {"epochs": 9},
    "has another treatment than its config": {"treatment": {"order": [1]}},
    "has the score 0.875, but accuracy = ": {"score": 0.875},
    "has accuracy = 0.125, but by its predictions it is ": {"score": 0.125, "metrics": {"accuracy": 0.125}},
    "has accuracy = None, but by its predictions it is ": {"score": None, "metrics": {"accuracy": None}},
}


@pytest.mark.parametrize("words", PLANTED)
def test_a_result_that_its_own_files_contradict_is_damaged(
    words: str, source: Store, ids: list[str], tmp_path: Path
) -> None:
    """It is neither merged nor packed, and does not agree when it is verified."""
    other = copied(source, ids[:2], tmp_path / "other")
    change_result(other, ids[0], **PLANTED[words])
    good, said = merged(other.root, tmp_path / "here")
    assert not good and said[-1] == "2 trials: 1 taken, 1 damaged"
    if "n_dev" not in words:
        assert words in said[0]
    verdict = verify.verify(ids[0], other, 0.01)
    assert not verdict.agrees and words in verdict.words


def test_predictions_that_were_inverted_contradict_their_result_or_their_logits(
    source: Store, ids: list[str], tmp_path: Path
) -> None:
    """The second also where just as many of them are right."""
    other = copied(source, ids, tmp_path / "other")
    scores = []
    for trial_id in ids:
        path = other.folder(trial_id) / "predictions.parquet"
        table = whole.table(path)
        inverted = pa.array([1 - one for one in table["prediction"].to_pylist()], table["prediction"].type)
        parquet.write_table(table.set_column(table.column_names.index("prediction"), "prediction", inverted), path)
        scores.append(json.loads((other.folder(trial_id) / "result.json").read_text())["score"])
    good, said = merged(other.root, tmp_path / "here")
    assert not good and not Store(tmp_path / "here").finished()
    words = {True: "are not the classes of their largest logits", False: "but by its predictions it is "}
    assert {True, False} == {score == 0.5 for score in scores}
    assert all(words[score == 0.5] in line for score, line in zip(scores, said, strict=False))


def test_a_trial_keeps_the_name_of_the_model_that_it_was_run_with(
    source: Store, ids: list[str], tmp_path: Path
) -> None:
    """A name is no part of an id: an attempt under another name is no contradiction."""
    here = Store(tmp_path / "here")
    folder = here.folder(ids[0])
    folder.mkdir(parents=True)
    config = (source.folder(ids[0]) / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace("name: shallow", "name: called-otherwise", 1))
    assert here.config(ids[0])["model"]["name"] == "called-otherwise"
    here.fail_with(ids[0], "no memory")
    assert merged(copied(source, ids[:1], tmp_path / "other").root, here.root)[0]
    assert whole.check(here, ids[0])["model"] == here.config(ids[0])["model"]["name"] == "shallow"


# --- what is refused -------------------------------------------------------------------------------------------------


def test_what_is_no_store_is_refused(source: Store, bertxfer: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.tar").write_text("not a tar")
    copied(source, [], tmp_path / "out")
    for other, words in {
        "nowhere": "there is no nowhere",
        "empty": "has no folder trials in it",
        "out": "is the results folder itself",
        "text.tar": "cannot be read as a packed file",
    }.items():
        refused = bertxfer("merge", other)
        assert refused.returncode == 1 and words in only_line(refused.stderr)


def test_a_sweep_that_cannot_be_read_is_named(source: Store, ids: list[str], tmp_path: Path) -> None:
    other = copied(source, ids[:1], tmp_path / "other")
    shutil.copytree(source.root / "sweeps", other.root / "sweeps")
    path = next((other.root / "sweeps").glob("*/manifest.json"))
    path.write_text(path.read_text().replace('"threads": null', '"threads": 3'))
    good, said = merged(other.root, tmp_path / "here")
    assert not good and f"damaged  sweep {path.parent.name}: {path} cannot be read" in said[0]
    assert not (tmp_path / "here" / "sweeps").exists()
    path.write_text("[" * 100_000)
    good, said = merged(other.root, tmp_path / "here")
    assert not good and f"damaged  sweep {path.parent.name}: {path} cannot be read" in said[0]
    path.unlink()
    path.symlink_to(next((source.root / "sweeps").glob("*/manifest.json")))
    assert not merged(other.root, tmp_path / "here")[0] and not (tmp_path / "here" / "sweeps").exists()


def test_the_result_of_a_trial_is_read_only_from_its_own_folder(source: Store, ids: list[str], tmp_path: Path) -> None:
    """A link that is put in a file's place after it was looked at is not followed either."""
    from bertxfer.store.merge import copy_plain

    (tmp_path / "link").symlink_to(source.folder(ids[0]) / "result.json")
    with pytest.raises((OSError, BertxferError)):
        copy_plain(tmp_path / "link", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
