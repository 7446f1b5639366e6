"""What a p-table guarantees, on the command line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckm.cli.terminal.console import Terminal
    from ptable.proof.guarantees import Guarantee, RowGuarantee


def tell_guarantee(terminal: Terminal, proof: Guarantee) -> None:
    """Say what a p-table guarantees, one line a step."""
    for line in proof.summary().splitlines():
        terminal.step("guarantee", line)


def show_guarantee(terminal: Terminal, proof: Guarantee) -> None:
    """Draw what each row of a p-table guarantees."""
    from rich.table import Table

    picture = Table(
        title="What each count is guaranteed", title_justify="left", caption_justify="left"
    )
    picture.caption = proof.summary()
    for name in ("count", "stays", "mean", "variance", "noise"):
        picture.add_column(name, justify="right")
    if proof.has_privacy:
        picture.add_column(f"delta at epsilon {proof.epsilon:g}", justify="right")
        picture.add_column(f"epsilon at delta {proof.delta:g}", justify="right")
    last = proof.rows[-1].count
    for row in proof.rows:
        serves_more = row.count == last and proof.table.large_counts == "last"
        picture.add_row(*_figures(row, more="+" if serves_more else ""))
    terminal.out.print(picture)


def _figures(row: RowGuarantee, *, more: str) -> list[str]:
    from ptable.proof.wording import upwards

    figures = [
        f"{row.count}{more}",
        f"{float(row.p_stay):.1%}",
        f"{float(row.mean):.3g}",
        f"{float(row.variance):.4g}",
        f"{float(row.least_noise):g} to {float(row.greatest_noise):g}",
    ]
    if row.delta is not None and row.epsilon is not None:
        figures += [
            upwards(row.delta),
            "none" if row.epsilon == math.inf else upwards(row.epsilon),
        ]
    return figures
