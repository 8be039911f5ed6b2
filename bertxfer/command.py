"""The command line: a bare first word is a verb, everything else is Hydra's.

A run without -m ends in `app` below. With -m Hydra hands the words to the sweeper that conf/hydra/sweeper/grids.yaml
names, hydra_plugins.bertxfer_plugins.GridsSweeper, and `app` is never called.
"""

import errno
import os
import sys
from collections.abc import Sequence
from functools import partial

import hydra
from omegaconf import DictConfig

from bertxfer import verbs
from bertxfer.config import command_line, complaints, completion, schema
from bertxfer.errors import BertxferError
from bertxfer.system import interrupts
from bertxfer.system.interrupts import INTERRUPTED


def run(words: Sequence[str]) -> int:
    """Does what the words of a command line ask for, and returns the exit status."""
    if words and words[0] in verbs.VERBS:
        return _run_verb(words[0], words[1:])
    if "--help" in words or "-h" in words:
        print(_help())
        return 0
    if completion.is_query(words) and _completed():
        return 0
    if "=" in words or any(word.startswith("=") for word in words):
        return _say("an override is key=value, without spaces around the =", 2)
    if words and words[0].isidentifier():
        known = ", ".join(verbs.VERBS)
        return _say(f"{words[0]!r} is not a verb; there are {known}, and everything else is key=value", 2)
    return _run_hydra(words)


def _run_verb(name: str, words: Sequence[str]) -> int:
    try:
        with interrupts.raised():  # so that what is half written is removed
            return verbs.VERBS[name](words)
    except BertxferError as error:
        return _say(str(error), error.status)
    except KeyboardInterrupt:
        return _say("stopped", INTERRUPTED)
    except Exception as error:
        return _say_complaint(error)


def _completed() -> bool:
    """Whether what a shell asks for was offered; else Hydra is to do it, for the line without its verb."""
    line = os.environ.get("COMP_LINE", "")
    offered = completion.offers(line, list(verbs.VERBS))
    if offered is not None:
        print(" ".join(offered))
        return True
    line = completion.without_verb(line, list(verbs.VERBS))
    os.environ["COMP_LINE"], os.environ["COMP_POINT"] = line, str(len(line))
    return False


def _run_hydra(words: Sequence[str]) -> int:
    """A run or a sweep, composed by Hydra."""
    from bertxfer.trials import schemes  # noqa: F401  their axes are part of the schema

    schema.register()
    full_errors = "HYDRA_FULL_ERROR" in os.environ
    # Hydra then lets errors through instead of printing several lines of its own and exiting.
    os.environ["HYDRA_FULL_ERROR"] = "1"
    sys.argv[1:] = command_line.in_order(words)
    failures: list[BertxferError | OSError] = []

    def app(cfg: DictConfig) -> None:
        from bertxfer.config.configs import config_with, task_finder
        from bertxfer.sweeps import runs

        try:
            compose = partial(hydra.compose, "config")
            runs.run_one(config_with(cfg, task_finder(compose)))
        except (BertxferError, OSError) as error:  # kept from Hydra, which would add a line of its own
            failures.append(error)

    try:
        hydra.main(config_path=str(schema.conf_dir()), config_name="config", version_base="1.3")(app)()
        for failure in failures:
            raise failure
    except KeyboardInterrupt:  # the second one, which does not wait for what is being saved
        return _say("stopped", INTERRUPTED)
    except BertxferError as error:
        return _say(str(error), error.status)
    except Exception as error:
        if full_errors:
            raise
        return _say_complaint(error)
    return 0


def _help() -> str:
    from bertxfer.config import help
    from bertxfer.trials.schemes import SCHEMES

    axes = [(f"scheme={name}", " ".join(scheme.axes) or "-") for name, scheme in SCHEMES.items()]
    return help.text(axes, [(f"{verb.name} {verb.arguments}", verb.promise) for verb in verbs.VERBS.values()])


def _say_complaint(error: Exception) -> int:
    """What a config or the file system is to blame for, in one sentence; anything else is our own error."""
    if complaints.is_complaint(error):
        return _say(complaints.one_sentence(error, schema.keys()), 2)
    if isinstance(error, OSError):
        return _say(f"{error.filename or 'the file system'}: {error.strerror or error}{_HINTS.get(error.errno, '')}", 1)
    raise error


_WHERE = "; runtime.output_dir (or BERTXFER_OUTPUT) says where results go"
_HINTS: dict[int | None, str] = {
    errno.ENOSPC: "; what is finished is kept, and the same command goes on when there is room",
    **dict.fromkeys((errno.ENOENT, errno.EACCES, errno.EROFS, errno.EPERM), _WHERE),
}


def _say(sentence: str, status: int) -> int:
    print(f"bertxfer: {sentence}", file=sys.stderr)
    return status
