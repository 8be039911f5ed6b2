"""What fine-tuning changed, measured at the end of a trial, so that no fine-tuned model need be kept.

An analysis is a module here whose `measure` returns rows; its name stands among the choices of the key `analysis`, and
its rows are kept as a table of that name beside the result.
"""

import sys
from functools import partial
from importlib import import_module
from pathlib import Path

from bertxfer.learning import kept_model, start
from bertxfer.learning.analysis.finished import Finished, Rows
from bertxfer.learning.digests import weights_digest
from bertxfer.system.files import write_whole


def write(finished: Finished, digest: str) -> None:
    """Writes what is wanted of the trial beside its result and is not stored yet."""
    trial, store = finished.trial, finished.store
    lacking = store.lacking(trial.id, trial.outputs)
    before = (store.result_alone(trial.id) or {}).get("weights_digest") if lacking else None
    if before not in (None, digest):
        words = f"run again for {', '.join(lacking)}, it ended with other last bits than its result ({before})"
        print(f"{trial.id}: {words}; `verify` says how far apart they are", file=sys.stderr, flush=True)
    for output in lacking:
        if output == "encoder":
            start.keep(finished.model, store.artifacts, trial.id)
        elif output == "model":
            kept_model.write(trial, finished.model, store.folder(trial.id) / "model")
        else:
            rows: Rows = import_module(f"{__name__}.{output}").measure(finished)
            # What is kept after it must be the model of the result.
            assert weights_digest(finished.model.state_dict()) == digest, f"{output} changed the model"
            write_whole(store.folder(trial.id) / f"{output}.parquet", partial(_write, rows, digest))


def _write(rows: Rows, digest: str, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_pylist(rows)
    parquet.write_table(table.replace_schema_metadata({"weights_digest": digest}), path)
