"""The words of the command line: put in an order Hydra accepts, and its complaints put in one sentence."""

import difflib
import re
from collections.abc import Sequence
from itertools import pairwise

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError

from bertxfer import grids
from bertxfer.config import conf_dir

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
_INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


def in_order(words: Sequence[str]) -> list[str]:
    """Flags first, then overrides: argparse takes no overrides after a flag that stands between them."""
    flags, overrides = apart(words)
    return [*flags, *overrides]


def apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Flags with their values, and overrides."""
    flags: list[str] = []
    overrides: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            overrides.append(_unquoted_list(_unquoted_range(word)))
            continue
        flags.append(word)
        if (word in _VALUED and rest) or (word in ("--info", "-i") and rest and rest[0] in _INFO):
            flags.append(rest.pop(0))
    return flags, overrides


def config_dirs(flags: Sequence[str]) -> list[str]:
    """The folders of configs among the flags of a command."""
    return [folder for flag, folder in pairwise(flags) if flag in ("--config-dir", "-cd")]


def _unquoted_range(word: str) -> str:
    """`seed=0..9` needs no quotes in a shell; it means seed=range(0,10). The sweeper knows what L in `k=0..L` is."""
    key, _, value = word.partition("=")
    if match := re.fullmatch(r"(\d+)\.\.(\d+)", value):
        return f"{key}=range({int(match[1])},{int(match[2]) + 1})"
    return f"{key}=choice({value})" if ".." in value and grids.is_shape_word(word) else word


def _unquoted_list(word: str) -> str:
    """`analysis=weights,attention` asks for both, and is not a sweep: what a trial leaves behind is no axis."""
    match = re.fullmatch(r"(analysis|keep|runtime\.track)=(\w+(?:,\w+)*)", word)
    return f"{match[1]}=[{match[2]}]" if match and match[2] != "null" else word


def is_complaint(error: Exception) -> bool:
    """Whether Hydra, OmegaConf or YAML complain of a config; one complaint of Hydra's is a plain ValueError."""
    kinds = (HydraException, OmegaConfBaseException, MarkedYAMLError)
    return isinstance(error, (*kinds, OverflowError)) or str(error).startswith("Config group override must be")


def one_sentence(error: Exception, keys: Sequence[str]) -> str:
    """What Hydra, OmegaConf or YAML complained of, by key, with what would be right where it can be guessed."""
    if str(error).startswith("Config group override must be"):
        return "a config group is chosen by the name of one of its files, not by a number; `--info defaults` lists them"
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        file, line, said = yaml_error(error)
        return f"{file}:{line}: {said}"
    told = f"{error}\n{error.__cause__ or ''}".split("Config search path")[0]
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    text = " ".join(lines)
    if match := re.search(r"Could not find '([^']+)/([^'/]+)'.*?Available options in '[^']+': ?(.*)", text):
        group, choice, options = match[1], match[2], match[3].split()
        if group.split("/")[0] == "experiment":  # Hydra lists the upper folder's files for one of a lower one
            wanted = f"{group}/{choice}".removeprefix("experiment/")
            folder = conf_dir() / "experiment"
            close = meant(
                wanted, [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml")]
            )
            return f"experiment: {wanted!r} is not there{close}; `python -m bertxfer experiments` lists them"
        if choice.startswith("submitit_"):  # typed by habit
            options = [option for option in options if option in ("inline", "local", "slurm")]
            choice = choice.removeprefix("submitit_")
            return (
                f"{group}: submitit_{choice} is {choice} here, hydra/launcher={choice}; there are {', '.join(options)}"
            )
        return f"{group}: {choice!r} is not there{meant(choice, options)}; choose one of {', '.join(options)}"
    if match := re.search(r"Could not override '([^']+)'", text) or re.search(r"Key '([^']+)' not in", text):
        key = match[1].split("@")[0]
        if (whole := re.search(r"full_key: ([\w.]+)", text)) and whole[1].endswith(f".{key}"):
            key = whole[1]  # what a file says has only the last part of it
        if "No match in the defaults list" in text:
            return f"{key}: is not a config group{meant(key, keys)}; `--info defaults` lists them"
        if "could not be converted" not in text:
            return f"{key}: there is no such key{meant(key, keys)}; `--cfg job` shows them all"
    if match := re.search(r"Value '(.*?)' (?:of type '\w+' )?(?:could not be converted to|is not a valid) (\w+)", text):
        found = re.search(r"full_key: ([\w.]+)", text)
        return f"{found[1] if found else 'config'}: {match[1]!r} is not of type {match[2].lower()}"
    if match := re.search(r"Sweep parameters '([^'=]+)=.*requires --multirun", text):
        return f"{match[1]}: several values are a sweep; add -m"
    if match := re.search(r"Missing mandatory value: ([\w.]+)", text):
        return f"{match[1]}: has no value; give one"
    if match := re.search(r"full_key: ([\w.]+)", text):
        return f"{match[1]}: {next((line for line in lines if not line.startswith('Error merging')), lines[0])}"
    return lines[0] if lines else type(error).__name__


def yaml_error(error: MarkedYAMLError) -> tuple[str, int, str]:
    """The file and line of a YAML error, and what is wrong there."""
    # The problem is where reading stopped; a key without a colon is noticed only on the next line.
    mark = error.context_mark if "simple key" in (error.context or "") else error.problem_mark
    assert mark is not None
    return mark.name, mark.line + 1, "is no YAML: " + " ".join(filter(None, (error.context, error.problem)))


def meant(word: str, known: Sequence[str]) -> str:
    ends = {key.rsplit(".", 1)[-1]: key for key in known}
    close = difflib.get_close_matches(word, known, 1) or difflib.get_close_matches(word.rsplit(".", 1)[-1], ends, 1)
    return f" (did you mean {ends.get(close[0], close[0]) if close[0] not in known else close[0]}?)" if close else ""
