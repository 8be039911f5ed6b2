"""Grids fitted to a model: its shape, its language, and a scale."""

import json
from pathlib import Path

import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from bertxfer.config import grids, schema
from bertxfer.config.grids import Shape
from bertxfer.config.overrides import axes_of, points
from bertxfer.errors import ConfigError
from tests.helpers.commands import Run, only_line
from tests.helpers.configs import composed

BERT, MINILM = Shape(12, 12), Shape(6, 12)


def values(axes: dict[str, list[str]], key: str) -> list[str]:
    return [word.split("=", 1)[1] for word in axes[key]]


@pytest.mark.parametrize(
    ("word", "on_bert", "on_minilm"),
    [
        ("k=0..L", range(13), range(7)),
        ("block=1..L-2", range(1, 11), range(1, 5)),
        ("layer=1..L", range(1, 13), range(1, 7)),
        ("head=1..H", range(1, 13), range(1, 13)),
        ("probe.removed=1..L-1", range(1, 12), range(1, 6)),
        ("layer=1,2,L-1,L", [1, 2, 11, 12], [1, 2, 5, 6]),
        ("k=0,L/2,L", [0, 6, 12], [0, 3, 6]),
        ("layer=[L-1,L],[1,L]", ["[11,12]", "[1,12]"], ["[5,6]", "[1,6]"]),
        ("seed=0..9", range(10), range(10)),
    ],
)
def test_layers_and_heads_are_the_models(word: str, on_bert: object, on_minilm: object) -> None:
    axes = axes_of([word])
    key = word.split("=")[0]
    for shape, expected in ((BERT, on_bert), (MINILM, on_minilm)):
        assert values(grids.shaped(axes, shape), key) == [str(value) for value in expected]  # type: ignore[attr-defined]
    assert grids.has_shape(axes) == ("L" in word or "H" in word)


def test_other_keys_keep_their_letters() -> None:
    axes = axes_of(["model.name=L", "task=H", "name=1..L", "k=3"])
    assert not grids.has_shape(axes)
    assert grids.shaped(axes, None) == axes


def test_layers_that_a_model_has_twice_are_one_and_none_are_refused() -> None:
    assert values(grids.shaped(axes_of(["layer=1,2,L-1,L"]), Shape(2, 4)), "layer") == ["1", "2"]
    with pytest.raises(ConfigError, match=r"block: 1\.\.L-2 has no values"):
        grids.shaped(axes_of(["block=1..L-2"]), Shape(2, 4))


def test_stand_ins_take_the_place_of_tasks_alone_and_in_chains() -> None:
    axes = axes_of(["task=sst2,rte", "intermediate=cola,[cola,rte]", "model.name=cola"])
    after = grids.stood_in(axes, {"sst2": "mini_sst2", "cola": "mini_cola"})
    assert values(after, "task") == ["mini_sst2", "rte"]
    assert values(after, "intermediate") == ["mini_cola", "[mini_cola,rte]"]
    assert after["model.name"] == axes["model.name"]
    note = grids.stand_in_note("mini", [axes], [after])
    assert note is not None and note.startswith("model=mini: mini_sst2 stands for sst2, mini_cola stands for cola")
    assert grids.stand_in_note("mini", [axes], [axes]) is None


def test_tiny_grids_are_small_and_keep_sizes_apart() -> None:
    first = axes_of(["k=range(13)", "data.n=500", "training.epochs=5", "seed=range(50)"])
    second = axes_of(["task=a,b", "data.n=5000,50000", "training.epochs=10", "seed=range(3)"])
    small = grids.tiny([first, second])
    assert values(small[0], "k") == ["0", "6", "12"]
    assert values(small[0], "seed") == values(small[1], "seed") == ["0", "1"]
    sizes = values(small[0], "data.n") + values(small[1], "data.n")
    assert len(set(sizes)) == 3 and sizes == sorted(sizes, key=int) and int(sizes[-1]) <= 32
    assert (values(small[0], "training.epochs"), values(small[1], "training.epochs")) == (["1"], ["2"])
    assert values(small[1], "task") == ["a", "b"]
    assert all(int(values(grid, "data.dev_n")[0]) <= 32 for grid in small)
    shares = grids.tiny([axes_of(["data.fraction=1.0,0.1"])])[0]
    assert [float(share) * 60_000 for share in values(shares, "data.fraction")] == pytest.approx([30, 3])
    assert "data.n" not in shares


def test_the_first_dev_rows_are_another_trial_and_all_of_them_the_old_one() -> None:
    from bertxfer.trials.science import Science
    from bertxfer.trials.trial import trial_of

    whole, cut = trial_of(composed()), trial_of(composed("data.dev_n=8"))
    assert "dev_n" not in whole.science.as_dict()["data"]
    assert cut.id != whole.id
    assert Science.from_dict(cut.science.as_dict()) == cut.science
    with pytest.raises(ConfigError, match=r"data\.dev_n"):
        trial_of(composed("data.dev_n=0"))


def test_the_command_line_fits_axes_to_the_model_and_what_is_typed_stays(bertxfer: Run, tmp_path: Path) -> None:
    words = ["-m", "scheme=incremental", "k=0..L", "scale=small", "experiment=mini"]
    assert "scale: 'small' is not a scale" in only_line(bertxfer(*words).stderr)
    ran = bertxfer(
        "-m", "scheme=incremental", "k=L-1..L", "data.n=8", "data.dev_n=8", "training.epochs=1", "hydra/launcher=inline"
    )
    assert ran.returncode == 0, ran.stderr
    (manifest,) = (tmp_path / "out" / "sweeps").glob("*/manifest.json")
    points = json.loads(manifest.read_text())["points"]
    assert [point["axes"]["k"] for point in points] == [11, 12]
    (result, _) = (json.loads(p.read_text()) for p in (tmp_path / "out" / "trials").glob("*/result.json"))
    assert (result["n_train"], result["n_dev"]) == (8, 8)


def test_groups_exist_for_what_stands_in() -> None:
    schema.register()
    with initialize_config_dir(str(schema.conf_dir()), version_base="1.3"):
        tasks = GlobalHydra.instance().config_loader().get_group_options("task")
    stand_ins = composed().model.stand_ins
    assert stand_ins and set(stand_ins) | set(stand_ins.values()) <= set(tasks)


def test_a_streams_seed_may_go_with_the_rounds() -> None:
    grid = grids.shaped(axes_of(["seed=3,5", "seeds.order=seed+1000", "k=1"]), BERT)
    assert points([grid]) == [("seed=3", "seeds.order=1003", "k=1"), ("seed=5", "seeds.order=1005", "k=1")]
    with pytest.raises(ConfigError, match=r"seeds\.order: seed\+1000 needs a seed"):
        points([axes_of(["seeds.order=seed+1000"])])
    assert points([axes_of(["seed=1", "seeds.head=7"])]) == [("seed=1", "seeds.head=7")]
