"""What a model predicts for a dev set."""

from typing import Any, NamedTuple


class Predicted(NamedTuple):
    predictions: list[Any]
    references: list[Any]
    columns: dict[str, Any]  # of the table of predictions, beside the index
