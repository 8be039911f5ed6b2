"""Others at the same store: a second sweep, another version, a network, and one who cancels and goes on."""

import random
import signal

from tests.faults.processes import send
from tests.faults.scene import Scene
from tests.faults.shims import first_on_path, shimmed
from tests.faults.witness import OtherVersion, Relaunched


def list_late(scene: Scene, draw: random.Random) -> str | None:
    """A worker that sees what was in a folder seconds ago."""
    late = shimmed("listings", BERTXFER_FAULTS_LISTED=str(scene.place), BERTXFER_FAULTS_LISTED_FOR="5")
    return "one more worker, by 5 s" if scene.join(environment=late) else None


def join_as_newer(scene: Scene, draw: random.Random) -> str | None:
    """Under a host name of its own, by which its attempts would be known."""
    sweep, host = scene.sweep(), f"newer-{draw.randrange(1000)}"
    if sweep is None:
        return None
    witness = OtherVersion(sweep / "manifest.json", host)
    if not witness.semantics or not scene.join(host, first_on_path(scene.common / "newer")):
        return None
    scene.witnesses.append(witness)
    return f"one more worker, on {host}"


def share(scene: Scene, draw: random.Random) -> str | None:
    """Another sweep in the same store, with some of the same trials; or its command again."""
    other = scene.launchers.get("shared")
    if other is not None and other.poll() is None:
        return None
    scene.launch("shared")
    return "launched" if other is None else "launched again"


def cancel(scene: Scene, draw: random.Random) -> str | None:
    """And the same command at once. Half of the time there is a worker that takes long to end."""
    if scene.sweep() is None:
        return None
    for witness in scene.witnesses:
        if isinstance(witness, Relaunched) and witness.launcher.poll() is None:
            witness.cancelled_again = True
    workers = scene.processes("supervisor")
    slow = draw.choice(workers).pid if workers and draw.random() < 0.5 else None
    if slow is not None and send(slow, signal.SIGSTOP):
        scene.after(8, lambda: send(slow, signal.SIGCONT))
    status = scene.cancel()
    scene.witnesses.append(Relaunched(scene.launch(), scene.log(scene.launches)))
    return f"with status {status}{'' if slow is None else f', process {slow} is slow to end'}"
