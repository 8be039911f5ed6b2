"""Trials in this process, one after another."""

from dataclasses import dataclass

from bertxfer.sweeps.draining import drain
from bertxfer.sweeps.launch import new_launch
from bertxfer.sweeps.launchers.launcher import Launched, Launcher
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.stop import Stop
from bertxfer.trials.rounds import in_rounds


@dataclass
class Inline(Launcher):
    """Trials one after another in this process, for a debugger."""

    def run(self, sweep: Manifest) -> Launched:
        queue, stop = Queue(sweep.store, new_launch(sweep, "inline", self.rules), self.rules), Stop()
        with stop.on_signals():
            drain(in_rounds(sweep.trials), queue, sweep.runtime, stop, deciding=sweep.deciding)
        return Launched(queue, stopped=stop())
