"""What is written for LaTeX, set by a real one."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from bertxfer.report.blocks import figures_of
from bertxfer.report.printing import latex
from bertxfer.report.tables import make
from bertxfer.store.store import Store
from bertxfer.system.package import PACKAGE
from tests.helpers.claimed import invented, numbers
from tests.helpers.commands import Run
from tests.helpers.frames import results
from tests.helpers.latex import compiled

WORDS = ["experiment=mini", "task=mini_cola", "seed=0..7"]
PAPER = r"""\documentclass{article}
\input{results}
\newcount\rounds \rounds=\bertxfer{mini/claims/permutation/rounds}
\begin{document}
\typeout{rounds=\the\rounds}
BODY
It costs \bertxfer{mini/claims/permutation/effect} points.
\end{document}
"""


def test_macros_expand_to_their_digits_and_an_unknown_name_stops(
    bertxfer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In text, and where only digits may stand."""
    monkeypatch.setattr("sys.argv", ["bertxfer", "-m", *WORDS])
    invented(WORDS, tmp_path / "out")
    assert bertxfer("macros", "results.tex", "mini").returncode == 0
    found = numbers(tmp_path / "results.tex")
    body = "\n".join(rf"\typeout{{{name}=\bertxfer{{{name}}}}}" for name in found)
    said = compiled(PAPER.replace("BODY", body), tmp_path)
    assert "rounds=8\n" in said and len(found) > 20
    for name, text in found.items():
        assert f"{name}={text}\n" in said
    with pytest.raises(subprocess.CalledProcessError):
        compiled(PAPER.replace("BODY", r"\bertxfer{mini/claims/permutation/efect}"), tmp_path)
    assert "thereisnosuchnumber" in (tmp_path / "paper.log").read_text(errors="replace")


def test_the_example_of_the_guide(bertxfer: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commands, with invented scores in place of a run, and what it says to write."""
    guide = (PACKAGE.parent / "docs" / "claims.md").read_text(encoding="utf-8")
    example = guide[guide.index("## Numbers into papers") :]
    run, write, check = (shlex.split(line, comments=True)[3:] for line in re.findall(r"^python -m .*$", example, re.M))
    (text,) = re.findall(r"^```latex\n(.*?)^```", example, re.M | re.S)
    monkeypatch.setattr("sys.argv", ["bertxfer", *run])
    invented([word for word in run if word != "-m"], tmp_path / "out")
    for words in (write, check):
        ended = bertxfer(*words)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    preamble, body = text.split("\n", 1)
    told = rf"\typeout{{{' '.join(body.split())}}}"
    paper = rf"\documentclass{{article}}{preamble}\begin{{document}}{body}{told}\end{{document}}"
    effect = numbers(tmp_path / "results.tex")["mini/claims/scratch/effect"]
    assert f"changes the score by {effect} points (holds after" in compiled(paper, tmp_path)


def test_a_table_with_any_name_in_it(tmp_path: Path) -> None:
    nasty = r"a_b & 50% | {c} $d$ #e \f <script> ~ ^ *g*"
    figures = figures_of({"kind": "curves", "x": "k", "tables": ["summary"]})
    made = make(results({"task": nasty, "k": 0, "score": 0.5}), figures[0], Store(tmp_path / "nowhere"))
    preamble = r"\documentclass{article}\usepackage{booktabs}\usepackage[table]{xcolor}\begin{document}"
    assert "50.0" in latex(made[0])
    compiled(preamble + latex(made[0]) + r"\end{document}", tmp_path)
