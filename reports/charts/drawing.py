"""A small drawing board for SVG inside a page: colours come from the page's style sheet."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

#: Shares up to which each shade is used; the last one takes the rest.
SHADES = (0.01, 0.05, 0.2, 0.4, 0.7)


def coordinate(amount: float) -> str:
    """Write a coordinate, short and the same everywhere.

    Parameters
    ----------
    amount
        In pixels.

    Examples
    --------
    >>> coordinate(2.0), coordinate(1 / 3)
    ('2', '0.33')
    """
    text = f"{amount:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def ticks(least: float, most: float, *, number: int = 5) -> list[float]:
    """Give round values that cover a range.

    Parameters
    ----------
    least, most
        The range.
    number
        About how many.

    Examples
    --------
    >>> ticks(0, 0.37)
    [0.0, 0.1, 0.2, 0.3, 0.4]
    """
    span = (most - least) or abs(most) or 1.0
    rough = span / number
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [round(place * step, 12) for place in range(first, max(last, first + 1) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """Give powers of ten around a range, or 1, 2 and 5 times them where it is short.

    Parameters
    ----------
    least, most
        The range, above 0.

    Examples
    --------
    >>> log_ticks(0.02, 3000)
    [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0]
    >>> log_ticks(3, 40)
    [2.0, 5.0, 10.0, 20.0, 50.0]
    """
    first, last = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(most) - 1e-9)
    steps = (1.0,) if last - first > 2 else (1.0, 2.0, 5.0)
    every = [s * 10.0**p for p in range(first, max(last, first + 1) + 1) for s in steps]
    below = [number for number in every if number <= least * (1 + 1e-9)]
    above = [number for number in every if number >= most * (1 - 1e-9)]
    return [number for number in every if below[-1] <= number <= above[0]]


def shade_of(share: float) -> int:
    """Give the number of the shade of a share, 0 for the lightest.

    Parameters
    ----------
    share
        Above 0, at most 1.

    Examples
    --------
    >>> shade_of(0.001), shade_of(0.25), shade_of(1)
    (0, 3, 5)
    """
    return next((n for n, bound in enumerate(SHADES) if share < bound), len(SHADES))


class Scale:
    """Map numbers to coordinates along a line.

    Parameters
    ----------
    least, most
        The numbers at its ends.
    start, end
        The coordinates of its ends.

    Examples
    --------
    >>> Scale((0, 10), (100, 200))(5)
    150.0
    """

    def __init__(self, domain: tuple[float, float], span: tuple[float, float]) -> None:
        self._least, self._most = domain
        self._start, self._end = span

    def __call__(self, number: float) -> float:
        """Give the coordinate of a number."""
        width = (self._most - self._least) or 1.0
        return self._start + (number - self._least) / width * (self._end - self._start)


class Drawing:
    """Collect shapes and texts, with a title and a description for who cannot see them.

    Parameters
    ----------
    ident
        Unique on the page.
    size
        Width and height, in pixels.

    Examples
    --------
    >>> drawing = Drawing("dot", size=(10, 10))
    >>> drawing.rect((1, 1, 2, 2), css="drawn")
    >>> '<title id="dot-title">A dot</title>' in drawing.finish("A dot", "It is square.")
    True
    """

    def __init__(self, ident: str, *, size: tuple[float, float]) -> None:
        self.ident = ident
        self.width, self.height = size
        self._parts: list[str] = []

    def rect(self, box: tuple[float, float, float, float], *, css: str) -> None:
        """Draw a rectangle from its left, top, width and height."""
        left, top, wide, high = map(coordinate, box)
        self._parts.append(
            f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" class="{css}"/>'
        )

    def line(self, start: tuple[float, float], end: tuple[float, float], *, css: str) -> None:
        """Draw a line."""
        (x1, y1), (x2, y2) = start, end
        self._parts.append(
            f'<path d="M{coordinate(x1)} {coordinate(y1)}L{coordinate(x2)} {coordinate(y2)}" '
            f'class="{css}"/>'
        )

    def path(self, places: Sequence[tuple[float, float]], *, css: str) -> None:
        """Draw a line through places."""
        if places:
            steps = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in places)
            self._parts.append(f'<path d="M{steps}" class="{css}"/>')

    def circle(self, place: tuple[float, float], radius: float, *, css: str) -> None:
        """Draw a circle."""
        x, y = map(coordinate, place)
        self._parts.append(
            f'<circle cx="{x}" cy="{y}" r="{coordinate(radius)}" class="{css}"/>'
        )

    def text(
        self, place: tuple[float, float], words: str, *, anchor: str = "start", css: str = "t"
    ) -> None:
        """Write a text at its base line."""
        x, y = map(coordinate, place)
        more = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self._parts.append(f'<text x="{x}" y="{y}" class="{css}"{more}>{_safe(words)}</text>')

    def across(
        self,
        scale: Callable[[float], float],
        at: Sequence[float],
        *,
        low: float,
        high: float,
        write: Callable[[float], str],
        name: str,
    ) -> None:
        """Draw an axis from left to right, with lines up to `high`."""
        for number in at:
            x = scale(number)
            self.line((x, low), (x, high), css="grid")
            self.text((x, low + 14), write(number), anchor="middle")
        self.text(((scale(at[0]) + scale(at[-1])) / 2, low + 30), name, anchor="middle")

    def upwards(
        self,
        scale: Callable[[float], float],
        at: Sequence[float],
        *,
        left: float,
        right: float,
        write: Callable[[float], str],
        name: str,
    ) -> None:
        """Draw an axis from bottom to top, with lines to the right; its name stands above."""
        for number in at:
            y = scale(number)
            self.line((left, y), (right, y), css="grid")
            self.text((left - 6, y + 4), write(number), anchor="end")
        self.text((4, scale(at[-1]) - 10), name)

    def legend(
        self, top: float, entries: Sequence[tuple[str, str]], *, step: float, left: float = 4
    ) -> None:
        """Explain fillings: their class and their words, side by side."""
        for number, (css, words) in enumerate(entries):
            start = left + number * step
            self.rect((start, top, 14, 12), css=css)
            if words:
                self.text((start + 20, top + 10), words)

    def finish(self, title: str, description: str) -> str:
        """Give the finished SVG."""
        width, height = coordinate(self.width), coordinate(self.height)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'aria-labelledby="{self.ident}-title {self.ident}-desc">'
            f'<title id="{self.ident}-title">{_safe(title)}</title>'
            f'<desc id="{self.ident}-desc">{_safe(description)}</desc>'
            + "".join(self._parts)
            + "</svg>"
        )


def _safe(words: str) -> str:
    return html.escape(words)
