"""The command line in processes that import neither torch nor transformers: they are forked from one that has.

Each is a process of its own, with its own arguments, folder, environment, standard streams, signals and exit status;
`python -m bertxfer` is run in it as Python runs it. What a library reads from the environment while it is imported is
that of the server, so a command whose environment differs in anything but what is known to be read later gets a cold
start, an ordinary process. So does one that is measured for coverage, and one whose start itself is tested, which says
`cold=True`.

The server is started by the first test that needs it and ends with the process of that test: when its socket closes.
"""

import atexit
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

ROOT = Path(__file__).parents[2]
# With these every test runs: no hub, and one thread, without which numpy's library would start more when imported.
TESTED = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
# What is read when it is needed, by bertxfer, Hydra, rich, tempfile, CUDA and the shell, and not by an import.
READ_LATE = {
    "BERTXFER_CACHE",
    "BERTXFER_DATA",
    "BERTXFER_OUTPUT",
    "COLUMNS",
    "CUDA_VISIBLE_DEVICES",
    "HYDRA_FULL_ERROR",
    "PATH",
    "PYTEST_CURRENT_TEST",
    "TMPDIR",
}
# What modules set for themselves when they are imported, here as in the server, and read when they need it.
SET_BY_MODULES = {
    "DISABLE_SAFETENSORS_CONVERSION",
    "HF_HUB_DISABLE_PROGRESS_BARS",  # by bertxfer before it asks a hub
    "KMP_DUPLICATE_LIB_OK",
    "KMP_INIT_AT_FORK",
    "TORCHINDUCTOR_CACHE_DIR",
}
# As it is before any test changes it.
AROUND = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")} | TESTED

Stream = int | IO[Any] | None


@dataclass(frozen=True)
class Command:
    """What a forked process is told."""

    module: str
    words: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    umask: int


def may_be_warm(env: Mapping[str, str]) -> bool:
    """Whether a process with this environment would import what the server has imported."""
    measured = any(name.startswith("COVERAGE_") for name in env)
    return sys.platform == "linux" and not measured and not _differing(env)


def _differing(env: Mapping[str, str]) -> set[str]:
    """The variables that stand in the way of a fork."""
    differing = {name for name in {*env, *AROUND} if env.get(name) != AROUND.get(name)}
    return differing - READ_LATE - SET_BY_MODULES


def start(
    words: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    stdin: Stream = None,
    stdout: Stream = None,
    stderr: Stream = None,
    cold: bool = False,
    module: str = "bertxfer",
) -> "subprocess.Popen[str] | Forked":
    """`python -m bertxfer ...` in the background; streams are as for subprocess.Popen, without its constants."""
    _count(words, env, cold)
    if cold or not may_be_warm(env):
        command = [sys.executable, "-m", module, *words]
        return subprocess.Popen(
            command, cwd=cwd, env=env, text=True, stdin=stdin, stdout=stdout, stderr=stderr, preexec_fn=_hear_ctrl_c
        )
    return _server().start(module, words, cwd, env, [_number(stdin, 0), _number(stdout, 1), _number(stderr, 2)])


def run(
    words: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    timeout: float | None = None,
    input: str | None = None,
    cold: bool = False,
    module: str = "bertxfer",
) -> "subprocess.CompletedProcess[str]":
    """`python -m bertxfer ...` to its end, with what it wrote, as subprocess.run has it."""
    with contextlib.ExitStack() as opened:
        stdout, its_stdout = _pipe(opened)
        stderr, its_stderr = _pipe(opened)
        stdin = None if input is None else opened.enter_context(_file_of(input))
        process = start(words, cwd, env, stdin, its_stdout, its_stderr, cold, module)
        its_stdout.close()
        its_stderr.close()
        try:
            # Until both are closed, also by whatever it has left running.
            written = _read([stdout, stderr], timeout)
            process.wait(timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
    command = [sys.executable, "-m", module, *words]
    return subprocess.CompletedProcess(command, cast(int, process.returncode), *written)


class Forked:
    """A process that the server has forked, with what the tests need of subprocess.Popen.

    Like any child it keeps its number until somebody has asked how it ended.
    """

    def __init__(self, pid: int, server: "Server") -> None:
        self.pid, self.returncode = pid, cast("int | None", None)
        self._server, self._ended = server, os.pidfd_open(pid)

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._look(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", cast(float, timeout))
        return status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            waiting = select.poll()
            waiting.register(self._ended, select.POLLIN)
            if waiting.poll(None if timeout is None else 1000 * timeout):
                self.returncode = self._server.ask({"reap": self.pid})
                os.close(self._ended)
        return self.returncode


class Server:
    """The process that forks, as this process sees it."""

    def __init__(self) -> None:
        self._socket, theirs = _socketpair()
        self._alone = threading.Lock()
        code = f"from tests.helpers.warm import serve; serve({theirs.fileno()})"
        # jemalloc, which pyarrow brings along, would start a thread.
        env = {**AROUND, "JE_ARROW_MALLOC_CONF": "background_thread:false"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, env=env, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
        )
        theirs.close()

    def start(
        self, module: str, words: Sequence[str], cwd: Path, env: Mapping[str, str], streams: Sequence[int]
    ) -> Forked:
        command = Command(module, list(words), str(cwd), dict(env), _umask())
        return Forked(self.ask(asdict(command), streams), self)

    def ask(self, told: dict[str, Any], streams: Sequence[int] = ()) -> int:
        with self._alone:
            socket.send_fds(self._socket, [json.dumps(told).encode()], list(streams))
            answer = self._socket.recv(1 << 10)
        assert answer, f"the process that forks has ended with {self._process.wait(10)}"
        return int(answer)

    def end(self) -> None:
        self._socket.close()
        self._process.wait()


_servers: dict[int, Server] = {}  # by the process they belong to: a fork of it may not use the same socket


def _server() -> Server:
    if os.getpid() not in _servers:
        _servers[os.getpid()] = made = Server()
        atexit.register(made.end)
    return _servers[os.getpid()]


def _count(words: Sequence[str], env: Mapping[str, str], cold: bool) -> None:
    """A line for every start, where somebody wants to know how many of them are cold."""
    if path := os.environ.get("BERTXFER_TEST_STARTS"):
        why = "asked for" if cold else " ".join(sorted(_differing(env))) or "measured"
        kind = "cold" if cold or not may_be_warm(env) else "warm"
        with Path(path).open("a") as log:
            log.write(f"{kind}\t{why if kind == 'cold' else ''}\t{env.get('PYTEST_CURRENT_TEST')}\t{' '.join(words)}\n")


def _number(stream: Stream, otherwise: int) -> int:
    return otherwise if stream is None else stream if isinstance(stream, int) else stream.fileno()


def _pipe(opened: contextlib.ExitStack) -> tuple[IO[bytes], IO[bytes]]:
    reading, writing = os.pipe()
    return opened.enter_context(os.fdopen(reading, "rb", 0)), opened.enter_context(os.fdopen(writing, "wb", 0))


def _file_of(text: str) -> IO[bytes]:
    file = tempfile.TemporaryFile()  # noqa: SIM115
    file.write(text.encode())
    file.seek(0)
    return file


def _read(streams: Sequence[IO[bytes]], timeout: float | None) -> list[str]:
    """All that comes of each, until each is closed."""
    deadline = None if timeout is None else time.monotonic() + timeout
    found: dict[int, bytes] = {stream.fileno(): b"" for stream in streams}
    waiting, left = select.poll(), set(found)
    for number in found:
        waiting.register(number, select.POLLIN)
    while left:
        rest = None if deadline is None else 1000 * (deadline - time.monotonic())
        if rest is not None and rest <= 0:
            raise subprocess.TimeoutExpired("bertxfer", cast(float, timeout), *found.values())
        for number, _ in waiting.poll(rest):
            block = os.read(number, 1 << 16)
            found[number] += block
            if not block:
                waiting.unregister(number)
                left.remove(number)
    return [io.TextIOWrapper(io.BytesIO(whole)).read() for whole in found.values()]


def _socketpair() -> tuple[socket.socket, socket.socket]:
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return pair


def _umask() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1], 8) for line in lines if line.startswith("Umask:"))


def _hear_ctrl_c() -> None:
    """Where tests run in the background of a script, they and all they start would ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# What follows runs in the server and in what it forks.


def serve(number: int) -> None:
    """Forks what it is told to until the socket closes; in each fork it ends with running the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is for the tests, which close the socket
    control = socket.socket(fileno=number)
    made: dict[str, str] | None = None
    while True:
        told, streams, _, _ = socket.recv_fds(control, 1 << 21, 3)
        if not told:
            return
        request = json.loads(told)
        if "reap" in request:
            _, status = os.waitpid(request["reap"], 0)
            control.send(str(os.waitstatus_to_exitcode(status)).encode())
            continue
        if made is None:
            made = import_everything()
        assert len(list(Path("/proc/self/task").iterdir())) == 1, "a process with threads cannot be forked safely"
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        if not (pid := os.fork()):
            break
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        for stream in streams:
            os.close(stream)
        control.send(str(pid).encode())
    control.close()
    command = Command(**request)
    become(command, streams, made)
    runpy.run_module(command.module, run_name="__main__", alter_sys=True)


def import_everything() -> dict[str, str]:
    """Whatever a command may import, but the few packages that only some data or trackers need.

    Returns the variables that modules have set for themselves."""
    import bertxfer

    before = dict(os.environ)
    for name in IMPORTED:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(bertxfer.__path__, "bertxfer."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()
    return {name: value for name, value in os.environ.items() if name not in before}


IMPORTED = (
    "altair",
    "hydra",
    "jinja2",
    "pandas",
    "pyarrow.ipc",
    "pyarrow.parquet",
    "rich.live",
    "rich.progress",
    "rich.table",
    "safetensors.torch",
    "scipy.stats",
    "sklearn.metrics",
    "statsmodels.stats.multitest",
    "submitit",
    "tokenizers",
    "torch",
    "transformers",
    "vl_convert",
)


def become(command: Command, streams: Sequence[int], made: Mapping[str, str]) -> None:
    """Makes this fork what the new process would have been."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(command.cwd)
    os.umask(command.umask)
    os.environ.clear()
    os.environ.update({**made, **command.env})
    time.tzset()
    tempfile.tempdir = None
    sys.argv[1:] = command.words
    sys.path[0] = command.cwd
    _open_streams()
    sys.modules["numpy"].random.seed()  # Python's generator does so itself, torch's begins every start with the same
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _open_streams() -> None:
    """As Python opens them: standard output keeps lines back unless it is a terminal, standard error keeps none."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before: Any = getattr(sys, name)
        kept_back = not before.write_through  # not so with PYTHONUNBUFFERED
        file: Any = open(number, "wb" if number else "rb", -1 if kept_back or not number else 0, closefd=False)  # noqa: SIM115
        getattr(file, "raw", file).name = before.name
        by_line = kept_back and (file.isatty() or number == 2)
        text: Any = io.TextIOWrapper(file, before.encoding, before.errors, "\n", by_line, not kept_back)
        text.mode = before.mode
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)
