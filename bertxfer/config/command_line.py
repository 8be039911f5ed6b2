"""The words of a command line, put in an order that Hydra accepts, and sorted into flags, overrides, Hydra's own."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from bertxfer.config import grids
from bertxfer.errors import ConfigError

# Flags of Hydra that are followed by a value, and the values its one optional flag may take.
_VALUED = (
    "--cfg",
    "-c",
    "--package",
    "-p",
    "--config-path",
    "-cp",
    "--config-name",
    "-cn",
    "--config-dir",
    "-cd",
)
_DIRS = ("--config-dir", "-cd")
QUOTES = "'\""
OWN_MODELS = ("mini", "minilm")  # known by these names, each with a file in conf/model
_INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


def in_order(words: Sequence[str]) -> list[str]:
    """Flags first, then overrides: argparse accepts no more overrides after a flag that stands among them."""
    flags, overrides = apart(words)
    return [*flags, *overrides]


def apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The flags with their values, and the overrides."""
    flags: list[str] = []
    overrides: list[str] = []
    rest = _in_two(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            overrides.append(_unquoted_list(_unquoted_range(word)))
            continue
        flags.append(word)
        if (word in _VALUED and rest) or (word in ("--info", "-i") and rest and rest[0] in _INFO):
            flags.append(rest.pop(0))
    return flags, _with_its_group(overrides)


def ours_and_hydras(overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """The overrides of a config, and those of Hydra's own: hydra.launcher.workers=4, hydra/launcher=slurm."""
    hydras = [word for word in overrides if word.lstrip("+~").startswith(("hydra.", "hydra/"))]
    return [word for word in overrides if word not in hydras], hydras


def config_dirs(flags: Sequence[str]) -> list[str]:
    """The folders of configs among the flags of a command."""
    return [folder for flag, folder in pairwise(flags) if flag in _DIRS]


def _in_two(words: Sequence[str]) -> list[str]:
    """`--config-dir=own` as two words."""
    return [part for word in words for part in (word.split("=", 1) if word.split("=", 1)[0] in _VALUED else [word])]


def with_absolute_dirs(words: Sequence[str]) -> list[str]:
    """The words of a command that is read again elsewhere: from another folder its folders of configs are the same."""
    found, before = list[str](), ""
    for word in _in_two(words):
        found.append(str(Path(word).absolute()) if before in _DIRS else word)
        before = word
    return found


def _with_its_group(overrides: list[str]) -> list[str]:
    """A model that is given by name alone is `model=other`: the default model's learning rate and pooling, and the
    tasks that stand in for it, are not for any other. One that comes with this program has settings of its own. An
    experiment chooses its model itself."""
    given = {word.split("=", 1)[0].lstrip("+"): word.partition("=")[2] for word in overrides}
    if "model.name" not in given or given.keys() & {"model", "experiment"}:
        return overrides
    names = [name.strip().strip("'\"") for name in given["model.name"].split(",")]
    own = [name for name in names if name in OWN_MODELS]
    if own and own != names:
        raise ConfigError("model.name", f"{own[0]} has settings of its own; launch it as model={own[0]}, by itself")
    if len(own) > 1:
        overrides = [word for word in overrides if not word.lstrip("+").startswith("model.name=")]
    return [f"model={','.join(own) or 'other'}", *overrides]


def _unquoted_range(word: str) -> str:
    """`seed=0..9` needs no quotes in a shell; it means seed=range(0,10). The sweeper knows what L in `k=0..L` is, and
    what `seed=until(50)` is."""
    key, _, value = word.partition("=")
    if grids.is_until(value):  # no function of Hydra's
        return f"{key.strip()}=choice('{value.strip().strip(QUOTES)}')"
    if match := re.fullmatch(r"(\d+)\.\.(\d+)", value):
        return f"{key}=range({int(match[1])},{int(match[2]) + 1})"
    return f"{key}=choice({value})" if ".." in value and grids.is_shape_word(word) else word


def _unquoted_list(word: str) -> str:
    """`analysis=weights,attention` asks for both, and is not a sweep: what a trial leaves behind is not an axis."""
    match = re.fullmatch(r"(analysis|keep|runtime\.track)=(\w+(?:,\w+)*)", word)
    return f"{match[1]}=[{match[2]}]" if match and match[2] != "null" else word
