"""``ckm keys``: secrets and record keys."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Group, options, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.csv_options import csv_options
from ckm.cli.terminal.output import check_output
from ckm.cli.terminal.secret import as_part_of_the_command, secret_of
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Callable

    from tables import HashedKeys, ReadOptions, StoredKeys


_data_arguments = options(
    click.argument("data", metavar="DATA"),
    click.option("--table", help="The table of a DuckDB file."),
    csv_options,
)
_writing_options = options(
    click.option("-o", "--output", required=True, type=PATH, help="The Parquet file."),
    click.option("--column", default="record_key", help="Name of the new column."),
    click.option("--force", is_flag=True, help="Replace the output if it exists."),
    click.option("--dry-run", is_flag=True, help="Check everything, write nothing."),
    with_terminal,
)
_secret_option = click.option(
    "--secret", "secret_file", type=PATH, help="Secret file; else CKM_SECRET."
)


@click.group(cls=Group)
def keys() -> None:
    """Secrets and record keys."""


@keys.command()
@click.argument("file", type=PATH)
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@with_terminal
def secret(terminal: Terminal, *, file: Path, dry_run: bool) -> None:
    """Make a secret that only you can read.

    Example
    -------
    ckm keys secret secret.key

    Keep the file: with another secret every cell gets other noise. It is never overwritten.
    """
    from tables import Secret

    if file.exists():
        raise click.UsageError(
            Message(
                "The file {file!r} exists; a secret is never overwritten: lost, it cannot "
                "be made again.",
                file=Name(file.name),
            )
        )
    if dry_run:
        terminal.step(
            "dry run complete", Message("dry run: a secret would go to {file}", file=file)
        )
        return
    with as_part_of_the_command():
        Secret.generate().write(file)
    terminal.step(
        "secret made", Message("keep this file safe, and a copy of it: it cannot be made again")
    )
    click.echo(str(file))


@keys.command()
@_data_arguments
@click.option("--id", "identifier", required=True, help="Column of stable identifiers.")
@_secret_option
@_writing_options
def attach(
    terminal: Terminal, /, *, identifier: str, secret_file: Path | None, **options: Any
) -> None:
    """Write a copy of the data with a key hashed from an identifier.

    The same identifier and secret give the same key, whatever else is in the data.

    Example
    -------
    ckm keys attach people.csv --id person_id --secret secret.key -o people.parquet
    """
    from tables import attach_keys

    attach_to = partial(attach_keys, id=identifier, secret=secret_of(secret_file))
    _write(terminal, attach_to, Message("keys attached"), needs=identifier, **options)


@keys.command()
@_data_arguments
@_writing_options
def draw(terminal: Terminal, /, **options: Any) -> None:
    """Write a copy of the data with a fresh random key beside each record.

    Example
    -------
    ckm keys draw people.csv -o people.parquet

    Keep the file: drawn again, all keys and so all noise are others.
    """
    from tables import draw_keys

    _write(terminal, draw_keys, Message("keys drawn"), **options)


@keys.command()
@_data_arguments
@click.option("--record-key", help="Column of stored keys.")
@click.option("--key-range", type=click.IntRange(min=2), help="Keys run from 0 to this less 1.")
@click.option("--id", "identifier", help="Column of stable identifiers.")
@_secret_option
@with_terminal
def check(
    terminal: Terminal,
    *,
    data: str,
    table: str | None,
    record_key: str | None,
    key_range: int | None,
    identifier: str | None,
    secret_file: Path | None,
    reading: ReadOptions,
) -> None:
    """Check that keys are present, distinct beyond chance and uniform.

    Ends with exit code 1 when they are not.

    Examples
    --------
    ckm keys check people.parquet --record-key rkey --key-range 256
    ckm keys check people.parquet --id person_id --secret secret.key
    """
    from tables import HashedKeys, StoredKeys, check_keys, open_source

    if (record_key is None) == (identifier is None):
        raise click.UsageError(Message("Give one of --record-key and --id."))
    keys: HashedKeys | StoredKeys
    if record_key is not None:
        keys = StoredKeys(column=record_key, key_range=key_range)
    else:
        keys = HashedKeys(column=str(identifier), secret=secret_of(secret_file))
    with open_source(data, table=table, options=reading) as source:
        quality = check_keys(source, keys, action="stop")
    terminal.step("keys checked", quality.summary())


def _write(
    terminal: Terminal,
    make: Callable[..., object],
    event: str,
    *,
    data: str,
    table: str | None,
    output: Path,
    column: str,
    force: bool,
    dry_run: bool,
    reading: ReadOptions,
    needs: str | None = None,
) -> None:
    """Write a copy of the data with keys, after a look at where the result goes."""
    from tables import open_source

    check_output(output, force=force, endings=(".parquet",), inputs=(Path(data),))
    with open_source(data, table=table, options=reading) as source:
        if needs is not None:
            source.require(needs)
        if dry_run:
            terminal.step(
                "dry run complete", Message("dry run: {output} would be written", output=output)
            )
            return
        with terminal.progress() as report_progress:
            make(
                source,
                path=output,
                column=column,
                overwrite=force,
                progress=lambda share: report_progress("writing", round(100 * share), 100),
            )
    terminal.step(event, Message("column {column!r} holds the keys", column=Name(column)))
    click.echo(str(output))
