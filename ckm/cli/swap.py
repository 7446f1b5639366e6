"""``ckm swap``: households at risk change places, before anything is tabulated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, limit_options, with_terminal
from ckm.cli.terminal.output import printable
from footing.messages import Message, Name

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from tables.swapping import SwapReport

_COLUMNS = {
    "needed": Message("at risk"),
    "moved_as_needed": Message("swapped as required"),
    "moved_less_far": Message("swapped less far"),
    "not_moved": Message("not swapped"),
    "distance": Message("all swapped"),
}


@click.command(cls=Command)
@click.argument("file", type=PATH, metavar="SWAP.toml")
@click.option(
    "-o",
    "--output",
    required=True,
    type=PATH,
    help="The Parquet file of the swapped records.",
)
@click.option("--force", is_flag=True, help="Replace records and report if they exist.")
@click.option("--dry-run", is_flag=True, help="Do everything, keep no file.")
@limit_options
@with_terminal
def swap(terminal: Terminal, /, *, file: Path, output: Path, **options: Any) -> None:
    """Swap records: exchange households at risk with similar ones in other areas.

    Writes a copy of the records for internal use, and reports the swaps.

    Examples
    --------
    ckm swap swap.toml -o swapped.parquet
    ckm swap swap.toml -o swapped.parquet --dry-run
    ckm swap swap.toml -o swapped.parquet --force --memory-limit 3GB

    swap.toml
    ---------
    schema = 1
    [data]
    path = "people.parquet"
    [keys]
    secret = "secret.key"
    [swap]
    household = "home_id"
    geography = ["region", "town"]
    risk = ["age", "sex"]
    similar = [["tenure"], []]
    k = 3
    rate = 0.05

    The report of the swaps lies beside the records: swapped.report.json. Both are internal.
    """
    carry_out_swap(terminal, file, output=output, **options)


def carry_out_swap(terminal: Terminal, file: Path, *, output: Path, **options: Any) -> None:
    """Make a swap, and say what moved."""
    from ckm.config.swap import read_swap
    from ckm.release.swapped import swap as run

    job = read_swap(file)
    terminal.step(
        "swap read",
        Message(
            "{file}: areas by {geography}",
            file=Name(file.name),
            geography=Name.each(job.swap.plan.geography),
        ),
    )
    with terminal.progress() as report_progress:
        done = run(job, output, progress=report_progress, **options)
    if done.report is None:
        terminal.step(
            "dry run complete", Message("dry run: {output} would be written", output=output)
        )
        return
    if sum(done.report.not_moved):
        terminal.warn(
            "households at risk not moved",
            Message(
                "Some households at risk have no match to be swapped with; a profile with "
                "fewer columns, or any_size = true, gives more matches."
            ),
        )
    terminal.step("swapped", f"{done.seconds:.1f} s", seconds=round(done.seconds, 3))
    if not terminal.is_quiet:
        _show(terminal, done.report)
    click.echo(str(output))


def _show(terminal: Terminal, report: SwapReport) -> None:
    """Show what moved, in households and in percent of all of them; for inside use."""
    from rich.text import Text

    rows = []
    for place, level in enumerate(report.geography):
        numbers = [getattr(report, name)[place] for name in _COLUMNS]
        texts = (f"{n:,} ({n / report.households:.2%})" for n in numbers)
        rows.append((Text(printable(level)), *texts))
    terminal.table(
        ("level", *_COLUMNS.values()),
        rows,
        left=("level",),
        title=Message("Households, for inside use only"),
    )
    terminal.out.print(
        f"moved in all: {report.share:.2%} of the households,"
        f" {report.share_of_records:.2%} of the records",
        highlight=False,
    )
