"""Another revision of this repository: written whole into another folder, without touching the working tree."""

import io
import subprocess
import tarfile
from pathlib import Path

from bertxfer.errors import BertxferError

# All that can change which trials an experiment means.
DECIDING = ("conf", "bertxfer", "hydra_plugins")
_MAIN = ("origin/HEAD", "origin/main", "main", "origin/master", "master")


class Repository:
    """The checkout whose `root` holds conf/ and the package."""

    def __init__(self, root: Path) -> None:
        self.root = root
        if not self._ask("rev-parse", "--git-dir"):
            raise BertxferError(f"{root} is not in a git repository, so there is nothing to compare with")

    def commit(self, revision: str) -> str:
        """The commit that a name stands for."""
        output = self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        if output is None:
            raise BertxferError(f"{revision!r} is not a revision of {self.root}; give a branch, a tag or a commit")
        return output.strip()

    def base(self) -> str:
        """Where the branch of the working tree left the main branch."""
        for name in _MAIN:
            if (output := self._ask("merge-base", "HEAD", name)) is not None:
                return output.strip()
        raise BertxferError(f"none of {', '.join(_MAIN)} is in {self.root}; name a revision to compare with")

    def same(self, commit: str) -> bool:
        """Whether all that decides about trials is in the working tree as it is in the commit."""
        changed = self._ask("diff", "--quiet", commit, "--", *DECIDING) is None
        added = self._ask("ls-files", "--others", "--exclude-standard", "--", *DECIDING)
        return not changed and not added

    def take_out(self, commit: str, folder: Path) -> None:
        """Writes the commit's files into a folder of their own."""
        archive = subprocess.run([*self._git, "archive", "--format=tar", commit], capture_output=True, check=False)
        if archive.returncode:
            raise BertxferError(f"git archive {commit}: {archive.stderr.decode(errors='replace').strip()}")
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            if hasattr(tarfile, "data_filter"):  # from 3.10.12 and 3.11.4 on
                files.extractall(folder, filter="data")
            else:
                files.extractall(folder)

    @property
    def _git(self) -> list[str]:
        return ["git", "--no-optional-locks", "-C", str(self.root)]  # or it would write a fresher index

    def _ask(self, *words: str) -> str | None:
        try:
            finished = subprocess.run([*self._git, *words], capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise BertxferError("git is not installed, and revisions cannot be compared without it") from None
        return finished.stdout if finished.returncode == 0 else None
