"""Draw how times grow, of tables and of suppression; words and figures are in growth.toml."""

import math
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LEFT, RIGHT, TOP, BOTTOM = 80.0, 640.0, 80.0, 340.0
INK, OURS, GOAL = "#222222", "#33557a", "#1f6b3a"
#: Lines of several sizes are told apart by their strokes, and by a word at their ends.
STROKES = ("", "8 4", "2 4")
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 420" role="img" aria-labelledby="t d" \
font-family="DejaVu Sans, Verdana, sans-serif" font-size="12" fill="#222222">
<title id="t">{title}</title>
<desc id="d">{description}</desc>
<rect width="680" height="420" fill="#ffffff"/>
<text x="20" y="30" font-size="15" font-weight="bold">{title}</text>
<text x="20" y="62">{seconds}</text>
<text x="640" y="380" text-anchor="end">{cells}</text>"""


@dataclass(frozen=True)
class Scale:
    """The powers of ten at the ends of both axes."""

    cells: tuple[float, float]
    seconds: tuple[float, float]

    def across(self, cells: float) -> float:
        """Return where a number of cells is."""
        share = (math.log10(cells) - self.cells[0]) / (self.cells[1] - self.cells[0])
        return LEFT + (RIGHT - LEFT) * share

    def height(self, seconds: float) -> float:
        """Return where a number of seconds is."""
        share = (math.log10(seconds) - self.seconds[0]) / (self.seconds[1] - self.seconds[0])
        return BOTTOM - (BOTTOM - TOP) * share

    def axes(self, language: str) -> Iterator[str]:
        """Give lines at the powers of ten, and their numbers."""
        for power in range(math.ceil(self.seconds[0]), math.floor(self.seconds[1]) + 1):
            figure = 10**power if power >= 0 else 10.0**power
            y, text = self.height(figure), number(figure, language)
            yield f'<path d="M{LEFT:g} {y:.1f}H{RIGHT:g}" stroke="#dddddd"/>'
            yield f'<text x="{LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        for power in range(math.ceil(self.cells[0]), math.floor(self.cells[1]) + 1):
            x, text = self.across(10**power), number(10**power, language)
            yield f'<path d="M{x:.1f} {TOP:g}V{BOTTOM:g}" stroke="#dddddd"/>'
            yield (f'<text x="{x:.1f}" y="{BOTTOM + 18:g}" text-anchor="middle">{text}</text>')

    def line(self, points: list[tuple[float, float]], *, stroke: str = "") -> Iterator[str]:
        """Give a line through measured points."""
        places = [f"{self.across(c):.1f} {self.height(s):.1f}" for c, s in points]
        dashes = f' stroke-dasharray="{stroke}"' if stroke else ""
        yield (
            f'<path d="M{"L".join(places)}" fill="none" stroke="{OURS}" '
            f'stroke-width="2"{dashes}/>'
        )
        for place in places:
            x, y = place.split(" ")
            yield f'<circle cx="{x}" cy="{y}" r="4" fill="{OURS}"/>'

    def missing(self, cells: float, word: str) -> str:
        """Return a line where a size was not measured."""
        x = self.across(cells)
        return (
            f'<path d="M{x:.1f} {BOTTOM:g}V{TOP:g}" stroke="{OURS}" stroke-dasharray="3 5"/>'
            f'<text x="{x - 6:.1f}" y="{BOTTOM - 8:g}" text-anchor="end">{word}</text>'
        )


def number(figure: float, language: str) -> str:
    """Write a number as a language does."""
    text = f"{figure:,}"
    if language == "fr":
        text = text.replace(".", ";").replace(",", "\N{NARROW NO-BREAK SPACE}")
    return text.replace(";", ",")


def told(words: dict[str, str], pairs: list[tuple[float, float]], language: str) -> str:
    """Return points in words."""
    texts = [(number(c, language), number(s, language)) for c, s in pairs]
    return ", ".join(words["point"].format(cells=c, seconds=s) for c, s in texts)


def suppression(given: dict[str, Any], language: str) -> str:
    """Return the picture of suppression in one language."""
    words, scale = given[language], Scale((2.5, 6.2), (0.0, 4.0))
    points = list(zip(given["cells"], given["seconds"], strict=False))
    left = given["cells"][len(points) :]
    description = words["description"].format(
        told=told(words, points, language),
        goals=told(words, given["goals"], language),
        left=", ".join(number(c, language) for c in left),
    )
    lines = [HEAD.format(**words | {"description": description}), *scale.axes(language)]
    lines += scale.line(points)
    for cells, seconds in points:
        x, y = scale.across(cells), scale.height(seconds)
        text = number(seconds, language)
        lines.append(f'<text x="{x:.1f}" y="{y + 20:.1f}" text-anchor="middle">{text}</text>')
    for cells, seconds in given["goals"]:
        x, y = scale.across(cells), scale.height(seconds)
        lines.append(f'<path d="M{x - 12:.1f} {y:.1f}h24" stroke="{GOAL}" stroke-width="3"/>')
    lines += [scale.missing(cells, words["left"]) for cells in left]
    lines += [
        f'<circle cx="100" cy="400" r="4" fill="{OURS}"/>',
        f'<text x="110" y="404">{words["measured"]}</text>',
        f'<path d="M220 400h24" stroke="{GOAL}" stroke-width="3"/>',
        f'<text x="250" y="404">{words["goal"]}</text>',
    ]
    return "\n".join([*lines, "</svg>", ""])


def tables(given: dict[str, Any], language: str) -> str:
    """Return the picture of first tables in one language: a line for each number of records."""
    words, scale = given[language], Scale((2.8, 8.5), (-1.4, 3.0))
    lines: list[str] = []
    texts: list[str] = []
    for line, stroke in zip(given["lines"], STROKES, strict=True):
        records = number(line["records"], language)
        points = list(zip(line["cells"], line["seconds"], strict=True))
        texts.append(words["line"].format(records=records, told=told(words, points, language)))
        lines += scale.line(points, stroke=stroke)
        x, y = scale.across(points[0][0]), scale.height(points[0][1])
        label = words["records"].format(records=records)
        lines.append(f'<text x="{x + 8:.1f}" y="{y - 14:.1f}">{label}</text>')
        if line["missing"]:
            x, y = scale.across(points[-1][0]), scale.height(points[-1][1])
            lines.append(f'<text x="{x + 8:.1f}" y="{y - 12:.1f}">{words["beyond"]}</text>')
        if missing := [number(cells, language) for cells in line["missing"]]:
            texts.append(words["missing"].format(records=records, cells=", ".join(missing)))
    description = " ".join([words["description"], *texts])
    head = HEAD.format(**words | {"description": description})
    return "\n".join([head, *scale.axes(language), *lines, "</svg>", ""])


def draw_growth() -> None:
    """Write the pictures in both languages."""
    given = tomllib.loads((HERE / "growth.toml").read_text(encoding="utf-8"))
    for name, draw in (("suppression", suppression), ("tables", tables)):
        for language, ending in (("en", ""), ("fr", "-fr")):
            file = HERE / f"{name}-growth{ending}.svg"
            file.write_text(draw(given[name], language), encoding="utf-8")
