"""The help of a command, in the language of the terminal."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from ckm.cli.terminal.click_sentences import note_of
from ckm.cli.terminal.console import Terminal

_KEPT = "\b\n"  # what begins a paragraph that keeps its lines
_METAVAR = re.compile(r"[A-Z]+(?: RANGE)?")
_EXTRA = "  ["  # before what click tells of an option


def paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """Give each paragraph of a help, with what stands before it."""
    for one in inspect.cleandoc(text).split("\n\n"):
        if one.startswith(_KEPT):
            yield _KEPT, one.removeprefix(_KEPT)
        else:
            yield "", " ".join(one.split())


class Context(click.Context):
    """A context whose help is in the language of the terminal."""

    def make_formatter(self) -> click.HelpFormatter:
        """Return what writes the help."""
        formatter = super().make_formatter()
        terminal = self.find_object(Terminal)
        if terminal is None or terminal.language == "en":
            return formatter
        return _Formatter(formatter.width, terminal.say)


def short_help(command: click.Command, limit: int) -> str:
    """Return the first sentence of a help in another language; nothing in English."""
    context = click.get_current_context(silent=True)
    terminal = context and context.find_object(Terminal)
    if not terminal or terminal.language == "en":
        return ""
    _, first = next(paragraphs(command.help or ""))
    translation = click.Command(None, help=terminal.say(first))
    return translation.get_short_help_str(limit)


class _Formatter(click.HelpFormatter):
    """Writes help in another language."""

    def __init__(self, width: int, say: Callable[[str], str]) -> None:
        super().__init__(width=width)
        self._say = say

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        prefix = f"{self._say(prefix or 'Usage:')} "
        super().write_usage(prog, self._named(args), prefix)

    def write_heading(self, heading: str) -> None:
        super().write_heading(self._say(heading) + "\N{NO-BREAK SPACE}")

    def write_text(self, text: str) -> None:
        lines = [indent + self._say(one) for indent, one in paragraphs(text)]
        super().write_text("\n\n".join(lines))

    def write_dl(self, rows: Iterable[tuple[str, str]], *args: Any, **kwargs: Any) -> None:
        pairs = [(self._named(name), self._told(text)) for name, text in rows]
        super().write_dl(pairs, *args, **kwargs)

    def _named(self, text: str) -> str:
        return _METAVAR.sub(lambda name: self._say(name[0]), text)

    def _told(self, text: str) -> str:
        text, bracket, extra = text.partition(_EXTRA)
        extras = "; ".join(
            self._say(note_of(one)) for one in extra.removesuffix("]").split("; ")
        )
        return self._say(text) + (f"{bracket}{extras}]" if bracket else "")
