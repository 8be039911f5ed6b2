"""What of a result or a manifest may leave this machine: versions and digests, but no place, user or host."""

import getpass
import json
import platform
import re
from pathlib import PurePath
from typing import Any

from bertxfer.store.results import Result

LEFT_OUT = "..."
_HOMES = ("home", "Users", "users")
# A path within a text: absolute, from a home or from here. The / of org/model and of 1/2 begins none.
_PATH = re.compile(rf"""(?:(?<![\w.~/])(?:~[\w.-]*|\.{{1,2}})?/|/(?:{"|".join(_HOMES)})/)[^\s'",;:=()\[\]{{}}]+""")
# One from here that does not say so. An owner's name on the hub may be the user's: it goes as well.
_RELATIVE = re.compile(r"""(?<![\w.-])[\w.-]+(?:/[\w.-]+)+""")
_ITEM = re.compile(r"""[^,\[\]{}'"]+""")  # of a list or a mapping on a command line: there a path may have spaces in it


def is_left_out(where: Any) -> bool:
    """Whether it stands for a path that was left out."""
    return isinstance(where, str) and where.startswith(LEFT_OUT)


def result(whole: Result) -> Result:
    """A result without the places of its inputs and the name of its machine. Its numbers and versions stay."""
    plain: Result = without_places(whole)
    plain["environment"] = {key: value for key, value in plain.get("environment", {}).items() if key != "host"}
    return plain


def without_places(value: Any) -> Any:
    """Plain data in which every path is shortened; what only says where something was (`model_at`) is left out."""
    if isinstance(value, dict):
        return {key: place(item) if key.endswith("_at") else without_places(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_places(item) for item in value]
    return shortened(value) if isinstance(value, str) else value


def place(where: Any) -> Any:
    """Where inputs are: a name of the hub is the same for all, a path is left out whole."""
    if isinstance(where, (list, tuple)):
        return [place(one) for one in where]
    return LEFT_OUT if isinstance(where, str) and shortened(where) != where else where


def word(of_command: str) -> str:
    """A word of a command line: key=value, or a value."""
    key, equals, value = of_command.rpartition("=") if of_command.count("=") == 1 else ("", "", of_command)
    if not value.startswith(("[", "{")):
        return f"{key}{equals}{shortened(value)}"
    return f"{key}{equals}{_ITEM.sub(lambda item: _item(item[0]), value)}"


def _item(text: str) -> str:
    key, colon, value = text.partition(":")
    if colon and "/" not in key:
        return f"{key}{colon}{_item(value)}"
    inside = text.strip()
    return text.replace(inside, shortened(inside), 1) if inside else text


def shortened(text: str) -> str:
    """A path by its last name alone, unless that is a user's or a machine's; other text without the paths in it."""
    if text.lstrip("'\"").startswith(("/", "~", "./", "../")):
        return _last_name(text.strip("'\""))
    return _RELATIVE.sub(_without_owner, _PATH.sub(lambda found: _last_name(found[0]), text))


def model_file(name: str, content: bytes) -> bytes:
    """A file of a kept model's folder. Some versions of transformers write into the configs where a model was."""
    if name not in ("config.json", "tokenizer_config.json"):
        return content
    plain = json.loads(content)
    for key in ("_name_or_path", "name_or_path"):
        if isinstance(plain.get(key), str):
            plain[key] = shortened(plain[key])
    return (json.dumps(plain, indent=2, ensure_ascii=False) + "\n").encode()


def _without_owner(found: re.Match[str]) -> str:
    """A path by its last name where a folder on the way is called after the user or the machine."""
    folders = found[0].split("/")[:-1]
    owned = any(who in (folder, *re.split("[-_.]", folder)) for folder in folders for who in _owners())
    return _last_name(found[0]) if owned else found[0]


def _last_name(path: str) -> str:
    *_, parent, name = ("", "", *PurePath(path).parts)
    of_someone = any(who in name for who in _owners())
    tells_nothing = name in ("/", "..") or name.startswith("~")
    return LEFT_OUT if of_someone or parent in _HOMES or tells_nothing else f"{LEFT_OUT}/{name}"


def _owners() -> list[str]:
    return [who for who in (_user(), platform.node()) if who]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a number without a name, as in some containers
        return ""
