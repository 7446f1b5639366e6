"""The options that say how the p-table of another tool is to be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_Command = TypeVar("_Command", bound="Callable[..., Any]")

LAYOUTS = (
    "cantabular",
    "ckm",
    "destatis",
    "frame",
    "ons",
    "r-ptable",
    "sas",
    "superstar",
    "tau-argus",
)


def reading_options(command: _Command) -> _Command:
    """Add the options that describe the file that is read."""
    options = (
        click.option(
            "--from",
            "dialect",
            type=click.Choice(LAYOUTS),
            help="Layout of the file read; else found out.",
        ),
        click.option(
            "--boundary",
            type=click.Choice(["[)", "(]"]),
            default="[)",
            help="Which end of an interval read belongs to it.",
        ),
        click.option(
            "--key-range", type=click.IntRange(2, 2**64), help="How many keys it counts."
        ),
        click.option(
            "--large-counts", help="last or cycle:N; else the habit of the file's tool."
        ),
        click.option("--anchors", is_flag=True, help="Counts without a row in it are meant."),
        click.option(
            "--small-n", type=click.IntRange(min=1), default=10, help="SuperSTAR's SmallN."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command
