"""``ckm rappor``: collect answers that are private before they leave their owner."""

from __future__ import annotations

import math
from itertools import compress
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.rappor.parameters import params
from ckm.cli.terminal.click_group import PATH, Group, options, with_terminal
from ckm.cli.terminal.secret import secret_of
from footing.messages import Message, Name
from footing.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from rappor.client.ledger import ClientLedger
    from rappor.counts import Counts
    from rappor.encoded import Reports
    from rappor.parameters import Parameters
    from tables.secret import Secret


_HASHES = click.Choice(["mmh3", "md5", "index"])


@click.group(
    cls=Group,
    verbs={
        "decode": "ckm.cli.rappor.decode:decode",
        "report": "ckm.cli.rappor.decode:report",
        "ledger": "ckm.cli.rappor.ledger:ledger",
        "location": "ckm.cli.rappor.location:location",
        "serve": "ckm.cli.rappor.receiver:serve",
        "simulate": "ckm.cli.rappor.simulation:simulate",
        "series": "ckm.cli.rappor.series:series",
        "joint": "ckm.cli.rappor.joint:joint_command",
        "discover": "ckm.cli.rappor.discovery:discovery",
    },
)
# claim rappor-loss
def rappor() -> None:
    r"""Collect randomised answers: noise is added before an answer leaves its owner (RAPPOR).

    From a design to counts
    -----------------------
    ckm rappor params --epsilon-one 1 --epsilon-permanent 4 --population 1000000 -o params.json
    ckm rappor encode people.csv --value page --client person --metric home-page \
        --params params.json --secret secret.key -o reports.rappor
    ckm rappor sum reports.rappor -o counts.json
    """


rappor.add_command(params)


#: What names the parameters of a collection.
parameter_options = options(
    click.option("--params", required=True, type=PATH, help="A .json or .csv file."),
    click.option("--hash", "hash_name", type=_HASHES, help="For a .csv; else md5."),
)


def asked_parameters(params: Path, hash_name: Any) -> Parameters:
    """Read the parameters that a command names."""
    from rappor.parameters import Parameters

    return Parameters.read(params, hash=hash_name)


@rappor.command()
@click.argument("data", type=PATH)
@click.option("--value", required=True, help="Column of the true values.")
@click.option("--client", required=True, help="Column that names each value's client.")
@click.option("--metric", required=True, help="Name of the question; never change it.")
@parameter_options
@click.option("--secret", "secret_file", type=PATH, help="Secret file; else CKM_SECRET.")
@click.option("-o", "--output", required=True, type=PATH, help="A .rappor or .csv file.")
@click.option("--ledger", type=PATH, help="What clients have sent, else beside the secret.")
@click.option(
    "--cap",
    type=click.FloatRange(min=0, min_open=True),
    help="Most epsilon of a client for ever; 'inf' for none.",
)
@click.option("--skip", is_flag=True, help="Leave out reports beyond the cap.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@click.option("--dry-run", is_flag=True, help="Encode everything, write nothing.")
@with_terminal
def encode(
    terminal: Terminal,
    *,
    data: Path,
    value: str,
    client: str,
    metric: str,
    params: Path,
    hash_name: Any,
    secret_file: Path | None,
    output: Path,
    ledger: Path | None,
    cap: float | None,
    skip: bool,
    force: bool,
    dry_run: bool,
) -> None:
    r"""Turn true values of a .csv or .parquet file into reports.

    Example
    -------
    ckm rappor encode people.csv --value page --client person --metric home-page \
        --params params.json --secret secret.key -o reports.rappor

    The reports hold no client, no value and no secret. Encoding again with the same secret and
    metric repeats the permanent responses, so that a value costs its permanent loss once.

    A ledger adds up what each client sends, over all files and metrics that it is kept for,
    and refuses what would pass the cap: by default the permanent loss of one value, or one
    report where that has no bound. Then nothing is written and the exit code is 1. The
    ledger is rappor-clients.db beside the secret, with CKM_SECRET beside the output; it
    names neither clients nor values, but who has the secret too can ask it whether a client
    sent a value. Keep it, with its file .last, as you keep the data. The sum does not cover
    that, and when, a client's value changed.
    """
    from ckm.cli.rappor.records import answers
    from rappor.client.account import usual_cap
    from rappor.client.ledger import ClientLedger
    from rappor.report_files import write_reports

    if value == client:
        raise click.UsageError(Message("--value and --client must name two columns."))
    if not metric.strip():
        raise click.UsageError(Message("--metric must name the question."))
    parameters = asked_parameters(params, hash_name)
    secret = secret_of(secret_file)
    if output.exists() and data.exists() and output.samefile(data):
        raise click.UsageError(Message("The output must be another file than the data."))
    most = usual_cap(parameters) if cap is None else cap
    if cap is None and math.isinf(most):
        raise click.UsageError(
            Message("These parameters give no protection; say --cap inf if this is intended.")
        )
    file = ledger or (secret_file or output).with_name("rappor-clients.db")
    if file.resolve() in {path.resolve() for path in (data, output, params)}:
        raise click.UsageError(Message("The ledger must be a file of its own."))
    ledger_file = None if dry_run and not file.exists() else file
    with (
        terminal.progress() as report_progress,
        ClientLedger(ledger_file, secret=secret) as clients,
    ):
        pieces = _pieces(
            answers(data, value=value, client=client, parameters=parameters),
            clients,
            secret=secret,
            cap=most,
            skip=skip,
            report_progress=report_progress,
            parameters=parameters,
            metric=metric,
        )
        if dry_run:
            for _ in pieces:
                pass
        else:
            write_reports(
                _charged(pieces, clients), output, parameters=parameters, overwrite=force
            )
    sentence = Message(
        "no client adds up to more than epsilon {most:.4g}, the cap is {most_2:.4g}",
        most=clients.most,
        most_2=most,
    )
    if clients.over:
        terminal.warn(
            "beyond the cap",
            Message("left out reports of {number:,} clients", number=len(clients.over)),
        )
    if dry_run:
        terminal.step(
            "dry run complete",
            Message(
                "dry run: {output} would be written; {words}", output=output, words=sentence
            ),
        )
        return
    terminal.step(
        "reports written",
        Message("written to {output}; {words}", output=Name(output.name), words=sentence),
    )
    click.echo(str(output))


def _charged(pieces: Iterable[Reports], clients: ClientLedger) -> Iterator[Reports]:
    """Give the reports, and charge for good before the file gets its name."""
    yield from pieces
    clients.commit()


def _pieces(
    answers: Iterable[tuple[list[Any], list[str]]],
    clients: ClientLedger,
    *,
    secret: Secret,
    cap: float,
    skip: bool,
    report_progress: Progress,
    **question: Any,
) -> Iterator[Reports]:
    from rappor.client.client import encode_stream
    from rappor.errors import CapError

    done = 0
    for values, names in answers:
        mask = clients.charge(values, names, cap=cap, **question)
        pair = (list(compress(several, mask)) for several in (values, names))
        yield from encode_stream(*pair, secret=secret, **question)
        done += len(values)
        report_progress("encoding", done, 0)
    if clients.over and not skip:
        raise CapError(
            Message(
                "{number:,} clients would send more than the cap of epsilon {cap:.4g} "
                "allows them for ever.",
                number=len(clients.over),
                cap=cap,
            ),
            hint=Message(
                "ask less often or for coarser values; --skip leaves these reports out, "
                "and --cap allows more"
            ),
        )


@rappor.command(name="sum")
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="REPORTS...")
@click.option("--params", type=PATH, help="A .json or .csv file; a .rappor file needs none.")
@click.option("--hash", "hash_name", type=_HASHES, help="For a .csv; else md5.")
@click.option("--period", help="Of the folder of a receiver; else all that are over.")
@click.option("--unfinished", is_flag=True, help="With the period that is not over.")
@click.option("-o", "--output", required=True, type=PATH, help="A .json or .csv file.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@with_terminal
def sum_command(
    terminal: Terminal,
    *,
    files: tuple[Path, ...],
    params: Path | None,
    hash_name: Any,
    period: str | None,
    unfinished: bool,
    output: Path,
    force: bool,
) -> None:
    """Sum reports by cohort and bit, and say what looks wrong.

    Examples
    --------
    ckm rappor sum monday.rappor tuesday.rappor -o counts.json
    ckm rappor sum reports.csv --params params.csv -o counts.csv     files of google/rappor
    ckm rappor sum collection --period 2027-W09 -o counts.json       of ckm rappor serve

    A folder is one of `ckm rappor serve`, which may be at work. The period that is not over
    is left out: two looks at it differ by the reports between them.
    """
    from rappor.report_files import sum_files

    if any(file.is_dir() for file in files):
        counts = _periods_summed(files, period, is_unfinished_too=unfinished)
        if params is not None and asked_parameters(params, hash_name) != counts.parameters:
            raise click.UsageError(Message("The collection has other parameters."))
        _write_counts(terminal, counts, output, force=force)
        return
    if period is not None or unfinished:
        raise click.UsageError(Message("A period is of the folder of a receiver."))
    parameters = None if params is None else asked_parameters(params, hash_name)
    with terminal.progress() as report_progress:
        counts = sum_files(
            files,
            parameters=parameters,
            progress=lambda done: report_progress("summing", done, 0),
        )
    _write_counts(terminal, counts, output, force=force)


def _periods_summed(
    files: tuple[Path, ...], period: str | None, *, is_unfinished_too: bool
) -> Counts:
    from functools import reduce
    from operator import add

    from rappor.receiver.store import period_counts

    if len(files) > 1:
        raise click.UsageError(Message("One folder of a receiver is summed at a time."))
    by_period = period_counts(files[0], is_unfinished_too=is_unfinished_too)
    if period is not None:
        by_period = {name: one for name, one in by_period.items() if name == period}
    if not by_period:
        raise click.UsageError(
            Message("No such period is over; --unfinished takes the present one.")
        )
    return reduce(add, by_period.values())


def _write_counts(terminal: Terminal, counts: Counts, output: Path, *, force: bool) -> None:
    from rappor.decoding.diagnostics import diagnostics

    for diagnostic in diagnostics(counts):
        terminal.warn(f"rappor-{diagnostic.name}", str(diagnostic))
    counts.write(output, overwrite=force)
    terminal.step(
        "counts written",
        Message(
            "{total:,} reports, written to {output}",
            total=counts.total,
            output=Name(output.name),
        ),
    )
    click.echo(str(output))
