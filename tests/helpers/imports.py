"""The imports of the package, read off its files without running them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bertxfer.system.package import PACKAGE

ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


@dataclass(frozen=True)
class Import:
    """`eager`: made when the module is imported, and not only when one of its functions is called."""

    importer: str
    imported: str
    eager: bool

    @property
    def doors(self) -> tuple[str, str]:
        return room(self.importer), room(self.imported)


def modules() -> dict[str, Path]:
    return {_name(path): path for path in PACKAGE.rglob("*.py")}


def imports() -> Iterator[Import]:
    """Every import; of `from a import b` both a and a.b, since b may be a module."""
    for name, path in modules().items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        lazy = _inside(tree, (ast.FunctionDef, ast.AsyncFunctionDef))
        only_types = _inside(tree, (ast.If,), lambda node: "TYPE_CHECKING" in ast.unparse(node.test))
        for node in ast.walk(tree):
            if id(node) not in only_types:
                for imported in _imported(node):
                    yield Import(name, imported, id(node) not in lazy)


def room(module: str) -> str:
    """The room of a module; the hall for what stands in none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else "hall"


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _inside(tree: ast.AST, kinds: tuple[type, ...], chosen: object = None) -> set[int]:
    found = set()
    for outer in ast.walk(tree):
        if isinstance(outer, kinds) and (chosen is None or chosen(outer)):  # type: ignore[operator]
            found |= {id(node) for node in ast.walk(outer)}
    return found


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")
