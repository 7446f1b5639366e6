"""Where a command's result may go: looked at before anything is computed."""

import json
import os
from pathlib import Path
from typing import Any

import click

from footing.messages import Argument, Message, Name, said
from footing.text_files import read_text


def check_output(
    output: Path | None,
    *,
    force: bool,
    lang: str | None = None,
    endings: tuple[str, ...] = (),
    inputs: tuple[Path, ...] = (),
) -> None:
    """Refuse an output that cannot be written."""
    if output is None:
        if force or lang:
            raise click.UsageError(
                Message(
                    "--{value} goes with --output.", value=said("force" if force else "lang")
                )
            )
        return
    if endings and output.suffix.lower() not in endings:
        *first, last = endings
        words = f"{', '.join(first)} or {last}" if first else last
        raise click.UsageError(Message("The output must end in {listed}.", listed=said(words)))
    if lang and output.suffix.lower() != ".html":
        raise click.UsageError(Message("--lang is for pages: the output must end in .html."))
    if output.is_dir():
        raise click.UsageError(
            Message("The output {output!r} is a folder.", output=Name(output.name))
        )
    if any(output.exists() and one.exists() and output.samefile(one) for one in inputs):
        raise click.UsageError(Message("The output must be another file than the data."))
    if os.path.lexists(output) and not force:
        raise click.UsageError(
            Message(
                "The output {output!r} exists; replace it with --force.",
                output=Name(output.name),
            )
        )
    if not output.parent.is_dir():
        raise click.UsageError(
            Message(
                "There is no folder {parent!r}: make it first.",
                parent=Argument(str(output.parent)),
            )
        )


def read_json(file: Path, what: Message = Message("file")) -> Any:  # noqa: B008  (frozen)
    """Return what a JSON file holds; None where it is none."""
    try:
        return json.loads(read_text(file))
    except OSError:
        raise click.UsageError(
            Message("The {what} {file!r} cannot be read.", what=what, file=Name(file.name))
        ) from None
    except (ValueError, RecursionError):
        return None


def printable(text: str) -> str:
    r"""Write signs that steer a terminal as escapes: names of columns are foreign."""
    return "".join(
        c if c.isprintable() or c in "\xa0\u202f" else c.encode("unicode_escape").decode()
        for c in text
    )
