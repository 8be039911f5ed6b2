"""The Hugging Face hub: repositories brought into its cache before anything is run, and found there afterwards.

Only `fetch` asks the network, once and briefly: what is not available is said at once, not after many retries.
"""

import errno
import glob
import hashlib
import os
import re
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bertxfer.errors import Absent, BertxferError, NotFetched
from bertxfer.system.cache import remembered, stamps

SECONDS = 3.0
_OF_DISKS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.ENOENT, errno.ENOTDIR, errno.EEXIST),
)


@dataclass(frozen=True)
class Repository:
    """A model or data set on the hub, and what to say when it cannot be had."""

    kind: str  # model, dataset
    name: str
    revision: str | None
    key: str  # of the config, that names it
    instead: str  # what would do in its place, and how to say so

    @property
    def at(self) -> str:
        return self.revision or "main"

    def __str__(self) -> str:
        return f"the {'model' if self.kind == 'model' else 'data set'} {self.name}"


# The files to bring, in groups that are brought one after another; the last file of all completes the repository.
Choose = Callable[[Sequence[str], Callable[[str], Path]], Iterator[Sequence[str]]]


def fetch(wanted: Repository, choose: Choose) -> tuple[Path, bool]:
    """Brings a repository into the cache, as it is on the hub now, and says where it lies.

    Where the hub cannot be reached, it is what lies there already, and false: that may be a part.
    """
    if not _reachable():
        folder = cached(wanted)
        _refuse_damaged(wanted, folder)
        return folder, False
    _ask_quickly()
    before = _commit(wanted)
    if before is None:
        print(f"fetching {wanted} from {_endpoint()}", file=sys.stderr, flush=True)
    try:
        folder = _brought(wanted, choose, before)
    except NotFetched as error:
        if before is None or before != wanted.at:
            raise
        folder = cached(wanted)  # a commit never changes, so what lies there of it is as good
        _refuse_damaged(wanted, folder)
        _REFUSED[wanted] = error.message
        return folder, False
    _refuse_damaged(wanted, folder)
    if before is not None and before != folder.name:
        print(
            f"{wanted}: {wanted.at} has moved on from {before[:12]} to {folder.name[:12]} since it was last fetched; "
            f"{_revision(wanted, before)} means the earlier one",
            file=sys.stderr,
        )
    return folder, True


_REFUSED: dict[Repository, str] = {}  # what was said of a commit that the hub did not give


def _brought(wanted: Repository, choose: Choose, before: str | None) -> Path:
    """The folder of a commit whose files have all come."""
    from huggingface_hub import HfApi, hf_hub_download, snapshot_download

    with _one_sentence(wanted, before):
        where: dict[str, Any] = {"repo_id": wanted.name, "repo_type": wanted.kind, "revision": wanted.at}
        names = HfApi().list_repo_files(**where)
        groups = choose(names, lambda name: Path(hf_hub_download(filename=name, **where)))
        brought, folders = list[str](), set[Path]()
        for group in groups:
            brought += group
            # They are taken for patterns, and a name may have a bracket in it.
            folders.add(Path(snapshot_download(allow_patterns=list(map(glob.escape, group)), **where)))
    if len(folders) != 1:
        raise NotFetched(wanted.key, f"{wanted} was changed while it was fetched; the same command fetches it again")
    (folder,) = folders
    if lacking := [name for name in brought if not (folder / name).is_file()]:
        said = f"{wanted} came without {', '.join(lacking[:3])}, which {_endpoint()} lists"
        raise NotFetched(wanted.key, f"{said}; {wanted.instead}")
    return folder


def _refuse_damaged(wanted: Repository, folder: Path) -> None:
    """Compares what lies in the cache with the digests that the hub names it by: the library compares sizes only.

    Each file is a link to a blob, whose name is the sha256 of a large file and what git calls a small one. A blob that
    is something else is removed with its link, so that no other program takes it for the file.
    """
    damaged = []
    for link in sorted(path for path in folder.rglob("*") if path.is_symlink() and path.is_file()):
        blob = link.resolve()
        if remembered("blob", blob.name, stamps([blob]), partial(_content_name, blob)) != blob.name:
            link.unlink()
            blob.unlink()
            damaged.append(link.relative_to(folder).as_posix())
    if damaged:
        said = f"{wanted} came damaged, or was damaged later: {', '.join(damaged)}, which the cache no longer has"
        raise NotFetched(wanted.key, f"{said}; the same command fetches that anew")


def _content_name(blob: Path) -> str:
    """The name that a blob with this content has; its own where that is of no kind known here."""
    if re.fullmatch("[0-9a-f]{64}", blob.name):
        with blob.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    if re.fullmatch("[0-9a-f]{40}", blob.name):
        content = blob.read_bytes()
        plain = hashlib.sha1(content).hexdigest()  # as some mirrors of the hub name it
        return plain if plain == blob.name else hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return blob.name


def cached(wanted: Repository) -> Path:
    """The folder in which a repository lies in the cache; what it lacks there its reader must see."""
    commit = _commit(wanted)
    folder = _root(wanted) / "snapshots" / (commit or "-")
    if commit is None or not folder.is_dir():
        raise absent(wanted)
    return folder


def fetched(wanted: Repository) -> list[Path]:
    """The folders of all its commits in the cache, each perhaps not whole."""
    return sorted((_root(wanted) / "snapshots").glob("*/"))


def absent(wanted: Repository) -> Absent:
    """What is said of a repository that is not in the cache, or not whole."""
    if wanted in _REFUSED:
        return NotFetched(wanted.key, _REFUSED[wanted])
    looked = f"{wanted} was looked for in the cache {_root(wanted).parent}; {_endpoint()} {_why_not()}"
    return NotFetched(wanted.key, f"{looked}; {wanted.instead}")


def _revision(wanted: Repository, commit: str) -> str:
    return f"{wanted.key.rpartition('.')[0]}.revision={commit}"


def _commit(wanted: Repository) -> str | None:
    """The commit that a revision meant when it was last fetched."""
    try:
        return (_root(wanted) / "refs" / wanted.at).read_text(encoding="utf-8").strip()
    except OSError:
        return wanted.at if (_root(wanted) / "snapshots" / wanted.at).is_dir() else None


def _root(wanted: Repository) -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE) / "--".join([f"{wanted.kind}s", *wanted.name.split("/")])


@contextmanager
def _one_sentence(wanted: Repository, before: str | None) -> Iterator[None]:
    """Around calls of a Hugging Face library: a failure becomes one sentence that says what would help."""
    try:
        yield
    except BertxferError:
        raise
    except Exception as error:
        reason = _reason(wanted, error)
        instead = (
            wanted.instead
            if before in (None, wanted.at)
            else f"{_revision(wanted, before)} means what was fetched earlier"
        )
        raise NotFetched(wanted.key, f"{wanted} cannot be fetched: {reason}; {instead}") from error


def _reason(wanted: Repository, error: Exception) -> str:
    from huggingface_hub import errors

    status = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(error, errors.GatedRepoError):
        return f"{_endpoint()} gives it only to those who were granted access; ask for it there, then `hf auth login`"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"it has no revision {wanted.at}"
    if isinstance(error, errors.RepositoryNotFoundError):
        return f"{_endpoint()} has no such repository, or a private one (`hf auth login`)"
    if isinstance(error, errors.HFValidationError):
        return "there is no such folder, and the hub calls its repositories NAME or OWNER/NAME"
    if isinstance(error, OSError) and error.errno in _OF_DISKS:
        return f"the cache {_root(wanted).parent} cannot be written ({error.strerror}); HF_HOME chooses another"
    if status == 429:
        return f"{_endpoint()} takes no more requests from here for now (429); wait some minutes"
    if status is not None:
        return f"{_endpoint()} answered {status}"
    line = next(iter(str(error).strip().splitlines()), "")
    return f"the connection to {_endpoint()} broke off ({type(error).__name__}: {line}); what came whole is kept"


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _offline() -> bool:
    return any(
        os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE")
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )


def _why_not() -> str:
    if _offline():
        return "is not asked because HF_HUB_OFFLINE is set"
    if _answers.cache_info().currsize and not _reachable():
        return f"did not answer within {SECONDS:g} s"
    return "was not asked; `python -m bertxfer fetch` with the words of the run brings it"


def _reachable() -> bool:
    return not _offline() and _answers(_address())


def _address() -> tuple[str, int]:
    """The host that a request goes to first: the proxy, where there is one."""
    scheme = urlsplit(_endpoint()).scheme
    proxy = os.environ.get(f"{scheme}_proxy") or os.environ.get(f"{scheme.upper()}_PROXY")
    server = urlsplit(proxy if proxy and "//" in proxy else f"//{proxy}" if proxy else _endpoint())
    return server.hostname or "", server.port or (80 if server.scheme == "http" else 443)


@lru_cache
def _answers(address: tuple[str, int]) -> bool:
    """One attempt to connect. In a thread, because looking up a name has no time limit."""
    connected = threading.Event()

    def connect() -> None:
        try:
            socket.create_connection(address, timeout=SECONDS).close()
            connected.set()
        except OSError:
            return

    attempt = threading.Thread(target=connect, daemon=True)
    attempt.start()
    attempt.join(SECONDS)
    return connected.is_set()


def _ask_quickly() -> None:
    """Without a terminal nobody sees the bars of a download."""
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
