"""``ckm rappor serve``: a receiver of reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.serve import require_web
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from footing.messages import Message, Name, said

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal


@click.command(cls=Command)
@click.argument("params", type=PATH, metavar="PARAMS")
@click.option("--metric", required=True, help="The name of the question.")
@click.option("--data", required=True, type=PATH, help="A folder for sums; made if needed.")
@click.option(
    "--period",
    type=click.Choice(["hour", "day", "week", "month", "year"]),
    default="week",
    help="A client counts once in each, in UTC.",
)
@click.option("--clients", "most", type=click.IntRange(min=1), help="At most, in a period.")
@click.option("--origin", "origins", multiple=True, help="Of a page whose script may send.")
@click.option("--listen", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8070, help="0: a free one.")
@click.option("--dry-run", is_flag=True, help="Check the folder, accept no report.")
@with_terminal
# claim rappor-receiver
def serve(
    terminal: Terminal,
    /,
    *,
    params: Path,
    metric: str,
    data: Path,
    period: Any,
    most: int | None,
    origins: tuple[str, ...],
    listen: str,
    port: int,
    dry_run: bool,
) -> None:
    r"""Take reports over HTTP, each client's once a period, and keep sums alone.

    Examples
    --------
    ckm rappor serve params.json --metric home-page --data collection
    ckm rappor serve params.json --metric home-page --data collection --period day \
        --origin https://survey.example.org --clients 200000
    ckm rappor sum collection --period 2027-W09 -o counts.json      when the week is over

    POST /reports takes what a client sends, GET /collection tells it the parameters, the
    question and the period. Reports of other parameters, another question or period, damaged
    ones and those of a client that has answered are refused and counted in GET /metrics.

    Who has answered is kept as a keyed hash until the period ends, then destroyed with its key.
    Addresses are not used. Put a server with TLS before it, one that keeps no log of addresses.
    Stop it with Ctrl-C or SIGTERM: what has arrived is written first.
    """
    require_web()
    from ckm.service.collection import serve_reports
    from rappor.parameters import Parameters
    from rappor.receiver.store import Receiver

    parameters = Parameters.read(params)
    with Receiver(
        data, parameters=parameters, metric=metric, period=period, most=most
    ) as takes:
        terminal.step(
            "collection opened",
            Message(
                "{metric}, parameters {fingerprint}, period {period}",
                metric=Name(metric),
                fingerprint=Name(parameters.fingerprint),
                period=Name(takes.period),
            ),
        )
        if dry_run:
            terminal.step("dry run complete", Message("dry run: nothing was taken"))
            return
        serve_reports(
            takes,
            host=listen,
            port=port,
            origins=origins,
            ready=lambda address: terminal.step(
                "serving", Message("serving at {address}", address=said(address))
            ),
        )
    terminal.step("stopped", Message("stopped; all that arrived has been answered"))
