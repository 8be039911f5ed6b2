"""What an undisturbed run gets, in one process."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from tests.faults.scene import Scene

SAME = ("id", "score", "metrics", "weights_digest", "data_digest", "n_train", "n_dev", "steps", "epochs", "begun_from")


@dataclass(frozen=True)
class Reference:
    out: Path
    own: frozenset[str]  # the trials of the sweep that is always launched
    shared: frozenset[str]  # and those with the ones that only the other has

    def trials(self, scene: Scene) -> frozenset[str]:
        """Those that a scene is asked for."""
        return self.shared if "shared" in scene.launchers else self.own


def undisturbed(common: Path) -> Reference:
    scene = Scene(common, common / "reference")
    done = []
    for experiment in ("faults", "shared"):
        if scene.launch(experiment, ("hydra/launcher=inline",)).wait(timeout=600) != 0:
            raise SystemExit("".join(path.read_text() for path in scene.logs()))
        done.append(frozenset(path.parent.name for path in (scene.out / "trials").glob("*/result.json")))
    return Reference(scene.out, *done)


def mismatches(out: Path, reference: Path, trial: str) -> Iterator[str]:
    """What of a trial's result is not, bit for bit, what it is there."""
    mine, theirs = out / "trials" / trial, reference / "trials" / trial
    one, two = (json.loads((folder / "result.json").read_text()) for folder in (mine, theirs))
    for key in SAME:
        if one.get(key) != two.get(key):
            yield f"{key} is {one.get(key)}, not {two.get(key)}"
    if (mine / "history.jsonl").read_text() != (theirs / "history.jsonl").read_text():
        yield "the history differs"
    if not pq.read_table(mine / "predictions.parquet").equals(pq.read_table(theirs / "predictions.parquet")):
        yield "the predictions differ"
