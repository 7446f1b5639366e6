"""The root of the command line: suggestions, exit codes, and a clean end whatever happens."""

import contextlib
import difflib
import inspect
import os
import re
import shlex
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from textwrap import indent
from types import FrameType
from typing import Any, NoReturn, TextIO

import click

from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.exit_codes import INTERNAL, INTERRUPTED, WRONG_REQUEST, Failure, explain
from ckm.cli.terminal.help import Context, short_help
from footing.messages import Message, Name

#: Where the style is looked up, the first that is set; the second is its earlier name.
_STYLE_VARIABLES = ("CKM_LOG", "CKM_LOG_FORMAT")
_STYLES = ("text", "json")
_LANGUAGES = ("en", "fr")
#: Where the language is looked up, the first that is set.
_LANGUAGE_VARIABLES = ("CKM_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
#: Commands whose ``--lang`` may be repeated: it says in which languages pages are written.
_OF_PAGES = ("report",)
_BROKEN_PIPE = 141
#: A file or a folder, for the functions of the commands a `pathlib.Path`.
PATH = click.Path(path_type=Path)
_SIGNAL = 128  # a program ended by signal n has exit code 128 + n
#: A heading in a docstring, underlined, and the lines below it.
_SECTION = re.compile(r"^(.+)\n-{3,}\n((?:.+\n?)+)", re.MULTILINE)


class Command(click.Command):
    r"""A command whose docstring goes on below its options, from the first underlined heading.

    What stands under a heading keeps its lines; so does a paragraph that begins with ``\b``.
    Every command takes ``--lang``, which `Root` reads; some take it for their pages, too.
    """

    context_class = Context

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        text = inspect.cleandoc(kwargs.get("help") or "")  # none under python -OO
        text = text.replace("\\b\n", "\b\n")
        heading = _SECTION.search(text)
        start = heading.start() if heading else len(text)
        below = _SECTION.sub(_listed, text[start:])
        kwargs |= {"help": text[:start].rstrip(), "epilog": below}
        super().__init__(*args, **kwargs)
        if not any("--lang" in parameter.opts for parameter in self.params):
            self.params.append(click.Option(["--lang"], **_LANGUAGE_OPTION))

    def get_short_help_str(self, limit: int = 45) -> str:
        """Return the first sentence of the help."""
        return short_help(self, limit) or super().get_short_help_str(limit)


_LANGUAGE_OPTION: dict[str, Any] = {
    "type": click.Choice(_LANGUAGES),
    "expose_value": False,
    "help": "Language of help and messages; by default that of CKM_LANG, or of the system.",
}


def _listed(section: re.Match[str]) -> str:
    return f"\b\n{section[1]}:\n{indent(section[2], '  ')}"


class Group(Command, click.Group):
    """A group that lists its verbs in the order they were added, and suggests the nearest."""

    command_class = Command

    def __init__(
        self, *args: Any, verbs: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._verbs = dict(verbs or {})  # imported when they are used: name -> "module:name"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in order."""
        del ctx
        return [*(name for name in self.commands if name not in self._verbs), *self._verbs]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb, imported."""
        if cmd_name in self._verbs and cmd_name not in self.commands:
            module, _, name = self._verbs[cmd_name].partition(":")
            self.add_command(getattr(import_module(module), name), cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or suggest one."""
        name, verbs = args[0], self.list_commands(ctx)
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            close = difflib.get_close_matches(name, verbs, n=1, cutoff=0.5)
            way = (
                Message("Did you mean {close!r}?", close=Name(close[0]))
                if close
                else Message("Known: {names}.", names=Name.each(verbs))
            )
            ctx.fail(Message("No such command {name!r}. {way}", name=Name(name), way=way))
        return super().resolve_command(ctx, args)


class Root(Group):
    """The root group. Every error ends in a message and an exit code, none in a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run the command line."""
        kwargs |= {"standalone_mode": False, "prog_name": "ckm"}
        for name in ("stdout", "stderr"):  # closed by whoever started us
            if getattr(sys, name) is None:
                setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):
                stream.reconfigure(errors="replace")  # type: ignore[union-attr]
        typed = kwargs.get("args") or (args[0] if args else sys.argv[1:])
        terminal = Terminal(_style_of(typed), language=_language_of(typed))
        text = shlex.join(["ckm", *map(os.fspath, typed)])
        terminal.command = text.encode(errors="backslashreplace").decode()
        stops: list[int] = []
        with _signals(stops):
            code = _guarded(
                lambda: super(Root, self).main(*args, obj=terminal, **kwargs), terminal, stops
            )
        try:
            sys.stderr.flush()
        except OSError:  # a log that cannot be written does not change what was done
            _silence(sys.stderr)
        sys.exit(code)


def _style_of(words: Sequence[str]) -> str:
    """Return the style that the words ask for, also where they are wrong otherwise."""
    styles = [value for value in _values_of("--log-format", words) if value in _STYLES]
    default = next(filter(None, map(os.environ.get, _STYLE_VARIABLES)), "text")
    return styles[-1] if styles else default


def _language_of(words: Sequence[str]) -> str:
    """Return the language that the words ask for, or the environment."""
    asked = _before_pages(words)
    languages = [value for value in _values_of("--lang", asked) if value in _LANGUAGES]
    default = next(filter(None, map(os.environ.get, _LANGUAGE_VARIABLES)), "")
    return languages[0] if languages else "fr" if default.lower().startswith("fr") else "en"


def _before_pages(words: Sequence[str]) -> Sequence[str]:
    """Leave out the words that follow a command whose ``--lang`` chooses pages alone."""
    of_root = ("--lang", "--log-format")
    for place, (before, word) in enumerate(pairwise(["", *words])):
        if word.startswith("-") or before in of_root:
            continue
        is_help = any(name in words for name in ("-h", "--help"))
        return words[:place] if word in _OF_PAGES and not is_help else words
    return words


def _values_of(option: str, words: Sequence[str]) -> Iterator[str]:
    for word, after in pairwise([*words, ""]):
        if word == "--":
            return
        name, _, value = word.partition("=")
        if name == option:
            yield value if "=" in word else after


class _Stop(BaseException):
    """Somebody asked the program to end."""


def _guarded(run: Callable[[], Any], terminal: Terminal, stops: list[int]) -> int:
    """Run, and return the exit code; tell what went wrong."""
    try:
        with terminal.listening():
            code = run()
            sys.stdout.flush()
    except (_Stop, click.exceptions.Abort, KeyboardInterrupt):
        failure = _interruption(stops)
    except BrokenPipeError:
        # Whoever read our output has enough; keep the interpreter from telling it again.
        _silence(sys.stdout)
        return _BROKEN_PIPE
    except click.exceptions.NoArgsIsHelpError as error:
        if not terminal.is_json:
            click.echo(error.format_message(), err=True)
            return WRONG_REQUEST
        failure = explain(error)
    except Exception as error:  # noqa: BLE001 (the last resort; nothing may end in a traceback)
        # A library may have turned the request to end into an error of its own.
        failure = _interruption(stops) if stops else explain(error)
        if failure.exit == INTERNAL and os.environ.get("CKM_DEBUG") == "1":
            traceback.print_exception(error)
    else:
        return code if isinstance(code, int) else 0
    terminal.failure(failure)
    if failure.code == "system":
        _silence(sys.stdout)  # it may be what cannot be written
    return failure.exit


def _silence(stream: TextIO | None) -> None:
    """Let what is left in a stream go nowhere."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())  # type: ignore[union-attr]


def _interruption(stops: list[int]) -> Failure:
    return Failure(
        exit=stops[0] if stops else INTERRUPTED,
        code="interrupted",
        message=Message("Interrupted; nothing was published."),
    )


@contextlib.contextmanager
def _signals(stops: list[int]) -> Iterator[None]:
    """Let Ctrl-C and a request to end unwind the program, so that drafts are cleared up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: FrameType | None) -> NoReturn:
        stops.append(_SIGNAL + number)
        raise _Stop

    numbers = [signal.SIGINT, signal.SIGTERM]
    hangup = getattr(signal, "SIGHUP", None)  # a connection was lost; under nohup it is ignored
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_DFL:
        numbers.append(hangup)
    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Join options into one decorator, in the order in which the help lists them."""

    def add(command: Any) -> Any:
        """Add the options to a command."""
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return add


#: The limits of a tabulation; they never change a result.
limit_options = options(
    click.option(
        "--memory-limit", metavar="SIZE", help='Memory for the tabulation, such as "3GB".'
    ),
    click.option("--threads", type=click.IntRange(min=1), help="Cores to use; all by default."),
)


def _told(change: Callable[[Terminal, Any], None]) -> dict[str, Any]:
    """Change the terminal as soon as an option is read, whatever else is wrong."""

    def callback(ctx: click.Context, _parameter: click.Parameter, value: Any) -> None:
        terminal = ctx.find_object(Terminal)
        if terminal is not None and value:
            change(terminal, value)

    return {"expose_value": False, "is_eager": True, "callback": callback}


#: What every verb understands: how much to tell, and how.
common_options = options(
    click.option(
        "-v",
        "--verbose",
        is_flag=True,
        help="Every event of the engine.",
        **_told(lambda terminal, value: setattr(terminal, "is_verbose", value)),
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        help="Only warnings and errors.",
        **_told(lambda terminal, value: setattr(terminal, "is_quiet", value)),
    ),
    click.option(
        "--log-format",
        type=click.Choice(_STYLES),
        envvar=_STYLE_VARIABLES,
        help="Messages as text (the default), or one JSON object per line; or CKM_LOG=json.",
        **_told(Terminal.set_style),
    ),
)
#: The same, for a verb that takes the terminal first.
with_terminal = options(common_options, click.pass_obj)
