"""A risk-utility map as a picture: one square per design, filled where no other beats it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ptable.pictures.data import html_table
from ptable.pictures.picture import Picture
from ptable.pictures.svg import INK, MUTED, Drawing, clip, number
from risk.errors import RiskError
from risk.map_catalogue import FIGURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from risk.map_result import RiskUtilityMap

__all__ = ["map_picture"]

_HEIGHT = 360.0
_SIDE, _FOOT = 64.0, 44.0
_FILLED, _GRID = "#0b4f8a", "#dddddd"
_MOST_NAMED = 20

_Point = tuple[float, float]


def map_picture(
    found: RiskUtilityMap,
    *,
    risk: str = "q_worst",
    utility: str = "hellinger_raw",
    table: str = "",
    width: float = 760,
) -> Picture:
    """Draw designs by a figure of risk, upwards, and one of utility, to the right.

    Parameters
    ----------
    found
        The map.
    risk, utility, table
        As for `RiskUtilityMap.pareto`.
    width
        The width of the picture, in pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from ptable.mechanisms import Mechanism
    >>> from risk.map import risk_utility_map
    >>> rng = np.random.default_rng(1)
    >>> found = risk_utility_map({"r3": Mechanism.rounding(3)}, {"t": [1, 2]}, rng=rng)
    >>> map_picture(found).description
    'Designs by q_worst and hellinger_raw: 1 drawn, 1 that no other beats.'
    """
    front = found.pareto(risk=risk, utility=utility, table=table)
    places: dict[str, _Point] = {}
    for design in found.designs:
        x = found.find(design, utility, table=table)
        y = found.find(design, risk, table=table)
        if x is not None and y is not None:
            places[design] = x, y
    if not places:
        raise RiskError(
            f"No design has both {risk!r} and {utility!r} on table {table!r}.",
            hint="to_frame() shows which figures are defined",
        )
    drawing = Drawing(f"Risk and utility of {len(places)} designs", width=width)
    drawing.axis(16, _axis(risk))
    drawing.y += 24
    scatter = _Scatter(drawing, places)
    scatter.frame(_axis(utility))
    scatter.points(places, front)
    drawing.y += _HEIGHT + _FOOT
    drawing.legend("", [(_FILLED, "no other design beats it"), ("#ffffff", "another does")])
    named = "; ".join(f"{n} {name}" for n, name in enumerate(front[:_MOST_NAMED], start=1))
    drawing.note(f"Filled, from the least risk on: {named}.")
    left_out = len(found.designs) - len(places)
    if left_out:
        drawing.note(f"Left out, as a figure is not defined: {left_out} designs.")
    if found.refused:
        drawing.note(f"Infeasible: {len(found.refused)} designs.")
    description = (
        f"Designs by {risk} and {utility}: {len(places)} drawn, "
        f"{len(front)} that no other beats."
    )
    lines = [
        [name, f"{y:.6g}", f"{x:.6g}", "yes" if name in front else "no"]
        for name, (x, y) in places.items()
    ]
    heads = ["design", risk, utility, "no other beats it"]
    return Picture(
        svg=drawing.finish(description),
        description=description,
        table=html_table(description, heads, lines),
    )


class _Scatter:
    """Points within a frame whose axes start at 0."""

    def __init__(self, drawing: Drawing, places: Mapping[str, _Point]) -> None:
        self.drawing = drawing
        self.top, self.left = drawing.y, _SIDE
        self.wide = drawing.width - _SIDE - 32
        self.steps = [_step(max(place[axis] for place in places.values())) for axis in (0, 1)]
        self.ends = [
            step * max(1, math.ceil(max(p[axis] for p in places.values()) / step - 1e-9))
            for axis, step in enumerate(self.steps)
        ]
        lows = [min(0.0, *(p[axis] for p in places.values())) for axis in (0, 1)]
        self.starts = [
            step * math.floor(low / step + 1e-9)
            for low, step in zip(lows, self.steps, strict=True)
        ]

    def at(self, place: _Point) -> _Point:
        """Give the pixels of a point."""
        shares = [
            (value - start) / (end - start)
            for value, start, end in zip(place, self.starts, self.ends, strict=True)
        ]
        return self.left + shares[0] * self.wide, self.top + (1 - shares[1]) * _HEIGHT

    def frame(self, words: str) -> None:
        """Draw the grid, its numbers and the name of the lower axis."""
        x, y = self.starts
        while x <= self.ends[0] + self.steps[0] / 2:
            left, _ = self.at((x, y))
            self._line(left, self.top, left, self.top + _HEIGHT)
            label = (left, self.top + _HEIGHT + 15)
            self.drawing.text(label, f"{x:.4g}", anchor="middle", fill=MUTED)
            x += self.steps[0]
        x = self.starts[0]
        while y <= self.ends[1] + self.steps[1] / 2:
            _, base = self.at((x, y))
            self._line(self.left, base, self.left + self.wide, base)
            self.drawing.text((self.left - 6, base + 4), f"{y:.4g}", anchor="end", fill=MUTED)
            y += self.steps[1]
        end = (self.left + self.wide, self.top + _HEIGHT + 33)
        words = clip(words, self.drawing.room, 11, bold=True)
        self.drawing.text(end, words, anchor="end", bold=True)

    def _line(self, left: float, top: float, right: float, bottom: float) -> None:
        step = f"M{number(left)} {number(top)}L{number(right)} {number(bottom)}"
        self.drawing.path([step], stroke=_GRID)

    def points(self, places: Mapping[str, _Point], front: tuple[str, ...]) -> None:
        """Draw the designs, those on the front last, numbered where there is room."""
        for name in sorted(places, key=front.__contains__):
            left, base = self.at(places[name])
            fill = _FILLED if name in front else "#ffffff"
            self.drawing.rect((left - 4, base - 4, 8, 8), fill=fill, stroke=INK)
        taken: list[_Point] = []
        for place, name in enumerate(front, start=1):  # below the front nothing is drawn
            left, base = self.at(places[name])
            if all(abs(left - x) > 14 or abs(base - y) > 11 for x, y in taken):
                self.drawing.text((left - 4, base + 15), str(place), size=10, anchor="middle")
                taken.append((left, base))


def _axis(figure: str) -> str:
    known = FIGURES[figure]
    return f"{figure}, {known.unit}: {known.better} is better"


def _step(largest: float) -> float:
    """Give a round step that divides the way from 0 to a number into at most ten."""
    if largest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(power * part for part in (0.1, 0.2, 0.5, 1.0) if largest / (power * part) <= 10)
