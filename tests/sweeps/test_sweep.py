"""From the words of a multirun to a list of trials."""

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from bertxfer.config import schema
from bertxfer.config.overrides import axes_of, grid_axes, points
from bertxfer.config.selection import select
from bertxfer.trials import schemes  # noqa: F401  (they declare their axes when they are imported)


def test_everything_hydra_sweeps_is_an_axis() -> None:
    axes = axes_of(["a=1,2", "b=range(3)", "c=choice(x,y)", "d=5", "e=[1,2],[3]", "f=range(0,10,5)"])
    assert axes == {
        "a": ["a=1", "a=2"],
        "b": ["b=0", "b=1", "b=2"],
        "c": ["c=x", "c=y"],
        "d": ["d=5"],
        "e": ["e=[1,2]", "e=[3]"],
        "f": ["f=0", "f=5"],
    }


def test_a_grid_has_values_lists_and_ranges() -> None:
    axes = grid_axes({"task": ["a", "b"], "seed": "range(3)", "data.n": 500, "k": None, "preserve": [True, False]})
    assert axes == {
        "task": ["task=a", "task=b"],
        "seed": ["seed=0", "seed=1", "seed=2"],
        "data.n": ["data.n=500"],
        "k": ["k=null"],
        "preserve": ["preserve=True", "preserve=False"],
    }
    assert grid_axes({"layer": [[1, 2], 3]}) == {"layer": ["layer=[1,2]", "layer=3"]}


def test_grids_are_a_union_of_products_and_the_command_line_wins() -> None:
    grids = [grid_axes({"n": 500, "seed": "range(3)"}), grid_axes({"n": [5000, 50000], "seed": [0]})]
    assert points(grids) == [
        ("n=500", "seed=0"),
        ("n=500", "seed=1"),
        ("n=500", "seed=2"),
        ("n=5000", "seed=0"),
        ("n=50000", "seed=0"),
    ]
    assert points(select(axes_of(["seed=7", "x=1"]), grids).grids) == [
        ("n=500", "seed=7", "x=1"),
        ("n=5000", "seed=7", "x=1"),
        ("n=50000", "seed=7", "x=1"),
    ]
    assert points([axes_of(["x=1,2"])]) == [("x=1",), ("x=2",)]


def test_glob_sweeps_over_what_a_group_has() -> None:
    schema.register()
    with initialize_config_dir(str(schema.conf_dir()), version_base="1.3"):
        loader = GlobalHydra.instance().config_loader()
        axes = axes_of(["task=glob(mini_*)", "init=glob(*,exclude=[s*,p*])"], loader)
    assert axes == {
        "task": ["task=mini_cola", "task=mini_qnli", "task=mini_sst2"],
        "init": ["init=bert", "init=normal", "init=weights"],
    }
