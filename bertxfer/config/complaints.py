"""What Hydra, OmegaConf and YAML complain of, put in one sentence with what would be right."""

import difflib
import re
from collections.abc import Sequence

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException
from yaml import MarkedYAMLError

from bertxfer.config import experiments
from bertxfer.config.schema import conf_dir


def is_complaint(error: Exception) -> bool:
    """Whether Hydra, OmegaConf or YAML complain of a config; one complaint of Hydra's is a plain ValueError."""
    kinds = (HydraException, OmegaConfBaseException, MarkedYAMLError)
    return isinstance(error, (*kinds, OverflowError)) or str(error).startswith("Config group override must be")


def one_sentence(error: Exception, keys: Sequence[str]) -> str:
    """What Hydra, OmegaConf or YAML complained of, by key, with what would be right where it can be guessed."""
    if str(error).startswith("Config group override must be"):
        return "a config group is chosen by the name of one of its files, not by a number; `--info defaults` lists them"
    if isinstance(error, MarkedYAMLError) and error.problem_mark is not None:
        file, line, problem = yaml_error(error)
        return f"{file}:{line}: {problem}"
    message = f"{error}\n{error.__cause__ or ''}".split("Config search path")[0]
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    text = " ".join(lines)
    if match := re.search(r"Could not find '([^']+)/([^'/]+)'.*?Available options in '[^']+': ?(.*)", text):
        group, choice, options = match[1], match[2], match[3].split()
        if group.split("/")[0] == "experiment":  # Hydra lists the upper folder's files for one of a lower one
            wanted = f"{group}/{choice}".removeprefix("experiment/")
            close = meant(wanted, experiments.names(conf_dir()))
            return f"experiment: {wanted!r} is not there{close}; `python -m bertxfer experiments` lists them"
        if choice.startswith("submitit_"):  # typed by habit
            options = sorted(path.stem for path in (conf_dir() / "hydra" / "launcher").glob("*.yaml"))
            choice = choice.removeprefix("submitit_")
            return (
                f"{group}: submitit_{choice} is {choice} here, hydra/launcher={choice}; there are {', '.join(options)}"
            )
        return f"{group}: {choice!r} is not there{meant(choice, options)}; choose one of {', '.join(options)}"
    if match := re.search(r"Could not override '([^']+)'", text) or re.search(r"Key '([^']+)' not in", text):
        key = match[1].split("@")[0]
        if (whole := re.search(r"full_key: ([\w.]+)", text)) and whole[1].endswith(f".{key}"):
            key = whole[1]  # the complaint about a file names only its last part
        if "No match in the defaults list" in text:
            return f"{key}: is not a config group{meant(key, keys)}; `--info defaults` lists them"
        if "could not be converted" not in text:
            return f"{key}: there is no such key{meant(key, keys)}; `--cfg job` shows them all"
    if match := re.search(r"Value '(.*?)' (?:of type '\w+' )?(?:could not be converted to|is not a valid) (\w+)", text):
        full_key = re.search(r"full_key: ([\w.]+)", text)
        return f"{full_key[1] if full_key else 'config'}: {match[1]!r} is not of type {match[2].lower()}"
    if match := re.search(r"Sweep parameters '([^'=]+)=.*requires --multirun", text):
        return f"{match[1]}: several values are a sweep; add -m"
    if match := re.search(r"Ambiguous value for argument '([^'=]+)=", text):
        return f"{match[1]}: several values are a sweep; add -m, or brackets for a list: {match[1]}=[...]"
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
    return mark.name, mark.line + 1, "is not valid YAML: " + " ".join(filter(None, (error.context, error.problem)))


def meant(word: str, known: Sequence[str]) -> str:
    """A hint at the known name that a typo is closest to; empty where none is close."""
    ends = {key.rsplit(".", 1)[-1]: key for key in known}
    close = difflib.get_close_matches(word, known, 1) or difflib.get_close_matches(word.rsplit(".", 1)[-1], ends, 1)
    return f" (did you mean {ends.get(close[0], close[0]) if close[0] not in known else close[0]}?)" if close else ""
