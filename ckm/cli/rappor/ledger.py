"""``ckm rappor ledger``: what all clients together have sent, and the most that one has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.secret import secret_of
from footing.messages import Message, Name

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal


@click.command(cls=Command)
@click.argument("file", type=PATH)
@click.option("--secret", "secret_file", type=PATH, help="Secret file; else CKM_SECRET.")
@click.option("--adopt", is_flag=True, help="Take a moved or copied file as the only one.")
@with_terminal
def ledger(terminal: Terminal, /, *, file: Path, secret_file: Path | None, adopt: bool) -> None:
    """Show what clients have sent and spent, by the ledger of `ckm rappor encode`.

    Examples
    --------
    ckm rappor ledger rappor-clients.db --secret secret.key
    ckm rappor ledger rappor-clients.db --secret secret.key --adopt     after it was moved

    The ledger holds a keyed hash of each client and of each value it sent, the number of
    reports, and their loss. A copy or an older state is refused, as it would forget what was
    sent since; --adopt takes it nevertheless, and what only another one counted is then
    counted no more.
    """
    from rappor.client.ledger import ClientLedger
    from rappor.errors import ReportFileError

    if not file.is_file():
        raise ReportFileError(
            Message("There is no ledger {file!r}.", file=Name(file.name)),
            hint=Message("look at the path"),
        )
    with ClientLedger(file, secret=secret_of(secret_file), adopt=adopt) as clients:
        totals = clients.totals()
        if adopt:
            clients.commit()
    forever = totals["most_forever"]
    rows = (
        ("clients", f"{totals['clients']:,}", ""),
        (Message("values ever sent"), f"{totals['values']:,}", f"{totals['most_values']:,}"),
        (Message("reports sent"), f"{totals['reports']:,}", f"{totals['most_reports']:,}"),
        (Message("epsilon so far"), "", f"{totals['most_epsilon']:.4g}"),
        (
            Message("epsilon if sent for ever"),
            "",
            f"{forever:.4g}" if math.isfinite(forever) else Message("no bound"),
        ),
    )
    lines = ([terminal.say(cell) for cell in row] for row in rows)
    terminal.table(
        ("", Message("all clients"), Message("most of one client")), lines, left=("",)
    )
    if adopt:
        terminal.step(
            "ledger adopted",
            Message("{file} is the only ledger from now on", file=Name(file.name)),
        )
