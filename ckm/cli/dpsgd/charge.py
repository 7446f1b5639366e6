"""``ckm dpsgd charge``: a training that Opacus made, paid for as its author declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.dpsgd.train import ADJACENCY
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from footing.messages import Message, Name, joined, said

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal

_TOLD = {
    "sampling": "--sampling poisson, or shuffled after poisson_sampling=False",
    "dataset_size": "--dataset-size",
    "delta": "--delta",
    "unit": "--unit",
}


@click.command(cls=Command)
@click.argument("checkpoint", type=PATH)
@click.option("--ledger", type=PATH, help="The budget that pays: see ckm dp ledger.")
@click.option("--who", default="", show_default=False, help="Who trained, for the ledger.")
@click.option("--what", default="a model", help="What was trained, for the ledger.")
@click.option(
    "--sampling", type=click.Choice(["poisson", "shuffled"]), help="How batches were drawn."
)
@click.option("-s", "--dataset-size", type=int, help="Number of records.")
@click.option("-d", "--delta", type=float, help="Delta of (epsilon, delta).")
@click.option("--unit", help="Who is protected.")
@click.option(
    "--adjacency", type=ADJACENCY, default="zero-out", help="What the neighbours are."
)
@click.option("--dry-run", is_flag=True, help="Tell the cost, charge nothing.")
@with_terminal
# claim dpsgd-opacus-charge
def charge(
    terminal: Terminal,
    /,
    *,
    checkpoint: Path,
    ledger: Path | None,
    who: str,
    what: str,
    dry_run: bool,
    **told: Any,
) -> None:
    r"""Charge a ledger for a training by Opacus, from the history in its checkpoint.

    Examples
    --------
    ckm dpsgd charge run.pt --sampling poisson -s 60000 -d 1e-6 --unit person --dry-run
    ckm dpsgd charge run.pt --sampling poisson -s 60000 -d 1e-6 --unit person \
        --ledger budget.db --who Ada --what "income model"

    The file is its author's claim, and the entry of the ledger says "declared". It holds noise,
    rates and steps, and is read as data; the amount is that of the ledger's own account.
    Opacus' rates tell the number of records: neighbours are those for which it is public.
    """
    import dpsgd
    from dp import BudgetLedger
    from dpsgd.opacus import charge_opacus, read_history
    from dpsgd.opacus.history import cost_of_history

    missing = [Name(option) for name, option in _TOLD.items() if told[name] is None]
    if missing:
        raise click.UsageError(
            Message(
                "A checkpoint of Opacus does not tell everything: give {missing}.",
                missing=joined("; ", missing),
            )
        )
    if not dry_run and (ledger is None or not who.strip()):
        raise click.UsageError(Message("A charge needs --ledger and --who, or --dry-run."))
    _ = dpsgd.PrivateTraining  # says what to install, where it is missing
    history = read_history(checkpoint)
    terminal.step("cost", said(str(cost_of_history(history, **told))))
    if dry_run or ledger is None:
        return
    budget = BudgetLedger.open(ledger)
    state = {"history": history}
    entry = charge_opacus(state, ledger=budget, who=who, what=what, **told)
    terminal.step("charged", Message("left: {left}", left=said(str(budget.left))))
    click.echo(f"{entry.number}")
