"""``ckm protect``: a first protected table, without a job file."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.release import FormatName, carry_out
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.csv_options import csv_options
from ckm.cli.terminal.secret import as_part_of_the_command
from ckm.errors import ConfigError
from footing.drafts import PrivateFolder
from footing.files import write_whole
from footing.messages import Message, Name
from footing.places import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ckm.cli.terminal.console import Terminal
    from tables import ReadOptions

_SECRET, _LEDGER = "secret.key", "ledger.db"


@click.command(cls=Command)
@click.argument("data")
@click.argument("columns", nargs=-1, required=True)
@click.option(
    "--id",
    "identifier",
    required=True,
    help="Column that tells persons apart, and stays the same from year to year.",
)
@click.option("--where", help="A filter: \"age >= 15 and sex == 'F'\".")
@click.option("--weight", help="Column of weights: weighted counts, too.")
@click.option("--table", help="The table of a DuckDB file.")
@csv_options
@click.option(
    "--secret",
    "secret_file",
    type=PATH,
    help="File of the secret; by default secret.key beside the data, made the first time.",
)
@click.option(
    "--ledger",
    "ledger_file",
    type=PATH,
    help="Ledger of published tables; by default ledger.db beside the secret.",
)
@click.option("-o", "--output", required=True, type=PATH, help="The folder to make.")
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=FormatName(),
    metavar="FORMAT",
    help="Format of the table, CSV and Parquet by default; may be repeated.",
)
@click.option("--force", is_flag=True, help="Replace an earlier table there, and its job.")
@click.option("--dry-run", is_flag=True, help="Do everything, keep no file.")
@with_terminal
def protect(
    terminal: Terminal,
    /,
    *,
    data: str,
    columns: tuple[str, ...],
    identifier: str,
    where: str | None,
    weight: str | None,
    table: str | None,
    reading: ReadOptions,
    secret_file: Path | None,
    ledger_file: Path | None,
    output: Path,
    dry_run: bool,
    **options: bool | tuple[str, ...],
) -> None:
    """Release a table of some columns, with all totals, under the noise of the demonstration.

    No published count is further than 5 from the truth, and none is 1 or 2. The secret is made
    the first time and used ever after: with another one the same people get other noise. The
    ledger refuses a later table that differs from this one by a few people.

    The job is written beside the folder; ckm job init drafts a job with all further options.

    Examples
    --------
    ckm protect people.parquet region sex --id person_id -o tables
    ckm protect people.csv region age5 --id nr --decimal , --where "age >= 15" -o adults
    ckm protect register.duckdb region --table persons --id id --weight w -o weighted
    """
    from ckm.config.draft import first_job
    from tables import Secret

    secret, ledger = _places(data, secret_file, ledger_file, output=output)
    data_settings = {"id": identifier, "weight": weight, "where": where}
    with ExitStack() as stack:
        folder = output.parent
        if dry_run:
            # What a killed run leaves there is removed by the next one.
            temporary = Path(tempfile.gettempdir())
            folder = stack.enter_context(PrivateFolder(temporary, ".ckm-protect.partial-"))
            secret = folder / _SECRET if secret and not secret.exists() else secret
            ledger = ledger if ledger.exists() else folder / _LEDGER
        job = folder.absolute() / f"{output.name}.toml"
        text = first_job(
            data,
            columns,
            output=job,
            settings={
                name: value for name, value in data_settings.items() if value is not None
            },
            secret=secret,
            ledger=ledger,
            table=table,
            reading=reading,
        )
        stack.enter_context(_written(job, text, overwrite=bool(options["force"])))
        if secret is not None and not secret.exists():
            with as_part_of_the_command():
                Secret.generate().write(secret)
            if not dry_run:
                terminal.step(
                    "secret made",
                    Message(
                        "{file}: keep it, and a copy in a safe place; all tables of these "
                        "people need it",
                        file=Name(str(secret)),
                    ),
                )
        from ckm.release.perturbed import release as run

        carry_out(
            terminal,
            run,
            "released",
            job=job,
            output=output,
            dry_run=dry_run,
            command=terminal.command,
            **options,
        )


def _places(
    data: str, secret: Path | None, ledger: Path | None, *, output: Path
) -> tuple[Path | None, Path]:
    """Return where the secret and the ledger lie: beside the data, by default."""
    from tables.secret import SECRET_VARIABLE

    place = place_of(data)
    is_set = bool(os.environ.get(SECRET_VARIABLE))
    beside = output.parent if place.is_elsewhere else Path(data).parent
    if secret is None and not place.is_elsewhere:
        own = beside / _SECRET
        secret = own if own.exists() or not is_set else None
    elif secret is None and not is_set:
        raise click.UsageError(
            Message("There is no folder for a secret beside these data: say --secret FILE.")
        )
    if ledger is None:
        ledger = (secret.parent if secret is not None else beside) / _LEDGER
    for file in filter(None, (secret, ledger)):
        if output.absolute() in file.absolute().parents:
            raise click.UsageError(
                Message(
                    "{file!r} must not lie in the folder of the tables.", file=Name(file.name)
                )
            )
    return secret, ledger


@contextmanager
def _written(job: Path, text: str, *, overwrite: bool) -> Iterator[None]:
    """Write the job beside the folder; a new one goes where its release fails."""
    before = job.read_text(encoding="utf-8") if job.is_file() else None
    if job.exists() and before != text and not overwrite:
        raise click.UsageError(
            Message(
                "The job {name!r} exists and says something else: choose another folder, or "
                "replace it with --force.",
                name=Name(job.name),
            )
        )
    write_whole(job, text, error=ConfigError, overwrite=True)
    try:
        yield
    except BaseException:
        if before is None:
            job.unlink(missing_ok=True)
        else:
            write_whole(job, before, error=ConfigError, overwrite=True)
        raise
