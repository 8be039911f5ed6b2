"""Where a value of a config comes from: the file and line, the entry of a defaults list or the override."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from hydra.core.default_element import ResultDefault
from hydra.types import RunMode
from omegaconf import MISSING

from bertxfer.config import overrides, schema
from bertxfer.config.axes import AXES
from bertxfer.config.composer import Composer
from bertxfer.system.package import PACKAGE
from bertxfer.trials import schemes

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Statement:
    """What sets a value: a line of a file, or a word of the command line (no file)."""

    text: str  # as it stands there
    file: str | None = None
    line: int | None = None
    chosen: "Statement | None" = None  # what brought the file into the config, where it was not there by itself

    def __str__(self) -> str:
        if self.file is None:
            return f"the command line ({self.text})"
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return where if self.chosen is None else f"{where}, chosen by `{self.chosen.text}` in {self.chosen.where}"

    @property
    def where(self) -> str:
        if self.file is None:
            return "the command line"
        return self.file if self.line is None else f"{self.file}:{self.line}"


class Provenance:
    """What set which key in the config that these overrides compose."""

    def __init__(self, composer: Composer, overrides: Sequence[str]) -> None:
        self._composer = composer
        composed = composer.defaults(overrides, RunMode.MULTIRUN)
        self._defaults: list[ResultDefault] = composed.defaults
        self._choosers = composed.overrides.override_metadata
        self._overrides = composed.config_overrides
        self._words = list(overrides)

    def sources(self, key: str) -> list[Statement]:
        """Every statement that sets a key, the one that counts first."""
        statements = []
        for default in self._defaults:
            package = (default.package or "").split(".") if default.package else []
            names = key.split(".")
            if default.config_path is None or names[: len(package)] != package:
                continue
            source = self._set_in(default, names[len(package) :])
            statements.extend([source] if source else [])
        for override in self._overrides:
            if key == override.key_or_group or key.startswith(f"{override.key_or_group}."):
                statements.append(Statement(str(override.input_line)))
        return statements[::-1]

    def chooser(self, group: str) -> Statement | None:
        """What chose the option of a group: an entry of a defaults list, or the command line."""
        choice = self._choosers.get(group)
        if choice is not None and choice.external_override:
            return Statement(next((word for word in self._words if word.split("=")[0] == group), group))
        parent = choice.containing_config_path if choice is not None else self._parent(group)
        return None if parent is None else self._entry(parent, group)

    def _parent(self, group: str) -> str | None:
        return next((default.parent for default in self._defaults if default.override_key == group), None)

    def _entry(self, config_path: str, group: str) -> Statement | None:
        path = self._file(config_path)
        node = _parsed(path) if path else None
        for name, _, value in _entries(node):
            if name != "defaults" or not isinstance(value, yaml.SequenceNode):
                continue
            for entry in value.value:
                for key, line, choice in _entries(entry):
                    if key.split()[-1].lstrip("/").split("@")[0] == group:
                        return Statement(f"{key}: {choice.value}", self._shown(path), line)
        return None

    def _set_in(self, default: ResultDefault, names: Sequence[str]) -> Statement | None:
        assert default.config_path is not None
        if default.config_path == "schema":
            return _in_schema(names)
        path = self._file(default.config_path)
        hit = _find(_parsed(path), names) if path else None
        if hit is None:
            return None
        key = default.override_key
        chosen = self.chooser(key) if key is not None and key in self._choosers else None
        return Statement(hit[1], self._shown(path), hit[0], chosen)

    def _file(self, config_path: str) -> Path | None:
        return file_of(self._composer, config_path)

    def _shown(self, path: Path | None) -> str:
        assert path is not None
        return shown(self._composer, path)


def traced(origins: Provenance, key: str) -> str | None:
    """Where a key's value comes from, through what it refers to: `optimizer.lr` is `${model.lr}`."""
    source = next(iter(origins.sources(key)), None)
    if source is None:
        return None
    refers = re.search(r"\$\{([A-Za-z_][\w.]*)\}$", source.text)
    beyond = traced(origins, refers[1]) if refers and refers[1] != key else None
    return str(source) if beyond is None else f"{beyond}, through `{source.text}` in {source.where}"


def file_of(composer: Composer, config_path: str) -> Path | None:
    """The YAML file that Hydra reads under that name."""
    for source in composer.loader.get_sources():
        path = Path(source.path) / f"{config_path.removesuffix('.yaml')}.yaml"
        if source.scheme() == "file" and path.is_file():
            return path
    return None


def shown(composer: Composer, path: Path) -> str:
    """The file by the name that people know it by: conf/model/mini.yaml."""
    root = composer.conf.absolute().parent
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def in_grids(composer: Composer, experiment: str, key: str, axes: Mapping[str, Any] | None = None) -> Statement | None:
    """Where an experiment's grids set a key; with `axes`, in the grid that has this point."""
    path = file_of(composer, f"experiment/{experiment}")
    node = _parsed(path) if path else None
    grids = next((value for name, _, value in _entries(node) if name == "grids"), None)
    if path is None or not isinstance(grids, yaml.SequenceNode):
        return None
    plain = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)["grids"]
    for grid, values in zip(grids.value, plain, strict=True):
        for name, line, value in _entries(grid):
            if name == key and (axes is None or overrides.holds(values, axes)):
                return Statement(_text(name, value), shown(composer, path), line)
    return None


def mentioned(composer: Composer, config_path: str, key: str) -> Statement | None:
    """The first line of a file that mentions a key or its last part in any way; for errors."""
    path = file_of(composer, config_path)
    if path is None:
        return None
    for word in (key, key.split(".")[-1]):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = line.split("#")[0]
            if re.search(rf"(?<![\w.]){re.escape(word)}(?![\w.])", text):
                return Statement(text.strip(), shown(composer, path), number)
    return None


def _find(node: yaml.Node | None, names: Sequence[str]) -> tuple[int, str] | None:
    """The line that sets a key in a parsed file, and its text."""
    hit = None
    for name in names:
        entry = next((entry for entry in _entries(node) if entry[0] == name), None)
        if entry is None:
            return hit if isinstance(node, yaml.ScalarNode) and hit else None
        hit, node = (entry[1], _text(name, entry[2])), entry[2]
    return hit


def _entries(node: yaml.Node | None) -> Iterator[tuple[str, int, yaml.Node]]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield str(key.value), key.start_mark.line + 1, value


def _text(name: str, value: yaml.Node) -> str:
    if isinstance(value, yaml.ScalarNode):
        return f"{name}: {value.value}"
    return f"{name}: " + ("[...]" if isinstance(value, yaml.SequenceNode) else "{...}")


def _parsed(path: Path) -> yaml.Node | None:
    return _parse(str(path), path.stat().st_mtime_ns)


@lru_cache(maxsize=1024)
def _parse(path: str, changed: int) -> yaml.Node | None:
    node: yaml.Node | None = yaml.compose(Path(path).read_text(encoding="utf-8"), Loader=_Loader)
    return node


def _in_schema(names: Sequence[str]) -> Statement | None:
    """The default in the schema's code."""
    if len(names) == 1 and names[0] in AXES:
        return _in_scheme(names[0])
    part: Any = schema.Config
    for name in names[:-1]:
        part = next((field.type for field in fields(part) if field.name == name), None)
        if not is_dataclass(part):
            return None
    field = next((field for field in fields(part) if field.name == names[-1]), None)
    if field is None or field.default == MISSING:  # a field without a default sets nothing
        return None
    line, annotation, written = _schema_lines()[part.__name__][field.name]
    default = written if field.default is NO_DEFAULT else repr(field.default)
    return Statement(f"{field.name}: {annotation} = {default}", _shown_code(Path(schema.__file__)), line)


def _in_scheme(axis: str) -> Statement | None:
    """Where a scheme declares one of its axes, which all begin as null."""
    for path in sorted(Path(schemes.__file__).parent.glob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if f'Axis("{axis}"' in line:
                return Statement(f"{axis}: null", _shown_code(path), number)
    return None


def _shown_code(path: Path) -> str:
    return path.relative_to(PACKAGE.parent).as_posix()


@lru_cache
def _schema_lines() -> dict[str, dict[str, tuple[int, str, str]]]:
    """Of every field of the schema's dataclasses its line, its type and its default as they are written."""
    tree = ast.parse(Path(schema.__file__).read_text(encoding="utf-8"))
    return {
        node.name: {
            field.target.id: (field.lineno, ast.unparse(field.annotation), ast.unparse(field.value))
            for field in node.body
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
