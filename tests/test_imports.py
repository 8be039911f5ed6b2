"""Who may import from whom outside the package: benchmarks need no tests, and tests share by way of tests/helpers."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def imported(path: Path) -> set[str]:
    """The modules that a file imports from, at its top or in a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("folder", ["bench", "bertxfer", "hydra_plugins"])
def test_nothing_outside_of_the_tests_imports_from_them(folder: str) -> None:
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    assert not [path.name for path in files if any(name.split(".")[0] == "tests" for name in imported(path))]


def test_no_test_imports_from_another_one() -> None:
    files = list((ROOT / "tests").rglob("*.py"))
    assert len(files) > 50
    assert not [path.name for path in files if any(".test_" in name for name in imported(path))]
