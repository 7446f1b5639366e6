"""``ckm rappor joint``: how the answers to two questions go together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from ckm.cli.rappor.decode import candidates_of
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.files import write_whole
from footing.messages import Message

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal

_SHOWN = 20


@click.command(cls=Command, name="joint")
@click.argument("first", type=PATH, metavar="FIRST.rappor")
@click.argument("second", type=PATH, metavar="SECOND.rappor")
@click.option("--first-candidates", required=True, type=PATH, help="A .txt file, one a line.")
@click.option("--second-candidates", required=True, type=PATH, help="A .txt file, one a line.")
@output_options("A .csv file.", ".csv", inputs=("first", "second"))
@with_terminal
def joint_command(
    terminal: Terminal,
    /,
    *,
    first: Path,
    second: Path,
    first_candidates: Path,
    second_candidates: Path,
    output: Path | None,
) -> None:
    r"""Estimate how often each pair of answers occurs, and whether they are independent.

    Example
    -------
    ckm rappor joint pages.rappor systems.rappor --first-candidates pages.txt \
        --second-candidates systems.txt -o pairs.csv

    The n-th reports of both files must be of one client, as they are where both columns of a
    file were encoded without --skip. Two reports of one client can be combined: both losses add
    up.
    """
    from rappor.decoding.joint import joint
    from rappor.encoded import joined_reports
    from rappor.report_files import read_reports

    both = tuple(joined_reports(read_reports(file)) for file in (first, second))
    lists = (
        candidates_of(first_candidates, both[0].parameters),
        candidates_of(second_candidates, both[1].parameters),
    )
    result = joint((both[0], both[1]), lists)
    frame = result.to_frame()
    head = frame.head(_SHOWN)
    rest = terminal.say(Message("(any other)"))
    columns = (head[name].tolist() for name in ("first", "second", "share", "sd"))
    rows = [
        (
            rest if one is None else str(one),
            rest if other is None else str(other),
            f"{share:.2%}",
            "" if math.isnan(sd) else f"{sd:.2%}",
        )
        for one, other, share, sd in zip(*columns, strict=True)
    ]
    headings = (Message("first"), Message("second"), Message("share"), "sd")
    terminal.table(headings, rows, left=headings[:2], is_plain=True)
    terminal.tell(
        Message(
            "{total:,} reports; chance of shares this far from independent ones, were the "
            "answers independent: {chance:.2g}",
            total=result.total,
            chance=result.independence,
        )
    )
    if not result.is_converged:
        terminal.warn("joint", Message("the estimate did not settle: take fewer candidates"))
    if output is not None:
        text = frame.to_csv(index=False, lineterminator="\n")
        write_whole(output, text, overwrite=may_replace(), is_private=False)
        click.echo(str(output))
