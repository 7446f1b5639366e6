"""How the command line talks: text for people, or one JSON object per line where asked for.

Everything goes through `logging`, the libraries' events too; this module only decides how it
looks. Results go to stdout, all else to stderr.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import logging
import os
import sys
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

import click

from ckm._packages import PACKAGES, is_own
from ckm.cli.terminal.output import printable
from footing.messages import Message, data_of, logged, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from rich.console import Console
    from rich.table import Column

    from ckm.cli.terminal.exit_codes import Failure

_STANDARD = {
    *vars(logging.makeLogRecord({})),
    *("message", "asctime", "event", "is_step", "is_remark"),
}
_PROGRESS_S = 5.0
_LINE_S = 60.0
_WIDE = 250
_STAGES = {
    "keys": Message("record keys"),
    "scan": Message("reading the records"),
    "protect": Message("adding noise"),
    "methods": "methods",
    "suppression": Message("hiding cells"),
    "rounding": "rounding",
    "publish again": Message("publishing cells again"),
    "optimum": Message("looking for the cheapest choice"),
    "audit": Message("auditing hidden cells"),
    "encode": "encoding",
    "fit": "fitting",
    "sample": "drawing",
    "runs": Message("fits on folds"),
}


class Terminal:
    """What the command line says on stderr, and how.

    Parameters
    ----------
    style
        ``"text"`` or ``"json"``.
    language
        Of what people read. JSON stays English: scripts read it.
    """

    def __init__(self, style: str = "text", *, language: str = "en") -> None:
        self.language = language
        self.is_json = False
        self.is_quiet = False
        self.is_verbose = False
        self.command = "ckm"  # what was typed
        self.events: list[dict[str, Any]] | None = None  # kept instead of shown
        self._consoles: dict[str, Console] = {}
        self._logger = logging.getLogger("ckm.cli")
        self.set_style(style)

    def say(self, message: str) -> str:
        """Give a message in the language of the terminal."""
        if self.language == "en":
            return message
        from reports.i18n.messages import translated

        return translated(message, self.language)

    def set_style(self, style: str) -> None:
        """Choose text or JSON."""
        self.is_json = style == "json"

    @property
    def console(self) -> Console:
        """The console of stderr."""
        return self._console("stderr")

    @property
    def out(self) -> Console:
        """The console of stdout, for results that are pictures or tables."""
        return self._console("stdout")

    def _console(self, name: str) -> Console:
        """Return the console of a stream; always the same, so that no progress bar is torn."""
        if name not in self._consoles:
            from rich.console import Console

            stream = sys.stderr if name == "stderr" else sys.stdout
            # Into a file or a pipe, a table is never cut off.
            width = None if _is_terminal(stream) or "COLUMNS" in os.environ else _WIDE
            self._consoles[name] = Console(
                stderr=name == "stderr", highlight=False, width=width
            )
        return self._consoles[name]

    def table(
        self,
        headings: Iterable[str | Column],
        rows: Iterable[Iterable[Any]],
        *,
        left: Collection[str] = (),
        is_plain: bool = False,
        **style: Any,
    ) -> None:
        """Print a table on stdout: numbers to the right, the columns of `left` to the left."""
        from rich import box
        from rich.table import Column, Table

        if self.events is not None:
            content = {
                "event": style.get("title"),
                "columns": list(headings),
                "rows": list(rows),
            }
            self.events.append({"level": "info", **content})
            return
        if is_plain:
            style = {"box": box.SIMPLE_HEAD, "show_edge": False, **style}
        for name in {"title", "caption"} & set(style):
            style[name] = self.say(style[name])
        columns = (
            Column(self.say(one), justify="left" if one in left else "right")
            if isinstance(one, str)
            else one
            for one in headings
        )
        table = Table(*columns, title_justify="left", caption_justify="left", **style)
        for row in rows:
            table.add_row(*row)
        self.out.print(table)

    def tell(self, text: str) -> None:
        """Print a line for people on stdout."""
        click.echo(self.say(text))

    def step(self, event: str, message: str, **fields: object) -> None:
        """Tell that a step is done."""
        self._logger.info("%s", message, extra={"event": event, "is_step": True, **fields})

    def remark(self, event: str, message: str, **fields: object) -> None:
        """Tell what is worth knowing and nothing to mend."""
        self._logger.info("%s", message, extra={"event": event, "is_remark": True, **fields})

    def warn(self, event: str, message: str, **fields: object) -> None:
        """Tell what the user should look at."""
        self._logger.warning("%s", message, extra={"event": event, **fields})

    def failure(self, failure: Failure) -> None:
        """Tell what went wrong, and the way out."""
        with _unheard():
            if self.is_json:
                _print_json(level="error", event="error", **failure.fields())
                return
            styled = click.style(f"{self.say('error:')} ", fg="red", bold=True)
            message = _visible(self.say(failure.message))
            click.echo(styled + message, err=True, color=_wants_color())
            notes = {"hint:": failure.hint}
            if _is_terminal(sys.stderr):  # a file may go anywhere
                notes["in the data:"] = failure.inside
            for name, note in notes.items():
                if note:
                    styled = click.style(f"  {self.say(name)} ", dim=True)
                    click.echo(
                        styled + _visible(self.say(note)), err=True, color=_wants_color()
                    )

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Show the libraries' events and our warnings for as long as the block runs."""
        handler = _Handler(self)
        loggers = [logging.getLogger(name) for name in PACKAGES]
        before = [(logger.level, logger.propagate) for logger in loggers]
        for logger in loggers:
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)
            logger.propagate = False
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always")
                warnings.showwarning = lambda message, category, *_rest, **_named: (
                    self._show_warning(message, category)
                )
                yield
        finally:
            for logger, (level, propagate) in zip(loggers, before, strict=True):
                logger.removeHandler(handler)
                logger.setLevel(level)
                logger.propagate = propagate

    @contextlib.contextmanager
    def progress(self) -> Iterator[Callable[[str, int, int], None]]:
        """Show the progress of long work; yields what to call with stage, done and total."""
        if self.events is not None:
            yield lambda _stage, _done, _total: None
        elif self.is_json:
            yield self._json_progress()
        elif self.is_quiet:
            yield lambda _stage, _done, _total: None
        elif not _is_terminal(sys.stderr):
            with self._lines_of_progress() as report_progress:
                yield report_progress
        else:
            with _progress_bar(self.console, self.say) as report_progress:
                yield report_progress

    @contextlib.contextmanager
    def _lines_of_progress(self) -> Iterator[Callable[[str, int, int], None]]:
        """Say once a minute how far the work is, also within a step that reports nothing."""
        stage, share, is_done = "starting", "", threading.Event()

        def report_progress(name: str, done: int, total: int) -> None:
            nonlocal stage, share
            # A share, because a total may be the number of records.
            stage, share = name, f" {done / total:.0%}" if total > 1 else ""

        def talk() -> None:
            while not is_done.wait(_LINE_S):
                with _unheard(), contextlib.suppress(BrokenPipeError):
                    self.line("·", "dim", self.say(_STAGES.get(stage, stage)) + share)

        talker = threading.Thread(target=talk, daemon=True)
        talker.start()
        try:
            yield report_progress
        finally:
            is_done.set()
            talker.join()

    def line(self, mark: str, style: str, message: str) -> None:
        """Print a line for people on stderr."""
        from rich.text import Text

        text = Text.assemble((mark, style), " ", _visible(self.say(message)))
        self.console.print(text, soft_wrap=True, highlight=False)

    def _json_progress(self) -> Callable[[str, int, int], None]:
        last_stage, last_time = "", 0.0

        def report_progress(stage: str, done: int, total: int) -> None:
            nonlocal last_stage, last_time
            now = time.monotonic()
            if stage == last_stage and now - last_time < _PROGRESS_S:
                return
            last_stage, last_time = stage, now
            # A share, because a total may be the number of records.
            share = round(done / total, 3) if total else None
            self._logger.info(
                "%s", stage, extra={"event": "progress", "stage": stage, "share": share}
            )

        return report_progress

    def _show_warning(
        self, message: Warning | str, category: type[Warning], *_: object
    ) -> None:
        # Warnings of other libraries speak to programmers, and may quote data.
        if not is_own(category.__module__):
            return
        inside = getattr(message, "inside", "")
        extra = {"event": category.__name__, "inside": inside}
        self._logger.warning(text_of(message), extra=extra)

    def show_inside(self, inside: str) -> None:
        """Show what of the data a warning is about, where a person reads: in no file."""
        if inside and not self.is_json and self.events is None and _is_terminal(sys.stderr):
            with _unheard():
                styled = click.style(f"  {self.say('in the data:')} ", dim=True)
                click.echo(styled + _visible(inside), err=True, color=_wants_color())


class _Handler(logging.Handler):
    """Renders log records in the style of the terminal."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__()
        self.terminal = terminal

    def emit(self, record: logging.LogRecord) -> None:
        with _unheard():
            self._emit(record)

    def _emit(self, record: logging.LogRecord) -> None:
        message = logged(record)
        extra = {k: v for k, v in vars(record).items() if k not in _STANDARD}
        inside = str(extra.pop("inside", ""))
        events = self.terminal.events
        if events is not None or self.terminal.is_json:
            if events is None and self.terminal.is_quiet and record.levelno < logging.WARNING:
                return
            content = {"level": record.levelname.lower(), **data_of(message)}
            content["event"] = getattr(record, "event", record.msg)
            content |= {k: v for k, v in extra.items() if _is_plain(v) and k != "event"}
            _print_json(**content) if events is None else events.append(content)
        elif record.levelno >= logging.WARNING:
            self.terminal.line("!", "yellow", message)
            self.terminal.show_inside(inside)
        elif self.terminal.is_quiet:
            return
        elif getattr(record, "is_step", False):
            self.terminal.line("✔", "green", message)
        elif getattr(record, "is_remark", False):
            self.terminal.line("·", "dim", message)
        elif self.terminal.is_verbose:
            details = " ".join(f"{k}={v}" for k, v in extra.items() if _is_plain(v))
            self.terminal.line("·", "dim", f"{message} {details}".rstrip())


def _visible(message: str) -> str:
    return "\n".join(map(printable, message.split("\n")))


@contextlib.contextmanager
def _unheard() -> Iterator[None]:
    """Go on when stderr cannot be written, on a full disk say: a log decides nothing."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        pass


def _print_json(**fields: Any) -> None:
    moment = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    click.echo(json.dumps({"time": moment, **fields}), err=True)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        return False


def _wants_color() -> bool | None:
    """Return False where colour is not wanted; None lets the terminal decide."""
    return False if os.environ.get("NO_COLOR") else None


@contextlib.contextmanager
def _progress_bar(
    console: Console, say: Callable[[str], str]
) -> Iterator[Callable[[str, int, int], None]]:
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(say("starting"), total=None)
        stage_now = ""

        def report_progress(stage: str, done: int, total: int) -> None:
            nonlocal task, stage_now
            if stage != stage_now:
                progress.remove_task(task)
                task = progress.add_task(say(_STAGES.get(stage, stage)), total=None)
                stage_now = stage
            progress.update(task, completed=done, total=total if total > 1 else None)

        yield report_progress
