"""A process that is forked from the warm one is what a newly started one would have been."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import warm
from tests.helpers.commands import environment, tiny_words
from tests.helpers.sweeping import wait_until

TOLD = """
import json, os, random, signal, sys, threading
umask = os.umask(0)
handlers = {int(number): str(signal.getsignal(number)).split(" at ")[0] for number in signal.valid_signals()}
streams = {
    name: (s.encoding, s.errors, s.line_buffering, s.write_through, s.mode, s.name, s is getattr(sys, f"__{name}__"))
    for name, s in (("stdin", sys.stdin), ("stdout", sys.stdout), ("stderr", sys.stderr))
}
print(json.dumps({
    "name": (__name__, __file__, __spec__.name), "argv": sys.argv, "path": sys.path[0], "cwd": os.getcwd(),
    "environment": dict(os.environ), "umask": umask, "group": os.getpgrp(), "session": os.getsid(0),
    "handlers": handlers, "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "streams": streams,
    "files": sorted(os.listdir("/proc/self/fd")), "threads": threading.active_count(), "stdin": sys.stdin.read(),
    "flags": str(sys.flags), "main": sys.modules["__main__"].__file__,
}))
print("and this", file=sys.stderr)
"""


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """Without what would have every start measured, and with nothing but what a user may have set."""
    around = environment(tmp_path)
    unwanted = [name for name in around if name.startswith("COVERAGE_") or name in warm.SET_BY_MODULES]
    return {name: value for name, value in around.items() if name not in unwanted}


def run(
    code: str, tmp_path: Path, env: Mapping[str, str], *words: str, **how: Any
) -> "subprocess.CompletedProcess[str]":
    """A module of this content, which is found because the folder is where it is run."""
    (tmp_path / "probe.py").write_text(code)
    return warm.run(words, tmp_path, env, 60, module="probe", **how)


def test_it_sees_what_a_new_process_sees(tmp_path: Path, env: dict[str, str]) -> None:
    words, before = ("a b", "--x=ü", ""), os.umask(0o027)
    try:
        forked, new = (run(TOLD, tmp_path, env, *words, input="line\n", cold=cold) for cold in (False, True))
    finally:
        os.umask(before)
    assert forked.returncode == new.returncode == 0, forked.stderr + new.stderr
    assert forked.stderr == new.stderr == "and this\n"
    told, wanted = json.loads(forked.stdout), json.loads(new.stdout)
    made = {name: told["environment"].pop(name) for name in warm.SET_BY_MODULES & told["environment"].keys()}
    assert made["DISABLE_SAFETENSORS_CONVERSION"] == "1"  # what bertxfer sets for itself is set in the fork, too
    assert told["stdin"] == "line\n" and told["umask"] == 0o027 and told["environment"] == env
    assert told == wanted


ENDS = {
    "nothing": "",
    "a status": "import sys; print('x', end=''); sys.exit(3)",
    "a sentence": "import sys; sys.exit('a sentence')",
    "an error": "raise ValueError('of mine')",
    "at once": "import os; os._exit(7)",
    "a signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "an interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)",
    "at exit": "import atexit; atexit.register(print, 'last'); print('first')",
    "a thread": "import threading, time; threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
}


@pytest.mark.parametrize("code", ENDS.values(), ids=ENDS)
def test_it_ends_as_a_new_process_ends(code: str, tmp_path: Path, env: dict[str, str]) -> None:
    forked, new = (run(code, tmp_path, env, cold=cold) for cold in (False, True))
    assert (forked.returncode, forked.stdout) == (new.returncode, new.stdout)
    assert forked.stderr.splitlines()[-1:] == new.stderr.splitlines()[-1:]


WAITS = "import time; open('begun', 'w').close()\ntry: time.sleep(60)\nexcept KeyboardInterrupt: raise SystemExit(5)"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, -15), (signal.SIGINT, 5), (signal.SIGKILL, -9)])
def test_signals_reach_it(number: int, status: int, tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "probe.py").write_text(WAITS)
    process = warm.start([], tmp_path, env, module="probe")
    assert isinstance(process, warm.Forked)
    wait_until((tmp_path / "begun").exists, 30)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.send_signal(number)
    assert process.wait(30) == process.poll() == process.returncode == status
    process.kill()  # nobody is there, and nobody else is hit


def test_its_number_is_its_own_until_somebody_asked_how_it_ended(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "probe.py").write_text("")
    process = warm.start([], tmp_path, env, module="probe")
    wait_until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z")
    os.kill(process.pid, signal.SIGKILL)
    assert process.wait() == 0
    assert not Path(f"/proc/{process.pid}").exists()


def test_what_runs_too_long_is_killed(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "probe.py").write_text("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    with pytest.raises(subprocess.TimeoutExpired) as told:
        warm.run([], tmp_path, env, 3, module="probe")
    assert not Path(f"/proc/{int(told.value.output)}").exists()


def test_much_is_written_to_both_streams(tmp_path: Path, env: dict[str, str]) -> None:
    code = "import sys\nfor stream in (sys.stderr, sys.stdout): stream.write(stream.name[:0] + 'ü' * 300_000)"
    ran = run(code, tmp_path, env)
    assert ran.stdout == ran.stderr == "ü" * 300_000


def test_two_at_once_share_nothing(tmp_path: Path, env: dict[str, str]) -> None:
    code = """
import os, pathlib, random, sys, time, numpy, bertxfer
me, other = sys.argv[1:]
os.environ[f"OF_{me}"] = bertxfer.of_mine = me
pathlib.Path(me).touch()
while not pathlib.Path(other).exists(): time.sleep(0.01)
print([n for n in os.environ if n.startswith("OF_")], bertxfer.of_mine, os.environ["COLUMNS"])
print(random.random(), numpy.random.random())
"""
    (tmp_path / "probe.py").write_text(code)
    said = []
    with (tmp_path / "a.log").open("w") as a, (tmp_path / "b.log").open("w") as b:
        first = warm.start(["a", "b"], tmp_path, {**env, "COLUMNS": "70"}, stdout=a, module="probe")
        second = warm.start(["b", "a"], tmp_path, {**env, "COLUMNS": "90"}, stdout=b, module="probe")
        assert first.wait(60) == second.wait(60) == 0
    for name, columns in (("a", 70), ("b", 90)):
        mine, chance = (tmp_path / f"{name}.log").read_text().splitlines()
        assert mine == f"['OF_{name}'] {name} {columns}"
        said += chance.split()
    assert len(set(said)) == 4
    assert run("import bertxfer; print(hasattr(bertxfer, 'of_mine'))", tmp_path, env).stdout == "False\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_HOME", "/nowhere"),
        ("HF_HUB_OFFLINE", "0"),
        ("OMP_NUM_THREADS", "2"),
        ("PYTHONPROFILEIMPORTTIME", "1"),
        ("PYTHONPATH", "/nowhere"),
        ("TORCH_LOGS", "all"),
        ("COVERAGE_FILE", "/nowhere"),
        ("HOME", "/nowhere"),
        ("LC_ALL", "C"),
        ("SLURM_CONF", "/nowhere"),
        ("A_NAME_NOBODY_KNOWS", "1"),
    ],
)
def test_what_an_import_may_read_has_a_cold_start(name: str, value: str, env: dict[str, str]) -> None:
    assert warm.may_be_warm(env)
    assert not warm.may_be_warm({**env, name: value})
    if name in env:
        assert not warm.may_be_warm({other: env[other] for other in env if other != name})


def test_an_import_that_is_profiled_is_seen(tmp_path: Path, env: dict[str, str]) -> None:
    ran = run("import this_is_not_there", tmp_path, {**env, "PYTHONPROFILEIMPORTTIME": "1"})
    assert "import time:" in ran.stderr and "No module named 'this_is_not_there'" in ran.stderr


def test_nothing_is_started_and_nothing_is_cached_before_the_fork(tmp_path: Path, env: dict[str, str]) -> None:
    """A process with threads cannot be forked safely, and what depends on the environment must be found anew."""
    code = """
import functools, gc, os, threading
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
assert threading.enumerate() == [threading.main_thread()]
assert len(os.listdir("/proc/self/task")) == 1
assert not GlobalHydra.instance().is_initialized()
assert set(ConfigStore.instance().repo) == {"_dummy_empty_config_.yaml", "hydra"}
gc.unfreeze()
caches = [o for o in gc.get_objects() if isinstance(o, functools._lru_cache_wrapper)]
own = [cache for cache in caches if cache.__module__.startswith("bertxfer")]
assert len(own) > 15, own
filled = [cache for cache in own if cache.cache_info().currsize]
assert not filled, filled
"""
    ran = run(code, tmp_path, env)
    assert ran.returncode == 0, ran.stderr


def test_a_trial_has_the_same_bits(shallow_model: Path, tmp_path: Path, env: dict[str, str]) -> None:
    words = tiny_words(shallow_model, "model.dropout=0.2", "scheme=scratch", "data.dev_n=40", "keep=model")
    found = []
    for cold in (False, True):
        out = tmp_path / str(cold)
        ran = warm.run(words, tmp_path, {**env, "BERTXFER_OUTPUT": str(out)}, 300, cold=cold)
        assert ran.returncode == 0, ran.stderr
        (trial,) = (out / "trials").iterdir()
        result = json.loads((trial / "result.json").read_text())
        for name in ("timings", "peak_memory_mb"):
            result.pop(name)
        files = {name: (trial / name).read_bytes() for name in ("predictions.parquet", "history.jsonl", "config.yaml")}
        found.append((result, files))
    assert found[0][0]["weights_digest"] and found[0][0]["score"] is not None
    assert found[0] == found[1]


def test_the_server_ends_with_the_tests() -> None:
    """However they end: here they are killed."""
    code = "from tests.helpers import warm; import time; print(warm._server()._process.pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=warm.ROOT, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        server = Path(f"/proc/{tests.stdout.readline().strip()}")
        assert server.exists()
        tests.kill()
    wait_until(lambda: not server.exists() or "\nState:\tZ" in (server / "status").read_text())
