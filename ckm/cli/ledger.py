"""``ckm ledger``: what was published, and which tables differ by too few records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import PATH, Group, with_terminal
from ckm.cli.terminal.exit_codes import CHECK_FAILED
from ckm.cli.terminal.output_options import may_replace, output_options
from ckm.errors import ConfigError
from footing.files import csv_text, write_whole
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.ledger import Published, ThinPair
    from tables import Secret


_ENTRY = (
    *("entry", "history", "published_at", "table", "dimensions", "margins", "where", "data"),
    "method",
)


@click.group(cls=Group)
def ledger() -> None:
    """Inspect the ledger of published tables.

    Examples
    --------
    ckm ledger list ledger.db
    ckm ledger audit ledger.db --secret secret.key
    ckm ledger audit ledger.db --job job.toml -o thin.csv
    ckm ledger backup ledger.db -o ledger-2026-11-29.db

    LEDGER is a file or a database postgresql://…
    """


@ledger.command(name="list")
@click.argument("target", metavar="LEDGER")
@click.option("--history", help="Only the tables of this history.")
@with_terminal
def list_entries(terminal: Terminal, *, target: str, history: str | None) -> None:
    """List the recorded tables; needs no secret."""
    from rich.text import Text

    terminal.table(
        _ENTRY,
        ((Text(_visible(t)) for t in _entry_row(e)) for e in _entries(target, history)),
        left=_ENTRY[1:],
    )


@ledger.command()
@click.argument("target", metavar="LEDGER")
@click.option("--history", help="Only the tables of this history.")
@output_options("A .csv file.")
@with_terminal
def export(
    terminal: Terminal, *, target: str, history: str | None, output: Path | None
) -> None:
    """Write the recorded tables as CSV; needs no secret."""
    rows = (_entry_row(entry) for entry in _entries(target, history))
    _write(terminal, _ENTRY, rows, output)


@ledger.command()
@click.argument("target", metavar="LEDGER")
@click.option("--secret", type=PATH, help="The file of the ledger's secret.")
@click.option("--job", type=PATH, help="A job or a service that names the secret.")
@click.option("--history", help="Only this history.")
@click.option(
    "--threshold",
    type=click.IntRange(min=1),
    help="The largest difference that counts; by default all that the ledger can tell.",
)
@click.option(
    "--head",
    help="A head that was noted elsewhere, such as in the manifest of a release: is all still "
    "there that was recorded up to then?",
)
@click.option("--strict", is_flag=True, help="End with exit code 1 when there is one.")
@output_options("A .csv file.")
@with_terminal
def audit(
    terminal: Terminal,
    *,
    target: str,
    secret: Path | None,
    job: Path | None,
    history: str | None,
    threshold: int | None,
    head: str | None,
    strict: bool,
    output: Path | None,
) -> int:
    """List the thin differences of a whole history, after a look whether it is whole.

    Tables that protect the same records in two ways are named, too.

    Keep the head that is printed elsewhere: a later audit then shows whether earlier entries
    were removed.

    What -o writes follows from original records: its owner alone may read it.
    """
    from ckm.ledger import PAIR_COLUMNS, Ledger

    if secret is not None and job is not None:
        raise click.UsageError(
            Message("The secret comes from --secret or from --job, not from both.")
        )
    pairs: list[ThinPair] = []
    with Ledger.open(target, secret=_secret(secret, job), create=False) as ledger:
        end = ledger.require_whole(head=head)
        terminal.step(
            "ledger whole",
            Message("no entry is missing or altered; its head is {end}", end=said(end)),
        )
        pairs = list(ledger.audit(history=history, threshold=threshold))
        seconds = [second.words for second in ledger.audit_methods(history=history)]
    for words in seconds:
        terminal.warn("second method", words)
    count = (
        Message("no thin difference")
        if not pairs
        else Message("{number:,} thin differences", number=len(pairs))
    )
    terminal.step("ledger audited", count if len(pairs) != 1 else Message("1 thin difference"))
    if output is not None:
        _write(terminal, PAIR_COLUMNS, (pair.row for pair in pairs), output)
    elif pairs:
        terminal.step(
            "differences not named", Message("-o thin.csv names them, for inside use only")
        )
    return CHECK_FAILED if strict and (pairs or seconds) else 0


@ledger.command()
@click.argument("target", metavar="LEDGER")
@output_options("The file of the copy.", required=True)
@with_terminal
def backup(terminal: Terminal, *, target: str, output: Path) -> None:
    """Copy a ledger as it is at one moment, while releases and services go on.

    Its owner alone may read the copy. Keep it with the secret, without which it is worth
    nothing. What was published after a copy is not in it: before a copy takes the place of a
    lost ledger, release the jobs of since again, in their order.
    """
    from ckm.ledger import copy_ledger

    number = copy_ledger(target, output, overwrite=may_replace())
    terminal.step(
        "ledger copied",
        Message("{number:,} tables: {file}", number=number, file=Name(output.name)),
    )


def _secret(secret: Path | None, job: Path | None) -> Secret:
    from ckm.config import read_job
    from ckm.config.service.service import is_service_file, read_service
    from ckm.release.job_inputs import load_secret
    from tables import Secret

    if secret is not None:
        return Secret.from_file(secret)
    if job is None:
        return Secret.from_env()
    plan = read_service(job).job if is_service_file(job) else read_job(job)
    job_secret = load_secret(plan)
    return Secret.from_env() if job_secret is None else job_secret


def _entries(target: str, history: str | None) -> Iterator[Published]:
    from ckm.ledger import list_published

    return (e for e in list_published(target) if history is None or e.history == history)


def _entry_row(entry: Published) -> tuple[str, ...]:
    definition = entry.definition
    return (
        str(entry.number),
        entry.history,
        entry.published_at,
        definition.name,
        ", ".join(definition.dimensions),
        definition.margins,
        definition.where or "",
        definition.data,
        definition.method,
    )


def _write(
    terminal: Terminal,
    columns: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    output: Path | None,
) -> None:
    text = csv_text((columns, *rows))
    if output is None:
        click.echo(text, nl=False)
        return
    write_whole(output, text, error=ConfigError, overwrite=may_replace())
    terminal.step("list written", Message("written to {output}", output=Name(output.name)))


def _visible(text: str) -> str:
    """Show control characters as what they are; a label may hold some."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", lambda match: f"\\x{ord(match.group()):02x}", text)
