"""Local workers that are forked from one process, which imports once for all of them and computes nothing.

A worker forks its draining child in turn, also the one that replaces a child which died. Each fork has its session, its
logs and its card like a process that was started anew; its command line is that of the process it comes from.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from bertxfer.sweeps.post import Post
from bertxfer.system import forking

TOGETHER = "together"


def workers(posts: Sequence[Post]) -> Iterator[int]:
    """Starts a worker for each post, and names their processes; fewer where no process can be forked safely."""
    if sys.platform != "linux" or posts[0].threads != 1:  # with more, numpy's library starts some when it is imported
        return
    logs = Path(posts[0].sweep) / "logs"
    logs.mkdir(exist_ok=True)
    errors = _log(logs / "forking.err")
    try:
        started = _started(posts, errors)
    finally:
        os.close(errors)
    assert started.stdout is not None
    with contextlib.closing(started.stdout):
        for line in started.stdout:
            yield int(line)


def _started(posts: Sequence[Post], errors: int) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "bertxfer.sweeps.worker", TOGETHER, *(json.dumps(asdict(post)) for post in posts)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **_environment(posts[0])},
        start_new_session=True,  # a Ctrl-C in a terminal is for the launcher
        text=True,
    )


def _environment(post: Post) -> dict[str, str]:
    """What libraries read while they are imported. A worker sees no GPU but that of its post."""
    # The allocator that pyarrow brings along would start a thread.
    return {
        "OMP_NUM_THREADS": str(post.threads),
        "CUDA_VISIBLE_DEVICES": "",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }


def next_worker(posts: Sequence[Post]) -> Post | None:
    """In the process that `workers` has started: returns in each fork the post of its worker, and None in the end."""
    from bertxfer.sweeps.draining import import_learning

    import_learning()
    forked: list[forking.Forked] = []
    for post in posts:
        if not may_fork():
            break
        worker = forking.fork("bertxfer worker")
        if worker is None:
            _write_to_logs(Path(post.sweep) / "logs")
            return post
        forked.append(worker)
        try:
            print(worker.pid, flush=True)
        except BrokenPipeError:  # whoever asked for workers is gone, and would not know of this one
            worker.kill()
            break
    _say_no_more()
    for worker in forked:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(worker.pid, 0)
    return None


def may_fork() -> bool:
    """Whether nothing was begun here that a fork could not go on with: no thread, and nothing on a GPU."""
    from bertxfer.learning import devices

    return forking.is_safe() and not devices.in_use()


def _write_to_logs(folder: Path) -> None:
    for number, name in ((1, "out"), (2, "err")):
        log = _log(folder / f"{os.getpid()}_0_log.{name}")
        os.dup2(log, number)
        os.close(log)


def _log(path: Path) -> int:
    """Opened for writing, but not where a link leads: others may write to a shared folder."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)


def _say_no_more() -> None:
    """Closes the pipe by which workers were named: whoever reads it knows that there are no more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
