"""``ckm rappor location collect`` and ``map``: from trips to reports, from sums to a map."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import click

from ckm.cli.rappor.trip_options import numbers_of, trip_options
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from ckm.cli.terminal.secret import secret_of
from footing.files import write_whole
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from rappor.location.drawing import Cell
    from rappor.location.trips import PlaceCounts, Points
    from rappor.location.zones import Zones
    from tables import ReadOptions
    from tables.mobility import TripColumns
    from tables.source.source import Source

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_DAY = 24


@click.command(cls=Command)
@click.argument("file", type=PATH)
@trip_options()
@click.option("--box", help="West, south, east and north of a grid, with commas between.")
@click.option("--levels", default="2,4", help="Grids reported: how often the box is halved.")
@click.option("--epsg", type=click.IntRange(min=1), help="The coordinate system of metres.")
@click.option(
    "--areas", type=PATH, help="With --place: a .csv, a column a level, broad to fine."
)
@click.option("--hours", type=click.IntRange(1, 8760), default=_DAY, help="Of a period.")
@click.option("--f", type=float, default=0.5, help="Permanent noise.")
@click.option("--p", type=float, default=0.25, help="Chance that a bit not set is sent.")
@click.option("--q", type=float, default=0.75, help="Chance that a set bit is sent.")
@click.option("--metric", default="location", help="The name of the question.")
@click.option("--secret", "secret_file", type=PATH, help="Secret file; else CKM_SECRET.")
@click.option("--ledger", type=PATH, help="Of what each person has spent; beside the secret.")
@click.option(
    "--cap",
    type=click.FloatRange(0, min_open=True),
    help="Most epsilon of a person for ever; else of one cell, for ever; 'inf' for none.",
)
@output_options("A .json file of sums.", ".json", required=True, inputs=("file",))
@with_terminal
# claim rappor-places
def collect(
    terminal: Terminal,
    /,
    *,
    file: Path,
    columns: TripColumns,
    reading: ReadOptions,
    memory: str | None,
    box: str | None,
    levels: str,
    epsg: int | None,
    areas: Path | None,
    hours: int,
    f: float,
    p: float,
    q: float,
    metric: str,
    secret_file: Path | None,
    ledger: Path | None,
    cap: float | None,
    output: Path,
) -> None:
    r"""Turn trips into randomised reports of places, and sum them by period and level.

    Examples
    --------
    ckm rappor location collect trips.parquet --person id --time at --x east --y north \
        --box 640000,6850000,672000,6882000 --epsg 2154 --secret secret.key -o places.json
    ckm rappor location collect trips.csv --person id --time at --place town \
        --areas areas.csv --secret secret.key -o places.json

    Each person reports cells of one level, for ever, and one point a period, drawn by the
    secret. The file holds sums of randomised reports: no person, no place of one, no secret.

    A ledger adds up what each person has sent, over all files that it is kept for; reports
    beyond the cap are not sent. The cap is by default the permanent loss of one cell, so who
    moves is soon silent: allow a few cells with, say, --cap 9.
    """
    from rappor.client.account import usual_cap
    from rappor.client.ledger import ClientLedger
    from rappor.location.collect import Collection
    from rappor.location.trips import PlaceCounts, collect_points
    from tables import open_source
    from tables.mobility import period_start

    if (hours > _DAY and hours % _DAY) or (hours < _DAY and _DAY % hours):
        raise click.UsageError(Message("A period is a part of a day, or whole days."))
    if not metric.strip():
        raise click.UsageError(Message("--metric must name the question."))
    zones = _zones(columns, box=box, levels=levels, epsg=epsg, areas=areas)
    secret = secret_of(secret_file)
    design = Collection(areas=zones.areas, f=f, p=p, q=q)
    most = usual_cap(design.parameters[-1]) if cap is None else cap
    if cap is None and math.isinf(most):
        raise click.UsageError(
            Message("These parameters give no protection; say --cap inf if this is intended.")
        )
    design = Collection(
        areas=zones.areas, f=f, p=p, q=q, cap=None if math.isinf(most) else most
    )
    store = ledger or (secret_file or output).with_name("rappor-clients.db")
    if store.resolve() in {path.resolve() for path in (file, output)}:
        raise click.UsageError(Message("The ledger must be a file of its own."))
    with (
        open_source(file, memory_limit=memory, options=reading) as source,
        ClientLedger(store, secret=secret) as clients,
    ):
        key = secret.derive(f"rappor location point:{metric}").hex()
        sums, numbers = collect_points(
            _points(source, columns, zones, hours=hours, key=key),
            collection=design,
            secret=secret,
            ledger=clients,
            cap=most,
            metric=metric,
        )
        if not sums:
            raise click.UsageError(Message("No point lies in any of the cells."))
        pattern = "%Y-%m-%d" if hours >= _DAY else "%Y-%m-%dT%H"
        labels = [period_start(number, hours=hours).strftime(pattern) for number in sums]
        places = PlaceCounts(
            collection=design,
            zones=zones,
            metric=metric,
            periods=tuple(labels),
            counts=tuple(sums.values()),
        )
        clients.commit()
        places.write(output, overwrite=may_replace())
        largest_loss = clients.most
    if numbers["beyond the cap"]:
        terminal.warn(
            "beyond the cap",
            Message(
                "{number:,} points were not reported: their person would have passed the cap",
                number=numbers["beyond the cap"],
            ),
        )
    if numbers["outside"]:
        terminal.warn(
            "outside",
            Message("{number:,} points lie in none of the cells", number=numbers["outside"]),
        )
    terminal.step(
        "places collected",
        Message(
            "{periods:,} periods; no person adds up to more than epsilon {spent:.4g}, the cap "
            "is {most:.4g}",
            periods=len(places.periods),
            spent=largest_loss,
            most=most,
        ),
    )
    click.echo(str(output))


def _zones(
    columns: TripColumns,
    *,
    box: str | None,
    levels: str,
    epsg: int | None,
    areas: Path | None,
) -> Zones:
    from rappor.location.areas import Grid
    from rappor.location.zones import Zones

    if (columns.place is None) == (box is None) or (columns.place is None) != (areas is None):
        raise click.UsageError(
            Message("Coordinates need --box, and names of places need --areas.")
        )
    if areas is not None:
        return Zones.read(areas)
    west, south, east, north = numbers_of("--box", box or "", number=4)
    halvings = numbers_of("--levels", levels)
    if any(level != int(level) for level in halvings):
        raise click.UsageError(Message("--levels are whole numbers."))
    grid = Grid(
        west=west, south=south, east=east, north=north, levels=tuple(map(int, halvings))
    )
    return Zones.of_grid(grid, in_degrees=columns.in_degrees, epsg=epsg)


def _points(
    source: Source, columns: TripColumns, zones: Zones, *, hours: int, key: str
) -> Iterator[Points]:
    from rappor.location.trips import Points
    from tables.mobility import draw_points

    for batch in draw_points(source, columns, hours=hours, key=key):
        if columns.place is not None:
            cells = zones.cells_named(batch.column("place").to_pylist())
        else:
            x, y = (batch.column(name).to_numpy() for name in ("x", "y"))
            cells = zones.cells_at(x, y)
        periods = batch.column("period").to_numpy()
        yield Points(persons=batch.column("who").to_pylist(), periods=periods, cells=cells)


@click.command(cls=Command, name="map")
@click.argument("files", type=PATH, nargs=-1, required=True, metavar="PLACES...")
@click.option(
    "--period", "periods", multiple=True, help="One to map; may be given several times."
)
@click.option(
    "--alpha", type=_SHARE, default=0.05, help="Chance that a level shows an empty cell."
)
@click.option("--confidence", type=_SHARE, default=0.95, help="Of each interval.")
@click.option("--shapes", type=PATH, help="A .geojson with polygons of declared areas.")
@click.option("--code", default="code", help="Its property that holds the code.")
@click.option("--title", default="", show_default=False, help="Of the picture.")
@click.option("--lang", type=click.Choice(["en", "fr"]), default="en", help="Of the picture.")
@output_options("An .svg, .geojson, .json or .csv file.", ".svg", ".geojson", ".json", ".csv")
@with_terminal
# claim rappor-places
def map_command(
    terminal: Terminal,
    /,
    *,
    files: tuple[Path, ...],
    periods: tuple[str, ...],
    alpha: float,
    confidence: float,
    shapes: Path | None,
    code: str,
    title: str,
    lang: str,
    output: Path | None,
) -> None:
    """Draw a map of collected places, with intervals, and cells withheld.

    Examples
    --------
    ckm rappor location map places.json
    ckm rappor location map places.json -o map.svg --lang fr
    ckm rappor location map monday.json tuesday.json -o map.geojson
    ckm rappor location map places.json --shapes towns.geojson --code insee -o map.svg

    A cell is shown where its estimate differs from nothing with certainty, and the cell around
    it is shown; this is decided by estimates alone, as true numbers are not known. Nothing is
    published about the other cells. Several periods are taken together: the permanent noise
    does not average out, and the intervals allow for that.
    """
    from functools import reduce
    from operator import add

    from rappor.location.drawing import cells_of, read_shapes, to_geojson, to_svg
    from rappor.location.map import population_map
    from rappor.location.trips import PlaceCounts

    del lang  # which the terminal has
    places: PlaceCounts = reduce(add, (PlaceCounts.read(file) for file in files))
    if periods:
        places = places.chosen(list(dict.fromkeys(periods)))
    zones = places.zones
    periods_with_all = [c for c in places.counts if all(level.total for level in c)]
    levels = population_map(
        periods_with_all or places.counts, areas=zones.areas, alpha=alpha, confidence=confidence
    )
    polygons = None if shapes is None else read_shapes(shapes, field=code)
    cells = cells_of(levels, zones)
    _show(terminal, cells)
    if output is None:
        return
    kind = output.suffix.lower()
    if kind == ".svg":
        text = to_svg(
            levels,
            zones,
            say=terminal.say,
            shapes=polygons,
            title=title,
            confidence=confidence,
        )
    elif kind == ".geojson":
        text = to_geojson(levels, zones, shapes=polygons, confidence=confidence)
    else:
        text = _table(cells, is_json=kind == ".json")
    write_whole(output, text, overwrite=may_replace(), is_private=False)
    terminal.step("map written", Message("written to {output}", output=Name(output.name)))
    click.echo(str(output))


def _show(terminal: Terminal, cells: list[list[Cell]]) -> None:
    rows = [
        (
            row[0].level,
            f"{len(row):,}",
            f"{sum(not cell.is_withheld for cell in row):,}",
            f"{sum(cell.is_withheld for cell in row):,}",
        )
        for row in cells
    ]
    headings = (Message("level"), Message("cells"), Message("cells shown"), Message("withheld"))
    terminal.table(headings, rows, left=headings[:1])


def _table(cells: list[list[Cell]], *, is_json: bool) -> str:
    from footing.files import csv_text
    from footing.serialisation import document

    names = ("level", "code", "share", "low", "high", "withheld")
    rows = [
        (cell.level, cell.code, cell.share, cell.low, cell.high, cell.is_withheld)
        for row in cells
        for cell in row
    ]
    if is_json:
        return document([dict(zip(names, row, strict=True)) for row in rows])
    texts = (
        [
            "" if value is None else json.dumps(value) if value in {True, False} else value
            for value in row
        ]
        for row in rows
    )
    return csv_text((names, *texts))
