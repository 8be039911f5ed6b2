"""How workers start: what is imported costs every start, so it is little, and local workers import it together."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bertxfer.system.processes import command_of, process_lives, started_at
from tests.helpers.commands import Run, split_imports, tiny_words
from tests.helpers.sweeping import SLOW, Start, launcher_log, outcomes, results, running, start, sweep_words, wait_until

__all__ = ["start"]  # a fixture

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")

COMPOSING = {"hydra", "omegaconf", "antlr4"}  # a manifest is plain JSON
DRAWING = {"rich", "altair"}
ELSEWHERE = {"sklearn", "pandas", "datasets", "submitit", "statsmodels"}


def test_a_worker_imports_nothing_to_compose_or_to_draw(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    """Of all processes of a worker, from their start to the end of a trial."""
    ended = bertxfer(*tiny_words(shallow_model), "-m", "seed=0", "hydra.launcher.workers=1",
                     env={"PYTHONPROFILEIMPORTTIME": "1"})  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    said = "".join(path.read_text() for path in (tmp_path / "out" / "sweeps").glob("*/logs/*.err"))
    imports, _ = split_imports(said)
    assert {"torch", "transformers", "bertxfer"} <= imports, "the log shows what was imported"
    assert imports.isdisjoint(COMPOSING | DRAWING | ELSEWHERE)


def test_the_collector_does_not_search_modules_while_they_are_imported() -> None:
    code = """
import gc
from bertxfer.sweeps import draining

searched = []
gc.callbacks.append(lambda phase, information: searched.append(information))
draining.import_learning()
assert not searched
assert gc.isenabled() and gc.get_freeze_count() > 100_000
frozen = gc.get_freeze_count()
draining.import_learning()
assert gc.get_freeze_count() == frozen, "what later trials leave behind is still collected"
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def is_forked(pid: int) -> bool:
    return "together" in command_of(pid)


@on_linux
def test_local_workers_are_forked_from_one_process_and_so_is_what_replaces_their_children(
    start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    launcher = start(*sweep_words(shallow_model, *SLOW, "seed=0..5", "hydra.launcher.workers=2"))
    wait_until(lambda: len(running(tmp_path)) == 2)
    cards = running(tmp_path)
    workers, children = [card["worker"]["pid"] for card in cards], [card["pid"] for card in cards]
    assert [parent(child) for child in children] == workers
    (nursery,) = {parent(worker) for worker in workers}
    assert all(map(is_forked, (nursery, *workers, *children)))
    assert len({os.getsid(pid) for pid in (nursery, *workers, *children)}) == 5
    (launch,) = (tmp_path / "out" / "sweeps").glob("*/launches/*.json")
    jobs = json.loads(launch.read_text())["jobs"]
    assert {(int(job["id"]), job["pid_started"]) for job in jobs} == {(pid, started_at(pid)) for pid in workers}

    os.kill(nursery, signal.SIGKILL)
    os.kill(children[0], signal.SIGKILL)
    wait_until(lambda: {card["worker"]["pid"]: card["pid"] for card in running(tmp_path)}.get(workers[0], children[0])
               != children[0])  # fmt: skip
    (another,) = (card["pid"] for card in running(tmp_path) if card["worker"]["pid"] == workers[0])
    assert parent(another) == workers[0] and is_forked(another)
    assert not process_lives(children[0], cards[0]["worker"]["pid_started"])

    assert launcher.wait(timeout=240) == 0, launcher_log(tmp_path)
    assert len(results(tmp_path)) == 6
    assert [path.read_text() for path in (tmp_path / "out" / "sweeps").glob("*/logs/forking.err")] == [""]
    found = outcomes(tmp_path)
    assert found.pop(cards[0]["trial"]) == ["crashed", "done"]
    assert all(ended == ["done"] for ended in found.values()), found
    for worker in workers:
        said = next((tmp_path / "out" / "sweeps").glob(f"*/logs/{worker}_0_log.out")).read_text()
        assert "done " in said, "each worker has a log of its own"


@on_linux
def test_a_worker_that_is_killed_takes_its_forked_child_along(
    start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    words = sweep_words(shallow_model, *SLOW, "seed=0,1", "hydra.launcher.workers=1", "runtime.checkpoint_seconds=0.2")
    launcher = start(*words)
    wait_until(lambda: running(tmp_path))
    (card,) = running(tmp_path)
    began = started_at(card["pid"])
    os.kill(card["worker"]["pid"], signal.SIGKILL)
    wait_until(lambda: not process_lives(card["pid"], began))
    assert outcomes(tmp_path)[card["trial"]][0] == "released"
    assert launcher.wait(timeout=240) == 0, launcher_log(tmp_path)
    assert len(results(tmp_path)) == 2


@on_linux
def test_a_process_with_threads_is_not_forked(start: Start, shallow_model: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import sys, threading, time\n"
        "if 'together' in sys.orig_argv: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
    )
    words = sweep_words(shallow_model, *SLOW, "seed=0,1", "hydra.launcher.workers=1")
    launcher = start(*words, env={"PYTHONPATH": f"{site}:{os.environ.get('PYTHONPATH', '')}"}, cold=True)
    wait_until(lambda: running(tmp_path))
    (card,) = running(tmp_path)
    assert not is_forked(card["worker"]["pid"]) and not is_forked(card["pid"])
    assert launcher.wait(timeout=240) == 0, launcher_log(tmp_path)
