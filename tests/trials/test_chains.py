"""Chains: which trial a prefix is, what is shared, and what becomes of stages that fail or are lost."""

import json
import shutil
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from bertxfer.config.schema import Training
from bertxfer.errors import ConfigError
from bertxfer.learning import encoders, heads, start
from bertxfer.learning.training import Part, epoch_steps
from bertxfer.store.store import Store
from bertxfer.trials.chains import describe, prefix_of, prefixes
from bertxfer.trials.science import Science
from tests.helpers.commands import Run, tiny_words
from tests.helpers.running import attempts, drained, result, trial

SMALL = ("data.n=8", "training.epochs=1")


def prefix_id(*words: str) -> str:
    found = prefix_of(trial(*words))
    assert found is not None
    return found.id


@pytest.mark.parametrize(
    ("chain", "alone"),
    [
        ("task=mini_qnli scheme=sequential intermediate=mini_cola", "task=mini_cola"),
        ("task=mini_qnli scheme=sequential intermediate=mini_cola seed=4", "task=mini_cola seed=4"),
        ("task=mini_sst2 intermediate=[mini_cola,mini_qnli]", "task=mini_qnli intermediate=mini_cola"),
        ("task=mini_sst2 intermediate=mini_cola scheme=incremental k=6", "task=mini_cola scheme=incremental k=6"),
        ("task=mini_sst2 intermediate=mini_cola scheme=incremental k=6 treat_before=last", "task=mini_cola"),
        (
            "task=mini_sst2 intermediate=[mini_cola,mini_qnli] scheme=single layer=2 treat_before=last",
            "task=mini_qnli intermediate=mini_cola",
        ),
        (
            "intermediate=[{task:mini_cola,data:{n:90},training:{epochs:2},optimizer:{lr:1e-3}}] data.n=700",
            "task=mini_cola data.n=90 training.epochs=2 optimizer.lr=1e-3",
        ),
        ("task=mini_sst2 data.n=all intermediate=[{task:mini_cola,data:{n:90}}]", "task=mini_cola data.n=90"),
        (
            "task=mini_sst2 training=probe probe.layer=2 intermediate=[{task:mini_cola,training:{epochs:5}}]",
            "task=mini_cola",
        ),
    ],
)
def test_a_prefix_is_the_trial_it_would_be_alone(chain: str, alone: str) -> None:
    assert prefix_id(*chain.split()) == trial(*alone.split()).id


def test_a_chain_is_another_trial_than_its_last_stage_alone() -> None:
    ids = {
        trial(*words.split()).id
        for words in (
            "task=mini_sst2",
            "task=mini_sst2 intermediate=mini_cola",
            "task=mini_sst2 intermediate=mini_qnli",
            "task=mini_sst2 intermediate=[mini_cola,mini_qnli]",
            "task=mini_sst2 intermediate=[mini_qnli,mini_cola]",
            "task=mini_sst2 intermediate=mini_cola intermediate_mode=interleave",
            "task=mini_sst2 intermediate=mini_cola scheme=single layer=1",
            "task=mini_sst2 intermediate=mini_cola scheme=single layer=1 treat_before=last",
        )
    }
    assert len(ids) == 8
    untreated = "task=mini_sst2 intermediate=mini_cola treat_before="
    assert trial(*f"{untreated}first".split()).id == trial(*f"{untreated}last".split()).id


def test_a_chain_is_read_back_as_it_was_written() -> None:
    one = trial("task=mini_sst2", "intermediate=[mini_cola,mini_qnli]", "scheme=single", "layer=2")
    assert Science.from_dict(one.science.as_dict()) == one.science
    assert [prefix.science.task.name for prefix in prefixes(one)] == ["mini_qnli", "mini_cola"]
    assert describe(one.science) == "layer 2 reinitialized before mini_cola, mini_qnli"


@pytest.mark.parametrize(
    ("words", "key", "told"),
    [
        ("scheme=sequential", "intermediate", "needs it"),
        ("intermediate=[{tusk:rte}]", "intermediate", "neither the name of a task"),
        ("intermediate=[{task:mini_cola,epochs:3}]", "intermediate.epochs", "data, optimizer, training"),
        ("intermediate=[{task:mini_cola,training:{epoch:3}}]", "intermediate.training", "epoch"),
        ("intermediate=[{task:mini_cola,training:{epochs:many}}]", "intermediate.training", "many"),
        ("intermediate=[{task:mini_cola,data:{n:70000}}]", "data.n", "70000 is more than the 60000"),
        (
            "intermediate=[{task:mini_cola,training:{epochs:3}}] intermediate_mode=interleave",
            "intermediate",
            "share one training",
        ),
        ("intermediate=mini_cola training=probe probe.layer=1", "intermediate", "give the stage its own"),
        ("treat_before=second", "treat_before", "first, last"),
    ],
)
def test_chains_that_cannot_be_run(words: str, key: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        trial(*words.split())
    assert error.value.key == key
    assert told in str(error.value)


def test_all_pairs_of_four_tasks_cost_sixteen_trainings(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    tasks = ["mini_sst2", "mini_qnli", "mini_cola", "own"]
    (tmp_path / "my" / "task").mkdir(parents=True)
    (tmp_path / "my" / "experiment").mkdir()
    (tmp_path / "my" / "task" / "own.yaml").write_text(
        "name: own\ntext: [text]\nlabels: [bad, good]\nmetrics: [accuracy]\nheadline: accuracy\n"
        "files: {train: own.csv, dev: own.csv}\n"
    )
    (tmp_path / "own.csv").write_text(
        "text,label\n" + "".join(f"word {i},{'good' if i % 2 else 'bad'}\n" for i in range(8))
    )
    pairs = [f"  - {{intermediate: {a}, task: [{','.join(b for b in tasks if b != a)}]}}\n" for a in tasks]
    (tmp_path / "my" / "experiment" / "matrix.yaml").write_text(
        f"# @package _global_\ngrids:\n{''.join(pairs)}  - {{task: [{','.join(tasks)}]}}\n"
    )
    words = [*tiny_words(shallow_model), *SMALL, "-m", "experiment=matrix", "--config-dir", str(tmp_path / "my")]
    first = bertxfer(*words)
    assert first.returncode == 0, first.stderr
    assert "16 of 16 trials done" in first.stdout
    store = Store(tmp_path / "out")
    counted = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "trials").glob("*/attempts/*.json")}
    assert len(counted) == 16
    kept = [path.name for path in (tmp_path / "out" / "artifacts" / "encoders").iterdir()]
    assert len(kept) == 4
    assert all(store.result(trial_id) is not None for trial_id in kept)
    again = bertxfer(*words)
    assert "16 trials, 16 done before" in again.stdout
    assert counted == {
        path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "trials").glob("*/attempts/*.json")
    }


def chain_words(model: Path, *words: str) -> list[str]:
    return [*tiny_words(model), *SMALL, "intermediate=mini_cola", *words]


def test_a_chain_goes_on_from_its_stage_and_is_treated_before_the_last(shallow_model: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    words = chain_words(shallow_model, "scheme=single", "layer=1", "part=attention", "treat_before=last")
    chain = trial(*words)
    drained(store, chain)
    stage = prefix_of(chain)
    assert stage is not None
    (path,) = store.artifacts.read("encoders", stage.id)
    told = result(store, chain)["begun_from"]
    assert told == {"trial": stage.id, "encoder": path.stem}
    kept = load_file(path)
    begin = start.start(chain, store.artifacts)
    now = begin.encoder.state_dict()
    changed = {name for name, tensor in now.items() if not tensor.equal(kept[name])}
    assert changed == {name for name in now if ".attention." in name}
    pretrained = start.pretrained(chain).state_dict()
    assert not kept["encoder.layer.0.output.dense.weight"].equal(pretrained["encoder.layer.0.output.dense.weight"])


def test_a_lost_or_damaged_encoder_is_made_again_and_never_used(
    shallow_model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good, store = Store(tmp_path / "good"), Store(tmp_path / "out")
    chains = [trial(*chain_words(shallow_model, f"task={task}")) for task in ("mini_sst2", "mini_qnli")]
    drained(good, *chains)
    drained(store, chains[0])
    stage = prefix_of(chains[1])
    assert stage is not None
    expected = result(good, chains[1])["weights_digest"]
    for damage in ("flip", "cut", "remove"):
        shutil.rmtree(store.folder(chains[1].id), ignore_errors=True)
        (path,) = store.artifacts.read("encoders", stage.id)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.unlink()
        if damage != "remove":
            path.write_bytes(content if damage == "flip" else content[: len(content) // 2])
        before = len(attempts(store, stage))
        drained(store, chains[1])
        assert result(store, chains[1])["weights_digest"] == expected
        assert len(attempts(store, stage)) == before + 1
        assert (str(path) in capfd.readouterr().err) == (damage != "remove")


def test_trials_behind_a_stage_that_fails_fail_with_its_reason(shallow_model: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    broken = "intermediate=[{task:mini_cola,optimizer:{lr:1e30},data:{n:24}}]"
    chains = [trial(*tiny_words(shallow_model), *SMALL, broken, f"task={t}") for t in ("mini_sst2", "mini_qnli")]
    other = trial(*tiny_words(shallow_model), *SMALL)
    drained(store, *chains, other)
    assert result(store, other)
    stage = prefix_of(chains[0])
    assert stage is not None
    assert len(attempts(store, stage)) == 1
    for chain in chains:
        assert store.result(chain.id) is None
        assert store.why_failed(chain.id).startswith(f"its stage {stage.id} failed: the training loss is")


def test_one_worker_makes_a_stage_for_all(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = chain_words(shallow_model, "-m", "task=mini_sst2,mini_qnli,mini_cola", "scheme=baseline", "data.n=400")
    ended = bertxfer(*words, "hydra.launcher.workers=2")
    assert ended.returncode == 0, ended.stderr
    tries = list((tmp_path / "out" / "trials").glob("*/attempts/*.json"))
    assert len(tries) == 4  # three chains and their one stage


def test_interleaved_tasks_share_an_encoder_and_every_row_is_seen_once(shallow_model: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    words = [*tiny_words(shallow_model), "data.n=24", "training.epochs=2", "task=mini_sst2"]
    mixed = trial(*words, "intermediate=[{task:mini_qnli,data:{n:40}}]", "intermediate_mode=interleave")
    alone = trial(*words)
    drained(store, mixed, alone)
    assert prefix_of(mixed) is None
    assert result(store, mixed)["steps"] == 2 * (3 + 5)
    assert result(store, mixed)["n_train"] == 24
    assert result(store, mixed)["weights_digest"] != result(store, alone)["weights_digest"]


def test_the_steps_of_an_interleaved_epoch() -> None:
    parts = [Part(None, range(size), "classification") for size in (20, 9)]  # type: ignore[arg-type]
    epochs = [epoch_steps(parts, Training(batch_size=4), 7, epoch) for epoch in (0, 1)]
    for steps in epochs:
        for part in parts:
            assert sorted(row for own, rows in steps if own is part for row in rows) == list(part.rows)  # type: ignore[call-overload]
    kinds = [[own is parts[0] for own, _ in steps] for steps in epochs]
    assert kinds[0] != kinds[1]
    assert kinds[0] != sorted(kinds[0], reverse=True)  # not one task after the other


def test_an_interleaved_trial_goes_on_to_the_same_bits(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    from bertxfer.learning.run import Interrupted, run
    from tests.helpers.running import RUNTIME

    words = [*tiny_words(shallow_model), "intermediate=mini_qnli", "intermediate_mode=interleave"]
    mixed = trial(*words)
    whole, broken = Store(tmp_path / "whole"), Store(tmp_path / "broken")
    expected = run(mixed, whole, RUNTIME)
    asked = iter(range(100))
    with pytest.raises(Interrupted):
        run(mixed, broken, replace(RUNTIME, checkpoint_seconds=0), stop=lambda: next(asked) == 5)
    resumed = run(mixed, broken, RUNTIME)
    assert resumed["resumed_at_step"] == 5
    assert resumed["weights_digest"] == expected["weights_digest"]


def test_a_stage_does_not_begin_with_the_read_out_of_the_one_before(bertxfer: Run, tmp_path: Path) -> None:
    """The same task twice, and the second time no training: only an untrained classifier reads the trained encoder.
    When both stages drew the same classifier, the second scored like the first."""
    stage = "intermediate=[{task:mini_sst2,data:{n:100},training:{epochs:2}}]"
    small = ("data.n=100", "data.dev_n=200", "hydra/launcher=inline", f"runtime.output_dir={tmp_path}")
    done = bertxfer("-m", stage, "training.epochs=0", "seed=0..9", *small)
    assert done.returncode == 0, done.stderr
    scores: dict[bool, list[float]] = {False: [], True: []}
    for path in (tmp_path / "trials").glob("*/result.json"):
        found = json.loads(path.read_text())
        scores[found["begun_from"] is not None].append(found["score"])
    assert len(scores[False]) == len(scores[True]) == 10
    assert statistics.median(scores[False]) > 0.9  # trained
    assert statistics.median(scores[True]) < 0.75  # read by a classifier that was never trained


def test_the_classifier_of_a_task_is_the_same_whatever_comes_before_or_is_done(tiny_model: Path) -> None:
    """Pairs rest on it: the task alone, after another task, and under any scheme; but not for its second time."""
    words = [*tiny_words(tiny_model), "task=mini_cola"]

    def weight(*more: str) -> Tensor:
        one = trial(*words, *more)
        return heads.classifier(encoders.load(one.model_at, one.science.model), one.science).weight

    alone = weight()
    for more in ("scheme=scratch", "intermediate=mini_sst2", "intermediate=[mini_sst2,mini_qnli]"):
        assert torch.equal(weight(more), alone), more
    assert torch.equal(weight("intermediate=mini_sst2", "intermediate_mode=interleave"), alone)
    others = [weight("intermediate=mini_cola"), weight("task=mini_sst2"), weight("seed=1")]
    assert not any(torch.equal(one, alone) for one in others)
