"""Arrow columns made from their bytes.

`pa.array` imports pandas to see whether it was given one of its columns, which takes half a second and 40 MB in every
worker."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa


def column(values: Any) -> pa.Array:
    """A column of numbers (a list, an array or a CPU tensor); or of texts or lists, for which pandas is imported."""
    if not _are_numbers(values):
        return pa.array(values)
    array = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(array.dtype), len(array), [None, pa.py_buffer(array)])


def texts(values: Sequence[str]) -> pa.LargeStringArray:
    """A column of texts."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return pa.LargeStringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def lists_of_texts(rows: Sequence[Sequence[str]]) -> pa.LargeListArray:
    """A column that has a list of texts in each row."""
    return pa.LargeListArray.from_arrays(_ends(rows), texts(list(chain.from_iterable(rows))))


def lists(rows: Sequence[Sequence[int]]) -> pa.LargeListArray:
    """A column that has a list of small whole numbers in each row."""
    values = np.fromiter(chain.from_iterable(rows), dtype=np.int32)
    return pa.LargeListArray.from_arrays(_ends(rows), column(values))


def _ends(rows: Sequence[Sequence[Any]]) -> pa.Array:
    return column(np.cumsum([0, *(len(row) for row in rows)]))


def _are_numbers(values: Any) -> bool:
    if not isinstance(values, list):
        return True
    return len(values) > 0 and all(type(value) in (int, float) for value in values)
