"""Hydra accepts sweepers and launchers only from here; what they do is in bertxfer."""

from collections.abc import Sequence
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from bertxfer.errors import TrialError


class _Composer:
    """What a plugin needs of Hydra to turn overrides into configs."""

    config: DictConfig | None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.config, self.context = config, hydra_context
        self.groups: dict[str, bool] = {}  # asking Hydra takes 20 ms each time

    @property
    def loader(self) -> ConfigLoader:
        return self.context.config_loader

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        assert self.config is not None
        cfg = self.loader.load_sweep_config(self.config, list(overrides))
        with open_dict(cfg):
            del cfg["hydra"]
        return cfg

    def is_group(self, name: str) -> bool:
        if name not in self.groups:
            self.groups[name] = bool(self.loader.get_group_options(name.split("@")[0]))
        return self.groups[name]


class GridsSweeper(_Composer, Sweeper):
    """Everything Hydra's grammar sweeps, times an experiment's union of grids, as one list of distinct trials."""

    def sweep(self, arguments: list[str]) -> Any:
        from bertxfer.sweeps import launchers, runs, wanted
        from bertxfer.trials.inputs import Inputs

        inputs = Inputs(fetch=True)
        for note in wanted.notes_of(arguments, self, inputs):
            print(note)
        runs.run_sweep(wanted.sweep_of(arguments, self, inputs), launchers.of_hydra(self.config))


class TrialLauncher(_Composer, Launcher):
    """Runs the jobs of any other sweeper as trials, and gives back their scores."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from bertxfer.config.configs import config_with, task_finder
        from bertxfer.sweeps import launchers, runs

        task_named = task_finder(self.compose)
        configs = [config_with(self.compose(words), task_named) for words in job_overrides]
        results = runs.results_of(configs, launchers.of_hydra(self.config))
        returns = []
        for words, result in zip(job_overrides, results, strict=True):
            job = JobReturn(overrides=words, status=JobStatus.COMPLETED if result else JobStatus.FAILED)
            job.return_value = result["score"] if result else TrialError("the trial failed; see its failure.json")
            returns.append(job)
        return returns
