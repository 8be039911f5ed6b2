"""Prints the rooms of the package with what each of their modules is about; `--write` puts it into architecture.md.

python docs/tree.py [--write]
"""

import ast
import sys
from pathlib import Path

DOCS = Path(__file__).parent
PACKAGE = DOCS.parent / "bertxfer"
BEGIN, END = "<!-- the tree: python docs/tree.py --write -->\n```\n", "```\n<!-- the end of the tree -->"
# From the hall down: a room imports only what stands below it.
ROOMS = ("report", "review", "sweeps", "learning", "claims", "store", "trials", "tasks", "config", "system", "former")
_WIDTH, _COLUMN = 120, 34


def tree() -> str:
    lines = [_line("bertxfer/", PACKAGE / "__init__.py", 0)]
    lines += [_line(path.name, path, 1) for path in sorted(PACKAGE.glob("*.py")) if path.name != "__init__.py"]
    for room in ROOMS:
        lines += ["", *_folder(PACKAGE / room, 1)]
    return "\n".join(lines) + "\n"


def _folder(folder: Path, depth: int) -> list[str]:
    lines = [_line(f"{folder.name}/", folder / "__init__.py", depth)]
    for path in sorted(folder.iterdir()):
        if path.is_dir() and (path / "__init__.py").exists():
            lines += _folder(path, depth + 1)
        elif path.suffix == ".py" and path.name != "__init__.py":
            lines.append(_line(path.name, path, depth + 1))
    return lines


def _line(name: str, path: Path, depth: int) -> str:
    about = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    words = " ".join(about.split())
    line = f"{'  ' * depth}{name}".ljust(_COLUMN) + words
    return line if len(line) <= _WIDTH else line[: line.rfind(" ", 0, _WIDTH - 1)].rstrip(",;:.") + " …"


def main(words: list[str]) -> None:
    if "--write" not in words:
        print(tree(), end="")
        return
    page = DOCS / "architecture.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}{tree()}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
