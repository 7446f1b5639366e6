"""``ckm suppress``: the tables of a job with unsafe cells hidden, all others as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ckm.cli.release import carry_out, release_options
from ckm.cli.terminal.output import printable

if TYPE_CHECKING:
    from ckm.cli.terminal.console import Terminal
    from ckm.release.run import Release


@click.command(
    epilog="""\b
Examples:
  ckm suppress job.toml -o out/2027-03
  ckm suppress job.toml -o out/2027-03 --dry-run
  ckm suppress job.toml -o out/2027-03 --force --format json-stat2

\b
In job.toml, instead of [ptable]:
  [suppression]
  threshold = 3

All tables of a job are protected together. The folder holds public/, which may be published,
and internal/, with what readers can work out of every hidden cell, which may not.
What is not hidden is the original number: publish the same data with noise nowhere.
"""
)
@release_options
def suppress(terminal: Terminal, /, **options: Any) -> None:
    """Release tables by suppression: original numbers, or none.

    Nothing appears under the name of the folder before all of it is there.
    """
    from ckm.release.suppressed import release_true_numbers

    carry_out(terminal, release_true_numbers, "suppressed", show=_show, **options)


def _show(terminal: Terminal, done: Release) -> None:
    """Show what was hidden for each measure; for inside use."""
    from rich.text import Text

    terminal.table(
        ("measure", "cells", "unsafe", "hidden", "method", "gap", "seconds"),
        (
            (
                Text(printable(told["measure"])),
                f"{told['cells']:,}",
                f"{told['primary']:,}",
                f"{told['hidden']:,} ({told['hidden'] / max(told['cells'], 1):.1%})",
                told["method"],
                "unknown" if told["gap"] is None else f"{told['gap']:.2g}",
                f"{told['seconds']:.1f}",
            )
            for told in done.measures
        ),
        left=("measure", "method"),
        title="Cells, for inside use only",
    )
