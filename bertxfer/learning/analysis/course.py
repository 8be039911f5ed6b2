"""The dev scores and the dev loss after each epoch."""

from bertxfer.learning.analysis.finished import Finished, Rows


def measure(finished: Finished) -> Rows:
    return finished.course
