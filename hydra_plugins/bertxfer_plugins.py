"""Hydra accepts sweepers and launchers only from here; what they do is in bertxfer."""

from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn, JobStatus
from hydra.plugins.launcher import Launcher
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict


class _Composer:
    """What a plugin needs of Hydra to turn overrides into configs."""

    config: DictConfig | None

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.config, self.context = config, hydra_context
        self.groups: dict[str, bool] = {}  # asking Hydra takes 20 ms each time

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        assert self.config is not None
        cfg = self.context.config_loader.load_sweep_config(self.config, list(overrides))
        with open_dict(cfg):
            del cfg["hydra"]
        return cfg

    def is_group(self, name: str) -> bool:
        if name not in self.groups:
            self.groups[name] = bool(self.context.config_loader.get_group_options(name.split("@")[0]))
        return self.groups[name]


class GridsSweeper(_Composer, Sweeper):
    """Everything Hydra's grammar sweeps, times an experiment's union of grids, as one list of distinct trials."""

    def sweep(self, arguments: list[str]) -> Any:
        from bertxfer import launchers, sweep

        launchers.run_sweep(sweep.sweep_of(arguments, self.compose, self.is_group))


class InlineLauncher(_Composer, Launcher):
    """Trials one after another in this process; other sweepers than ours get each trial's score back."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        from bertxfer import launchers, sweep
        from bertxfer.identity import trial_of

        returns = []
        for words in job_overrides:
            config = sweep.config_with(self.compose(words))
            (result,) = launchers.run_inline([trial_of(config)], config.runtime)
            status = JobStatus.FAILED if result is None else JobStatus.COMPLETED
            returns.append(JobReturn(overrides=words, status=status, _return_value=result and result["score"]))
        return returns
