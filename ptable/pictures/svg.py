"""A small drawing board for SVG: a white card with shapes, texts, a legend and notes."""

import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

from footing.svg import Board, attributes, clean, clip, coordinate, text_width

INK = "#111111"
MUTED = "#555555"
#: Stands for the prefix of every id until the content is known; no text keeps such a character.
_PREFIX = "\0"
HATCH = f"url(#{_PREFIX}h)"
MARGIN = 16.0
_CARD = 'rx="4" fill="#ffffff" stroke="#cccccc"'
_HATCHING = (
    f'<defs><pattern id="{_PREFIX}h" width="6" height="6" '
    'patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="#ffffff"/>'
    '<path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" stroke="#8a8a8a" stroke-width="1"/>'
    "</pattern></defs>"
)

#: What a legend entry shows: a colour, a hatch or an outline, and its words.
Entry: TypeAlias = tuple[str, str]


class Drawing(Board):
    """Collect shapes and texts on a white card that grows downwards.

    Parameters
    ----------
    title
        The heading.
    """

    width = 760.0
    usual: ClassVar = {
        "rect": {"fill": "none"},
        "path": {"fill": "none"},
        "text": {"size": 11, "fill": INK},
    }

    def __init__(self, title: str) -> None:
        super().__init__()
        self.room = self.width - 2 * MARGIN
        self._title = clean(title)
        heading = clip(self._title, self.room, 15, bold=True)
        self.text((MARGIN, 28), heading, size=15, bold=True)
        self.y = 40.0

    def axis(self, left: float, words: str) -> None:
        """Name an axis above its labels, further left where there is no room."""
        words = clip(words, self.room, 11, bold=True)
        furthest = self.width - MARGIN - text_width(words, 11, bold=True)
        self.text((min(left, furthest), self.y + 12), words, bold=True)

    def legend(self, heading: str, entries: Sequence[Entry]) -> None:
        """Explain colours below what was drawn so far."""
        left = MARGIN
        self.y += 20
        if heading:
            self.text((left, self.y), heading, bold=True)
            left += text_width(heading, 11, bold=True) + 12
        signs = [(_look(sign), words) for sign, words in entries]
        ends = MARGIN, self.width - MARGIN
        self.y = self.signs((left, self.y), signs, ends=ends, size=11)

    def note(self, words: str) -> None:
        """Write a remark below what was drawn so far, in as many lines as it takes."""
        self.y += 4
        line = ""
        for word in [*clean(words).split(" "), ""]:
            longer = f"{line} {word}".strip()
            if word and text_width(longer, 11) <= self.room:
                line = longer
                continue
            if line:
                self.y += 15
                self.text((MARGIN, self.y), clip(line, self.room, 11), fill=MUTED)
            line = word

    def finish(self, description: str) -> str:
        """Give the finished SVG; its ids follow from what it shows and from nothing else."""
        width, height = self.width, self.y + MARGIN
        card = attributes({"width": width - 1, "height": height - 1})
        self._parts.insert(0, f'{_HATCHING}<rect x="0.5" y="0.5"{card} {_CARD}/>')
        text = self.document(
            self._title,
            description,
            ids=(f"{_PREFIX}t", f"{_PREFIX}d"),
            family="Helvetica, Arial, 'DejaVu Sans', sans-serif",
            width=width,
            height=height,
            viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        )
        prefix = "p" + hashlib.sha256(text.encode()).hexdigest()[:10]
        return text.replace(_PREFIX, prefix + "-")


def _look(sign: str) -> dict[str, Any]:
    if sign == "outline":
        return {"fill": "#ffffff", "stroke": INK, "stroke_width": 1.6}
    return {"fill": sign, "stroke": "#777777", "stroke_width": 0.6}
