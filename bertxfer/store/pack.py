"""Finished trials as one file for colleagues and archives, and back: a plain tar, the same bytes for the same trials,
with a digest of every file in it and no place, user or host."""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from bertxfer.errors import BertxferError
from bertxfer.store import portable, whole
from bertxfer.store.store import Store
from bertxfer.system.files import digest, write_whole

FORMAT = 1
CONTENTS = "contents.json"  # the first in the file: the digests of all the others
_TRIAL = "[0-9a-f]{16}"
_SWEEP = r"sweeps/[A-Za-z0-9_][A-Za-z0-9_.-]*/manifest\.json"
_MODEL_FILE = rf"{whole.MODEL}/[A-Za-z0-9_][A-Za-z0-9_.-]*"


def pack(file: Path, store: Store, trial_ids: Sequence[str], sweeps: Mapping[str, bytes]) -> None:
    """Writes these trials and the manifests of sweeps, by name, into a file: whole or not at all."""
    parts: dict[str, bytes | Path] = {f"sweeps/{name}/manifest.json": content for name, content in sweeps.items()}
    for trial_id in trial_ids:
        folder = store.folder(trial_id)
        for name in whole.files_of(folder):
            parts[f"trials/{trial_id}/{name}"] = _packed(folder, name)
    for name, part in parts.items():
        _refuse_places(name, part, store)
    digests = {name: _digest(parts[name]) for name in sorted(parts)}
    contents = json.dumps({"format": FORMAT, "files": digests}, indent=1) + "\n"

    def write(path: Path) -> None:
        with tarfile.open(path, "w") as tar:
            _add(tar, CONTENTS, contents.encode())
            for name in digests:
                _add(tar, name, parts[name])

    write_whole(file, write)


def unpack(file: Path, root: Path) -> dict[str, str]:
    """Puts what was packed into an empty folder, as a store has it; returns which of its folders are damaged, and why.

    Only plain files of the names that a pack has are taken, and each by its own name: no link, no device, no path that
    leads elsewhere.
    """
    try:
        with tarfile.open(file, "r:") as tar:
            return _unpacked(tar, file, root)
    except (tarfile.TarError, EOFError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BertxferError(f"{file} cannot be read as a packed file ({error}); nothing was taken") from error


def _unpacked(tar: tarfile.TarFile, file: Path, root: Path) -> dict[str, str]:
    first = tar.next()
    if first is None or first.name != CONTENTS or not _is_plain(first):
        raise BertxferError(f"{file} is not a file that `python -m bertxfer pack` wrote")
    contents = json.loads(_open(tar, first).read())
    if contents["format"] != FORMAT:
        raise BertxferError(f"{file} has format {contents['format']}, and this version reads {FORMAT}")
    digests: dict[str, str] = contents["files"]
    known = _known_names()
    seen: dict[str, str] = {}
    while (member := tar.next()) is not None:
        if not _is_plain(member) or not known(member.name) or member.name in seen or member.name not in digests:
            raise BertxferError(f"{file} has {member.name!r} in it, which no packed file has; nothing was taken")
        target = root / member.name
        target.parent.mkdir(parents=True, exist_ok=True)
        seen[member.name] = _written(_open(tar, member), target)
    wrong = [name for name in digests if seen.get(name) != digests[name]]
    words = {name: f"{file}: {name} is {'not what was packed' if name in seen else 'missing'}" for name in wrong}
    return {"/".join(name.split("/")[:2]): words[name] for name in wrong}


def _known_names() -> Callable[[str], object]:
    """Whether a name is one that a pack has."""
    files = "|".join(re.escape(name) for name in (*whole.NEEDED, *whole.tables()))
    return re.compile(rf"trials/{_TRIAL}/(?:{files}|{_MODEL_FILE})|{_SWEEP}").fullmatch


def _is_plain(member: tarfile.TarInfo) -> bool:
    """A sparse file would be more on the disk than it is in the tar."""
    return member.isreg() and not member.issparse()


def _open(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    opened = tar.extractfile(member)
    assert opened is not None
    return opened


def _written(source: IO[bytes], target: Path) -> str:
    content = hashlib.sha256()
    with target.open("xb") as file:
        while block := source.read(1 << 20):
            content.update(block)
            file.write(block)
    return content.hexdigest()[:32]


def _packed(folder: Path, name: str) -> bytes | Path:
    """A file of a trial as it may leave this machine."""
    if name == "result.json":
        plain = portable.result(json.loads((folder / name).read_bytes()))
        return (json.dumps(plain, indent=2, allow_nan=False) + "\n").encode()
    if name in (f"{whole.MODEL}/config.json", f"{whole.MODEL}/tokenizer_config.json"):
        return portable.model_file(Path(name).name, (folder / name).read_bytes())
    return folder / name


def _refuse_places(name: str, part: bytes | Path, store: Store) -> None:
    """A last look at what is text or small: a path that slipped through is refused, not sent."""
    if isinstance(part, Path) and part.suffix == ".safetensors":
        return
    content = part if isinstance(part, bytes) else part.read_bytes()
    for place in {str(store.root.resolve()), str(Path.home().resolve())} - {"/"}:
        if place.encode() in content:
            raise BertxferError(f"{name} has {place} in it, which a packed file must not have; nothing was packed")


def _digest(part: bytes | Path) -> str:
    return digest(part) if isinstance(part, Path) else hashlib.sha256(part).hexdigest()[:32]


def _add(tar: tarfile.TarFile, name: str, part: bytes | Path) -> None:
    """TarInfo says neither when nor by whom unless it is told to."""
    entry = tarfile.TarInfo(name)
    entry.size = part.stat().st_size if isinstance(part, Path) else len(part)
    with part.open("rb") if isinstance(part, Path) else io.BytesIO(part) as file:
        tar.addfile(entry, file)
