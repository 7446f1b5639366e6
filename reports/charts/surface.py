"""A surface over two choices, as shades with a number in each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reports.charts.drawing import SHADES, Drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.i18n.languages import Words

_WIDTH = 720.0
_LEFT, _TOP, _HIGH = 84.0, 44.0, 34.0
_FIRST_DARK = 4
_LEAST = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Surface:
    """What a surface says.

    Parameters
    ----------
    id, title, description
        Of the picture.
    across, down
        The names of columns and rows.
    columns, rows
        Their labels.
    ends
        What the lightest and the darkest shade mean.
    home
        The row and the column to outline; None for none.
    """

    id: str
    title: str
    description: str
    across: str
    down: str
    columns: Sequence[str]
    rows: Sequence[str]
    ends: tuple[str, str]
    home: tuple[int, int] | None = None


def surface(words: Words, data: Surface, heights: Sequence[Sequence[float]]) -> str:
    """Draw heights as shades, by powers of ten.

    Parameters
    ----------
    words
        The language.
    data
        The words of the picture.
    heights
        Positive numbers, by row and column.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> data = Surface(
    ...     id="a",
    ...     title="",
    ...     description="",
    ...     across="noise",
    ...     down="batch",
    ...     columns=["1", "2"],
    ...     rows=["64"],
    ...     ends=("low", "high"),
    ... )
    >>> surface(words_of("en"), data, [[2.0, 1.0]]).count("<rect")
    8
    """
    wide = min(120.0, (_WIDTH - _LEFT - 8) / len(data.columns))
    low = _TOP + _HIGH * len(data.rows)
    drawing = Drawing(data.id, size=(_WIDTH, low + 40))
    drawing.text((_LEFT, 14), data.across)
    drawing.text((4, _TOP - 8), data.down)
    every = [_log(height) for line in heights for height in line]
    least, span = min(every), (max(every) - min(every)) or 1.0
    for row, line in enumerate(heights):
        for column, height in enumerate(line):
            shade = min(len(SHADES), int((_log(height) - least) / span * (len(SHADES) + 1)))
            left, top = _LEFT + column * wide, _TOP + row * _HIGH
            drawing.rect((left, top, wide, _HIGH), css=f"s{shade}")
            css = "t inverse" if shade >= _FIRST_DARK else "t"
            place = (left + wide / 2, top + _HIGH / 2 + 4)
            drawing.text(place, words.numbers.amount(height), anchor="middle", css=css)
    if data.home is not None:
        left, top = _LEFT + data.home[1] * wide, _TOP + data.home[0] * _HIGH
        drawing.rect((left + 1, top + 1, wide - 2, _HIGH - 2), css="home")
    for column, label in enumerate(data.columns):
        drawing.text((_LEFT + (column + 0.5) * wide, _TOP - 8), label, anchor="middle")
    for row, label in enumerate(data.rows):
        drawing.text((_LEFT - 8, _TOP + (row + 0.5) * _HIGH + 4), label, anchor="end")
    shades = [(f"s{shade}", "") for shade in range(len(SHADES))]
    first, last = data.ends
    drawing.legend(low + 16, shades, step=18)
    drawing.legend(
        low + 16, [(f"s{len(SHADES)}", f"{first} → {last}")], step=0, left=4 + 18 * len(SHADES)
    )
    return drawing.finish(data.title, data.description)


def _log(height: float) -> float:
    return math.log(max(height, _LEAST))
