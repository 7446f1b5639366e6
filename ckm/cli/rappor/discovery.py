"""``ckm rappor discover``: strings that nobody thought of, from reports of their pieces."""

from __future__ import annotations

import math
from itertools import combinations, compress
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.rappor.records import answers
from ckm.cli.terminal.click_group import PATH, Command, Group, with_terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from ckm.cli.terminal.secret import secret_of
from footing.files import write_whole
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from rappor.encoded import Reports
    from rappor.parameters import Parameters
    from tables.secret import Secret

_SIZE = click.IntRange(1, 8)


@click.group(cls=Group)
def discovery() -> None:
    r"""Discover strings outside the candidates: each client reports two pieces.

    Examples
    --------
    ckm rappor discover encode people.csv --value page --client person --params pieces.json \
        --secret secret.key --size 2 --length 6 -o pieces/
    ckm rappor discover strings pieces/ --alphabet abcdefghijklmnopqrstuvwxyz. --size 2 \
        -o pages.txt
    """


@discovery.command(cls=Command)
@click.argument("data", type=PATH)
@click.option("--value", required=True, help="The column of strings.")
@click.option("--client", required=True, help="The column that tells clients apart.")
@click.option("--metric", default="pieces", help="The name of the question.")
@click.option("--params", required=True, type=PATH, help="A .json file.")
@click.option("--secret", "secret_file", type=PATH, help="Secret file; else CKM_SECRET.")
@click.option("--size", type=_SIZE, default=2, help="Characters of a piece.")
@click.option("--length", type=click.IntRange(2, 64), default=6, help="Characters that count.")
@click.option("--ledger", type=PATH, help="Of what each client has spent; beside the secret.")
@click.option(
    "--cap",
    type=click.FloatRange(0, min_open=True),
    help="Most epsilon of a client for ever; else of its two pieces, for ever.",
)
@click.option("-o", "--output", required=True, type=PATH, help="A new folder.")
@with_terminal
def encode(
    terminal: Terminal,
    /,
    *,
    data: Path,
    value: str,
    client: str,
    metric: str,
    params: Path,
    secret_file: Path | None,
    size: int,
    length: int,
    ledger: Path | None,
    cap: float | None,
    output: Path,
) -> None:
    r"""Turn strings into reports of two of their pieces, whose places are drawn for ever.

    Example
    -------
    ckm rappor discover encode people.csv --value page --client person --params pieces.json \
        --secret secret.key --size 2 --length 6 -o pieces/

    The folder gets two files for every two places, whose n-th reports are of one client. A
    client spends the loss of two values; the ledger of `ckm rappor encode` counts them.
    """
    from ckm.release.files.output_folder import new_folder
    from rappor.client.account import usual_cap
    from rappor.client.ledger import ClientLedger
    from rappor.parameters import Parameters
    from rappor.report_files import write_reports

    parameters = Parameters.read(params)
    if parameters.is_numbered:
        raise click.UsageError(
            Message("Pieces are texts: take parameters with a hash of texts.")
        )
    if output.exists():
        raise click.UsageError(
            Message("The folder {output!r} exists; name a new one.", output=Name(output.name))
        )
    secret = secret_of(secret_file)
    most = 2 * usual_cap(parameters) if cap is None else cap
    if cap is None and math.isinf(most):
        raise click.UsageError(
            Message("These parameters give no protection; say --cap inf if this is intended.")
        )
    file = ledger or (secret_file or output).with_name("rappor-clients.db")
    with ClientLedger(file, secret=secret) as clients:
        parts: dict[str, list[Reports]] = {}
        rows = answers(data, value=value, client=client, parameters=parameters)
        for values, names in rows:
            for name, reports in _sent(
                values,
                names,
                clients,
                secret=secret,
                parameters=parameters,
                metric=metric,
                size=size,
                length=length,
                cap=most,
            ):
                parts.setdefault(name, []).append(reports)
        clients.commit()
        with new_folder(output) as folder:
            for name, pieces in parts.items():
                write_reports(pieces, folder / f"{name}.rappor", parameters=parameters)
    if clients.over:
        terminal.warn(
            "beyond the cap",
            Message("left out reports of {number:,} clients", number=len(clients.over)),
        )
    click.echo(str(output))


def _sent(
    values: list[Any],
    names: list[str],
    clients: Any,
    *,
    secret: Secret,
    parameters: Parameters,
    metric: str,
    size: int,
    length: int,
    cap: float,
) -> Iterator[tuple[str, Reports]]:
    """Give the reports of the two places of each client, place by place."""
    from rappor.client.client import encode as encoded
    from rappor.decoding.ngrams import pieces, places_of

    cut = pieces(values, size=size, length=length)
    every = list(combinations(range(length // size), 2))
    choices = places_of(names, secret=secret, metric=metric, n_pairs=len(every))
    for number, pair in enumerate(every):
        mine = [row for row, choice in enumerate(choices) if choice == number]
        own_names = [names[row] for row in mine]
        texts = [[cut[row][place] for row in mine] for place in pair]
        questions: list[dict[str, Any]] = [
            {"parameters": parameters, "metric": f"{metric}, piece {place + 1}"}
            for place in pair
        ]
        masks = [
            clients.charge(text, own_names, cap=cap, **question)
            for text, question in zip(texts, questions, strict=True)
        ]
        mask = (masks[0] & masks[1]).tolist()
        senders = list(compress(own_names, mask))
        for which, (text, question) in enumerate(zip(texts, questions, strict=True)):
            reports = encoded(list(compress(text, mask)), senders, secret=secret, **question)
            yield f"{pair[0] + 1}-{pair[1] + 1}-{which + 1}", reports


@discovery.command(cls=Command)
@click.argument("folder", type=PATH)
@click.option("--alphabet", required=True, help="The characters of strings.")
@click.option("--size", type=_SIZE, default=2, help="Characters of a piece.")
@click.option("--alpha", type=click.FloatRange(0, 1), default=0.05, help="Level of the tests.")
@click.option("--most", type=click.IntRange(min=1), default=10_000, help="Strings at most.")
@output_options("A .txt file, one a line: candidates for ckm rappor decode.", ".txt")
@with_terminal
def strings(
    terminal: Terminal,
    /,
    *,
    folder: Path,
    alphabet: str,
    size: int,
    alpha: float,
    most: int,
    output: Path | None,
) -> None:
    """Put strings together from the pieces that were reported.

    Example
    -------
    ckm rappor discover strings pieces/ --alphabet abcdefgh --size 2 -o pages.txt

    They are candidates: decode reports of whole strings with them, which tests each.
    """
    from rappor.decoding.ngrams import discover
    from rappor.encoded import joined_reports
    from rappor.report_files import read_reports

    files = sorted(folder.glob("*-*-1.rappor"))
    if not files:
        raise click.UsageError(
            Message("The folder holds no reports of pieces of ckm rappor discover encode.")
        )
    reports = {}
    for file in files:
        first, second, _ = file.stem.split("-")
        other = file.with_name(f"{first}-{second}-2.rappor")
        pair = tuple(joined_reports(read_reports(one)) for one in (file, other))
        reports[int(first) - 1, int(second) - 1] = (pair[0], pair[1])
    result = discover(reports, alphabet=alphabet, size=size, alpha=alpha, most=most)
    terminal.step(
        "strings put together",
        Message("{number:,} strings fit the pieces", number=len(result.strings)),
    )
    text = "".join(f"{string}\n" for string in result.strings)
    if output is None:
        click.echo(text, nl=False)
        return
    write_whole(output, text, overwrite=may_replace(), is_private=False)
    click.echo(str(output))
