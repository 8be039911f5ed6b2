"""What the documents say is there is there, and what they say to type means what it is said to mean."""

import argparse
import json
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bertxfer.command import run
from bertxfer.verbs import VERBS
from tests.helpers.guides import guided_files

ROOT = Path(__file__).parents[1]
DOCUMENTS = {str(path.relative_to(ROOT)): path.read_text() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"))}
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
A_PATH = re.compile(r"(?:bench|bertxfer|conf|docs|hydra_plugins|tests)/[\w./-]*")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    prose = BLOCK.sub("", DOCUMENTS[name])
    dead = [link for link in LINK.findall(SPAN.sub("", prose)) if not leads_somewhere(name, link)]
    assert not dead


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_are_named_are_there(name: str) -> None:
    prose = BLOCK.sub("", DOCUMENTS[name])
    named = [word for span in SPAN.findall(prose) for word in span.split()]
    added = guided_files() if name == "docs/architecture.md" else {}  # what its readers are told to write
    paths = {word for word in named if A_PATH.fullmatch(word)} - set(added)
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_a_dead_link_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DOCUMENTS, "docs/a.md", "# The `one` and  only: heading\n\n```\n# no heading\n```\n")
    assert leads_somewhere("docs/a.md", "#the-one-and--only-heading")
    assert leads_somewhere("README.md", "docs/a.md#the-one-and--only-heading")
    assert leads_somewhere("docs/a.md", "../LICENSE") and leads_somewhere("docs/a.md", "https://example.org/nowhere")
    for dead in ("nowhere.md", "LICENSE", "#no-heading", "../README.md#nowhere", "../LICENSE#whatever"):
        assert not leads_somewhere("docs/a.md", dead), dead


def leads_somewhere(name: str, link: str) -> bool:
    """Whether a link in that document has a target; those to other sites are taken as they are."""
    if re.match(r"[a-z]+:", link):
        return True
    file, _, anchor = link.partition("#")
    target = (ROOT / name).parent / file if file else ROOT / name
    if not anchor:
        return target.exists()
    return anchor in headings(DOCUMENTS.get(str(target.resolve().relative_to(ROOT)), ""))


def headings(text: str) -> set[str]:
    """The anchors that GitHub makes of a document's headings."""
    found = re.findall(r"^#+ +(.+?) *$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


class Typed(NamedTuple):
    """A command that a document has somebody type."""

    document: str
    words: list[str]


def commands(name: str) -> Iterator[Typed]:
    """Those of its blocks, of its text, and of the column of examples of its tables."""
    text = DOCUMENTS[name]
    blocks = [block.group() for block in BLOCK.finditer(text)]
    for block in blocks:
        values = dict(re.findall(r'^(\w+)="(.*)"$', block, re.MULTILINE))
        for line in block.replace("\\\n", " ").splitlines():
            for variable in re.findall(r"\$(\w+)", line):
                line = line.replace(f"${variable}", values.get(variable, "stand-in"))
            yield from _typed(name, line.strip().removeprefix("- "))
    prose = BLOCK.sub("", text)
    for span in SPAN.findall(prose):
        yield from _typed(name, span)
    for words in re.findall(r"^\|.*\| `(scheme=[^`]*)` \|$", prose, re.MULTILINE):
        yield from _typed(name, f"bertxfer {words}")


def _typed(name: str, line: str) -> Iterator[Typed]:
    beginning = re.match(r"(?:(?:\.venv/bin/)?python -m bertxfer|bertxfer|\.\.\.)(?: |$)", line)
    if not beginning:
        return
    said = re.sub(r" > \S+$", "", line[beginning.end() :])
    said = re.sub(r"<[\w ]+>", "stand-in", said)
    # What is in brackets may be left out: both are typed.
    optional = re.compile(r" \[[\w |]+\]")
    for one in dict.fromkeys((optional.sub("", said), optional.sub(" stand-in", said))):
        yield Typed(name, shlex.split(one, comments=True))


ALL = [typed for name in DOCUMENTS for typed in commands(name)]
EACH = {tuple(typed.words): typed for typed in ALL}.values()  # several documents have the same ones


@pytest.mark.parametrize("typed", EACH, ids=lambda typed: f"{typed.document}: {' '.join(typed.words)}")
def test_what_is_typed_means_something(
    typed: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run, and what takes the words of one, means trials; any other verb takes its arguments. Nothing is started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BERTXFER_DATA", raising=False)
    monkeypatch.setenv("BERTXFER_OUTPUT", str(tmp_path / "out"))
    verb, words = (
        (typed.words[0], typed.words[1:]) if typed.words[:1] and typed.words[0] in VERBS else ("", typed.words)
    )
    names = verb == "report" and not any("=" in word for word in words)
    if verb == "explain":
        assert run(typed.words) == 0, capsys.readouterr().err
    elif verb in ("", "plan", "report") and not names and "--all" not in words:
        if "--config-dir" in words:
            write_own_task(DOCUMENTS[typed.document], tmp_path / words[words.index("--config-dir") + 1] / "task")
        status = run(["plan", "--stand-ins", "--json", *without_other_sweepers(words)])
        told = capsys.readouterr()
        assert status == 0, told.err
        assert json.loads(told.out)["distinct"] >= 1
    else:
        assert takes(verb, words, monkeypatch)
    assert not (tmp_path / "out").exists()


def test_commands_are_found_in_documents() -> None:
    assert {"README.md", "docs/sweeps.md", "docs/minilm.md", "docs/review.md"} <= {typed.document for typed in ALL}
    assert {typed.words[0] for typed in ALL if typed.words} >= VERBS.keys()
    assert Typed("README.md", ["scheme=localized", "block=3", "data.n=5000", "-m", "seed=range(10)"]) in ALL
    assert Typed("README.md", ["-m", "seed=0..9", "hydra.launcher.workers=4"]) in ALL
    assert Typed("README.md", ["status"]) in ALL and Typed("README.md", ["status", "stand-in"]) in ALL


class Taken(Exception):
    """A verb has read its words."""


def takes(verb: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a verb can read these words; what it would do then is not done."""
    parser = argparse.ArgumentParser
    monkeypatch.setattr(parser, "parse_args", _and_no_more(parser.parse_args))
    monkeypatch.setattr(parser, "parse_intermixed_args", _and_no_more(parser.parse_intermixed_args))
    with pytest.raises(Taken):
        VERBS[verb](words)
    return True


def _and_no_more(parse: Callable[..., Any]) -> Callable[..., Any]:
    def parsed(*given: Any) -> None:
        parse(*given)
        raise Taken

    return parsed


def without_other_sweepers(words: list[str]) -> list[str]:
    """A sweeper that is a package of its own is not installed here; the rest of the words can be planned."""
    return [word for word in words if not re.match(r"hydra[./]sweeper[.=]", word)]


def write_own_task(document: str, folder: Path) -> None:
    """The task of one's own that the document shows: its YAML file, and its CSV as both splits."""
    (yaml,) = re.findall(r"^```yaml\n(name: .*?)^```", document, re.MULTILINE | re.DOTALL)
    (table,) = re.findall(r"^```\n(\w+,\w+\n.*?)^```", document, re.MULTILINE | re.DOTALL)
    folder.mkdir(parents=True)
    name = re.search(r"^name: (\w+)", yaml, re.MULTILINE)
    assert name is not None
    (folder / f"{name[1]}.yaml").write_text(yaml)
    for file in re.findall(r"\w+\.csv", yaml):
        Path(file).write_text(table)
