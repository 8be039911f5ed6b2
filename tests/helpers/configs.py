"""Configs composed in this process."""

from functools import partial

from hydra import compose, initialize_config_dir

from bertxfer.config import schema
from bertxfer.config.configs import config_with, task_finder
from bertxfer.config.schema import Config

# The words of a task of each kind.
TASKS = {
    "classification": ["task=mini_sst2"],
    "regression": ["task.kind=regression", "task.labels=[]", "task.metrics=[pearson]", "task.headline=pearson"],
    "span": [
        "task.kind=span",
        "task.labels=[]",
        "task.text=[q,p]",
        "task.metrics=[f1]",
        "task.headline=f1",
        "task.span.question_length=9",
    ],
}


def composed(*words: str) -> Config:
    """The config that these words on a command line mean."""
    schema.register()
    with initialize_config_dir(str(schema.conf_dir()), version_base="1.3"):
        return config_with(compose("config", overrides=list(words)), task_finder(partial(compose, "config")))
