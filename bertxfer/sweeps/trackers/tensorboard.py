"""TensorBoard: one folder of events per trial."""

import re
import shutil
from pathlib import Path

from bertxfer.sweeps.trackers.story import Story


def log(story: Story, root: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    events = root / f"{re.sub('[^A-Za-z0-9_.=-]+', '-', story.title)[:120]}-{story.id}"
    shutil.rmtree(events, ignore_errors=True)  # what a worker that was killed here left
    with SummaryWriter(str(events)) as writer:
        for step, values in story.course.items():
            for name, value in values.items():
                writer.add_scalar(name, value, step)
        plain = {key: value if isinstance(value, (int, float)) else str(value) for key, value in story.settings.items()}
        outcome = {f"result/{name}": value for name, value in story.outcome.items()}
        writer.add_hparams(plain, outcome, run_name=".")  # into this folder, not into one named by the time
        if "note" in story.settings:
            writer.add_text("note", story.settings["note"])
