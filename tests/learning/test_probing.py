"""Probes: the stack against the plain way, on its own and in company, and features that are kept, lost or damaged."""

import copy
import math
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

from bertxfer.errors import ConfigError
from bertxfer.learning import encoders, features, heads, probing, start
from bertxfer.learning.data import epoch_order
from bertxfer.learning.probes.fitting import fit
from bertxfer.learning.probes.probe_rows import rows_of
from bertxfer.learning.probes.stack import Stack
from bertxfer.learning.run import load_data
from bertxfer.store.store import Store
from bertxfer.system import seeds
from bertxfer.trials import chains
from bertxfer.trials.science import Science
from bertxfer.trials.trial import Trial
from tests.helpers.commands import Run, tiny_words
from tests.helpers.families import small
from tests.helpers.running import RUNTIME, attempts, drained, result, trial

PROBE = ("training=probe", "optimizer.lr=0.02", "data.n=40", "training.epochs=6", "training.patience=2")
REMOVED = ("training=probe_removed", "optimizer.lr=0.01", "data.n=40", "training.epochs=2", "training.clip=0.1")


def plain_way(one: Trial, store: Store) -> list[list[float]]:
    """Dev outputs of one probe the slow way: the encoder is run for every batch of every epoch."""
    science, probe = one.science, one.science.probe
    assert probe is not None
    train, dev = load_data(one, store)
    encoder = encoders.load(one.model_at, science.model).eval()
    model = heads.HeadedModel(encoder, science)
    held = []
    if probe.holdout is not None:
        held = seeds.permutation(len(train), science.seeds["order"], "holdout")[: round(probe.holdout * len(train))]
    rows = [row for row in range(len(train)) if row not in held]

    def outputs(data: object, chosen: list[int]) -> torch.Tensor:
        batch = data.padded(chosen, torch.device("cpu"))  # type: ignore[attr-defined]
        with torch.no_grad():
            states = encoder(**batch, output_hidden_states=True).hidden_states[probe.layer]
        if model.pooler is not None:
            return model.classifier(model.pooler(states[:, 0]))
        real = [states[i, : int(length)].mean(0) for i, length in enumerate(batch["attention_mask"].sum(1))]
        return model.classifier(torch.stack(real))

    trained = list(model.classifier.parameters())  # and nothing else: BERT's own pooler is as frozen as the layers
    optimizer = torch.optim.Adam(trained, lr=science.optimizer.lr)
    best, best_state, waited, step = math.inf, copy.deepcopy(model.state_dict()), 0, 0
    steps = science.training.epochs * math.ceil(len(rows) / 8)
    for epoch in range(science.training.epochs):
        order = [rows[i] for i in epoch_order(len(rows), science.seeds["order"], epoch)]
        for i in range(0, len(order), 8):
            chosen = order[i : i + 8]
            loss = nn.functional.cross_entropy(outputs(train, chosen), torch.tensor([train.labels[r] for r in chosen]))
            if science.training.schedule == "linear":
                optimizer.param_groups[0]["lr"] = science.optimizer.lr * (1 - step / steps)
            optimizer.zero_grad()
            loss.backward()
            if science.training.clip is not None:
                nn.utils.clip_grad_norm_(trained, science.training.clip)
            optimizer.step()
            step += 1
        if held:
            labels = torch.tensor([train.labels[r] for r in held])
            loss_held = float(nn.functional.cross_entropy(outputs(train, held), labels))
            if loss_held < best:
                best, best_state, waited = loss_held, copy.deepcopy(model.state_dict()), 0
            else:
                waited += 1
            if waited == science.training.patience:
                break
    if held:
        model.load_state_dict(best_state)
    with torch.no_grad():
        return [row.tolist() for i in range(0, 1000, 100) for row in outputs(dev, list(range(i, i + 100)))]


def stored_outputs(store: Store, one: Trial) -> list[list[float]]:
    columns = pq.read_table(store.folder(one.id) / "predictions.parquet").to_pydict()
    return [list(row) for row in zip(columns["logit_0"], columns["logit_1"], strict=True)]


@pytest.mark.parametrize("how", [PROBE, REMOVED], ids=["mean", "removed"])
def test_a_stack_of_probes_is_the_plain_way(low_model: Path, tmp_path: Path, how: tuple[str, ...]) -> None:
    axis = "probe.layer" if how is PROBE else "probe.removed"
    trials = [
        trial(*tiny_words(low_model), *how, f"{axis}={layer}", f"seed={seed}") for layer in (1, 3) for seed in (0, 3)
    ]
    store = Store(tmp_path)
    said = drained(store, *trials)
    assert len(said) == 4
    assert {result(store, one)["together"] for one in trials} == {4}
    stops = {result(store, one)["epochs"] for one in trials}
    assert len(stops) > 1 or how is REMOVED  # early stopping is seen to act, probe by probe
    for one in (trials[0], trials[3]):
        plain = torch.tensor(plain_way(one, store))
        torch.testing.assert_close(torch.tensor(stored_outputs(store, one)), plain, atol=2e-5, rtol=1e-4)


def test_exactly_the_classifier_of_a_removal_probe_is_trained(low_model: Path, tmp_path: Path) -> None:
    """singh2020, 4.4: all layers are frozen, and only a classifier is trained. The pooler it reads is pretrained."""
    one, store = trial(*tiny_words(low_model), *REMOVED, "probe.removed=1"), Store(tmp_path)
    begin = start.start(one, store.artifacts)
    before = {name: tensor.clone() for name, tensor in begin.encoder.state_dict().items()}
    assert {"pooler.dense.weight", "pooler.dense.bias"} <= set(before)
    train, dev = load_data(one, store)
    cpu = torch.device("cpu")
    states, positions = features.collect(one, [train, dev], [2], store.artifacts, begin.encoder, cpu, lambda: None)
    probes = Stack([one], begin.encoder)
    drawn = {name: tensor.clone() for name, tensor in probes.state_dict().items()}
    fit(probes, states, [rows_of(one, train, dev, positions, [2])], one.science, lambda: None)
    assert set(drawn) == {"weight", "bias"}
    assert all(not torch.equal(drawn[name], tensor) for name, tensor in probes.state_dict().items())
    assert all(torch.equal(before[name], tensor) for name, tensor in begin.encoder.state_dict().items())
    assert not any(parameter.grad is not None for parameter in begin.encoder.parameters())


def test_a_probe_ends_alone_as_in_company(low_model: Path, tmp_path: Path) -> None:
    trials = [
        trial(*tiny_words(low_model), *PROBE, f"probe.layer={layer}", f"seed={seed}")
        for layer in range(4)
        for seed in (0, 1)
    ]
    together, apart = Store(tmp_path / "together"), Store(tmp_path / "apart")
    drained(together, *trials)
    for one in (trials[2], trials[7]):
        drained(apart, one)
        assert result(apart, one)["together"] == 1
        assert result(apart, one)["weights_digest"] == result(together, one)["weights_digest"]
        assert stored_outputs(apart, one) == stored_outputs(together, one)


def test_the_states_of_a_text_do_not_depend_on_its_company(low_model: Path, tmp_path: Path) -> None:
    one = trial(*tiny_words(low_model), *PROBE, "probe.layer=3")
    store = Store(tmp_path / "a")
    train, dev = load_data(one, store)
    begin = start.start(one, store.artifacts)

    def states(root: str, *sets: object) -> dict[bytes, torch.Tensor]:
        artifacts = Store(tmp_path / root).artifacts
        cpu = torch.device("cpu")
        found, positions = features.collect(one, sets, [3], artifacts, begin.encoder, cpu, lambda: None)  # type: ignore[arg-type]
        return {key: found[0, position] for key, position in positions.items()}

    few, many = states("few", train), states("many", dev, train)
    assert len(few) <= 40 < len(many)
    assert all(own.equal(many[key]) for key, own in few.items())


def test_features_are_made_once_for_layers_seeds_and_sizes(bertxfer: Run, low_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(low_model), *PROBE, "-m", "probe.layer=0..3", "hydra/launcher=inline"]
    first = bertxfer(*words, "seed=0..1", "data.n=100")
    assert first.returncode == 0, first.stderr
    (folder,) = (tmp_path / "out" / "artifacts" / "features").iterdir()
    made = {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")}
    assert len(made) == 1
    second = bertxfer(*words, "seed=0..1", "data.n=40")  # a part of the sample of 100
    assert second.returncode == 0, second.stderr
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")} == made


def test_damaged_features_are_made_again_and_never_used(
    low_model: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good, store = Store(tmp_path / "good"), Store(tmp_path / "out")
    one, other = (trial(*tiny_words(low_model), *PROBE, f"probe.layer={layer}") for layer in (3, 2))
    drained(good, other)
    drained(store, one)
    (path,) = (tmp_path / "out" / "artifacts" / "features").glob("*/*.safetensors")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 64
    path.write_bytes(content)
    drained(store, other)
    assert str(path) in capfd.readouterr().err
    assert result(store, other)["weights_digest"] == result(good, other)["weights_digest"]


def test_half_precision_features_are_another_trial_with_nearly_the_same_outputs(
    low_model: Path, tmp_path: Path
) -> None:
    store = Store(tmp_path)
    words = [*tiny_words(low_model), *PROBE, "probe.layer=2"]
    whole, half = trial(*words), trial(*words, "probe.half=true")
    drained(store, whole, half)
    assert whole.id != half.id
    difference = torch.tensor(stored_outputs(store, whole)) - torch.tensor(stored_outputs(store, half))
    assert 0 < difference.abs().max() < 0.02


def test_a_probe_of_a_treated_encoder_reads_other_features(shallow_model: Path) -> None:
    words = [*tiny_words(shallow_model), *PROBE, "probe.layer=1"]
    names = [
        chains.features_name(trial(*words, *more))
        for more in (
            ["seed=0"],
            ["seed=1"],
            ["seed=0", "scheme=single", "layer=1"],
            ["seed=1", "scheme=single", "layer=1"],
            ["intermediate=[{task:mini_cola,training:{epochs:1}}]"],
        )
    ]
    assert names[0] == names[1]  # the seed of a probe does not reach the frozen encoder
    assert len(set(names[1:])) == 4


def test_a_probe_behind_a_chain_reads_the_fine_tuned_encoder(shallow_model: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    words = [*tiny_words(shallow_model), *PROBE, "probe.layer=1"]
    chained = trial(*words, "intermediate=[{task:mini_cola,training:{epochs:1}}]")
    plain = trial(*words)
    drained(store, chained, plain)
    assert result(store, chained)["begun_from"]["trial"] != chained.id
    assert stored_outputs(store, chained) != stored_outputs(store, plain)


def test_a_probe_that_diverges_fails_alone(low_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = (trial(*tiny_words(low_model), *PROBE, f"probe.layer={layer}") for layer in (2, 3))
    drawn = heads.classifier
    poisoned = iter([math.nan, 0.0])

    def classifier(encoder: nn.Module, science: Science) -> nn.Linear:
        layer = drawn(encoder, science)
        nn.init.constant_(layer.bias, next(poisoned))
        return layer

    monkeypatch.setattr(heads, "classifier", classifier)
    store = Store(tmp_path)
    probing.run([bad, good], store, RUNTIME, lambda: False)
    assert store.result(bad.id) is None
    assert "loss is nan" in store.why_failed(bad.id)
    alone = Store(tmp_path / "alone")
    monkeypatch.undo()
    drained(alone, good)
    assert result(alone, good)["weights_digest"] == result(store, good)["weights_digest"]


def test_probes_that_crashed_are_tried_alone(low_model: Path, tmp_path: Path) -> None:
    store = Store(tmp_path)
    trials = [trial(*tiny_words(low_model), *PROBE, f"probe.layer={layer}") for layer in (1, 2, 3)]
    for one in trials[:2]:
        folder = store.folder(one.id) / "attempts"
        folder.mkdir(parents=True)
        (folder / "1.json").write_text('{"launch": "test", "outcome": "crashed"}')
    drained(store, *trials)
    assert [result(store, one)["together"] for one in trials] == [1, 1, 1]
    assert len(attempts(store, trials[0])) == 2


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("training=probe", "probe.layer"),
        ("training=probe probe.layer=1 probe.removed=1", "probe.layer"),
        ("training=probe probe.layer=13", "probe.layer"),
        ("training=probe_removed probe.removed=13", "probe.removed"),
        ("probe.layer=3", "probe.layer"),
        ("training=probe probe.layer=3 training.stop=dev_score", "training.stop"),
        ("training=probe probe.layer=3 training.epochs=0", "training.epochs"),
        ("training=probe probe.layer=3 analysis=weights", "analysis"),
        ("training.stop=holdout_loss training.patience=1", "training.stop"),
        ("analysis=weight", "analysis"),
    ],
)
def test_probes_that_cannot_be_run(words: str, key: str) -> None:
    with pytest.raises(ConfigError) as error:
        trial(*words.split())
    assert error.value.key == key


def test_layers_can_be_counted_from_above() -> None:
    words = ("training=probe_removed", "model=mini")
    assert trial(*words, "probe.removed=3").id == trial(*words, "probe.layer=9").id


@pytest.mark.parametrize("family", ["distilbert", "electra"])
def test_a_model_without_a_pooler_says_so(family: str, tmp_path: Path) -> None:
    folder = small(family, tmp_path, 2, 2, 16)
    one = trial(f"model.name={folder}", "model=other", *REMOVED, "probe.removed=0")
    store = Store(tmp_path / "out")
    drained(store, one)
    assert "the model has no pretrained pooler; use probe.features=cls, or mean" in store.why_failed(one.id)
