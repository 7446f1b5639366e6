"""A matrix of shades, with a number in each cell where there is room."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from footing.svg import Grid
from reports.charts.drawing import Drawing, Labels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reports.i18n.languages import Words

_WIDTH = 720.0
_LEFT, _TOP = 84.0, 44.0
_FIRST_DARK = 4
_LINED = 10
#: Shares up to which each shade is used; the last one takes the rest.
SHADES = (0.01, 0.05, 0.2, 0.4, 0.7)


def shade_of(share: float) -> int:
    """Give the number of the shade of a share, 0 for the lightest."""
    return next((n for n, bound in enumerate(SHADES) if share < bound), len(SHADES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix(Labels):
    """What a matrix of shades says.

    Parameters
    ----------
    down
        The name of rows.
    columns, rows
        Their labels.
    home
        Row → the column to outline.
    legend
        Shade → what it stands for; None for the shares of `SHADES`.
    """

    down: str
    columns: Sequence[str]
    rows: Sequence[str]
    home: Mapping[int, int]
    legend: Mapping[int, str] | None = None


def matrix(
    words: Words, data: Matrix, cells: Mapping[tuple[int, int], tuple[float, str]]
) -> str:
    """Draw shares as shades."""
    shaded = {place: (shade_of(share), text) for place, (share, text) in cells.items()}
    high = min(24.0, max(3.0, 720.0 / len(data.rows)))
    wide = min(max(44.0, _longest(data.columns)), (_WIDTH - _LEFT - 8) / len(data.columns))
    low = _TOP + high * len(data.rows)
    drawing = Drawing(words, data, size=(_WIDTH, low + 40))
    drawing.text((_LEFT, 14), data.across)
    drawing.text((4, _TOP - 8), data.down)
    has_room = wide >= 26 and high >= 16
    grid = Grid((_LEFT, _TOP), (wide, high))
    shades: list[dict[int, int]] = [{} for _ in data.rows]
    for (row, column), (shade, _) in shaded.items():
        shades[row][column] = shade
    grid.fill(drawing, shades, [{"css": f"s{n}"} for n in range(len(SHADES) + 1)])
    if wide >= _LINED:
        grid.lines(drawing, len(data.rows), len(data.columns), css="grid")
    drawing.path([grid.box(row, column) for row, column in data.home.items()], css="home")
    for (row, column), (shade, text) in shaded.items() if has_room else ():
        css = "t inverse" if shade >= _FIRST_DARK else "t"
        x, y = grid.middle(row, column)
        drawing.text((x, y + 4), text, anchor="middle", css=css)
    _label(drawing, data, grid)
    _legend(words, drawing, low + 16, data.legend)
    return drawing.finish()


def _longest(labels: Sequence[str]) -> float:
    """Return the room that the longest label needs."""
    return max(len(label) for label in labels) * 7.5 + 6


def _label(drawing: Drawing, data: Matrix, grid: Grid) -> None:
    every = math.ceil(_longest(data.columns) / grid.wide)
    for column in range(0, len(data.columns), every):
        place = (grid.middle(0, column)[0], _TOP - 8)
        drawing.text(place, data.columns[column], anchor="middle")
    every = math.ceil(13 / grid.high)
    for row in range(0, len(data.rows), every):
        place = (_LEFT - 8, grid.middle(row, 0)[1] + 4)
        drawing.text(place, data.rows[row], anchor="end")


def _legend(
    words: Words, drawing: Drawing, top: float, legend: Mapping[int, str] | None
) -> None:
    if legend is not None:
        drawing.legend(top, [(f"s{shade}", says) for shade, says in legend.items()])
        return
    shades = [f"s{n}" for n in range(len(SHADES) + 1)]
    bounds = [words.numbers.plain(share) for share in SHADES]
    says = [f"< {bounds[0]}"]
    says += [f"{low}–{high}" for low, high in pairwise(bounds)]
    says.append(f"≥ {bounds[-1]}")
    drawing.legend(top, list(zip(shades, says, strict=True)))
