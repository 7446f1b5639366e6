"""Collect what the commands say: their help, and the templates of messages."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ckm.cli.terminal.help import paragraphs
from footing.data_files import read_data
from reports.i18n.messages import HOLE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_ROOT = Path(__file__).parents[2]
HELP = "commands-help"
#: Domain → the packages whose messages it has.
DOMAINS = {
    "messages-ckm": ("ckm",),
    "messages-core": ("footing", "ptable", "reports", "risk", "tables"),
    "messages-dp": ("dp", "dpsgd", "rappor", "synth"),
}
#: Words that stand alone: of click, of the operating system, and of what is shown in tables.
_WORDS = (
    *("Usage:", "Options", "Commands", "COMMAND", "ARGS", "required"),
    *("TEXT", "INTEGER", "INTEGER RANGE", "FLOAT", "FLOAT RANGE", "PATH", "FILE", "DIRECTORY"),
    "Show this message and exit.",
    *("No such file or directory", "Permission denied", "Is a directory", "Not a directory"),
    *("No space left on device", "File exists", "Read-only file system", "File name too long"),
    *("Input/output error", "Disk quota exceeded", "Too many open files", "Broken pipe"),
    *("error:", "hint:", "in the data:", "unchanged", "written", "would be written"),
    *("check", "counts", "from", "to", "feasible", "yes", "keys", "what", "of"),
    *("intervals", "periods", "folder", "dimension"),
    # The steps of ckm explain.
    *("original count", "number", "cell key", "range of cell keys", "rank", "noise"),
    *("noise of the rank", "least published count", "mixed key", "row of p-table"),
    *("keys of this noise", "count with noise", "published", "original weight"),
    *("weight with noise", "original sum", "contributors", "their key", "is sensitive"),
    *("row of its p-table", "units of noise", "noises", "sum with noise"),
    "the same records in the ledger:",
    "the same records in this job, by count and cell key:",
    "none: a cell without records has no key and stays 0",
    "nothing: the file leaves this cell out, as others whose published count is 0",
)
#: What other languages write otherwise.
_SAID = re.compile(r"[A-Za-z]|[:;?!%]")
_WORD = re.compile(r"[A-Za-z]{2,}")


def help_texts() -> dict[str, str]:
    """Collect the help of every command, paragraph by paragraph."""
    from ckm.cli.app import app

    found: dict[str, str] = dict.fromkeys(_WORDS, "click")

    def visit(command: click.Command, name: str) -> None:
        for text in (command.help or "", command.epilog or ""):
            for _, one in paragraphs(text):
                found.setdefault(one, name)
        for option in command.params:
            if isinstance(option, click.Option) and option.help and not option.hidden:
                found.setdefault(option.help, name)
        if isinstance(command, click.Group):
            context = click.Context(command)
            for verb in command.list_commands(context):
                inner = command.get_command(context, verb)
                assert inner is not None
                visit(inner, f"{name} {verb}")

    visit(app, "ckm")
    return {text: place for text, place in found.items() if _WORD.search(text)}


def _texts_of_presets() -> dict[str, str]:
    found = read_data("ptable.design", "presets.toml")
    parts = [*found["presets"].values(), *found["mechanisms"].values()]
    return dict.fromkeys((part["text"] for part in parts), "ptable/design/presets.toml")


def _texts_of_words() -> dict[str, str]:
    problems, verdict = (
        read_data(package, f"{name}.toml")
        for package, name in (("ckm.config", "problems"), ("ckm.release", "verdict"))
    )
    texts = [*problems["rules"].values(), *problems["forms"].values()]
    found = dict.fromkeys(texts, "ckm/config/problems.toml")
    return found | dict.fromkeys(verdict["hints"].values(), "ckm/release/verdict.toml")


def called(function: ast.AST) -> str:
    """Return the name of what is called."""
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _literals(
    stream: BinaryIO, keywords: Collection[str], _tags: object, options: object
) -> Iterator[tuple[int, str, str, list[str]]]:
    """Find the first arguments of some functions, also within calls of others; for Babel."""
    del options
    for node in ast.walk(ast.parse(stream.read())):
        if isinstance(node, ast.Call) and called(node.func) in keywords and node.args:
            text = node.args[0]
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node.lineno, "", text.value, []


def made_from_data(packages: Sequence[str]) -> dict[str, str]:
    """Collect the templates of messages: template → where it is written."""
    from babel.messages.extract import extract_from_file

    keywords: dict[str, Any] = dict.fromkeys(("Message", "Enumeration", "joined", "mark"))
    return {
        text: path.relative_to(_ROOT).as_posix()
        for package in packages
        for path in sorted((_ROOT / package).rglob("*.py"))
        for _, text, _, _ in extract_from_file(_literals, path, keywords=keywords)
        if isinstance(text, str) and _SAID.search(HOLE.sub("", text))
    }


def command_messages(pages: Collection[str] = ()) -> dict[str, dict[str, str]]:
    """Collect messages but those that pages alone say: domain → text → where it is written."""
    found = {HELP: help_texts()}
    packages = [one for group in DOMAINS.values() for one in group]
    texts = made_from_data(packages) | _texts_of_presets() | _texts_of_words()
    for domain, group in DOMAINS.items():
        found[domain] = {
            text: place
            for text, place in sorted(texts.items(), key=lambda item: (item[1], item[0]))
            if place.partition("/")[0] in group
            and text not in found[HELP]
            and not (text in pages and place.startswith("reports/"))
            and "%(" not in text
        }
    return found
