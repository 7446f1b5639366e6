"""A risk-utility map as a picture: one square per design, filled where no other beats it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from footing.svg import Axis, apart, clip, html_table, text_width
from ptable.pictures.picture import finished
from ptable.pictures.svg import INK, MUTED, Drawing
from ptable.pictures.words import Wording, in_english
from risk.errors import RiskError
from risk.risk_map.catalogue import FIGURES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ptable.pictures.picture import Picture
    from ptable.pictures.words import Words

_HEIGHT = 360.0
_SIDE, _FOOT = 64.0, 44.0
_FILLED, _GRID = "#0b4f8a", "#dddddd"
_MAX_NAMED = 20
_NAME_ROOM = 360.0
_LARGEST, _LEAST = 1e300, 1e-300

_Point = tuple[float, float]


def designs_picture(
    places: Mapping[str, _Point],
    front: Sequence[str],
    *,
    risk: str,
    utility: str,
    n_undefined: int = 0,
    n_refused: int = 0,
    width: float = 760,
    words: Words = in_english,
    decimal_mark: str = ".",
) -> Picture:
    """Draw designs at their figures of utility, to the right, and of risk, upwards."""
    wording = Wording(words=words, decimal_mark=decimal_mark)
    _check(places, front, (risk, utility))
    title = words("Risk and utility of %(designs)s designs") % {"designs": len(places)}
    drawing = Drawing(title, width=width)
    drawing.axis(16, _axis(risk, wording, room=drawing.room))
    drawing.y += 24
    scatter = _Scatter(drawing, places, wording)
    scatter.frame(_axis(utility, wording, room=drawing.room))
    scatter.points(places, front)
    drawing.y += _HEIGHT + _FOOT
    signs = words("no other design beats it"), words("another does")
    drawing.legend("", list(zip((_FILLED, "#ffffff"), signs, strict=True)))
    facts = {"risk": risk, "utility": utility, "designs": len(places), "front": len(front)}
    description = (
        words(
            "Designs by %(risk)s and %(utility)s: %(designs)s drawn, %(front)s that no other "
            "beats."
        )
        % facts
    )
    return finished(
        drawing,
        _notes(front, n_undefined, n_refused, wording),
        description,
        _data(places, front, (risk, utility, description), wording),
        wording,
    )


def _check(places: Mapping[str, _Point], front: Sequence[str], names: Sequence[str]) -> None:
    problems = [f"there is no figure {name!r}" for name in names if name not in FIGURES]
    if not places:
        problems.append("there is no design")
    for name, place in places.items():
        if not all(abs(value) < _LARGEST for value in place):
            problems.append(f"design {name!r} needs two finite numbers")
    strangers = [repr(name) for name in front if name not in places]
    if strangers:
        problems.append(f"the front has {', '.join(strangers)}, which is not among the designs")
    if problems:
        raise RiskError(
            f"There is no picture of these designs: {'; '.join(problems)}.",
            hint="leave out designs for which a figure is not defined",
        )


def _notes(
    front: Sequence[str], n_undefined: int, n_refused: int, wording: Wording
) -> Iterable[str]:
    words = wording.words
    short = (apart(clip(name, _NAME_ROOM, 11)) for name in front[:_MAX_NAMED])
    named = words("; ").join(f"{n} {name}" for n, name in enumerate(short, start=1))
    yield words("Filled, from the least risk on: %(designs)s.") % {"designs": named}
    if n_undefined:
        sentence = words("Left out, as a figure is not defined: %(designs)s designs.")
        yield sentence % {"designs": n_undefined}
    if n_refused:
        yield words("Infeasible: %(designs)s designs.") % {"designs": n_refused}


def _data(
    places: Mapping[str, _Point],
    front: Sequence[str],
    heads: tuple[str, str, str],
    wording: Wording,
) -> str:
    words, figure = wording.words, wording.number
    yes, no = words("yes"), words("no")
    lines = [
        [name, figure(f"{y:.6g}"), figure(f"{x:.6g}"), yes if name in front else no]
        for name, (x, y) in places.items()
    ]
    risk, utility, caption = heads
    return html_table(
        caption, [words("design"), risk, utility, words("no other beats it")], lines
    )


class _Scatter:
    """Points within a frame whose axes start at 0."""

    def __init__(
        self, drawing: Drawing, places: Mapping[str, _Point], wording: Wording
    ) -> None:
        self.drawing, self.wording = drawing, wording
        self.top, self.low, self.right = drawing.y, drawing.y + _HEIGHT, drawing.width - 32
        across, upwards = zip(*places.values(), strict=True)
        self.across = Axis(_ticks(across), (_SIDE, self.right))
        self.upwards = Axis(_ticks(upwards), (self.low, self.top))

    def frame(self, words: str) -> None:
        """Draw the grid, its numbers and the name of the lower axis."""
        draw, figure, grid = (
            self.drawing,
            self.wording.number,
            {"stroke": _GRID, "stroke_width": 1},
        )
        for number in self.across.at:
            x, label = self.across(number), figure(f"{number:.4g}")
            draw.line((x, self.top), (x, self.low), **grid)
            draw.text((x, self.low + 15), label, anchor="middle", fill=MUTED)
        for number in self.upwards.at:
            y, label = self.upwards(number), figure(f"{number:.4g}")
            draw.line((_SIDE, y), (self.right, y), **grid)
            draw.text((_SIDE - 6, y + 4), label, anchor="end", fill=MUTED)
        words = clip(words, draw.room, 11, bold=True)
        draw.text((self.right, self.low + 33), words, anchor="end", bold=True)

    def points(self, places: Mapping[str, _Point], front: Sequence[str]) -> None:
        """Draw the designs, those on the front last, numbered where there is room."""
        at = {name: (self.across(x), self.upwards(y)) for name, (x, y) in places.items()}
        for name in sorted(places, key=front.__contains__):
            left, base = at[name]
            fill = _FILLED if name in front else "#ffffff"
            self.drawing.rect((left - 4, base - 4, 8, 8), fill=fill, stroke=INK)
        taken: list[_Point] = []
        for place, name in enumerate(front, start=1):  # below the front nothing is drawn
            left, base = at[name]
            if all(abs(left - x) > 14 or abs(base - y) > 11 for x, y in taken):
                self.drawing.text((left - 4, base + 15), str(place), size=10, anchor="middle")
                taken.append((left, base))


def _ticks(values: Sequence[float]) -> list[float]:
    """Give round numbers from 0 or below to above 0 that cover some numbers."""
    step = _step(max(map(abs, values)))
    first = math.floor(min(0.0, *values) / step + 1e-9)
    last = max(1, math.ceil(max(values) / step - 1e-9))
    return [step * place for place in range(first, last + 1)]


def _axis(figure: str, wording: Wording, *, room: float) -> str:
    """Name a figure in words where there is room, by its symbol otherwise."""
    words, known = wording.words, FIGURES[figure]
    better = words("%(figure)s, %(unit)s: high is better")
    if known.better == "low":
        better = words("%(figure)s, %(unit)s: low is better")
    short = better % {"figure": figure, "unit": words(known.unit)}
    full = words("%(name)s (%(figure)s)") % {"name": words(known.words), "figure": short}
    return full if text_width(full, 11, bold=True) <= room else short


def _step(largest: float) -> float:
    """Give a round step that divides the way from 0 to a number into at most ten."""
    if largest <= _LEAST:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    return next(power * part for part in (0.1, 0.2, 0.5, 1.0) if largest / (power * part) <= 10)
