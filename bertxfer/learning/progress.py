"""The progress of one trial: a bar on a terminal, nothing in a log."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from bertxfer.learning.training import TrainingRecord
from bertxfer.trials.trial import Trial

if TYPE_CHECKING:
    from rich.progress import Progress as Bar


class Progress:
    """Steps of one trial and its latest dev score."""

    def __init__(self, trial: Trial, total: int, done: int) -> None:
        self.name = f"{trial.id} {trial.science.task.name}"
        self.bar = _bar() if sys.stderr.isatty() else None
        if self.bar is not None:
            self.line = self.bar.add_task(self.name, total=total, completed=done)

    def __enter__(self) -> "Progress":
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self.bar is not None:
            self.bar.stop()

    def show(self, record: TrainingRecord) -> None:
        if self.bar is not None:
            score = f"  dev {record.dev_scores[-1]:.3f}" if record.dev_scores else ""
            self.bar.update(self.line, completed=record.step, description=self.name + score)


def _bar() -> "Bar":
    from rich.console import Console  # not at the top: workers write to a log, and draw nothing
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    name = TextColumn("{task.description}", markup=False)
    columns = (name, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)
