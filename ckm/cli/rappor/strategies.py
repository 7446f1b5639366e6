"""``ckm rappor location compare``: ways to share places, on simulated people or on trips."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.rappor.trip_options import numbers_of, trip_options
from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.files import write_whole
from footing.messages import Message

if TYPE_CHECKING:
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from rappor.location.areas import Grid
    from rappor.location.simulation.outcome import Outcome
    from rappor.location.simulation.people import Traces
    from tables import ReadOptions
    from tables.mobility import TripColumns

_COUNT = click.IntRange(min=1)
_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_MARGIN = 1e-6  # of a box around points
_KM_A_DEGREE = 111.195


@click.command(cls=Command)
@click.argument("file", type=PATH, required=False)
@trip_options(is_required=False)
@click.option("--sample", type=_COUNT, default=400, help="People on whom ways are tried.")
@click.option(
    "--seed", type=click.IntRange(min=0), required=True, help="Same seed, same figures."
)
@click.option("--days", type=_COUNT, default=28, help="Simulated; of trips, at most.")
@click.option("--size", type=float, default=16.0, help="Width of the simulated box, in km.")
@click.option("--levels", default="2,4", help="Grids: how often the box is halved.")
@click.option("--f", type=float, default=0.5, help="Permanent noise of RAPPOR.")
@click.option("--p", type=float, default=0.25, help="Chance that a bit not set is sent.")
@click.option("--q", type=float, default=0.75, help="Chance that a set bit is sent.")
@click.option(
    "--cap", type=click.FloatRange(0, min_open=True), help="Most epsilon of a person."
)
@click.option("--epsilon", type=float, default=0.5, help="Of planar noise, a km.")
@click.option("--crowd", "k", type=_COUNT, default=10, help="People in an area of cloaking.")
@click.option("--zones", "n_zones", type=_COUNT, default=10, help="Mix-zones.")
@click.option(
    "--dummies", "n_dummies", type=_COUNT, default=5, help="Invented places a report."
)
@click.option("--population", type=_COUNT, help="People of a map by RAPPOR, simulated too.")
@output_options("A .json or .csv file.", ".json", ".csv", inputs=("file",))
@with_terminal
def compare(
    terminal: Terminal,
    /,
    *,
    file: Path | None,
    columns: TripColumns | None,
    reading: ReadOptions,
    memory: str | None,
    sample: int,
    seed: int,
    days: int,
    size: float,
    levels: str,
    cap: float | None,
    f: float,
    p: float,
    q: float,
    population: int | None,
    output: Path | None,
    **ways: Any,
) -> None:
    r"""Compare ways to share places: what attackers find, and how good the map is.

    Examples
    --------
    ckm rappor location compare --seed 1
    ckm rappor location compare --seed 1 --population 100000 --days 7 -o ways.json
    ckm rappor location compare trips.parquet --person id --time at --x east --y north --seed 1

    People are simulated, or sampled from trips. Names, pseudonyms, mix-zones, cloaking,
    dummies, planar noise and RAPPOR are tried on the same people: in how many cases an
    attacker names the home, joins both halves of the time without names, and by what share
    the map is wrong. All but the last two are there to be compared, and not for release.
    Results on trips follow from records: keep them inside.
    """
    import numpy as np

    from rappor.location.collect import Collection
    from rappor.location.simulation.experiment import check_size, experiment
    from rappor.location.simulation.experiment import compare as compared
    from rappor.location.simulation.people import moving_people
    from tables.secret import Secret

    if (file is None) != (columns is None):
        raise click.UsageError(Message("Trips need a file, --person, --time, --x and --y."))
    if file is not None and population is not None:
        raise click.UsageError(Message("--population is for simulated people."))
    rng = np.random.default_rng(seed)
    halvings = tuple(map(int, numbers_of("--levels", levels)))
    if file is None or columns is None:
        grid = _grid((0.0, 0.0, size, size), halvings)
        traces = None
    else:
        traces, grid = _own(
            file, columns, reading, memory, halvings, sample=sample, days=days, seed=seed
        )
        ways["k"] = min(ways["k"], traces.n_people)
    collection = Collection(areas=grid.areas(), f=f, p=p, q=q, cap=cap)
    secret = Secret(rng.bytes(32))
    shared = {"grid": grid, "collection": collection, "secret": secret, "rng": rng, **ways}
    content: dict[str, Any] = {}
    if traces is None and population is not None:
        result = experiment(n_people=sample, population=population, n_days=days, **shared)
        outcomes, content = result.outcomes, result.to_dict()
        _show(terminal, outcomes)
        _show_map(terminal, result.to_dict())
    else:
        n_cells = grid.areas().n_cells(len(halvings) - 1)
        if traces is None:
            check_size(n_people=sample, population=1, n_days=days, n_cells=n_cells)
            traces = moving_people(sample, n_days=days, grid=grid, rng=rng)
        else:
            check_size(
                n_people=traces.n_people, population=1, n_days=traces.n_days, n_cells=n_cells
            )
        outcomes = compared(traces, **shared)
        _show(terminal, outcomes)
    if output is not None:
        _write(output, outcomes, content)
        if file is not None:
            terminal.step(
                "comparison written", Message("it follows from records: keep it inside")
            )
        click.echo(str(output))


def _grid(box: tuple[float, float, float, float], levels: tuple[int, ...]) -> Grid:
    from rappor.location.areas import Grid

    west, south, east, north = box
    return Grid(west=west, south=south, east=east, north=north, levels=levels)


def _own(
    file: Path,
    columns: TripColumns,
    reading: ReadOptions,
    memory: str | None,
    levels: tuple[int, ...],
    *,
    sample: int,
    days: int,
    seed: int,
) -> tuple[Traces, Grid]:
    """Follow sampled persons of trips in kilometres, on a square grid around their points."""
    import numpy as np

    from rappor.location.simulation.people import HOURS, traces_of
    from tables import open_source
    from tables.mobility import hourly_points

    if columns.place is not None:
        raise click.UsageError(
            Message("Ways are compared on coordinates, not on names of places.")
        )
    with open_source(file, memory_limit=memory, options=reading) as source:
        _, table = hourly_points(source, columns, most_persons=sample, seed=seed)
    person, hour, x, y = (
        table.column(name).to_numpy() for name in ("person", "hour", "x", "y")
    )
    first = int(hour.min()) // HOURS * HOURS
    is_early = hour < first + days * HOURS
    _, people = np.unique(person[is_early], return_inverse=True)
    x, y = _in_km(x[is_early], y[is_early], in_degrees=columns.in_degrees)
    side = max(_span(x), _span(y), _MARGIN) * (1 + _MARGIN)
    west, south = float(x.min()), float(y.min())
    grid = _grid((west, south, west + side, south + side), levels)
    return traces_of(people, hour[is_early] - first, x, y, grid=grid), grid


def _span(values: Any) -> float:
    return float(values.max() - values.min())


def _in_km(x: Any, y: Any, *, in_degrees: bool) -> tuple[Any, Any]:
    if not in_degrees:
        return x / 1000, y / 1000
    middle = math.cos(math.radians(float((y.max() + y.min()) / 2)))
    return x * _KM_A_DEGREE * middle, y * _KM_A_DEGREE


def _show(terminal: Terminal, outcomes: tuple[Outcome, ...]) -> None:
    headings = (
        Message("way"),
        Message("promise"),
        Message("largest loss"),
        Message("homes found"),
        Message("linked"),
        Message("map error"),
    )
    rows = (
        (
            terminal.say(outcome.name),
            terminal.say(outcome.guarantee),
            "–" if outcome.loss is None else f"{outcome.loss:.3g}",
            f"{outcome.homes_found:.2f}",
            f"{outcome.linked:.2f}",
            f"{outcome.map_error:.2f}",
        )
        for outcome in outcomes
    )
    terminal.table(headings, rows, left=headings[:2], is_plain=True)


def _show_map(terminal: Terminal, content: dict[str, Any]) -> None:
    headings = (
        Message("reports averaged"),
        Message("cells guessed"),
        Message("noise drawn anew"),
    )
    rows = (
        (str(row["reports"]), f"{row['kept']:.2f}", f"{row['drawn_anew']:.2f}")
        for row in content["averaging"]
    )
    terminal.table(headings, rows, is_plain=True)
    headings = (
        Message("cells"),
        Message("cells shown"),
        Message("intervals that hold"),
    )
    rows = (
        (
            f"{level['cells']:,}",
            f"{level['shown']:,}",
            "–" if level["held"] is None else f"{level['held']:.1%}",
        )
        for level in content["map"]
    )
    terminal.table(headings, rows, is_plain=True)
    terminal.tell(Message("map error {error:.2f}", error=content["map_error"]))
    if content["silenced"]:
        terminal.tell(
            Message(
                "{share:.1%} of the reports were not sent: the cap was reached",
                share=content["silenced"],
            )
        )


def _write(output: Path, outcomes: tuple[Outcome, ...], content: dict[str, Any]) -> None:
    from dataclasses import asdict

    from footing.files import csv_text
    from footing.serialisation import document

    rows = [asdict(outcome) for outcome in outcomes]
    if output.suffix.lower() == ".json":
        text = document(content or {"ways": rows})
    else:
        names = tuple(rows[0])
        text = csv_text(
            (names, *(tuple("" if row[n] is None else row[n] for n in names) for row in rows))
        )
    write_whole(output, text, overwrite=may_replace())
