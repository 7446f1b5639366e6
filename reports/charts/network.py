"""Names on a circle, and how strongly each two hang together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from footing.svg import clip
from reports.charts.drawing import Drawing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.charts.drawing import Labels
    from reports.i18n.languages import Words

_WIDTH, _RADIUS, _WIDEST = 720.0, 200.0, 9.0
_HEIGHT = 2 * _RADIUS + 60
_BESIDE = 0.1


def network(
    words: Words,
    data: Labels,
    names: Sequence[str],
    links: Sequence[tuple[str, str, float]],
) -> str:
    """Draw a line for each link, the wider the stronger, and say its number where it is shown.

    Parameters
    ----------
    words, data
        The language, and what the picture says.
    names
        In the order of the circle.
    links
        Two names, and a number from 0 to 1.
    """
    drawing = Drawing(words, data, size=(_WIDTH, _HEIGHT))
    turns = {
        name: 2 * math.pi * place / len(names) - math.pi / 2 for place, name in enumerate(names)
    }
    dots = {
        name: (_WIDTH / 2 + _RADIUS * math.cos(turn), _HEIGHT / 2 + _RADIUS * math.sin(turn))
        for name, turn in turns.items()
    }
    for first, second, strength in links:
        drawing.line(
            dots[first],
            dots[second],
            tip=link_text(words, first, second, strength),
            css="axis",
            stroke_opacity=0.45,
            stroke_width=0.75 + _WIDEST * strength,
        )
    for name, turn in turns.items():
        (x, y), side = dots[name], math.cos(turn)
        drawing.circle((x, y), 6, css="drawn")
        drawing.text(
            (x + 12 * side, y + 16 * math.sin(turn) + 4),
            clip(name, _WIDTH / 2 - _RADIUS * abs(side) - 16, 12),
            anchor="start" if side > _BESIDE else "end" if side < -_BESIDE else "middle",
        )
    return drawing.finish()


def link_text(words: Words, first: str, second: str, strength: float) -> str:
    """Say how strongly two names hang together."""
    return words.say(
        "%(first)s and %(second)s: %(strength)s",
        first=first,
        second=second,
        strength=words.numbers.ratio(strength),
    )
