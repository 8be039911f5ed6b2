"""The walls between the rooms: each room's own docstring says what it may import, and the imports are held to it."""

import ast
import re
import subprocess
import sys

import pytest

from bertxfer.system.package import PACKAGE
from tests.helpers.imports import ROOMS, imports, modules, room

ROOT = PACKAGE.parent
HALL = {"__init__", "__main__", "command", "errors", "verbs"}
OPEN = ("bertxfer", "bertxfer.errors")
HEAVY = ("torch", "transformers")
PRETRAINING = "bertxfer.tasks.mini.pretrain"


def declared(name: str, what: str) -> set[str]:
    """The rooms that a room's docstring names behind `what`."""
    text = ast.get_docstring(ast.parse((PACKAGE / name / "__init__.py").read_text(encoding="utf-8"))) or ""
    sentence = re.search(rf"{what}: (.*?)(?:\.|$)", " ".join(text.split()))
    assert sentence, f"{name}/__init__.py does not say {what!r}"
    named = set(re.findall(r"\w+", sentence[1])) & {*ROOMS, "hall"}
    return {*ROOMS, "hall"} - {name} if sentence[1] == "all" else named


def doors() -> set[tuple[str, str]]:
    """Which room imports which. The package itself and its errors stand in the hall and are open to all."""
    ours = (one for one in imports() if one.imported.split(".")[0] == "bertxfer")
    known = set(modules())
    return {
        one.doors for one in ours if one.imported in known and one.imported not in OPEN and one.doors[0] != one.doors[1]
    }


def test_the_hall_has_four_modules() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == HALL


def test_a_room_imports_only_what_it_says() -> None:
    wrong = {(a, b) for a, b in doors() if a != "hall" and b not in declared(a, "May import")}
    assert not wrong


def test_a_room_is_imported_only_by_those_it_names() -> None:
    wrong = {(a, b) for a, b in doors() if b != "hall" and a not in declared(b, "May be imported by")}
    assert not wrong


def test_what_rooms_say_of_each_other_agrees_and_has_no_cycle() -> None:
    allowed = {name: declared(name, "May import") for name in ROOMS}
    for name, others in allowed.items():
        for other in others:
            assert name in declared(other, "May be imported by"), f"{name} may import {other}, which does not know it"

    def below(name: str, seen: tuple[str, ...] = ()) -> None:
        assert name not in seen, " -> ".join((*seen, name))
        for other in allowed[name]:
            below(other, (*seen, name))

    for name in ROOMS:
        below(name)


def test_no_room_imports_the_hall_but_for_errors() -> None:
    assert {a for a, b in doors() if b == "hall"} == set()


def test_only_learning_imports_torch() -> None:
    heavy = {one.importer for one in imports() if one.imported.split(".")[0] in HEAVY and one.eager}
    assert {name for name in heavy if room(name) != "learning"} == {PRETRAINING}
    into_learning = {one for one in imports() if one.doors[1] == "learning" and one.doors[0] != "learning"}
    assert into_learning and not {one.importer for one in into_learning if one.eager}


@pytest.mark.parametrize("name", [name for name in ROOMS if name not in ("learning", "former")])
def test_importing_every_module_of_a_room_brings_no_torch(name: str) -> None:
    """What the files say is one thing, what Python then loads another: a library may bring torch along."""
    own = sorted(module for module in modules() if room(module) == name and module != PRETRAINING)
    code = f"import sys, importlib\nfor name in {own!r}: importlib.import_module(name)\n"
    code += f"assert not set({HEAVY!r}) & set(sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_every_module_says_what_it_is_about() -> None:
    silent = [
        name for name, path in modules().items() if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not silent


def test_the_tree_in_the_documentation_is_the_tree() -> None:
    printed = subprocess.run([sys.executable, ROOT / "docs" / "tree.py"], capture_output=True, text=True, check=True)
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert printed.stdout in page, "python docs/tree.py --write brings it up to date"
    named = {line.split()[0] for line in printed.stdout.splitlines() if line.strip()}
    assert named >= {f"{path.parent.name}/" if path.stem == "__init__" else path.name for path in modules().values()}
