"""``ckm suppress``: the tables of a job with unsafe cells hidden, all others as they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.release import FormatName, limit_options
from ckm.cli.root import common_options

if TYPE_CHECKING:
    from ckm.cli.voice import Voice
    from ckm.suppressed import SuppressedRelease

__all__ = ["suppress"]


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
@click.argument("job", type=click.Path(path_type=Path), metavar="JOB.toml")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder to make.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=FormatName(),
    metavar="FORMAT",
    help="Format of the tables instead of those of the job; may be repeated.",
)
@click.option("--force", is_flag=True, help="Replace an earlier release there.")
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
@limit_options
@common_options
@click.pass_obj
def suppress(
    voice: Voice,
    *,
    job: Path,
    output: Path,
    formats: tuple[str, ...],
    force: bool,
    dry_run: bool,
    memory_limit: str | None,
    threads: int | None,
) -> None:
    """Release tables by suppression: original numbers, or none.

    Nothing appears under the name of the folder before all of it is there.
    """
    from ckm.config import read_job
    from ckm.suppressed import release_true_numbers

    plan = read_job(job)
    count = f"{len(plan.tables)} table{'s' if len(plan.tables) > 1 else ''}"
    voice.step("job read", f"{job.name}: {count}", tables=len(plan.tables))
    with voice.progress() as tell:
        done = release_true_numbers(
            plan,
            output,
            formats=formats,
            force=force,
            dry_run=dry_run,
            progress=tell,
            memory_limit=memory_limit,
            threads=threads,
        )
    if dry_run:
        voice.step(
            "dry run complete", f"dry run: {count} would go to {output}; nothing written"
        )
        return
    voice.step(
        "suppressed",
        f"{count}, {done.cells:,} cells, {done.seconds:.1f} s",
        tables=len(done.tables),
        cells=done.cells,
        seconds=round(done.seconds, 3),
    )
    if not voice.is_quiet:
        _show(voice, done)
    click.echo(str(output))


def _show(voice: Voice, done: SuppressedRelease) -> None:
    """Show what was hidden for each measure; for inside use."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title="Cells, for inside use only", title_justify="left")
    for heading in ("measure", "cells", "unsafe", "hidden", "method", "gap", "seconds"):
        table.add_column(
            heading, justify="left" if heading in {"measure", "method"} else "right"
        )
    for told in done.measures:
        gap = told["gap"]
        table.add_row(
            Text(_printable(told["measure"])),
            f"{told['cells']:,}",
            f"{told['primary']:,}",
            f"{told['hidden']:,} ({told['hidden'] / max(told['cells'], 1):.1%})",
            told["method"],
            "unknown" if gap is None else f"{gap:.2g}",
            f"{told['seconds']:.1f}",
        )
    voice.out.print(table)


def _printable(text: str) -> str:
    """Write signs that steer a terminal as escapes: names of variables are foreign."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
