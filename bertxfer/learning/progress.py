"""The progress of one trial: a bar on a terminal, nothing in a log."""

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from bertxfer.learning.training import TrainingRecord
from bertxfer.trials.trial import Trial


class Progress:
    """Steps of one trial and its latest dev score."""

    def __init__(self, trial: Trial, total: int, done: int) -> None:
        name = TextColumn("{task.description}", markup=False)
        columns = (name, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self.bar = Bar(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())
        self.name = f"{trial.id} {trial.science.task.name}"
        self.line = self.bar.add_task(self.name, total=total, completed=done)

    def __enter__(self) -> "Progress":
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.bar.stop()

    def show(self, record: TrainingRecord) -> None:
        score = f"  dev {record.dev_scores[-1]:.3f}" if record.dev_scores else ""
        self.bar.update(self.line, completed=record.step, description=self.name + score)
