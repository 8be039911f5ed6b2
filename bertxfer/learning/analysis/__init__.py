"""What fine-tuning changed, measured at the end of a trial, so that no fine-tuned model need be kept.

An analysis is a module here whose `measure` returns rows; its name stands among the choices of the key `analysis`, and
its rows are kept as a table of that name beside the result.
"""

from functools import partial
from importlib import import_module
from pathlib import Path

from bertxfer.learning import kept_model, start
from bertxfer.learning.analysis.finished import Finished, Rows
from bertxfer.system.files import write_whole


def write(finished: Finished, weights_digest: str) -> None:
    """Writes what is wanted of the trial beside its result and is not stored yet."""
    trial, store = finished.trial, finished.store
    for output in store.lacking(trial.id, trial.outputs):
        if output == "encoder":
            start.keep(finished.model, store.artifacts, trial.id)
        elif output == "model":
            kept_model.write(trial, finished.model, store.folder(trial.id) / "model")
        else:
            rows: Rows = import_module(f"{__name__}.{output}").measure(finished)
            write_whole(store.folder(trial.id) / f"{output}.parquet", partial(_write, rows, weights_digest))


def _write(rows: Rows, weights_digest: str, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_pylist(rows)
    parquet.write_table(table.replace_schema_metadata({"weights_digest": weights_digest}), path)
