"""What happens between the steps of a training: progress, checkpoints, and the wish to stop."""

import sys
from collections.abc import Callable
from typing import Any

from bertxfer.config.schema import Runtime
from bertxfer.errors import Interrupted
from bertxfer.learning.checkpoints import Checkpoints
from bertxfer.learning.progress import Progress
from bertxfer.learning.training import State
from bertxfer.store.store import Store
from bertxfer.trials.trial import Trial


class BetweenSteps:
    """What happens between steps: progress is shown, checkpoints are saved, and a wish to stop is obeyed."""

    def __init__(
        self,
        trial: Trial,
        store: Store,
        runtime: Runtime,
        state: State,
        total: int,
        stop: Callable[[], bool],
        taken_over: Callable[[], bool],
    ) -> None:
        self.state, self.stop, self.taken_over = state, stop, taken_over
        self.checkpoints = Checkpoints(store.checkpoint(trial.id), runtime.checkpoint_seconds)
        saved = self.checkpoints.load()
        # One of an attempt that was not asked for the course has passed by epochs that must be evaluated now.
        if saved is not None and trial.follows_course and len(saved["record"]["dev_scores"]) < saved["record"]["epoch"]:
            saved = None
        if saved is not None:
            state.load_state_dict(saved)
        self.resumed_at: int | None = None if saved is None else saved["record"]["step"]
        self.first_step = state.record.step
        self.progress = Progress(trial, total, state.record.step)

    def __enter__(self) -> "BetweenSteps":
        self.progress.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.progress.__exit__(*exception)

    def after_step(self) -> None:
        self.progress.show(self.state.record)
        stopping, taken_over = self.stop(), self.taken_over()
        # What the other worker has saved is not ours to replace.
        if not taken_over and (stopping or self.checkpoints.due()):
            self._save()
        if stopping or taken_over:
            raise Interrupted(self.state.record.step, self.state.record.step - self.first_step)

    def _save(self) -> None:
        """A disk that is full or away costs a checkpoint, not the trial."""
        try:
            self.checkpoints.save(self.state.state_dict())
        except OSError as error:
            self.checkpoints.put_off()
            print(f"no checkpoint was saved: {error}", file=sys.stderr, flush=True)
