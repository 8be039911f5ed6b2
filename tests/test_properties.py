"""Whatever is written into a config, a data file or the store: one sentence or a right answer, never a traceback.

Examples are drawn the same way every time, so that a failure in CI is a failure everywhere.
"""

import contextlib
import copy
import io
import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from omegaconf import DictConfig

from bertxfer.config import command_line, complaints, schema
from bertxfer.config.composer import Composer
from bertxfer.errors import BertxferError, DataError
from bertxfer.report import frame as frames
from bertxfer.report import results as exports
from bertxfer.report.stored import history
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest, wanted
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.status import show
from bertxfer.sweeps.summary import line, print_table
from bertxfer.sweeps.sweep import Point, Sweep
from bertxfer.tasks import file_rows, squad
from bertxfer.tasks.origins import InFiles
from bertxfer.tasks.rows import Columns
from bertxfer.trials.trial import Trial
from tests.helpers.officialdata import SQUAD
from tests.helpers.stored import finish, point

FEW = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    phases=[Phase.generate],  # a failure is shown as it was found: shrinking one takes minutes
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MANY = settings(FEW, max_examples=150)

NUMBERS = st.one_of(st.integers(-3, 15), st.integers(), st.floats(), st.sampled_from([10**400, 2**63, 1e308, -0.0]))
PLAIN = st.recursive(
    st.one_of(
        st.none(), st.booleans(), NUMBERS, st.text(max_size=8), st.sampled_from(["", "..", "../x", "all", "nan"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)


def one_sentence(error: Exception) -> str:
    """What the command line says of it; what it would not say but let through is an error of ours."""
    if not isinstance(error, BertxferError) and not complaints.is_complaint(error):
        raise error
    told = str(error) if isinstance(error, BertxferError) else complaints.one_sentence(error, schema.keys())
    assert told.strip() and "\n" not in told.strip(), repr(told)
    return told


# --- configs ---------------------------------------------------------------------------------------------------------

KEYS = sorted(set(schema.keys()) - {"grids", "figure"})
WORDS = st.one_of(
    NUMBERS.map(str),
    st.sampled_from(
        "null true no all mini ../.. /etc ~ [] [1] [1,2,3] [[1]] {} {a:1} {task:cola} '' . ${seed} "
        "${none} ${oc.env:NO} nan inf -1 0 1 3 12 13 1e400 99999999999999999999 first last chain interleave "
        "cls mean probe adam".split()
    ),
    st.text("ab01[]{}(),.:=$'\"\\ -_~/é\n\t", max_size=6),
)


class Cached:
    """A composer that composes each choice of groups once."""

    def __init__(self) -> None:
        self.composer, self.known = Composer(schema.conf_dir()), dict[tuple[str, ...], DictConfig]()
        self.loader = self.composer.loader

    def compose(self, overrides: Any) -> DictConfig:
        key = tuple(overrides)
        if key not in self.known:
            self.known[key] = self.composer.compose(overrides)
        return copy.deepcopy(self.known[key])

    def is_group(self, name: str) -> bool:
        return self.composer.is_group(name)


@pytest.fixture(scope="module")
def cached() -> Cached:
    return Cached()


@settings(FEW, max_examples=120)
@given(said=st.dictionaries(st.sampled_from(KEYS), WORDS, min_size=1, max_size=3))
def test_any_value_of_any_key_is_a_trial_or_one_sentence(said: dict[str, str], cached: Cached) -> None:
    words = command_line.in_order([f"{key}={value}" for key, value in said.items()])
    try:
        found = wanted.sweep_of(words, cached).trials
    except Exception as error:
        one_sentence(error)
        return
    for trial in found:  # what is accepted can be stored, found again and told apart
        assert trial.science.id == trial.id
        assert (
            Trial(trial.id, type(trial.science).from_dict(trial.science.as_dict()), trial.model_at).science.id
            == trial.id
        )


# --- data files ------------------------------------------------------------------------------------------------------

CELL = st.text("ab01\t\n\r\",'{}[]: .-\x00\u2028é\ufeff", max_size=8)
TABLE = st.one_of(
    st.binary(max_size=60),
    st.lists(st.lists(CELL, max_size=4), max_size=5).flatmap(
        lambda rows: st.sampled_from("\t,").map(
            lambda tab: ("text\tlabel\n".replace("\t", tab) + "\n".join(tab.join(row) for row in rows)).encode()
        )
    ),
    st.lists(PLAIN, max_size=4).map(lambda rows: "\n".join(json.dumps(row) for row in rows).encode()),
    st.lists(st.fixed_dictionaries({"text": PLAIN, "label": PLAIN}), max_size=4).map(
        lambda rows: "\n".join(json.dumps(row) for row in rows).encode()
    ),
)


def origin(kind: str, path: Path) -> InFiles:
    labels = ("no", "yes") if kind == "classification" else ()
    return InFiles(Columns("own", kind, ("text",), "label", labels, False), path, path, ())


@settings(MANY, max_examples=300)
@given(
    content=TABLE,
    ending=st.sampled_from(["tsv", "csv", "jsonl", "parquet"]),
    kind=st.sampled_from(["classification", "regression"]),
)
def test_any_table_is_rows_or_one_sentence_with_the_file(
    content: bytes, ending: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / f"rows.{ending}"
    path.write_bytes(content)
    try:
        rows = file_rows._rows(origin(kind, path), path)
    except DataError as error:
        assert str(path) in one_sentence(error)
        return
    assert len(rows) > 0 and all(text.strip() for texts in rows.texts for text in texts)
    allowed = (lambda x: x in (0, 1)) if kind == "classification" else math.isfinite
    assert all(allowed(label) for label in rows.labels)
    rows.digest()


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a nest of dicts and lists."""
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []:
        yield from places(inner, (*at, key))


def altered(whole: Any, at: tuple[Any, ...], new: Any) -> Any:
    """A copy with something else at one place; `Gone` deletes it."""
    if not at:
        return new
    made = copy.deepcopy(whole)
    holder = made
    for key in at[:-1]:
        holder = holder[key]
    if new is Gone:
        del holder[at[-1]]
    else:
        holder[at[-1]] = new
    return made


class Gone:
    """In place of a value: nothing."""


NEW = st.one_of(PLAIN, st.just(Gone))


@MANY
@given(data=st.data())
def test_any_squad_file_is_questions_or_one_sentence(data: st.DataObject, tmp_path: Path) -> None:
    at = data.draw(st.sampled_from([place for place in places(SQUAD) if place]))
    path = tmp_path / "train.json"
    path.write_text(json.dumps(altered(SQUAD, at, data.draw(NEW))))
    try:
        rows = squad.read_json(path)
    except DataError as error:
        assert str(path) in one_sentence(error)
        return
    for (question, passage), answers in zip(rows.texts, rows.labels, strict=True):
        assert isinstance(question, str) and isinstance(answers.id, str)
        assert all(passage[s : s + len(t)] == t for t, s in zip(answers.texts, answers.starts, strict=True))
    rows.digest()


# --- the store -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[Point]]:
    """A store with a finished, a failed and a waiting trial, and their sweep."""
    store = Store(tmp_path_factory.mktemp("stored"))
    points = [point("scheme=incremental", k=3), point("task=mini_cola", seed=4), point("seed=5")]
    finish(points[0], store, 0.75, seed=0, treatment={"order": None}, treatment_text="as pretrained", begun_from=None)
    store.begin(points[1].trial)
    store.fail_with(points[1].trial.id, "no memory")
    attempt = store.folder(points[1].trial.id) / "attempts" / "1.json"
    attempt.parent.mkdir()
    attempt.write_text(json.dumps({"host": "h", "pid": 5, "pid_started": 7, "slurm_job": None, "outcome": "failed"}))
    config_ = schema.Runtime(output_dir=str(store.root))
    manifest.freeze(Sweep(points, config_, schema.ArtifactSettings()))
    return store, points


def looked_at(store: Store, points: list[Point], name: str) -> None:
    """Everything that reads a store without torch."""
    with contextlib.redirect_stdout(io.StringIO()):
        for what in (None, name, points[0].trial.id, points[1].trial.id):
            with contextlib.suppress(BertxferError):
                show(store.root, what)
        table = frames.frame(points, store)
        frames.completeness(table)
        exports.stored_points(store)
        for one in points:
            with contextlib.suppress(BertxferError):
                if (result := store.result(one.trial.id)) is not None:
                    line(result, "stored")
                    print_table([(one.trial.science, result)])


def with_content(path: Path, content: bytes, look: Callable[[], None]) -> None:
    """Looks at a file that says something else; nobody who looks may change or lose it."""
    before = path.read_bytes()
    try:
        path.write_bytes(content)
        look()
        assert path.read_bytes() == content
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("which", ["result", "config", "failure", "attempt", "manifest"])
@settings(FEW, max_examples=30)
@given(data=st.data())
def test_any_file_of_the_store_is_read_or_refused(
    data: st.DataObject, which: str, stored: tuple[Store, list[Point]]
) -> None:
    store, points = stored
    done, failed = (store.folder(one.trial.id) for one in points[:2])
    frozen = next((store.root / "sweeps").iterdir())
    path = {
        "result": done / "result.json",
        "config": done / "config.yaml",
        "failure": failed / "failure.json",
        "attempt": failed / "attempts" / "1.json",
        "manifest": frozen / "manifest.json",
    }[which]
    whole = yaml.safe_load(path.read_text())
    bad_bytes = st.one_of(
        st.binary(max_size=20), st.integers(0, path.stat().st_size).map(lambda n: path.read_bytes()[:n])
    )
    at = data.draw(st.sampled_from(list(places(whole))))
    other = st.builds(lambda new: altered(whole, at, new), NEW if at else PLAIN).map(
        lambda plain: json.dumps(plain).encode()
    )
    content = data.draw(st.one_of(other, other, other, bad_bytes))
    with_content(path, content, lambda: looked_at(store, points, frozen.name))


@FEW
@given(data=st.data())
def test_an_altered_result_is_never_another_number(data: st.DataObject, stored: tuple[Store, list[Point]]) -> None:
    """A score is what result.json says, or the trial counts as failed with the reason."""
    store, points = stored
    path = store.folder(points[0].trial.id) / "result.json"
    new = data.draw(PLAIN)
    said = json.dumps({**json.loads(path.read_text()), "score": new})

    def look() -> None:
        row = frames.frame(points[:1], store).iloc[0]
        number = isinstance(new, (int, float)) and not isinstance(new, bool) and -math.inf < new < math.inf
        if row["state"] == "done":
            assert row["score"] == new if number else (new is None and row["undefined"])
        else:
            assert "score" in row["reason"] and not (number and abs(new) < 1e300)

    with_content(path, said.encode(), look)


@MANY
@given(lines=st.lists(st.one_of(PLAIN.map(json.dumps), st.text(max_size=10)), max_size=4))
def test_any_history_is_read_or_refused(lines: list[str], stored: tuple[Store, list[Point]]) -> None:
    store, points = stored
    path = store.folder(points[0].trial.id) / "history.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    try:
        found = history([points[0].trial.id], store)
    except BertxferError as error:
        assert "history.jsonl" in one_sentence(error)
    else:
        assert {"id", "step"} <= set(found.columns)
    finally:
        path.unlink()


@FEW
@given(
    owner=PLAIN, names=st.lists(st.sampled_from(["1.json", "2.json", "x.json", "03.json", ".1.json.tmp"]), min_size=1)
)
def test_any_attempt_leaves_the_queue_standing(owner: Any, names: list[str], tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.folder("0123456789abcdef") / "attempts"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).write_text(json.dumps(owner))
    situation = Queue(store, "launch").situation("0123456789abcdef")
    assert situation.state in ("waiting", "running", "failed")
    assert not (folder / f"{situation.next_number}.json").exists()
