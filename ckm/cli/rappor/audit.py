"""``ckm rappor location audit``: what the places and times of an office's trips give away."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.rappor.trip_options import numbers_of, trip_options
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.messages import Message

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from tables import ReadOptions
    from tables.mobility import TripColumns

_COUNT = click.IntRange(min=1)


@click.command(cls=Command)
@click.argument("file", type=PATH)
@trip_options()
@click.option("--metres", default="250,1000,4000", help="Widths of cells, fine to coarse.")
@click.option("--hours", default="1,6,24", help="Lengths of times, fine to coarse.")
@click.option("--sample", "most_persons", type=_COUNT, default=1000, help="Persons sampled.")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Of all that is drawn.")
@click.option("--title", default="", show_default=False, help="Of the page.")
@click.option("--lang", type=click.Choice(["en", "fr"]), default="en", help="Of the page.")
@output_options("An .html or .json file.", ".html", ".json", inputs=("file",))
@with_terminal
def audit(
    terminal: Terminal,
    /,
    *,
    file: Path,
    columns: TripColumns,
    metres: str,
    hours: str,
    memory: str | None,
    lang: str,
    output: Path | None,
    reading: ReadOptions,
    **options: Any,
) -> None:
    r"""Measure how easily persons are identified in trips: points, home, work, moves.

    Examples
    --------
    ckm rappor location audit trips.parquet --person id --time at --x east --y north
    ckm rappor location audit trips.csv --person id --time at --x lon --y lat --degrees \
        --zone Europe/Paris -o trips.html --lang fr
    """
    from rappor.location.audit import audit_trips
    from reports import make_report
    from reports.i18n.languages import words_of
    from reports.pages.mobility import findings
    from tables import open_source

    with (
        open_source(file, memory_limit=memory, options=reading) as source,
        terminal.progress() as report_progress,
    ):
        facts = audit_trips(
            source,
            columns,
            metres=numbers_of("--metres", metres),
            hours=numbers_of("--hours", hours),
            progress=partial(report_progress, "trips"),
            **options,
        )
    for text in findings(words_of(terminal.language), facts):
        terminal.tell(text)
    if output is not None:
        page = make_report(facts, language=lang)
        page.write(output, overwrite=may_replace())
        terminal.step("page written", Message("it follows from records: keep it inside"))
        click.echo(str(output))
