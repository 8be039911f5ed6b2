"""The kinds of faults. Each does its harm to a scene and says to what; none where there is nothing to harm just now."""

from tests.faults.kinds import allocations, clocks, disks, files, processes, sharing, strangers
from tests.faults.kinds.kind import Fault

EVERYWHERE: dict[str, Fault] = {
    "SIGKILL of a worker": processes.kill_worker,
    "SIGKILL of a supervisor": processes.kill_supervisor,
    "SIGKILL of all workers at once": processes.lose_node,
    "SIGTERM of a worker": processes.end_worker,
    "SIGTERM of a supervisor": processes.preempt,
    "SIGSTOP, SIGCONT later": processes.suspend,
    "SIGKILL of the launcher": processes.kill_launcher,
    "stale heartbeat": files.silence,
    "file cut short": files.cut,
    **{f"byte flipped: {what}": files.flip(what) for what in files.FILES if what != "card"},
    "clock step": clocks.step_clock,
    "slow listings": sharing.list_late,
    "second sweep": sharing.share,
    "cancel and relaunch": sharing.cancel,
    "planted link": strangers.plant_link,
    "forged card": strangers.forge_card,
    "inside an allocation": allocations.enter_allocation,
}
# These need namespaces of their own.
ENCLOSED: dict[str, Fault] = {
    "disk full": disks.fill_disk,
    "folder read-only": disks.protect_disk,
    "host name changed": processes.rename_host,
    "claim from the future": clocks.claim_from_future,
    "worker of another version": sharing.join_as_newer,
}
ON_A_DISK = ("disk full", "folder read-only")  # which must be one that can be filled, not a network
ENDING = [kind for kind in EVERYWHERE if "SIGKILL" in kind or "SIGTERM" in kind]
ENDING += ["cancel and relaunch", "inside an allocation"]
ALL = {**EVERYWHERE, **ENCLOSED}
