"""Configs of many points are what composing each point on its own gives."""

from itertools import product

import pytest

from bertxfer.config import schema
from bertxfer.config.composer import Composer
from bertxfer.config.configs import config_with, configs, task_finder


@pytest.mark.parametrize(
    "axes",
    [
        {"scheme": ["incremental"], "k": [0, 3, 12], "seed": [0, 1], "data.n": [500, "all", "null"]},
        {"scheme": ["single"], "layer": [1, "[2,3]", 4], "optimizer.lr": ["1e-3", 2, 0.5]},
        {"model.lr": [1e-3, 2e-3], "seed": [1, 2]},  # optimizer.lr follows model.lr
        {"optimizer.lr": ["${model.lr}", 7e-4, "${data.fraction}"], "model.lr": [1e-3, 2e-3], "data.fraction": [0.1]},
        {"task": ["mini_sst2", "mini_cola"], "training.epochs": [1, 2], "training.clip": ["null", 1]},
        {"optimizer": ["{lr: 1}", "{beta1: 0.5}"], "seed": [1, 2]},
        {"task.span.n_best": [5, 6], "task.label": ["a", "b"], "seeds.head": ["null", 4]},
    ],
)
def test_values_are_exchanged_to_the_same_effect_as_composing(axes: dict[str, list[object]]) -> None:
    points = list(product(*([f"{key}={value}" for value in values] for key, values in axes.items())))
    composer = Composer(schema.conf_dir())
    alone = [config_with(composer.compose(point), task_finder(composer.compose)) for point in points]
    assert list(configs(points, composer)) == alone
    assert len({repr(one) for one in alone}) == len(points)
