"""``ckm dp release``: tables with noise from records, charged to a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, limit_options, with_terminal
from footing.messages import Argument, Message, Name, said

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from dp import Plan


@click.command(cls=Command)
@click.argument("file", type=PATH, metavar="PLAN.toml")
@click.option("-o", "--output", type=PATH, help="The folder to make.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Tell cost and expected errors; open no data, charge nothing, need no ledger.",
)
@limit_options
@with_terminal
def release(
    terminal: Terminal, /, *, file: Path, output: Path | None, dry_run: bool, **limits: Any
) -> None:
    """Publish tables with noise: each unit is bounded, the ledger charged, then noise drawn.

    Examples
    --------
    ckm dp release plan.toml --dry-run
    ckm dp release plan.toml -o out/

    plan.toml
    ---------
    schema = 1
    [data]
    path = "people.parquet"
    [privacy]
    unit = "person_id"
    epsilon = 1.0
    [ledger]
    path = "budget.db"
    who = "Ada"
    [[table]]
    name = "by_region"
    by = { region = ["1", "2"] }
    ask = [{ kind = "units" }, { kind = "mean", column = "age", lower = 0, upper = 120 }]
    """
    carry_out_plan(terminal, file, output=output, dry_run=dry_run, **limits)


def carry_out_plan(
    terminal: Terminal, file: Path, *, output: Path | None, dry_run: bool, **limits: Any
) -> None:
    """Release the tables of a plan, or tell what they would cost."""
    if output is None and not dry_run:
        raise click.UsageError(Message("-o names the folder to make; or --dry-run."))
    from ckm.config.dp_plan import read_dp_plan
    from ckm.release.dp_tables import release_dp
    from dp.aggregates.plan import warnings_of

    job = read_dp_plan(file)
    for text in warnings_of(job.plan):
        terminal.warn("delta", text)
    if dry_run:
        _show(terminal, job.plan)
    done = release_dp(job, output or f"{file}.out", dry_run=dry_run, **limits)
    if done.released is None:
        balance = (
            Message("no data opened, nothing charged; left: {left}", left=said(done.left))
            if done.left
            else Message("no data opened, nothing charged; there is no ledger yet")
        )
        terminal.step("dry run complete", balance)
        return
    entry = done.released.entry
    terminal.step(
        "charged",
        Message(
            "entry {number}: {guarantee}; left: {left}",
            number=entry.number,
            guarantee=said(str(done.plan.guarantee)),
            left=said(done.left),
        ),
    )
    click.echo(str(output))


def _show(terminal: Terminal, plan: Plan) -> None:
    """Show what each part costs, and how far answers lie from the truth at most."""
    lines = [
        (
            part.table,
            terminal.say(part.what),
            f"{part.cost:.4g}",
            f"{part.error:,.4g}",
            terminal.say(part.of),
        )
        for part in plan.parts
    ]
    cost = "epsilon" if plan.noise == "laplace" else "rho"
    error = Message("error at {confidence:g} %", confidence=100 * plan.confidence)
    headings = ("table", "what", cost, error, "of")
    terminal.table(headings, lines, left=("table", "what", "of"))
    for part in plan.parts:
        for note in part.notes:
            terminal.tell(
                Message(
                    "{table}, {what}: {note}",
                    table=Name(part.table),
                    what=said(part.what),
                    note=said(note),
                )
            )
    terminal.tell(Message("all together: {guarantee}", guarantee=Argument(plan.guarantee)))
