"""``ckm rappor location audit``: what the places and times of an office's trips give away."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.csv_options import csv_options
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.messages import Message, Name

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from tables import ReadOptions

_COUNT = click.IntRange(min=1)


@click.command(cls=Command)
@click.argument("file", type=PATH)
@click.option("--person", required=True, help="The column of who it is.")
@click.option("--time", required=True, help="The column of times.")
@click.option("--x", help="The column of coordinates in metres, or of the longitude.")
@click.option("--y", help="The column of coordinates in metres, or of the latitude.")
@click.option("--degrees", "in_degrees", is_flag=True, help="x and y are in degrees.")
@click.option("--place", help="A column of names of places, instead of x and y.")
@click.option("--zone", help="Of the clocks, such as Europe/Paris, for times with an offset.")
@click.option("--metres", default="250,1000,4000", help="Widths of cells, fine to coarse.")
@click.option("--hours", default="1,6,24", help="Lengths of times, fine to coarse.")
@click.option("--sample", "most_persons", type=_COUNT, default=1000, help="Persons sampled.")
@click.option("--seed", type=click.IntRange(min=0), default=1, help="Of all that is drawn.")
@click.option("--title", default="", show_default=False, help="Of the page.")
@csv_options
@click.option("--memory", help="DuckDB's memory, such as 3GB.")
@click.option("--lang", type=click.Choice(["en", "fr"]), default="en", help="Of the page.")
@output_options("An .html or .json file.", ".html", ".json", inputs=("file",))
@with_terminal
def audit(
    terminal: Terminal,
    /,
    *,
    file: Path,
    metres: str,
    hours: str,
    memory: str | None,
    lang: str,
    output: Path | None,
    reading: ReadOptions,
    **options: Any,
) -> None:
    r"""Measure how easily persons are found in trips: points, home and work, moves, company.

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
    from tables.mobility import TripColumns

    names = ("person", "time", "x", "y", "place", "in_degrees", "zone")
    columns = TripColumns(**{name: options.pop(name) for name in names})
    with (
        open_source(file, memory_limit=memory, options=reading) as source,
        terminal.progress() as report_progress,
    ):
        facts = audit_trips(
            source,
            columns,
            metres=_numbers("--metres", metres),
            hours=_numbers("--hours", hours),
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


def _numbers(option: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError(
            Message("{option} must be numbers, such as 1,6,24.", option=Name(option))
        ) from None
