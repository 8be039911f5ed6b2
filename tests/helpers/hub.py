"""A hub on loopback: what `huggingface_hub` and `datasets` need of the Hugging Face hub's protocol, and its faults.

Small files are answered directly, and large formats as the hub answers files of its large file storage: with a
redirect to another host, whose headers say what the file is. Nothing is served by xet, so plain HTTP is used.
The libraries read HF_ENDPOINT and the like when they are imported: run them in processes that have `environment`.
"""

import hashlib
import json
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, unquote, urlsplit

LARGE = (".arrow", ".bin", ".h5", ".model", ".msgpack", ".parquet", ".safetensors")
_NAME = r"(?P<name>[^/]+(?:/[^/]+)??)"
_API = re.compile(
    rf"/api/(?P<kind>models|datasets)/{_NAME}"
    r"(?:/(?P<what>revision|tree|paths-info|refs)(?:/(?P<revision>[^/]+))?(?:/(?P<path>.+))?)?"
)
_RESOLVE = re.compile(rf"/(?:(?P<kind>datasets)/)?{_NAME}/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
_STORAGE = re.compile(r"/storage/(?P<digest>[0-9a-f]{64})/(?P<path>.+)")
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")


class Request(NamedTuple):
    """What was asked and answered; `path` has the query, and `range` what a Range header said."""

    method: str
    path: str
    status: int
    range: str | None


class Answer(NamedTuple):
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = {}
    file: str | None = None  # the name of the file whose content the body is


@dataclass
class _Repository:
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    gate: str | None = None  # the token that opens it


@dataclass
class _Fault:
    """What happens in the middle of the next answers with that file: the connection ends, or waits to be released."""

    file: str
    after: int
    times: int
    holding: bool = False
    reached: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    released: threading.Event = field(default_factory=threading.Event)

    def wait_until_reached(self, seconds: float = 60) -> None:
        """Waits for one download to have come so far."""
        assert self.reached.acquire(timeout=seconds), f"nobody asked for {self.file}"


class Hub:
    """The server, in a thread of this process; `with Hub() as hub`."""

    def __init__(self, page: int = 1000) -> None:
        self.requests: list[Request] = []
        self._page = page  # entries of a tree that are listed at once
        self._repositories: dict[tuple[str, str], _Repository] = {}
        self._renamed: dict[tuple[str, str], str] = {}
        self._faults: list[_Fault] = []
        self._refusals: list[Answer] = []
        self._damaged: list[str] = []
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._reserved = _reserved(0)
        self.port: int = self._reserved.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> "Hub":
        self.up()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.down()
        self._reserved.close()

    def environment(self, home: Path) -> dict[str, str]:
        """For a process that asks this hub and nobody else, and keeps what it gets in `home`."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_OFFLINE": "0",
            "HF_TOKEN": "",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_UPDATE_DOWNLOAD_COUNTS": "0",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }

    # What it has.

    def add(self, kind: str, name: str, files: Mapping[str, bytes | None], branch: str = "main") -> str:
        """A commit: these files laid over those of the branch (None removes one). Earlier commits stay. Its id."""
        assert kind in ("models", "datasets"), kind
        with self._lock:
            repository = self._repositories.setdefault((kind, name), _Repository())
            parent = repository.branches.get(branch, repository.branches.get("main", ""))
            laid = {**repository.commits.get(parent, {}), **files}
            whole = {path: content for path, content in sorted(laid.items()) if content is not None}
            said = [kind, name, parent, len(repository.commits), [(path, _sha1(data)) for path, data in whole.items()]]
            commit = hashlib.sha1(json.dumps(said).encode()).hexdigest()
            repository.commits[commit] = whole
            repository.branches[branch] = commit
            return commit

    def gate(self, kind: str, name: str, token: str = "hf_opens") -> None:
        """Its files are only for who has the token; what there is can still be listed, as on the real hub."""
        self._repositories[kind, name].gate = token

    def rename(self, kind: str, former: str, name: str) -> None:
        """Requests for the former name are redirected, as those for `bert-base-uncased` are."""
        self._renamed[kind, former] = name

    # What goes wrong.

    def limit(self, times: int, seconds: int = 0) -> None:
        """The next requests are too many; asking again is allowed after so many seconds."""
        headers = {"Retry-After": str(seconds), "RateLimit": f'"api";r=0;t={seconds}'}
        self._refusals += [Answer(429, _error("You have been rate limited."), headers)] * times

    def fail(self, times: int, status: int = 503) -> None:
        """The next requests are answered with an error of the server."""
        self._refusals += [Answer(status, _error("Service unavailable"))] * times

    def break_off(self, file: str, after: int, times: int = 1) -> None:
        """The connection ends after so many bytes of the file, in the next answers that have it."""
        self._faults.append(_Fault(file, after, times))

    @contextmanager
    def held(self, file: str, after: int) -> Iterator[_Fault]:
        """Every answer with the file stops after so many bytes, until the block ends."""
        fault = _Fault(file, after, times=1_000_000, holding=True)
        self._faults.append(fault)
        try:
            yield fault
        finally:
            fault.times = 0
            fault.released.set()

    def damage(self, file: str, times: int = 1) -> None:
        """Another byte in the middle of the file, in the next answers that have it; its size and headers are right."""
        self._damaged += [file] * times

    def down(self) -> None:
        """Connections are refused, and those that are open end."""
        server, self._server = self._server, None
        if server is None:
            return
        for fault in self._faults:
            fault.released.set()
        server.shutdown()
        server.server_close()
        self._reserved = _reserved(self.port)

    def up(self) -> None:
        if self._server is not None:
            return
        hub = self

        class Handler(_Handler):
            def answer(self) -> Answer:
                return hub._answer(self)

            def send(self, answer: Answer, body: bytes) -> None:
                hub._send(self, answer, body)

        self._reserved.close()
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    # What it answers.

    def _answer(self, request: "_Handler") -> Answer:
        asked = urlsplit(request.path)
        with self._lock:
            answer = self._refusals.pop(0) if self._refusals else self._content(request, asked.path, asked.query)
            content_range = None
            if answer.status == 200 and answer.file is not None:
                answer = _ranged(self._sound_or_not(answer, request), request.headers.get("Range"))
                content_range = request.headers.get("Range")
            self.requests.append(Request(request.command, request.path, answer.status, content_range))
            return answer

    def _content(self, request: "_Handler", path: str, query: str) -> Answer:
        if match := _STORAGE.fullmatch(path):
            return self._stored(match["digest"], unquote(match["path"]))
        match = _API.fullmatch(path) or _RESOLVE.fullmatch(path)
        if match is None:
            return Answer(404, _error("Sorry, we can't find the page you are looking for."))
        kind, name = match["kind"] or "models", match["name"]
        if moved := self._renamed.get((kind, name)):
            there = path.replace(f"/{name}", f"/{moved}", 1) + (f"?{query}" if query else "")
            return Answer(307, headers={"Location": there})
        repository = self._repositories.get((kind, name))
        if repository is None:  # without a token the hub does not say whether there is such a repository
            known = "authorization" in request.headers
            said = "Repository not found" if known else "Invalid username or password."
            return Answer(404 if known else 401, _error(said), _reason("RepoNotFound", said))
        revision = unquote(match["revision"] or "main")
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            said = f"Invalid rev id: {revision}"
            return Answer(404, _error(said), _reason("RevisionNotFound", said))
        wanted = unquote(match["path"] or "")
        if match.re is _RESOLVE:
            return self._resolved(request, repository, name, commit, wanted)
        return self._told(request, match, repository, commit, wanted, parse_qs(query))

    def _stored(self, digest: str, path: str) -> Answer:
        for repository in self._repositories.values():
            for files in repository.commits.values():
                content = files.get(path)
                if content is not None and hashlib.sha256(content).hexdigest() == digest:
                    return Answer(200, content, {"ETag": f'"{digest}"'}, path)
        return Answer(403, b"<Error><Code>AccessDenied</Code></Error>")

    def _resolved(self, request: "_Handler", repository: _Repository, name: str, commit: str, path: str) -> Answer:
        headers = {"X-Repo-Commit": commit}
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if repository.gate is not None and token != repository.gate:
            said = f"Access to {name} is restricted and you are not in the authorized list."
            return Answer(403 if token else 401, _error(said), headers | _reason("GatedRepo", said))
        content = repository.commits[commit].get(path)
        if content is None:
            return Answer(404, b"Entry not found", headers | _reason("EntryNotFound", "Entry not found"))
        if not path.endswith(LARGE):
            return Answer(200, content, headers | {"ETag": f'"{_sha1(content)}"'}, path)
        digest = hashlib.sha256(content).hexdigest()
        headers |= {
            "ETag": f'"{_sha1(_pointer(content))}"',
            "X-Linked-Etag": f'"{digest}"',
            "X-Linked-Size": str(len(content)),
            "Location": f"http://localhost:{self.port}/storage/{digest}/{quote(path)}",  # to the libraries another host
        }
        return Answer(302, headers=headers)

    def _told(
        self,
        request: "_Handler",
        match: re.Match[str],
        repository: _Repository,
        commit: str,
        path: str,
        query: Mapping[str, list[str]],
    ) -> Answer:
        entries = _entries(repository.commits[commit])
        if match["what"] == "refs":
            branches = repository.branches.items()
            refs = [{"name": n, "ref": f"refs/heads/{n}", "targetCommit": c} for n, c in branches]
            return _json({"branches": refs, "converts": [], "tags": []})
        if match["what"] == "paths-info":
            paths = parse_qs(request.body.decode())["paths"]
            return _json([entry for entry in entries if entry["path"] in paths])
        if match["what"] == "tree":
            return self._tree(request, entries, path, query)
        siblings = [{"rfilename": entry["path"]} for entry in entries if entry["type"] == "file"]
        info = {"_id": commit[:24], "id": match["name"], "sha": commit, "siblings": siblings, "tags": []}
        return _json(info | {"private": False, "gated": "manual" if repository.gate else False, "disabled": False})

    def _tree(
        self, request: "_Handler", entries: list[dict[str, Any]], path: str, query: Mapping[str, list[str]]
    ) -> Answer:
        below = f"{path}/" if path else ""
        recursive = query.get("recursive") in (["true"], ["True"], ["1"])
        found = [
            entry
            for entry in entries
            if entry["path"].startswith(below) and (recursive or "/" not in entry["path"].removeprefix(below))
        ]
        if path and not found:
            said = f"{path} does not exist"
            return Answer(404, _error(said), _reason("EntryNotFound", said))
        start = int(query.get("cursor", ["0"])[0])
        rest = start + self._page
        headers = {}
        if rest < len(found):
            asked = urlsplit(request.path)
            again = f"{self.url}{asked.path}?recursive={str(recursive).lower()}&cursor={rest}"
            headers["Link"] = f'<{again}>; rel="next"'
        return _json(found[start:rest], headers)

    # How the answer goes wrong on its way.

    def _sound_or_not(self, answer: Answer, request: "_Handler") -> Answer:
        hit = next((name for name in self._damaged if (answer.file or "").endswith(name)), None)
        if hit is None or request.command != "GET":
            return answer
        self._damaged.remove(hit)
        middle = len(answer.body) // 2
        other = bytes([answer.body[middle] ^ 0xFF])
        return answer._replace(body=answer.body[:middle] + other + answer.body[middle + 1 :])

    def _send(self, request: "_Handler", answer: Answer, body: bytes) -> None:
        with self._lock:
            named = (fault for fault in self._faults if fault.times > 0 and (answer.file or "").endswith(fault.file))
            fault = next(named, None) if body else None
            if fault is not None:
                fault.times -= 1
        if fault is None:
            request.wfile.write(body)
            return
        request.wfile.write(body[: fault.after])
        request.wfile.flush()
        fault.reached.release()
        if fault.holding:
            fault.released.wait()
            if self._server is not None:
                request.wfile.write(body[fault.after :])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = b""

    def answer(self) -> Answer:
        raise NotImplementedError

    def send(self, answer: Answer, body: bytes) -> None:
        raise NotImplementedError

    def handle_one_answer(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        answer = self.answer()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Connection", "close")  # so that a hub that is down has no connections left
        self.end_headers()
        with suppress(OSError):  # whoever asked may be gone
            self.send(answer, b"" if self.command == "HEAD" else answer.body)
        self.close_connection = True

    do_GET = do_HEAD = do_POST = handle_one_answer

    def log_message(self, format: str, *args: object) -> None:
        pass


def _reserved(port: int) -> socket.socket:
    """Bound and not listening: the port is nobody else's, and a connection to it is refused."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("127.0.0.1", port))
    return reserved


def _ranged(answer: Answer, wanted: str | None) -> Answer:
    match = _RANGE.fullmatch(wanted or "")
    headers = {**answer.headers, "Accept-Ranges": "bytes"}
    if match is None:
        return answer._replace(headers=headers)
    size = len(answer.body)
    first, last = int(match[1]), min(int(match[2] or size - 1), size - 1)
    if first >= size:
        return Answer(416, b"", {"Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return Answer(206, answer.body[first : last + 1], headers, answer.file)


def _entries(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    """Files and folders as the hub lists them."""
    folders = {str(parent) for path in files for parent in Path(path).parents} - {"."}
    listed: list[dict[str, Any]] = [
        {"type": "directory", "oid": _sha1(path.encode()), "size": 0, "path": path} for path in folders
    ]
    for path, content in files.items():
        entry = {"type": "file", "oid": _sha1(content), "size": len(content), "path": path}
        if path.endswith(LARGE):
            pointer = _pointer(content)
            digest = hashlib.sha256(content).hexdigest()
            entry |= {"oid": _sha1(pointer), "lfs": {"oid": digest, "size": len(content), "pointerSize": len(pointer)}}
        listed.append(entry)
    return sorted(listed, key=lambda entry: entry["path"])


def _pointer(content: bytes) -> bytes:
    """What git keeps of a file of the large file storage."""
    digest = hashlib.sha256(content).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n".encode()


def _sha1(content: bytes) -> str:
    """The id that git gives a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _json(content: object, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(200, json.dumps(content).encode(), {"Content-Type": "application/json", **(headers or {})})


def _error(said: str) -> bytes:
    return json.dumps({"error": said}).encode()


def _reason(code: str, said: str) -> dict[str, str]:
    return {"X-Error-Code": code, "X-Error-Message": said}
