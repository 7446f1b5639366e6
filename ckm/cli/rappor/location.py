"""``ckm rappor location``: places shared by RAPPOR and by other ways, on simulated people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from ckm.cli.terminal.click_group import PATH, Command, Group, with_terminal
from ckm.cli.terminal.output import check_output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ckm.cli.terminal.console import Terminal
    from rappor.location import Experiment

_SHOWN = 10
_COUNT = click.IntRange(min=1)
_NUMBER = click.IntRange(min=0)


class _Location(Group):
    """A group that simulates where no verb is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the verb before its options."""
        is_own = not args or args[0] in {*self.list_commands(ctx), "--help", "-h", "--lang"}
        return super().parse_args(ctx, args if is_own else ["simulate", *args])


@click.group(cls=_Location, verbs={"audit": "ckm.cli.rappor.audit:audit"})
def location() -> None:
    """Places of persons: ways to share them, and what trips give away.

    Examples
    --------
    ckm rappor location --seed 1
    ckm rappor location audit trips.parquet --person id --time at --x east --y north
    """


@location.command(cls=Command)
@click.option("--seed", type=_NUMBER, required=True, help="Same seed, same figures.")
@click.option("--people", "n_people", type=_COUNT, default=400, help="How many move.")
@click.option(
    "--population", type=_COUNT, default=10_000, help="People whose reports are summed."
)
@click.option("--days", "n_days", type=_COUNT, default=14, help="How long they move.")
@click.option("--size", type=float, default=16.0, help="Width in km.")
@click.option("--levels", default="2,4", help="Grids reported, by how often the box is halved.")
@click.option("--f", type=float, default=0.5, help="Permanent noise of RAPPOR.")
@click.option("--p", type=float, default=0.25, help="Chance that a bit not set is sent.")
@click.option("--q", type=float, default=0.75, help="Chance that a set bit is sent.")
@click.option("--cap", type=float, help="Largest loss of a person; more is not sent.")
@click.option("--epsilon", type=float, default=0.5, help="Of noise, per km.")
@click.option(
    "--crowd", "k", type=_COUNT, default=10, help="People in a cloaking area, at least."
)
@click.option("--zones", "n_zones", type=_NUMBER, default=10, help="Mix zones.")
@click.option(
    "--dummies", "n_dummies", type=_NUMBER, default=5, help="Invented places in each request."
)
@click.option("--alpha", type=float, default=0.05, help="Empty cells shown.")
@click.option("--confidence", type=float, default=0.95, help="Of each interval.")
@click.option("-o", "--output", type=PATH, help="A .json file.")
@click.option("--force", is_flag=True, help="Replace the output if it exists.")
@with_terminal
def simulate(terminal: Terminal, /, *, output: Path | None, force: bool, **asked: Any) -> None:
    """Simulate moving people; compare ways to share where they are, and draw the map.

    Examples
    --------
    ckm rappor location --seed 1
    ckm rappor location --seed 1 --f 0.25 --cap 8 --population 20000 -o places.json

    The box is as wide as --size and cut 1, 2, 3 … times in both directions; --levels names the
    cuts that are collected, coarse to fine.
    """
    from footing.files import write_whole
    from rappor.errors import ReportFileError

    check_output(output, force=force, endings=(".json",))
    found = _simulated(asked)
    _show(terminal, found)
    if output is not None:
        text = json.dumps(found.to_dict(), indent=1) + "\n"
        write_whole(output, text, error=ReportFileError, overwrite=force)
        terminal.step("figures written", f"written to {output.name}")
        click.echo(str(output))


def _simulated(asked: dict[str, Any]) -> Experiment:
    import numpy as np

    from rappor.location import Collection, Grid, experiment
    from tables.secret import Secret

    rng = np.random.default_rng(asked.pop("seed"))
    size = asked.pop("size")
    grid = Grid(west=0, south=0, east=size, north=size, levels=_levels(asked.pop("levels")))
    design = {name: asked.pop(name) for name in ("f", "p", "q", "cap")}
    return experiment(
        grid,
        collection=Collection(areas=grid.areas(), **design),
        secret=Secret(rng.bytes(32)),
        rng=rng,
        **asked,
    )


def _levels(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise click.UsageError("--levels must be whole numbers, such as 2,4.") from None


def _show(terminal: Terminal, found: Experiment) -> None:
    _table(
        terminal,
        ("way", "promise", "largest loss", "homes found", "linked", "map error"),
        [
            (
                way.name,
                way.guarantee,
                "none" if way.loss is None else f"{way.loss:.3g}",
                *(f"{share:.2f}" for share in (way.homes_found, way.linked, way.map_error)),
            )
            for way in found.outcomes
        ],
    )
    _table(
        terminal,
        ("reports averaged", "cells guessed", "were noise drawn anew"),
        [(f"{n}", f"{kept:.2f}", f"{anew:.2f}") for n, (kept, anew) in found.averaging.items()],
    )
    _table(
        terminal,
        ("map", "cells", "shown", "withheld", "intervals that hold"),
        [
            (
                f"level {number}",
                f"{level.cells:,}",
                f"{level.shown:,}",
                f"{level.cells - level.shown:,}",
                "none" if level.held is None else f"{level.held:.1%}",
            )
            for number, level in enumerate(found.figures, start=1)
        ],
    )
    finest = found.levels[-1]
    largest = [i for i in finest.shares.argsort()[::-1].tolist() if finest.is_shown[i]]
    _table(
        terminal,
        ("finest cell", "share", "from", "to"),
        [
            (
                f"{cell}",
                *(f"{part[cell]:.2%}" for part in (finest.shares, finest.low, finest.high)),
            )
            for cell in largest[:_SHOWN]
        ],
    )
    lines = [f"map error {found.map_error:.2f}"]
    if found.silenced:
        lines.append(f"{found.silenced:.1%} of the reports were not sent: the cap was reached")
    for line in lines:
        terminal.out.print(line, markup=False, highlight=False)


def _table(terminal: Terminal, header: Sequence[str], rows: list[tuple[str, ...]]) -> None:
    if rows:
        terminal.table(header, rows, left=header[:1], is_plain=True, padding=(0, 1, 0, 0))
        terminal.out.print("")
