"""A drawing inside a page: colours come from the page's style sheet."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

from footing.svg import Board, coordinate, text_width

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from footing.svg import Axis
    from reports.i18n.languages import Words

_POWERS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What a picture says.

    Parameters
    ----------
    id
        Unique on the page.
    title, description
        Of the picture, for who cannot see it.
    across, upwards
        The names of its axes.
    """

    id: str
    title: str
    description: str
    across: str = ""
    upwards: str = ""


class Drawing(Board):
    """Collect shapes and texts, with a title and a description for who cannot see them.

    Parameters
    ----------
    words
        The language.
    labels
        What the picture says.
    size
        Width and height, in pixels.
    """

    usual: ClassVar = {"text": {"css": "t"}}

    def __init__(self, words: Words, labels: Labels, *, size: tuple[float, float]) -> None:
        super().__init__()
        self.words, self.labels = words, labels
        self.width, self.height = size

    def across(
        self,
        axis: Axis,
        *,
        low: float,
        high: float,
        texts: Mapping[float, str] = MappingProxyType({}),
    ) -> None:
        """Draw an axis to the right, with lines up to `high`, and words where there is room."""
        edge = -math.inf
        for number in axis.at:
            x = axis(number)
            self.line((x, low), (x, high), css="grid")
            text = texts[number] if number in texts else self._written(axis, number)
            half = text_width(text, 11) / 2
            x = min(x, self.width - half)
            if text and x - half > edge:
                self.text((x, low + 14), text, anchor="middle")
                edge = x + half
        middle = (axis(axis.at[0]) + axis(axis.at[-1])) / 2
        name = self.labels.across
        middle = min(middle, max(self.width / 2, self.width - text_width(name, 12) / 2))
        self.text((middle, low + 30), name, anchor="middle")

    def upwards(self, axis: Axis, *, left: float, right: float) -> None:
        """Draw an axis from bottom to top, with lines to the right; its name stands above."""
        for number in axis.at:
            y = axis(number)
            self.line((left, y), (right, y), css="grid")
            self.text((left - 6, y + 4), self._written(axis, number), anchor="end")
        self.text((4, axis(axis.at[-1]) - 10), self.labels.upwards)

    def _written(self, axis: Axis, number: float) -> str:
        if axis.is_log and (number < 1e-3 or number > 9e4):
            power = round(math.log10(number))
            if math.isclose(number, 10.0**power):
                return f"10{str(power).translate(_POWERS)}"
        return self.words.numbers.plain(number)

    def whisker(self, ends: tuple[float, float], y: float) -> None:
        """Draw an interval from left to right, with a cap at each end."""
        self.line((ends[0], y), (ends[1], y), css="axis")
        for end in ends:
            self.line((end, y - 4), (end, y + 4), css="axis")

    def legend(
        self,
        top: float,
        entries: Sequence[tuple[str, str]],
        *,
        left: float = 4,
        radius: float = 0,
        rings: Mapping[str, str] | None = None,
    ) -> None:
        """Explain fillings, or dots of a radius: their class and their words, side by side.

        A class of ``rings`` is drawn as a ring around a dot of the class that stands beside it.
        """
        inner = rings or {}
        signs = [
            ({"css": css, **({"inner": inner[css]} if css in inner else {})}, words)
            for css, words in entries
        ]
        ends = left, self.width
        base = self.signs((left, top + 10), signs, ends=ends, size=12, radius=radius)
        self.height = max(self.height, base + 6)

    def finish(self) -> str:
        """Give the finished SVG."""
        labels, width, height = self.labels, coordinate(self.width), coordinate(self.height)
        return self.document(
            labels.title,
            labels.description,
            ids=(f"{labels.id}-title", f"{labels.id}-desc"),
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
        )
