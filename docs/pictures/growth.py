"""Draw how the time of secondary suppression grows; words and figures are in growth.toml."""

import math
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
LEFT, RIGHT, TOP, BOTTOM = 80.0, 640.0, 80.0, 340.0
#: The powers of ten at the ends of the axes.
CELLS, SECONDS = (2.5, 6.2), (0.0, 4.0)
INK, OURS, GOAL = "#222222", "#33557a", "#1f6b3a"
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 420" role="img" aria-labelledby="t d" \
font-family="DejaVu Sans, Verdana, sans-serif" font-size="12" fill="#222222">
<title id="t">{title}</title>
<desc id="d">{description}</desc>
<rect width="680" height="420" fill="#ffffff"/>
<text x="20" y="30" font-size="15" font-weight="bold">{title}</text>
<text x="20" y="62">{seconds}</text>
<text x="640" y="380" text-anchor="end">{cells}</text>"""


def across(cells: float) -> float:
    """Return where a number of cells is."""
    return LEFT + (RIGHT - LEFT) * (math.log10(cells) - CELLS[0]) / (CELLS[1] - CELLS[0])


def height(seconds: float) -> float:
    """Return where a number of seconds is."""
    share = (math.log10(seconds) - SECONDS[0]) / (SECONDS[1] - SECONDS[0])
    return BOTTOM - (BOTTOM - TOP) * share


def number(figure: float, language: str) -> str:
    """Write a number as a language does."""
    text = f"{figure:,}"
    if language == "fr":
        text = text.replace(".", ";").replace(",", "\N{NARROW NO-BREAK SPACE}")
    return text.replace(";", ",")


def axes(language: str) -> Iterator[str]:
    """Give lines at the powers of ten, and their numbers."""
    for power in range(math.ceil(SECONDS[0]), math.floor(SECONDS[1]) + 1):
        y, text = height(10**power), number(10**power, language)
        yield f'<path d="M{LEFT:g} {y:.1f}H{RIGHT:g}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
    for power in range(math.ceil(CELLS[0]), math.floor(CELLS[1]) + 1):
        x, text = across(10**power), number(10**power, language)
        yield f'<path d="M{x:.1f} {TOP:g}V{BOTTOM:g}" stroke="#dddddd"/>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 18:g}" text-anchor="middle">{text}</text>'


def drawn(given: dict[str, Any], language: str) -> str:
    """Return the picture in one language."""
    words = given[language]
    points = list(zip(given["cells"], given["seconds"], strict=False))

    def told(pairs: list[tuple[float, float]]) -> str:
        texts = [(number(c, language), number(s, language)) for c, s in pairs]
        return ", ".join(words["point"].format(cells=c, seconds=s) for c, s in texts)

    left = given["cells"][len(points) :]
    description = words["description"].format(
        told=told(points),
        goals=told(given["goals"]),
        left=", ".join(number(c, language) for c in left),
    )
    lines = [HEAD.format(**words | {"description": description}), *axes(language)]
    places = [f"{across(c):.1f} {height(s):.1f}" for c, s in points]
    way = f"M{'L'.join(places)}"
    lines.append(f'<path d="{way}" fill="none" stroke="{OURS}" stroke-width="2"/>')
    for (_, seconds), place in zip(points, places, strict=True):
        x, y = place.split(" ")
        lines.append(f'<circle cx="{x}" cy="{y}" r="4" fill="{OURS}"/>')
        text, y = number(seconds, language), f"{float(y) + 20:.1f}"
        lines.append(f'<text x="{x}" y="{y}" text-anchor="middle">{text}</text>')
    for cells, seconds in given["goals"]:
        x, y = across(cells), height(seconds)
        lines.append(f'<path d="M{x - 12:.1f} {y:.1f}h24" stroke="{GOAL}" stroke-width="3"/>')
    for cells in left:
        x = across(cells)
        lines.append(
            f'<path d="M{x:.1f} {BOTTOM:g}V{TOP:g}" stroke="{OURS}" stroke-dasharray="3 5"/>'
            f'<text x="{x - 6:.1f}" y="{BOTTOM - 8:g}" text-anchor="end">{words["left"]}</text>'
        )
    lines += [
        f'<circle cx="100" cy="400" r="4" fill="{OURS}"/>',
        f'<text x="110" y="404">{words["measured"]}</text>',
        f'<path d="M220 400h24" stroke="{GOAL}" stroke-width="3"/>',
        f'<text x="250" y="404">{words["goal"]}</text>',
    ]
    return "\n".join([*lines, "</svg>", ""])


def draw_growth() -> None:
    """Write it in both languages."""
    given = tomllib.loads((HERE / "growth.toml").read_text(encoding="utf-8"))
    for language, ending in (("en", ""), ("fr", "-fr")):
        file = HERE / f"suppression-growth{ending}.svg"
        file.write_text(drawn(given, language), encoding="utf-8")
