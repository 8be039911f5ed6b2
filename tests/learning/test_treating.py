"""On loaded models of every family: exactly the named tensors change, and no other."""

from pathlib import Path

import pytest
import torch

from bertxfer.errors import ConfigError
from bertxfer.learning import encoders, treating
from bertxfer.trials import pretrained
from bertxfer.trials.families import FAMILIES
from bertxfer.trials.trial import trial_of
from tests.helpers.configs import composed
from tests.helpers.families import small

LAYERS, HEADS, WIDTH = 4, 4, 16
Tensors = dict[str, torch.Tensor]


@pytest.fixture(scope="module", params=FAMILIES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small(request.param, tmp_path_factory.mktemp("models"), LAYERS, HEADS, WIDTH)


def treated(folder: Path, *words: str) -> tuple[Tensors, Tensors, set[str]]:
    """Tensors before and after, and the names that the treatment says it redrew."""
    config = composed(f"model.name={folder}", "model.pooling=cls", "data.max_length=16", *words)
    trial = trial_of(config)
    encoder = encoders.load(trial.model_at, trial.science.model)
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    family = FAMILIES[trial.science.model.family]
    named = treating.apply(trial.science.treatment, encoder, family, HEADS, trial.science.seeds.get("redraw"))
    return before, dict(encoder.state_dict()), named


def changed(before: Tensors, after: Tensors) -> set[str]:
    return {name for name in before if not torch.equal(before[name], after[name])}


def layer_of(name: str) -> int | None:
    """The number, from 1, of the layer that a tensor belongs to, read off its name by hand."""
    words = name.split(".")
    return int(words[words.index("layer") + 1]) + 1 if "layer" in words else None


def parameters_of(before: Tensors) -> set[str]:
    return {name for name in before if not name.endswith(("position_ids", "token_type_ids"))}


@pytest.mark.parametrize(
    ("words", "layers"),
    [
        ("scheme=baseline", set()),
        ("scheme=incremental k=4", set()),
        ("scheme=incremental k=3", {4}),
        ("scheme=incremental k=0", {1, 2, 3, 4}),
        ("scheme=localized block=2 block_size=2", {2, 3}),
        ("scheme=localized block=2 block_size=2 preserve=true", {1, 4}),
        ("scheme=single layer=2", {2}),
        ("scheme=single layer=[1,3]", {1, 3}),
        ("scheme=permutation order=[1,3,2,4]", {2, 3}),
    ],
)
def test_exactly_the_layers(folder: Path, words: str, layers: set[int]) -> None:
    before, after, named = treated(folder, *words.split())
    expected = {name for name in before if layer_of(name) in layers}
    assert changed(before, after) == expected
    assert named == (set() if "permutation" in words else expected)


@pytest.mark.parametrize("part", ["attention", "feedforward"])
def test_exactly_the_part(folder: Path, part: str) -> None:
    before, after, _ = treated(folder, "scheme=single", "layer=2", f"part={part}")
    inside = {name for name in before if layer_of(name) == 2}
    attention = {name for name in inside if ".attention." in name or "sa_layer_norm" in name}
    assert attention and attention != inside
    assert changed(before, after) == (attention if part == "attention" else inside - attention)


def test_scratch_leaves_nothing(folder: Path) -> None:
    before, after, named = treated(folder, "scheme=scratch")
    assert changed(before, after) == named == parameters_of(before)
    embeddings = [name for name in before if name.startswith("embeddings.word")]
    assert embeddings and set(embeddings) <= named


def test_permuted_layers_are_the_pretrained_ones(folder: Path) -> None:
    before, after, _ = treated(folder, "scheme=permutation", "order=[4,1,2,3]")
    prefix = FAMILIES[folder.name].layers
    for position, original in enumerate([4, 1, 2, 3], start=1):
        for name in before:
            if name.startswith(f"{prefix}.{position - 1}."):
                source = name.replace(f"{prefix}.{position - 1}.", f"{prefix}.{original - 1}.", 1)
                assert torch.equal(after[name], before[source])


def test_exactly_the_head(folder: Path) -> None:
    before, after, _ = treated(folder, "scheme=head", "layer=2", "head=3")
    rows = slice(2 * WIDTH // HEADS, 3 * WIDTH // HEADS)  # the third head
    distil = folder.name == "distilbert"
    prefix = f"{FAMILIES[folder.name].layers}.1.attention."
    projections = ("q_lin", "k_lin", "v_lin") if distil else ("self.query", "self.key", "self.value")
    output = f"{prefix}{'out_lin' if distil else 'output.dense'}.weight"
    expected = {f"{prefix}{p}.{kind}" for p in projections for kind in ("weight", "bias")} | {output}
    assert changed(before, after) == expected
    for name in expected:
        differs = before[name] != after[name]
        head = torch.zeros_like(differs)
        if name == output:
            head[:, rows] = True
        else:
            head[rows] = True
        assert torch.equal(differs, head), name


def test_keep_layernorm(folder: Path) -> None:
    before, after, _ = treated(folder, "scheme=single", "layer=2", "keep_layernorm=true")
    norms = {name for name in before if "norm" in name.lower()}
    assert changed(before, after) == {name for name in before if layer_of(name) == 2} - norms


def is_norm(name: str) -> bool:
    return "norm" in name.lower()


def test_the_published_code_draws_weights_resets_layernorm_and_keeps_biases(folder: Path) -> None:
    before, after, _ = treated(folder, "scheme=single", "layer=2", "init=paper_code")
    inside = {name for name in before if layer_of(name) == 2}
    norms = {name for name in inside if is_norm(name)}
    assert len(norms) == 4
    for name in norms:
        assert torch.equal(after[name], torch.full_like(after[name], 1.0 if name.endswith("weight") else 0.0)), name
    biases = {name for name in inside - norms if before[name].dim() == 1}
    assert len(biases) == 6 and all(torch.equal(before[name], after[name]) for name in biases)
    weights = inside - norms - biases
    assert len(weights) == 6 and weights <= changed(before, after)
    assert all(after[name].abs().max() <= 0.0008 for name in weights)
    assert {layer_of(name) for name in changed(before, after)} == {2}


def test_algorithm_1_draws_the_weights_of_six_linear_projections_only(folder: Path) -> None:
    before, after, _ = treated(folder, "scheme=single", "layer=2", "init=weights")
    inside = {name for name in before if layer_of(name) == 2}
    drawn = {name for name in inside if before[name].dim() == 2}
    assert len(drawn) == 6 and changed(before, after) == drawn


def test_deleted_layers_are_gone_and_the_others_close_ranks(folder: Path) -> None:
    before, after, named = treated(folder, "scheme=delete", "layer=[2,3]")
    assert named == set()
    assert {layer_of(name) for name in after} == {None, 1, 2}
    for name, tensor in after.items():
        came_from = name.replace("layer.1.", "layer.3.")  # the fourth layer now stands second
        assert torch.equal(tensor, before[came_from]), name


def test_what_is_drawn_for_a_layer_does_not_depend_on_the_others(folder: Path) -> None:
    _, more, _ = treated(folder, "scheme=incremental", "k=1")
    _, fewer, _ = treated(folder, "scheme=incremental", "k=3")
    top = [name for name in more if layer_of(name) == 4]
    assert top and all(torch.equal(more[name], fewer[name]) for name in top)
    _, other_seed, _ = treated(folder, "scheme=incremental", "k=3", "seed=1")
    weights = [name for name in top if more[name].dim() == 2]
    assert not any(torch.equal(fewer[name], other_seed[name]) for name in weights)


def test_albert_is_refused(tmp_path: Path) -> None:
    from transformers import AlbertConfig

    AlbertConfig().save_pretrained(tmp_path / "albert")
    with pytest.raises(ConfigError, match="ALBERT shares"):
        pretrained.find(composed(f"model.name={tmp_path / 'albert'}").model)
