"""A table as Markdown, LaTeX and CSV. CSV has its numbers, unrounded; the others have its cells."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bertxfer.report.sheets import csv
from bertxfer.report.tables import WORDS, Table
from bertxfer.system.files import write_text


def write(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Each table as NAME.md, NAME.tex and NAME.csv."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in tables:
        kinds = {"md": markdown(table), "tex": latex(table), "csv": csv(table.data)}
        for ending, text in kinds.items():
            paths.append(folder / f"{table.name}.{ending}")
            write_text(paths[-1], text)
    return paths


def markdown(table: Table) -> str:
    lines = [f"**{_md(table.title)}**", "", _md_row(table.cells.columns), "|" + "---|" * len(table.cells.columns)]
    for i, row in enumerate(table.cells.itertuples(index=False)):
        lines.append(_md_row(row, [_marks(table, i, column) for column in table.cells.columns]))
    return "\n".join([*lines, *(["", _md(table.note)] if table.note else [])]) + "\n"


def latex(table: Table) -> str:
    """A booktabs table; `\\cellcolor` of a shaded cell needs the package xcolor with the option `table`."""
    columns = [column for column in table.cells.columns if column != WORDS]  # sentences do not fit a printed row
    rows = [" & ".join(_tex(column) for column in columns) + r" \\", r"\midrule"]
    for i, row in enumerate(table.cells[columns].itertuples(index=False)):
        texts = []
        for column, value in zip(columns, row, strict=True):
            bold, shaded = _marks(table, i, column)
            text = rf"\textbf{{{_tex(value)}}}" if bold else _tex(value)
            texts.append(rf"\cellcolor{{gray!25}}{text}" if shaded else text)
        rows.append(" & ".join(texts) + r" \\")
    caption = f"{table.title}. {table.note}".rstrip(". ") + "."
    head = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(caption)}}}",
        rf"\begin{{tabular}}{{{'l' * len(columns)}}}",
    ]
    return "\n".join([*head, r"\toprule", *rows, r"\bottomrule", r"\end{tabular}", r"\end{table}"]) + "\n"


def _marks(table: Table, row: int, column: str) -> tuple[bool, bool]:
    return (row, column) in table.bold, (row, column) in table.shaded


def _md_row(values: Any, marks: Sequence[tuple[bool, bool]] | None = None) -> str:
    texts = []
    for i, value in enumerate(values):
        bold, shaded = marks[i] if marks else (False, False)
        text = f"**{_md(value)}**" if bold else _md(value)
        texts.append(f"{text} (best)" if shaded else text)
    return "| " + " | ".join(texts) + " |"


def _md(value: object) -> str:
    text = " ".join(str(value).split())
    return "".join(f"\\{letter}" if letter in "\\|*_`[]<>" else letter for letter in text)


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "×": r"$\times$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
}


def _tex(value: object) -> str:
    return "".join(_TEX.get(letter, letter) for letter in " ".join(str(value).split()))
