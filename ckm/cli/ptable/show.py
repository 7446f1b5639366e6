"""``ckm ptable show``: look at a perturbation table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckm.cli.root import common_options

if TYPE_CHECKING:
    from ckm.cli.voice import Voice
    from ptable import PTable

__all__ = ["show"]

_PATH = click.Path(path_type=Path)
_BARS = " ▁▂▃▄▅▆▇█"
_BLOCKED = "·"
_OTHER_COLUMNS = 45


@click.command(
    epilog="""\b
Examples:
  ckm ptable show pt.parquet
  ckm ptable show pt.parquet --row 3       the probabilities of one count
"""
)
@click.argument("file", type=_PATH)
@click.option("--row", type=click.IntRange(min=0), help="Only the row of this count.")
@common_options
@click.pass_obj
def show(voice: Voice, *, file: Path, row: int | None) -> None:
    """Draw a p-table: how likely each noise is, for each count."""
    from ptable import PTable

    table = PTable.read(file)
    if row is None:
        _draw_rows(voice, table)
    else:
        _draw_row(voice, table, min(row, table.n_rows - 1))


def _draw_rows(voice: Voice, table: PTable) -> None:
    """Draw every row as a line of bars, one bar per noise."""
    from rich.table import Table

    reach = range(-table.max_noise, table.max_noise + 1)
    picture = Table(
        title="P(noise) for each count", title_justify="left", caption_justify="left"
    )
    picture.caption = f"bars from 0 to {_peak(table):.0%}; {_BLOCKED} cannot occur"
    gap = " " if 4 * table.max_noise + _OTHER_COLUMNS < voice.out.width else ""
    picture.add_column("count", justify="right", min_width=5)
    picture.add_column(_scale(table.max_noise, gap), no_wrap=True)
    for name in ("stays", "mean", "variance"):
        picture.add_column(name, justify="right", min_width=len(name))
    for count in range(table.n_rows):
        law = _law(table, count)
        bars = gap.join(_bar(law.get(v, 0.0), _peak(table)) for v in reach)
        mean = sum(v * p for v, p in law.items())
        variance = sum(v * v * p for v, p in law.items()) - mean**2
        more = "+" if count == table.n_rows - 1 and table.large_counts == "last" else ""
        picture.add_row(
            f"{count}{more}",
            bars,
            f"{law.get(0, 0.0):.1%}",
            f"{mean + 0:.3g}",
            f"{variance:.4g}",
        )
    voice.out.print(picture)


def _draw_row(voice: Voice, table: PTable, count: int) -> None:
    """Draw one row with its probabilities."""
    from rich.table import Table

    law = _law(table, count)
    picture = Table(title=f"Count {count}: what may be published", title_justify="left")
    for name in ("published", "noise", "probability"):
        picture.add_column(name, justify="right")
    picture.add_column("")
    for v, p in sorted(law.items()):
        width = round(40 * p / max(law.values()))
        picture.add_row(str(count + v), f"{v:+d}" if v else "0", f"{p:.4%}", "█" * width)
    voice.out.print(picture)


def _law(table: PTable, count: int) -> dict[int, float]:
    units = table.units(count)
    return {v: n / table.key_range for v, n in units.items() if n}


def _peak(table: PTable) -> float:
    """Return the largest probability, the row of count 0 aside: zeros mostly stay."""
    rows = range(1, table.n_rows) if table.n_rows > 1 else range(1)
    return max(p for count in rows for p in _law(table, count).values())


def _bar(probability: float, peak: float) -> str:
    if probability == 0:
        return _BLOCKED
    return _BARS[min(8, max(1, round(8 * probability / peak)))]


def _scale(max_noise: int, gap: str) -> str:
    """Label the first, middle and last bar."""
    middle = max_noise * (1 + len(gap))
    width = 2 * middle + 1
    left, right = f"-{max_noise}", f"+{max_noise}"
    return (left.ljust(middle) + "0").ljust(width - len(right)) + right
