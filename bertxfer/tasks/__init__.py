"""Tasks: the rows of a task as texts and labels, wherever they come from, and what is measured on them.

Promises: rows are read whole and checked before any of them is used; an error names the file and the line.
May import: config, system. May be imported by: trials, store, learning, sweeps, review, report, hall.
"""

from functools import lru_cache

from bertxfer.tasks.rows import Answers, Rows, Source
from bertxfer.tasks.task import TaskScience

__all__ = ["Answers", "Rows", "Source", "source_of"]


@lru_cache(maxsize=4)  # a worker runs many trials of one task
def source_of(task: TaskScience, where: str | None) -> Source:
    """The rows of a task: those that its version says, or generated ones."""
    if task.version is None or where is None:
        from bertxfer.tasks.mini.source import MiniSource

        return MiniSource(task.name)
    from bertxfer.tasks import shelf

    return shelf.read(task.name, task.version, where)
