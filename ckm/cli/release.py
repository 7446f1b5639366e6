"""``ckm release``: what a file describes, into a folder that appears whole or not at all."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import (
    PATH,
    Command,
    limit_options,
    options,
    with_terminal,
)
from ckm.cli.terminal.output import printable
from ckm.formats import FORMAT_NAMES
from footing.messages import Argument, Message, Name, said

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from ckm.config.job.job import Job
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
        hint = Message("known are {format_names}", format_names=Name.each(FORMAT_NAMES))
        way = Message("did you mean {close!r}?", close=Name(close[0])) if close else hint
        raise click.BadParameter(
            Message("there is no format {value!r}; {way}", value=Argument(value), way=way),
            ctx=ctx,
            param=param,
        )


#: The job, the folder and how to fill it.
release_options = options(
    click.argument("job", type=PATH, metavar="JOB.toml"),
    click.option("-o", "--output", required=True, type=PATH, help="The folder to make."),
    click.option(
        "--format",
        "formats",
        multiple=True,
        type=FormatName(),
        metavar="FORMAT",
        help="Format of the tables instead of those of the job; may be repeated.",
    ),
    click.option("--force", is_flag=True, help="Replace an earlier release there."),
    click.option("--dry-run", is_flag=True, help="Do everything, keep no file."),
    limit_options,
    with_terminal,
)


def carry_out(
    terminal: Terminal,
    run: Callable[..., Release],
    event: str,
    *,
    job: Path,
    output: Path,
    dry_run: bool,
    **options: Any,
) -> None:
    """Run a release of the tables of a job, and say what it did."""
    from ckm.config import read_job

    plan = read_job(job)
    count = (
        Message("{number} tables", number=len(plan.tables))
        if len(plan.tables) > 1
        else Message("1 table")
    )
    if len(plan.output.languages) > 1:
        count = Message(
            "{count} in {languages}", count=count, languages=Name.each(plan.output.languages)
        )
    terminal.step(
        "job read",
        Message("{job}: {count}", job=Name(job.name), count=count),
        tables=len(plan.tables),
    )
    tell_limit(terminal, plan)
    tell_missing_ledger(terminal, plan)
    with terminal.progress() as report_progress:
        done = run(plan, output, dry_run=dry_run, progress=report_progress, **options)
    for text in done.links:
        terminal.step("links", text)
    if dry_run:
        terminal.step(
            "dry run complete",
            Message(
                "dry run: {count} would go to {output}; nothing written",
                count=count,
                output=output,
            ),
        )
        return
    terminal.step(
        event,
        Message(
            "{count}, {cells:,} cells, {seconds:.1f} s",
            count=count,
            cells=done.cells,
            seconds=done.seconds,
        ),
        tables=len(done.tables),
        cells=done.cells,
        seconds=round(done.seconds, 3),
    )
    if done.measures and not terminal.is_quiet:
        _show(terminal, done)
    click.echo(str(output))


def tell_limit(terminal: Terminal, plan: Job) -> None:
    """Tell how long cells to hide are looked for, at most."""
    if plan.suppression is not None:
        limit_s = plan.suppression.limit_s
        text = Message(
            "fewer cells to hide are looked for until the work of {limit_s:g} s is done, for "
            "each measure",
            limit_s=limit_s,
        )
        terminal.step("time limit", text, limit_s=limit_s)


def tell_missing_ledger(terminal: Terminal, plan: Job) -> None:
    """Warn that nothing compares the tables with earlier ones."""
    if plan.has_noise and plan.ledger is None:
        text = Message(
            "without [ledger] the tables are not compared with what was published before: "
            "tables that differ by one person, and other noise on the same records, are not "
            'refused; path = "ledger.db" in [ledger] prevents it'
        )
        terminal.warn("caution", text)


@click.command(cls=Command)
@release_options
@click.option("--full", is_flag=True, help="Write the long lists to the internal page, too.")
def release(terminal: Terminal, /, **options: Any) -> None:
    """Release what a file describes, by the method that its sections ask for.

    Nothing appears under the name of the folder before all of it is there.

    Examples
    --------
    ckm release job.toml -o out/2027-03
    ckm release job.toml -o out/2027-03 --dry-run
    ckm release job.toml -o out/2027-03 --force --memory-limit 3GB
    ckm release job.toml -o out/2027-03 --format px --format json-stat2
    ckm release swap.toml -o swapped.parquet      as ckm swap does
    ckm release plan.toml -o out/                 as ckm dp release does

    In job.toml, one of these
    -------------------------
    [ptable]                  noise of the cell key method
    [suppression]             unsafe cells hidden, as ckm suppress does
    [rounding]                counts rounded to multiples that add up

    Formats: csv, csv-labels, parquet, xlsx, json-stat2, px, sdmx-csv, sdmx-csv-1, csvw

    The folder holds public/, which may be published, and internal/, which may not.
    """
    from ckm.config.read import kind_of

    kind = kind_of(options["job"])
    if kind == "swap":
        from ckm.cli.swap import carry_out_swap

        _require_unused(Message("a swap"), options, "formats", "full")
        carry_out_swap(terminal, options.pop("job"), **options)
        return
    if kind == "plan":
        from ckm.cli.dp.release import carry_out_plan

        _require_unused(
            Message("a plan of private tables"), options, "formats", "full", "force"
        )
        carry_out_plan(terminal, options.pop("job"), **options)
        return
    from ckm.release.perturbed import release as run

    carry_out(terminal, run, "released", command=terminal.command, **options)


def _require_unused(what: str, options: dict[str, Any], *names: str) -> None:
    """Take options out that a kind of file does not have; refuse those that were given."""
    for name in names:
        if options.pop(name):
            option = "--format" if name == "formats" else f"--{name}"
            text = Message(
                "{what} has no {option}: the file says what is written",
                what=said(what),
                option=Name(option),
            )
            raise click.UsageError(text)


@click.command(cls=Command)
@release_options
def suppress(terminal: Terminal, /, **options: Any) -> None:
    """Release tables by suppression: original numbers, or none.

    Nothing appears under the name of the folder before all of it is there.

    Examples
    --------
    ckm suppress job.toml -o out/2027-03
    ckm suppress job.toml -o out/2027-03 --dry-run
    ckm suppress job.toml -o out/2027-03 --force --format json-stat2

    In job.toml, instead of [ptable]
    --------------------------------
    [suppression]
    threshold = 3

    All tables of a job are protected together. The folder holds public/, which may be
    published, and internal/, with the interval that readers can derive for every suppressed
    cell, which may not. All other cells show the original numbers: do not publish the same data
    with noise.
    """
    from ckm.release.suppressed import release_true_numbers

    carry_out(terminal, release_true_numbers, "suppressed", **options)


def _show(terminal: Terminal, done: Release) -> None:
    """Show what was hidden for each measure; for inside use."""
    from rich.text import Text

    for measure in done.measures:
        if measure["is_out_of_time"]:
            name = printable(measure["measure"])
            text = Message(
                "the search for {name} ended at limit_s: with more time it may hide less",
                name=Name(name),
            )
            terminal.warn("out of time", text, measure=name)
    terminal.table(
        ("measure", "cells", "unsafe", "hidden", "method", "gap", "seconds"),
        (
            (
                Text(printable(measure["measure"])),
                f"{measure['cells']:,}",
                f"{measure['primary']:,}",
                f"{measure['hidden']:,} ({measure['hidden'] / max(measure['cells'], 1):.1%})",
                measure["method"],
                "unknown" if measure["gap"] is None else f"{measure['gap']:.2g}",
                f"{measure['seconds']:.1f}",
            )
            for measure in done.measures
        ),
        left=("measure", "method"),
        title=Message("Cells, for inside use only; those of the same records counted once")
        if any(measure["cells"] < done.cells for measure in done.measures)
        else Message("Cells, for inside use only"),
    )
