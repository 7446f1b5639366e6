"""``ckm release``: the tables of a job, into a folder that appears complete or not at all."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import common_options
from ckm.formats import FORMAT_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from ckm.cli.terminal.console import Terminal
    from ckm.release.run import Release


class FormatName(click.Choice[str]):
    """A name of a format, completed by the shell; a wrong one is told the nearest."""

    name = "format"

    def __init__(self) -> None:
        super().__init__(FORMAT_NAMES)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the name, or say which is near."""
        if value in FORMAT_NAMES:
            return str(value)
        close = difflib.get_close_matches(str(value), FORMAT_NAMES, n=1)
        known = f"known are {', '.join(FORMAT_NAMES)}"
        way = f"did you mean {close[0]!r}?" if close else known
        raise click.BadParameter(f"there is no format {value!r}; {way}", ctx=ctx, param=param)


def limit_options(command: click.decorators.FC) -> click.decorators.FC:
    """Add the limits of a tabulation; they never change a result."""
    command = click.option(
        "--threads", type=click.IntRange(min=1), help="Cores to use; all by default."
    )(command)
    return click.option(
        "--memory-limit", metavar="SIZE", help='Memory for the tabulation, such as "3GB".'
    )(command)


def release_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the job, the folder and how to fill it."""
    for add in (
        common_options,
        limit_options,
        click.option("--dry-run", is_flag=True, help="Do all of it, keep nothing."),
        click.option("--force", is_flag=True, help="Replace an earlier release there."),
        click.option(
            "--format",
            "formats",
            multiple=True,
            type=FormatName(),
            metavar="FORMAT",
            help="Format of the tables instead of those of the job; may be repeated.",
        ),
        click.option(
            "-o",
            "--output",
            required=True,
            type=click.Path(path_type=Path),
            help="The folder to make.",
        ),
        click.argument("job", type=click.Path(path_type=Path), metavar="JOB.toml"),
    ):
        command = add(command)
    return command


def carry_out(
    terminal: Terminal,
    run: Callable[..., Release],
    event: str,
    *,
    job: Path,
    output: Path,
    dry_run: bool,
    show: Callable[[Terminal, Release], None] | None = None,
    **options: Any,
) -> None:
    """Run a release of the tables of a job, and say what it did."""
    from ckm.config import read_job

    plan = read_job(job)
    count = f"{len(plan.tables)} table{'s' if len(plan.tables) > 1 else ''}"
    if len(plan.output.languages) > 1:
        count += f" in {' and '.join(plan.output.languages)}"
    terminal.step("job read", f"{job.name}: {count}", tables=len(plan.tables))
    with terminal.progress() as report_progress:
        done = run(plan, output, dry_run=dry_run, progress=report_progress, **options)
    if dry_run:
        terminal.step(
            "dry run complete", f"dry run: {count} would go to {output}; nothing written"
        )
        return
    terminal.step(
        event,
        f"{count}, {done.cells:,} cells, {done.seconds:.1f} s",
        tables=len(done.tables),
        cells=done.cells,
        seconds=round(done.seconds, 3),
    )
    if show is not None and not terminal.is_quiet:
        show(terminal, done)
    click.echo(str(output))


@click.command(
    epilog="""\b
Examples:
  ckm release job.toml -o out/2027-03
  ckm release job.toml -o out/2027-03 --dry-run
  ckm release job.toml -o out/2027-03 --force --memory-limit 3GB
  ckm release job.toml -o out/2027-03 --format px --format json-stat2

\b
Formats: csv, parquet, xlsx, json-stat2, px, sdmx-csv, sdmx-csv-1, csvw

The folder holds public/, which may be published, and internal/, which may not.
"""
)
@release_options
@click.pass_obj
def release(terminal: Terminal, /, **options: Any) -> None:
    """Release the tables of a job.

    Nothing appears under the name of the folder before all of it is there.
    """
    from ckm.release.perturbed import release as run

    carry_out(terminal, run, "released", command=terminal.command, **options)
