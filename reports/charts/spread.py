"""Quantiles of several groups, one line each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from footing.svg import Axis, ticks
from reports.charts.drawing import Drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.charts.drawing import Labels
    from reports.i18n.languages import Words

_WIDTH = 720.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadLine:
    """The quantiles of a group: least, 0.1, median, 0.9 and largest."""

    name: str
    least: float
    q10: float
    median: float
    q90: float
    most: float


def spread(words: Words, data: Labels, lines: Sequence[SpreadLine]) -> str:
    """Draw a line from least to largest, a box of the middle 80 %, a bar at the median."""
    left, right, top, step = 150.0, _WIDTH - 24, 16.0, 34.0
    low = top + step * len(lines)
    drawing = Drawing(words, data, size=(_WIDTH, low + 40))
    at = ticks(min(line.least for line in lines), max(line.most for line in lines))
    along = Axis(at, (left, right))
    drawing.across(along, low=low, high=top)
    for place, line in enumerate(lines):
        y = top + (place + 0.5) * step
        drawing.text((left - 10, y + 4), line.name, anchor="end")
        drawing.whisker((along(line.least), along(line.most)), y, cap=5)
        width = max(along(line.q90) - along(line.q10), 2.0)
        drawing.rect((along(line.q10), y - 9, width, 18), css="designed")
        drawing.rect((along(line.median) - 2, y - 9, 4, 18), css="drawn")
    return drawing.finish()
