"""A small drawing board for SVG: a white card with shapes, texts, a legend and notes."""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata
from typing import TYPE_CHECKING, Any, TypeAlias

from ptable.errors import PTableError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HATCH", "INK", "MUTED", "Drawing", "apart", "clean", "clip", "number", "text_width"]

INK = "#111111"
MUTED = "#555555"
_FRAME = "#cccccc"
_FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
#: Stands for the prefix of every id until the content is known; no text keeps such a character.
_PREFIX = "\0"
HATCH = f"url(#{_PREFIX}h)"
MARGIN = 16.0
_NARROW, _WIDE = "iljtfrI.,:;'|!()[] \xa0\u202f", "mwMW@%"
#: French keeps punctuation and figures together by spaces that do not break.
_SPACES = re.compile(r"[^\S\xa0\u202f]+")
_DIRECTIONS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}

#: What a legend entry shows: a colour, a hatch or an outline, and its words.
Entry: TypeAlias = tuple[str, str]


def number(amount: float) -> str:
    """Write a coordinate, short and the same everywhere.

    Parameters
    ----------
    amount
        The coordinate.

    Examples
    --------
    >>> number(2.0), number(-0.001), number(1 / 3)
    ('2', '0', '0.33')
    """
    text = f"{amount:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimate how wide a text is at most, whatever the fonts of whoever looks at it.

    Parameters
    ----------
    text
        The text.
    size
        Its size, in pixels.
    bold
        Whether it is bold.

    Examples
    --------
    >>> text_width("10", 10)
    13.0
    """
    return sum(map(_advance, text)) * size * (1.1 if bold else 1.0)


def _advance(letter: str) -> float:
    if letter in _NARROW:
        return 0.41
    if letter in _WIDE:
        return 1.0
    if letter.isascii():
        return 0.76 if letter.isupper() else 0.65
    return 0.85 if ord(letter) < 0x1100 else 1.05


def clip(text: str, room: float, size: float, *, bold: bool = False) -> str:
    """Shorten a text to the room there is.

    Parameters
    ----------
    text
        The text.
    room
        How wide it may be, in pixels.
    size, bold
        As for `text_width`.

    Examples
    --------
    >>> clip("a long label", 40, 10)
    'a lon…'
    """
    if text_width(text, size, bold=bold) <= room:
        return text
    while text and text_width(text + "…", size, bold=bold) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def apart(text: str) -> str:
    r"""Keep a name that runs from right to left from turning its neighbours around.

    Parameters
    ----------
    text
        A name that stands among others on one line.

    Examples
    --------
    >>> ascii(apart("\u05d0\u05d1")), apart("ab")
    ("'\\u200e\\u05d0\\u05d1\\u200e'", 'ab')
    """
    runs_left = any(unicodedata.bidirectional(letter) in {"R", "AL"} for letter in text)
    return f"\u200e{text}\u200e" if runs_left else text


def clean(text: str) -> str:
    r"""Replace what XML cannot hold and what turns the direction of a text around.

    Parameters
    ----------
    text
        Any text.

    Examples
    --------
    >>> ascii(clean("a\0b\nc"))
    "'a\\ufffdb c'"
    """
    return "".join(map(_clean_letter, _SPACES.sub(" ", text).strip(" ")))


def _clean_letter(letter: str) -> str:
    code = ord(letter)
    is_control = code < 0x20 or 0x7F <= code < 0xA0
    is_broken = 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE
    return "\ufffd" if is_control or is_broken or code in _DIRECTIONS else letter


class Drawing:
    """Collect shapes and texts on a white card that grows downwards.

    Parameters
    ----------
    title
        The heading.
    width
        The width of the card, in pixels.

    Examples
    --------
    >>> drawing = Drawing("A dot", width=400)
    >>> drawing.rect((20, 60, 4, 4), fill=INK)
    >>> drawing.y = 80
    >>> '<rect x="20"' in drawing.finish("A dot.")
    True
    """

    def __init__(self, title: Any, *, width: Any) -> None:
        is_number = isinstance(width, int | float) and not isinstance(width, bool)
        if not is_number or not 320 <= width <= 4000:
            raise PTableError(f"width must lie in 320..4000 pixels, not {width!r}.")
        if not isinstance(title, str):
            raise PTableError(f"title must be a text, not a {type(title).__name__}.")
        self.width = float(width)
        self.room = self.width - 2 * MARGIN
        self._title = clean(title)
        if not any(letter.isprintable() and not letter.isspace() for letter in self._title):
            raise PTableError("title must not be empty.", hint="say what the picture shows")
        self._parts: list[str] = []
        heading = clip(self._title, self.room, 15, bold=True)
        self.text((MARGIN, 28), heading, size=15, bold=True)
        self.y = 40.0

    def rect(
        self,
        box: tuple[float, float, float, float],
        *,
        fill: str = "none",
        stroke: str | None = None,
        stroke_width: float = 1,
        dashes: str | None = None,
    ) -> None:
        """Draw a rectangle from its left, top, width and height."""
        left, top, wide, high = map(number, box)
        line = "" if stroke is None else f' stroke="{stroke}"'
        line += f' stroke-width="{number(stroke_width)}"' if stroke_width != 1 else ""
        line += f' stroke-dasharray="{dashes}"' if dashes else ""
        self._parts.append(
            f'<rect x="{left}" y="{top}" width="{wide}" height="{high}" fill="{fill}"{line}/>'
        )

    def path(
        self,
        steps: Sequence[str],
        *,
        fill: str = "none",
        stroke: str | None = None,
        stroke_width: float = 1,
    ) -> None:
        """Draw many pieces of one colour at once."""
        if not steps:
            return
        line = (
            ""
            if stroke is None
            else f' stroke="{stroke}" stroke-width="{number(stroke_width)}"'
        )
        self._parts.append(f'<path d="{"".join(steps)}" fill="{fill}"{line}/>')

    def text(
        self,
        place: tuple[float, float],
        words: str,
        *,
        size: float = 11,
        anchor: str = "start",
        bold: bool = False,
        fill: str = INK,
    ) -> None:
        """Write a text at its base line."""
        left, base = map(number, place)
        more = "" if anchor == "start" else f' text-anchor="{anchor}"'
        more += ' font-weight="bold"' if bold else ""
        self._parts.append(
            f'<text x="{left}" y="{base}" font-size="{number(size)}" fill="{fill}"{more}>'
            f"{html.escape(clean(words))}</text>"
        )

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
        for sign, words in entries:
            wide = 20 + text_width(words, 11) + 10
            if left + wide > self.width - MARGIN and left > MARGIN:
                left = MARGIN
                self.y += 19
            box = (left, self.y - 10, 14, 12)
            if sign == "outline":
                self.rect(box, fill="#ffffff", stroke=INK, stroke_width=1.6)
            else:
                self.rect(box, fill=sign, stroke="#777777", stroke_width=0.6)
            self.text((left + 20, self.y), clip(words, self.room - 20, 11))
            left += wide

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
        """Give the finished SVG; its ids follow from what it shows and from nothing else.

        A file needs no more; `in_page` makes it ready for a page of several drawings.
        """
        width, height = number(self.width), number(self.y + MARGIN)
        words = html.escape(clean(description))
        text = (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" '
            f'aria-labelledby="{_PREFIX}t {_PREFIX}d" font-family="{_FONT}">'
            f'<title id="{_PREFIX}t">{html.escape(self._title)}</title>'
            f'<desc id="{_PREFIX}d">{words}</desc>'
            f'<defs><pattern id="{_PREFIX}h" width="6" height="6" '
            'patternUnits="userSpaceOnUse"><rect width="6" height="6" fill="#ffffff"/>'
            '<path d="M-1 7L7 -1M-1 1L1 -1M5 7L7 5" stroke="#8a8a8a" stroke-width="1"/>'
            "</pattern></defs>"
            f'<rect x="0.5" y="0.5" width="{number(self.width - 1)}" '
            f'height="{number(self.y + MARGIN - 1)}" rx="4" fill="#ffffff" '
            f'stroke="{_FRAME}"/>' + "".join(self._parts) + "</svg>"
        )
        prefix = "p" + hashlib.sha256(text.encode()).hexdigest()[:10]
        return text.replace(_PREFIX, prefix + "-")
