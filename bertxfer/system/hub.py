"""The Hugging Face hub, asked once and briefly: what is not available is reported at once, not after many retries."""

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from urllib.parse import urlsplit

from bertxfer.errors import ConfigError

SECONDS = 3.0


@contextmanager
def asked_for(key: str, wanted: str, substitute: str, setting: str) -> Iterator[None]:
    """Around a call of a Hugging Face library: its failure becomes one sentence that says how to do without."""
    reached = _reachable()
    if not reached:
        _stay_offline()
    try:
        yield
    except ConfigError:
        raise
    except Exception as error:
        from huggingface_hub import constants

        lines = str(error).strip().splitlines() or [""]
        tried = (
            f"{_endpoint()}, which answered {type(error).__name__} ({lines[0]})"
            if reached
            else f"the cache {constants.HF_HUB_CACHE}; {_endpoint()} {_why_not()}"
        )
        raise ConfigError(key, f"{wanted} was looked for in {tried}; give {substitute} as {setting}") from error


def _endpoint() -> str:
    return os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")


def _offline() -> bool:
    return any(
        os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE")
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )


def _why_not() -> str:
    return "is not asked because HF_HUB_OFFLINE is set" if _offline() else f"did not answer within {SECONDS:g} s"


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


def _stay_offline() -> None:
    """Makes the libraries look only in their caches; left alone they try for half a minute (5 retries, measured)."""
    from huggingface_hub import constants

    constants.HF_HUB_OFFLINE = True
    if "datasets" in sys.modules:
        sys.modules["datasets"].config.HF_HUB_OFFLINE = True
