"""A folder that is none of a sweep's business, with files of the kinds that it removes and writes in its own."""

import os
from pathlib import Path

_NAMES = ("model.pt", f"{'0' * 32}.pt", "model.safetensors", f"{'0' * 32}.safetensors", ".x.tmp")
_LONG_AGO = 1_000_000_000


class Bait:
    def __init__(self, folder: Path) -> None:
        self.folder, self.claim = folder, folder / "1.json"
        folder.mkdir()
        for name in _NAMES:
            (folder / name).write_text("somebody else's")
        (folder / ".x.tmp").replace(folder / ".state.pt.00000000-1-1.x.tmp")  # as a process that is gone leaves them
        self.claim.write_text('{"host": "elsewhere", "pid": 1, "outcome": null}')
        for path in folder.iterdir():
            os.utime(path, (_LONG_AGO, _LONG_AGO))
        self._before = self._content()

    def harm(self) -> list[str]:
        """What was done to it."""
        now, before = self._content(), self._before
        harm = [f"{self.folder / name} was removed" for name in sorted(before.keys() - now.keys())]
        harm += [f"{self.folder / name} was written" for name in sorted(now.keys() - before.keys())]
        return harm + [f"{self.folder / name} was changed" for name in now if now[name] != before.get(name, now[name])]

    def _content(self) -> dict[str, tuple[bytes, int, int]]:
        return {p.name: (p.read_bytes(), p.stat().st_ino, p.stat().st_mtime_ns) for p in self.folder.iterdir()}
