"""``ckm ptable show``: look at a perturbation table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import click

from ckm.cli.terminal.click_group import PATH, Command, with_terminal
from ckm.cli.terminal.console import Terminal
from ckm.cli.terminal.output_options import may_replace, output_options
from footing.messages import Message, Name, joined, said

if TYPE_CHECKING:
    from fractions import Fraction
    from pathlib import Path

    from ptable import Guarantee, PTable

_BARS = " ▁▂▃▄▅▆▇█"
_BLOCKED = "·"
_OTHER_COLUMNS = 45
_FEWEST_BARS = 21
_MAX_ROWS = 60
_CELLS = (1, 2, 5, 10, 20, 50)


@click.command(cls=Command)
@click.argument("file", type=PATH)
@click.option("--row", type=click.IntRange(min=0), help="Only the row of this count.")
@click.option(
    "--guarantee",
    "proves",
    is_flag=True,
    help="The guarantees of each count, privacy included.",
)
@click.option("--epsilon", type=float, default=1.0, help="For delta at this epsilon.")
@click.option("--delta", type=float, default=1e-6, help="For epsilon at this delta.")
@click.option(
    "--program",
    "prints_program",
    is_flag=True,
    help="The convex problem that its specification states, with its sizes.",
)
@click.option(
    "--picture",
    type=click.Choice(["heatmap", "distributions", "perturbation"]),
    help="Draw into a file: probabilities as shades, noise by count, or noise by cell key.",
)
@output_options("The .svg file of the picture.", ".svg")
@with_terminal
def show(
    terminal: Terminal,
    /,
    *,
    file: Path,
    row: int | None,
    proves: bool,
    prints_program: bool,
    epsilon: float,
    delta: float,
    picture: str | None,
    output: Path | None,
) -> None:
    """Draw a p-table: how likely each noise is, for each count.

    Examples
    --------
    ckm ptable show pt.parquet
    ckm ptable show pt.parquet --row 3       the probabilities of one count
    ckm ptable show pt.parquet --guarantee   bias, bounds, (epsilon, delta) per count
    ckm ptable show pt.parquet --program     the problem that its probabilities solve
    ckm ptable show pt.parquet --picture heatmap -o pt.svg
    ckm ptable show pt.parquet --picture perturbation -o keys.svg --force
    """
    from ptable import PTable, guarantee

    if proves and (row is not None or picture is not None):
        raise click.UsageError(
            Message("--guarantee shows all rows; leave out --row and --picture.")
        )
    if prints_program and (proves or row is not None or picture is not None):
        raise click.UsageError(Message("--program goes alone; leave out the other options."))
    if (picture is None) != (output is None):
        raise click.UsageError(Message("A picture needs both --picture and --output."))
    if picture is not None and row is not None:
        raise click.UsageError(Message("A picture shows all rows; leave out --row."))
    table = PTable.read(file)
    if picture is not None and output is not None:
        _write(terminal, table, picture, output)
    elif prints_program:
        _show_program(table)
    elif proves:
        show_guarantee(terminal, guarantee(table, epsilon=epsilon, delta=delta))
    elif row is None:
        _draw_rows(terminal, table)
    else:
        _draw_row(terminal, table, row)


def _write(terminal: Terminal, table: PTable, name: str, output: Path) -> None:
    from ptable import pictures

    getattr(pictures, name)(table).write(output, overwrite=may_replace())
    terminal.step(
        "picture written", Message("the picture shows the parameters: keep it inside")
    )
    click.echo(str(output))


def _show_program(table: PTable) -> None:
    """Print the problem that a table solves; one from elsewhere has none."""
    from ptable import NoiseSpec, PTableError
    from ptable.design.stack import StackedSpec
    from ptable.solver.solve import program

    if not isinstance(table.spec, NoiseSpec | StackedSpec):
        raise PTableError(
            Message("The p-table has no specification, and so no problem that it solves."),
            hint=Message("ckm ptable check says which design it looks like"),
        )
    click.echo(program(table.spec))


def _draw_rows(terminal: Terminal, table: PTable) -> None:
    """Draw every row as a line of bars, one bar per noise or, where they are many, a few."""
    from rich.table import Column

    from ptable.pictures.facts import bin_width, binned, row_facts, table_notes
    from ptable.pictures.words import decimal, percent

    numbers = list(range(table.n_rows))
    if table.n_rows > _MAX_ROWS:
        numbers = [*numbers[: _MAX_ROWS - 1], numbers[-1]]
    rows = [row_facts(table, row) for row in numbers]
    remarks = [", ".join(words for words, _ in row.flags) for row in rows]
    longest = max(map(len, remarks))
    others = _OTHER_COLUMNS + (longest + 3 if longest else 0)
    most = max(_FEWEST_BARS, terminal.out.width - others)
    wide = bin_width(table.max_noise, most)
    side = (table.max_noise + wide // 2) // wide
    distributions = [binned(row.law, wide) for row in rows]
    peak = _peak(distributions)
    caption = [
        Message(
            "bars from 0 to {peak:.0%}; {blocked} cannot occur",
            peak=float(peak),
            blocked=said(_BLOCKED),
        )
    ]
    caption += (
        [Message("each bar sums {wide} neighbouring noise values", wide=wide)]
        if wide > 1
        else []
    )
    gap = " " if 4 * side + others < terminal.out.width else ""
    columns: list[str | Column] = [
        Column("count", justify="right", min_width=5),
        Column(_scale(table, side * wide, side, gap), no_wrap=True),
    ]
    figures = ("stays", "mean", "variance")
    columns += [Column(name, justify="right", min_width=len(name)) for name in figures]
    columns += ["remark"] if longest else []
    lines = [
        (
            row.name.replace(" and more", "+"),
            gap.join(_bar(distribution.get(v), peak) for v in range(-side, side + 1)),
            f"{percent(row.stays, 1)}%",
            _plain(decimal(row.mean)),
            _plain(decimal(row.variance)),
            *([remark] if longest else []),
        )
        for row, distribution, remark in zip(rows, distributions, remarks, strict=True)
    ]
    terminal.table(
        columns,
        lines,
        left=("remark",),
        title=Message("P(noise) for each count"),
        caption=joined("\n", [*caption, *table_notes(table, numbers)]),
    )


def _draw_row(terminal: Terminal, table: PTable, count: int) -> None:
    """Draw the row that serves a count, with its probabilities."""
    from ptable.pictures.facts import row_facts, row_of
    from ptable.pictures.words import signed

    row = row_facts(table, row_of(table, count))
    takes = (
        Message()
        if row.count == count
        else Message(" (takes the row of {row})", row=Name(row.name))
    )
    peak = max(row.law.values())
    terminal.table(
        ("published", "noise", "probability", ""),
        (
            (
                f"{(count * table.step + v) / table.step:.12g}",
                _plain(signed(v, table.step)),
                f"{float(p):.4%}",
                "█" * round(40 * p / peak),
            )
            for v, p in row.law.items()
        ),
        left=("",),
        title=Message("Count {count}{takes}: what may be published", count=count, takes=takes),
    )


def show_guarantee(terminal: Terminal, proof: Guarantee) -> None:
    """Draw what each row of a p-table guarantees."""
    from ptable.proof.wording import upwards

    columns = ["count", "stays", "mean", "variance", "noise"]
    if proof.has_privacy:
        columns.append(Message("delta at epsilon {epsilon:g}", epsilon=proof.epsilon))
        columns.append(Message("epsilon at delta {delta:g}", delta=proof.delta))
    last, lines = proof.rows[-1].count, []
    for row in proof.rows:
        serves_more = row.count == last and proof.table.large_counts == "last"
        figures = [
            f"{row.count}{'+' if serves_more else ''}",
            f"{float(row.p_stay):.1%}",
            f"{float(row.mean):.3g}",
            f"{float(row.variance):.4g}",
            f"{float(row.least_noise):g} to {float(row.greatest_noise):g}",
        ]
        if row.delta is not None and row.epsilon is not None:
            epsilon = "none" if row.epsilon == math.inf else upwards(row.epsilon)
            figures += [upwards(row.delta), epsilon]
        lines.append(figures)
    title = Message("Guarantees by count")
    terminal.table(columns, lines, title=title, caption=proof.summary())
    if proof.has_privacy:
        _show_composed(terminal, proof)


def _show_composed(terminal: Terminal, proof: Guarantee) -> None:
    """Draw what several cells with noise of their own tell of a record in all of them."""
    from ptable.proof.wording import upwards

    lines = [
        (
            f"{n_cells}",
            *(
                upwards(proof.delta_of_cells(n_cells, epsilon=epsilon, are_large=are_large))
                for are_large in (False, True)
                for epsilon in (proof.epsilon, math.inf)
            ),
        )
        for n_cells in _CELLS
    ]
    headings = (
        Message("delta at epsilon {epsilon:g}", epsilon=proof.epsilon),
        Message("delta at any epsilon"),
    )
    terminal.table(
        [
            "cells",
            *headings,
            *(Message("{name}, large counts", name=name) for name in headings),
        ],
        lines,
        title=Message("Information from all cells that contain one record, together"),
        caption=(
            Message(
                "Cells of different records have noise of their own. A cell that is shown "
                "again has the same noise and counts once.\nNot so where two cells differ "
                "by that record alone: published apart with chance {chance_apart:.3g} "
                "(large counts), and alike without it, so that this chance is a delta at "
                "any epsilon.",
                chance_apart=proof.chance_apart,
            )
        ),
    )


def _peak(distributions: list[dict[int, Fraction]]) -> Fraction:
    """Return the largest probability, the row of count 0 aside: zeros mostly stay."""
    return max(
        p
        for distribution in (distributions[1:] or distributions)
        for p in distribution.values()
    )


def _bar(probability: Fraction | None, peak: Fraction) -> str:
    if not probability:
        return _BLOCKED
    return _BARS[min(8, max(1, round(8 * probability / peak)))]


def _scale(table: PTable, furthest: int, side: int, gap: str) -> str:
    """Label the first, middle and last bar, in units."""
    from ptable.pictures.words import signed

    middle = side * (1 + len(gap))
    width = 2 * middle + 1
    left, right = (_plain(signed(v, table.step)) for v in (-furthest, furthest))
    return (left.ljust(middle) + "0").ljust(width - len(right)) + right


def _plain(text: str) -> str:
    """Use the minus of keyboards, so that figures can be copied from a terminal."""
    from ptable.pictures.words import MINUS

    return text.replace(MINUS, "-")
