"""A real LaTeX for tests."""

import os
import shutil
import subprocess
from pathlib import Path


def compiled(text: str, folder: Path) -> str:
    """What LaTeX writes into its log; an error if it stops. A test that needs it fails without it."""
    assert shutil.which("pdflatex"), "no LaTeX: `apt-get install texlive-latex-recommended`"
    (folder / "paper.tex").write_text(text)
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    unbroken = {**os.environ, "max_print_line": "1000"}  # lines of the log
    subprocess.run(command, cwd=folder, check=True, capture_output=True, env=unbroken)
    return (folder / "paper.log").read_text(errors="replace")
