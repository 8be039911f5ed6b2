"""Weights & Biases: one run per trial, offline unless WANDB_MODE says otherwise."""

import os
from pathlib import Path
from typing import Any

from bertxfer.sweeps.trackers.story import Story


def log(story: Story, root: Path) -> None:
    import wandb

    mode: Any = os.environ.get("WANDB_MODE") or "offline"  # without asking anyone for a key; `wandb sync` sends it
    run = wandb.init(
        id=story.id,  # a second run of that id takes the place of the first
        name=story.title[:120],
        project=os.environ.get("WANDB_PROJECT") or "bertxfer",
        dir=os.environ.get("WANDB_DIR") or str(root),
        mode=mode,
        config=story.settings,
        notes=story.settings.get("note"),
        settings=wandb.Settings(silent=True, console="off", x_disable_stats=True),
    )
    try:
        for step, values in sorted(story.course.items()):
            run.log(values, step=step)
        run.summary.update({f"result/{name}": value for name, value in story.outcome.items()})
    except BaseException:
        run.finish(exit_code=1)
        raise
    run.finish()
