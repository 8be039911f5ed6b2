"""Many workers on one queue, with trials that do nothing: the real queue, the real loop, no torch.

python -m bench.loading <sweep> drains a sweep this way, and prints which trials it ran and what that cost.
"""

import json
import resource
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from bertxfer.config.composer import Composer
from bertxfer.config.schema import ArtifactSettings, Runtime, conf_dir
from bertxfer.store.store import Store
from bertxfer.sweeps import draining, manifest
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.stop import Stop
from bertxfer.sweeps.sweep import Point, Sweep
from bertxfer.sweeps.wanted import sweep_of as sweep_of_words
from bertxfer.trials.rounds import in_rounds


@dataclass(frozen=True)
class Drained:
    """What one worker did, and the seconds of CPU that took."""

    trials: list[str]
    starting: float  # Python and its modules
    reading: float  # the manifest
    draining: float


def sweep_of(trials: int, folder: Path) -> Manifest:
    """A frozen sweep of so many trials, alike but for their seeds."""
    one = sweep_of_words([], Composer(conf_dir())).points[0].trial
    points = []
    for seed in range(trials):
        science = replace(one.science, seeds=dict.fromkeys(one.science.seeds, seed))
        points.append(Point({"seed": seed}, replace(one, id=science.id, science=science)))
    return manifest.freeze(Sweep(points, Runtime(output_dir=str(folder)), ArtifactSettings()))


def drained(sweep: Manifest, workers: int) -> list[Drained]:
    """So many processes at once, until all of them find nothing left."""
    command = [sys.executable, "-m", "bench.loading", str(sweep.folder)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(workers)]
    printed = [process.communicate()[0] for process in started]
    assert all(process.returncode == 0 for process in started)
    return [Drained(**json.loads(text)) for text in printed]


def main() -> None:
    starting = _cpu()
    sweep = manifest.read(Path(sys.argv[1]))
    reading = _cpu()
    ran: list[str] = []

    def do_nothing(
        taken: draining.Taken, store: Store, runtime: Runtime, stop: Stop, say: Callable[[str], None]
    ) -> int:
        for trial, held in taken:
            (store.folder(trial.id) / "result.json").write_text(json.dumps({"id": trial.id}))
            held.end("done")
            ran.append(trial.id)
        return len(taken)

    draining.run_taken = do_nothing
    sys.modules["bertxfer.learning.run"] = types.ModuleType("bertxfer.learning.run")  # it would bring torch along
    draining.drain(in_rounds(sweep.trials), Queue(sweep.store, "load"), sweep.runtime, Stop())
    assert "torch" not in sys.modules
    seconds = {"starting": starting, "reading": reading - starting, "draining": _cpu() - reading}
    print(json.dumps({"trials": ran, **seconds}))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
