"""A board for static SVG: shapes, texts and axes, with words for whoever cannot see them."""

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar

_NARROW, _WIDE = "iljtfrI.,:;'|!()[] \xa0\u202f", "mwMW@%"
#: French keeps punctuation and figures together by spaces that do not break.
_SPACES = re.compile(r"[^\S\xa0\u202f]+")
_DIRECTIONS = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}
#: Attributes whose names are long.
_NAMES = {
    "anchor": "text-anchor",
    "css": "class",
    "dashes": "stroke-dasharray",
    "size": "font-size",
}


def coordinate(amount: float) -> str:
    """Write a coordinate, short and the same everywhere."""
    text = f"{amount:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def ticks(least: float, most: float, *, number: int = 5) -> list[float]:
    """Give round values that cover a range."""
    span = (most - least) or abs(most) or 1.0
    rough = span / number
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    return [round(place * step, 12) for place in range(first, max(last, first + 1) + 1)]


def log_ticks(least: float, most: float) -> list[float]:
    """Give powers of ten around a range, or 1, 2 and 5 times them where it is short."""
    first, last = math.floor(math.log10(least) + 1e-9), math.ceil(math.log10(most) - 1e-9)
    steps = (1.0,) if last - first > 2 else (1.0, 2.0, 5.0)
    every = [s * 10.0**p for p in range(first, max(last, first + 1) + 1) for s in steps]
    below = [number for number in every if number <= least * (1 + 1e-9)]
    above = [number for number in every if number >= most * (1 - 1e-9)]
    return [number for number in every if below[-1] <= number <= above[0]]


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Estimate how wide a text is at most, whatever the fonts of whoever looks at it."""
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
    """Shorten a text to the room there is."""
    if text_width(text, size, bold=bold) <= room:
        return text
    while text and text_width(text + "…", size, bold=bold) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def clean(text: str) -> str:
    r"""Replace what XML cannot hold and what turns the direction of a text around."""
    return "".join(map(_clean_letter, _SPACES.sub(" ", text).strip(" ")))


def _clean_letter(letter: str) -> str:
    code = ord(letter)
    is_control = code < 0x20 or 0x7F <= code < 0xA0
    is_broken = 0xD800 <= code < 0xE000 or code & 0xFFFE == 0xFFFE
    return "\ufffd" if is_control or is_broken or code in _DIRECTIONS else letter


def moves(*places: tuple[float, float]) -> str:
    """Write a line through places, as a path has it."""
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in places)


def across(left_edge: float, y: float, length: float) -> str:
    """Write a line to the right, as a path has it."""
    return f"{moves((left_edge, y))}h{coordinate(length)}"


def outline(left_edge: float, top: float, wide: float, high: float) -> str:
    """Write a rectangle, as a path has it; a negative height goes upwards."""
    return f"{across(left_edge, top, wide)}v{coordinate(high)}h{coordinate(-wide)}z"


class Axis:
    """Map numbers to coordinates along a line, evenly or by powers of ten.

    Parameters
    ----------
    at
        Numbers along it, from end to end.
    span
        The coordinates of its ends.
    is_log
        Whether it goes by powers of ten; smaller numbers than the first lie where it begins.

    Examples
    --------
    >>> Axis((0, 5, 10), (100, 200))(5), Axis((0.1, 10), (100, 200), is_log=True)(1)
    (150.0, 150.0)
    """

    def __init__(
        self, at: Sequence[float], span: tuple[float, float], *, is_log: bool = False
    ) -> None:
        self.at, self.is_log = at, is_log
        self._start, self._end = span
        self._least, self._most = self._of(at[0]), self._of(at[-1])

    def _of(self, number: float) -> float:
        return math.log10(max(number, self.at[0])) if self.is_log else number

    def __call__(self, number: float) -> float:
        """Give the coordinate of a number."""
        width = (self._most - self._least) or 1.0
        share = (self._of(number) - self._least) / width
        return self._start + share * (self._end - self._start)


class Grid:
    """Cells of one size in rows and columns, to be filled with shades.

    Parameters
    ----------
    place
        Its left and its top.
    size
        Of a cell: how wide and how high.

    Examples
    --------
    >>> Grid((10, 20), (5, 4)).middle(1, 2), Grid((10, 20), (5, 4)).box(1, 0, 2)
    ((22.5, 26.0), 'M10 24h15v4h-15z')
    """

    def __init__(self, place: tuple[float, float], size: tuple[float, float]) -> None:
        self.left, self.top = place
        self.wide, self.high = size

    def middle(self, row: int, column: int) -> tuple[float, float]:
        """Give the middle of a cell."""
        return (
            self.left + (column + 0.5) * self.wide,
            self.top + (row + 0.5) * self.high,
        )

    def box(self, row: int, first: int, last: int | None = None) -> str:
        """Outline a cell, or neighbouring ones of a row, as a path has it."""
        n_columns = 1 if last is None else last - first + 1
        start, base = self.left + first * self.wide, self.top + row * self.high
        return outline(start, base, n_columns * self.wide, self.high)

    def fill(
        self,
        board: "Board",
        shades: Sequence[Mapping[int, int]],
        looks: Sequence[dict[str, Any]],
    ) -> None:
        """Fill cells, a path for each shade, neighbours of one shade together.

        Parameters
        ----------
        board
            Where to.
        shades
            For each row, column → number of its shade.
        looks
            Attributes of each shade.
        """
        steps: list[list[str]] = [[] for _ in looks]
        for row, shade_of in enumerate(shades):
            for first, last, shade in _runs(shade_of):
                steps[shade].append(self.box(row, first, last))
        for boxes, look in zip(steps, looks, strict=True):
            board.path(boxes, **look)

    def lines(self, board: "Board", n_rows: int, n_columns: int, **look: Any) -> None:
        """Draw lines between cells."""
        right = coordinate(self.left + self.wide * n_columns)
        bottom = coordinate(self.top + self.high * n_rows)
        lefts = (self.left + column * self.wide for column in range(1, n_columns))
        tops = (self.top + row * self.high for row in range(1, n_rows))
        steps = [f"{moves((x, self.top))}V{bottom}" for x in lefts]
        steps += [f"{moves((self.left, y))}H{right}" for y in tops]
        board.path(steps, **look)


def _runs(shade_of: Mapping[int, int]) -> Iterable[tuple[int, int, int]]:
    """Give the first column, the last and the shade of neighbours of the same shade."""
    places = enumerate(sorted(shade_of))
    for (_, shade), run in groupby(places, lambda one: (one[1] - one[0], shade_of[one[1]])):
        columns = [column for _, column in run]
        yield columns[0], columns[-1], shade


class Board:
    """Collect shapes and texts; how they look is said by attributes of SVG."""

    #: What attributes shapes and texts have where nothing else is said.
    usual: ClassVar[dict[str, dict[str, Any]]] = {}

    def __init__(self) -> None:
        self._parts: list[str] = []

    def _add(self, shape: str, inner: str | None, where: dict[str, Any], **look: Any) -> None:
        words = attributes(where | self.usual.get(shape, {}) | look)
        end = "/>" if inner is None else f">{inner}</{shape}>"
        self._parts.append(f"<{shape}{words}{end}")

    def rect(self, box: tuple[float, float, float, float], **look: Any) -> None:
        """Draw a rectangle from its left, top, width and height."""
        where = zip(("x", "y", "width", "height"), box, strict=True)
        self._add("rect", None, dict(where), **look)

    def circle(self, place: tuple[float, float], radius: float, **look: Any) -> None:
        """Draw a circle."""
        x, y = place
        self._add("circle", None, {"cx": x, "cy": y, "r": radius}, **look)

    def path(self, steps: Sequence[str], *, tip: str | None = None, **look: Any) -> None:
        """Draw many pieces that look the same at once; a tip says what they are."""
        inner = None if tip is None else f"<title>{safe(tip)}</title>"
        if steps:
            self._add("path", inner, {"d": "".join(steps)}, **look)

    def line(self, *places: tuple[float, float], **look: Any) -> None:
        """Draw a line through places."""
        self.path([moves(*places)] if places else [], **look)

    def text(
        self, place: tuple[float, float], words: str, *, bold: bool = False, **look: Any
    ) -> None:
        """Write a text at its base line."""
        x, y = place
        if look.get("anchor") == "start":
            del look["anchor"]
        if bold:
            look["font-weight"] = "bold"
        self._add("text", safe(words), {"x": x, "y": y}, **look)

    def signs(
        self,
        place: tuple[float, float],
        entries: Sequence[tuple[dict[str, Any], str]],
        *,
        ends: tuple[float, float],
        size: float,
        radius: float = 0,
    ) -> float:
        """Explain how shapes look, side by side, in as many lines as that takes.

        Parameters
        ----------
        place
            Where the first sign begins, and its base line.
        entries
            Attributes of a shape, and what it stands for; a sign without words is one of a row.
            ``inner`` is the class of a smaller dot inside a dot.
        ends
            Where lines begin and end.
        size
            Of the words.
        radius
            Of signs that are dots; 0 for boxes.

        Returns
        -------
        float
            The base line of the last line.
        """
        left_edge, base = place
        gap = 12 if radius else 20
        for look, words in entries:
            wide = gap + text_width(words, size) + 10
            if left_edge + wide > ends[1] and left_edge > ends[0]:
                left_edge, base = ends[0], base + 19
            if radius:
                inner = look.get("inner")
                outer = {name: value for name, value in look.items() if name != "inner"}
                self.circle((left_edge, base - 4), radius, **outer)
                if inner:
                    self.circle((left_edge, base - 4), 0.45 * radius, css=inner)
            else:
                self.rect((left_edge, base - 10, 14, 12), **look)
            self.text((left_edge + gap, base), clip(words, ends[1] - ends[0] - gap, size))
            left_edge += wide
        return base

    def document(
        self,
        title: str,
        description: str,
        *,
        ids: tuple[str, str],
        family: str | None = None,
        **extra: Any,
    ) -> str:
        """Give the whole drawing, named and described for who cannot see it."""
        title_id, described = ids
        extra |= {"aria-labelledby": " ".join(ids), "font-family": family}
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img"{attributes(extra)}>'
            f'<title id="{title_id}">{safe(title)}</title>'
            f'<desc id="{described}">{safe(description)}</desc>'
            + "".join(self._parts)
            + "</svg>"
        )


def safe(words: str) -> str:
    """Write a text so that nothing in it is markup."""
    return html.escape(clean(words))


def html_table(caption: str, names: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Write lines as an HTML table whose first column names each line."""
    head = "".join(f'<th scope="col">{safe(name)}</th>' for name in names)
    body = "".join(
        f'<tr><th scope="row">{safe(first)}</th>'
        + "".join(f"<td>{safe(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in lines
    )
    return (
        f"<table><caption>{safe(caption)}</caption>"
        + (f"<thead><tr>{head}</tr></thead>" if names else "")
        + f"<tbody>{body}</tbody></table>"
    )


def attributes(pairs: dict[str, Any]) -> str:
    """Write attributes of an element; None leaves one out."""
    return "".join(
        f" {_NAMES.get(name, name.replace('_', '-'))}="
        f'"{value if isinstance(value, str) else coordinate(value)}"'
        for name, value in pairs.items()
        if value is not None
    )
