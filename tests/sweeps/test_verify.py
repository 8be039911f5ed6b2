"""Stored trials run again, through the command line: equal bits, other bits, other numbers, and nothing written."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from bertxfer.store import agreement
from bertxfer.store.store import Store
from bertxfer.sweeps import verify
from tests.helpers.commands import Run, only_line, tiny_words
from tests.helpers.running import drained, trial
from tests.helpers.travelling import change_result, plant

TINY = ("data.n=8", "training.epochs=1", "data.dev_n=16")


@pytest.fixture
def store(shallow_model: Path, tmp_path: Path) -> Store:
    """A fine-tuned trial, a chain, and two probes that were computed together."""
    made = Store(tmp_path / "out")
    words = tiny_words(shallow_model, *TINY)
    chained = trial(*words, "scheme=sequential", "intermediate=mini_cola")
    probes = [trial(*words, "training=probe", "training.epochs=2", f"probe.layer={layer}") for layer in (0, 1)]
    drained(made, trial(*words), chained, *probes)
    return made


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in sorted(folder.rglob("*")) if p.is_file()}


def test_every_kind_of_trial_agrees_bit_for_bit_and_the_store_is_left_alone(store: Store, bertxfer: Run) -> None:
    before = snapshot(store.root)
    ran = bertxfer("verify", "--sample", "0")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    # The chain's first stage is a trial of its own, and is found too.
    assert "5 run again: 5 bit for bit" in ran.stdout
    assert snapshot(store.root) == before


def test_a_number_that_was_changed_is_found(store: Store, bertxfer: Run, shallow_model: Path) -> None:
    """Another version of torch may have made other predictions; how far they may be off is what the tolerance says."""
    one = trial(*tiny_words(shallow_model, *TINY))
    told = json.loads((store.folder(one.id) / "result.json").read_text())
    change_result(store, one.id, environment={**told["environment"], "torch": "1.0"})
    plant(store, one.id, wrong=1)
    close = bertxfer("verify", one.id, "--tolerance", "0.07")
    assert close.returncode == 0 and "to tolerance: accuracy is off by 0.0625, 0.07 is allowed" in close.stdout
    assert "15 of 16 predictions are the same; on the same machine, with as many threads" in close.stdout
    assert "(changed since: torch 1.0 -> 2." in close.stdout
    apart = bertxfer("verify", one.id)
    assert apart.returncode == 1 and "1 run again: 1 does not agree" in apart.stdout


def test_what_cannot_be_run_again_says_why(store: Store, bertxfer: Run, shallow_model: Path) -> None:
    one = trial(*tiny_words(shallow_model, *TINY))
    path = store.folder(one.id) / "result.json"
    told = json.loads(path.read_text())
    told["inputs"]["model_at"] = "/no/such/folder"
    path.write_text(json.dumps(told))
    ran = bertxfer("verify", one.id)
    assert ran.returncode == 1 and "could not be run again: model.name: " in ran.stdout
    assert "is not a sweep" in only_line(bertxfer("verify", "nothing").stderr)


def test_the_sample_is_seeded() -> None:
    ids = [f"{i:016x}" for i in range(40)]
    assert verify.sample(ids, 5, 1) == verify.sample(ids[::-1], 5, 1) != verify.sample(ids, 5, 2)
    assert verify.sample(ids, 0, 1) == ids and len(verify.sample(ids, 5, 1)) == 5


RESULT = {"id": "x", "score": 0.5, "metrics": {"f1": None, "accuracy": 0.5}, "environment": {"threads": 1}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, agreement.BITS),
        ({"weights_digest": "b"}, agreement.CLOSE),
        ({"score": 0.51}, agreement.CLOSE),
        ({"score": 0.6}, agreement.APART),
        ({"score": None}, agreement.APART),
        ({"metrics": {"f1": 0.0, "accuracy": 0.5}}, agreement.APART),
        ({"data_digest": "other"}, agreement.APART),
        ({"n_train": 9}, agreement.APART),
        ({"n_dev": 9}, agreement.APART),
        ({"steps": 9}, agreement.APART),
        ({"epochs": 9}, agreement.APART),
    ],
)
def test_what_agreement_means(changes: dict[str, object], expected: str) -> None:
    table = pa.table({"index": [0, 1], "prediction": [0, 1]})
    counts = {"n_train": 8, "n_dev": 2, "steps": 1, "epochs": 1}
    whole = {**RESULT, **counts, "data_digest": "rows", "weights_digest": "a"}
    found = agreement.compare(whole, {**whole, **changes}, table, table, 0.02)
    assert found.agreement == expected and found.agrees == (expected in (agreement.BITS, agreement.CLOSE))


def test_equal_metrics_of_other_predictions_are_not_equal_bits() -> None:
    whole = {**RESULT, "data_digest": "rows"}
    one, other = (pa.table({"index": [0, 1], "prediction": [0, last]}) for last in (0, 1))
    assert agreement.compare(whole, whole, one, other, 0.0).words.endswith("1 of 2 predictions are the same")
    assert agreement.compare(whole, whole, None, other, 0.0).agreement == agreement.CLOSE


SAME_MACHINE = {"host": "a", "threads": 1, "device": "cpu", "git_revision": "r", "git_dirty": False, "torch": "2"}


@pytest.mark.parametrize(
    ("now", "expected", "said"),
    [
        ({}, agreement.APART, "so no bit may differ"),
        ({"torch": "3"}, agreement.CLOSE, "on the same machine, with as many threads"),
        ({"git_revision": "s"}, agreement.CLOSE, "on the same machine, with as many threads"),
        ({"host": "b"}, agreement.CLOSE, "1 of 2 predictions are the same"),
        ({"threads": 2}, agreement.CLOSE, "1 of 2 predictions are the same"),
    ],
)
def test_other_predictions_of_equal_metrics_agree_only_if_something_has_changed(
    now: dict[str, object], expected: str, said: str
) -> None:
    one, other = (pa.table({"index": [0, 1], "prediction": [0, last]}) for last in (0, 1))
    before = {**RESULT, "data_digest": "rows", "environment": SAME_MACHINE}
    found = agreement.compare(before, {**before, "environment": {**SAME_MACHINE, **now}}, one, other, 0.01)
    assert found.agreement == expected and found.words.endswith(said)
    lost = agreement.compare(before, {**before, "environment": {**SAME_MACHINE, **now}}, None, other, 0.01)
    assert lost.agreement == agreement.CLOSE
