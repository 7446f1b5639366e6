"""The options of a verb that reads trips: their columns, and how a CSV is read."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ckm.cli.terminal.click_group import options
from ckm.cli.terminal.csv_options import csv_options
from footing.messages import Message, Name

_NAMES = ("person", "time", "x", "y", "place", "in_degrees", "zone")


def trip_options(*, is_required: bool = True) -> Callable[[Any], Any]:
    """Add the columns of trips: the verb takes them as ``columns``, None without any."""

    def add(verb: Callable[..., Any]) -> Any:
        @wraps(verb)
        def read(*args: Any, **values: Any) -> Any:
            from tables.mobility import TripColumns

            names = {name: values.pop(name) for name in _NAMES}
            is_named = [names["person"] is not None, names["time"] is not None]
            if any(is_named) and not all(is_named):
                raise click.UsageError(Message("Trips need --person and --time."))
            columns = TripColumns(**names) if all(is_named) else None
            return verb(*args, columns=columns, **values)

        return options(
            click.option("--person", required=is_required, help="The column of the person."),
            click.option("--time", required=is_required, help="The column of times."),
            click.option(
                "--x", help="The column of coordinates in metres, or of the longitude."
            ),
            click.option(
                "--y", help="The column of coordinates in metres, or of the latitude."
            ),
            click.option(
                "--degrees", "in_degrees", is_flag=True, help="x and y are in degrees."
            ),
            click.option("--place", help="A column of names of places, instead of x and y."),
            click.option(
                "--zone", help="Of the clocks, such as Europe/Paris, for times with an offset."
            ),
            csv_options,
            click.option("--memory", help="DuckDB's memory, such as 3GB."),
        )(read)

    return add


def numbers_of(option: str, text: str, *, number: int | None = None) -> tuple[float, ...]:
    """Read numbers with commas between them."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or (number is not None and len(values) != number):
        raise click.UsageError(
            Message("{option} must be numbers, such as 1,6,24.", option=Name(option))
            if number is None
            else Message(
                "{option} must be {number} numbers with commas between.",
                option=Name(option),
                number=number,
            )
        )
    return values
