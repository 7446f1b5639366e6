"""Draw the way from microdata to release, with the worked example as the engine computes it.

The people and the p-table are those of the tutorial on the slides; the words lie in flow.toml.
"""

import contextlib
import io
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TUTORIAL = HERE.parent / "tutorial" / "from-the-slides.md"
UNITS = 10**7  # keys are printed with seven digits
BOXES = (
    *(("#eef3f8", "#33557a"),) * 2,
    ("#fdeeee", "#9b2c2c"),
    ("#fdf6e3", "#7a5b12"),
    ("#eaf6ee", "#1f6b3a"),
)
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 372" role="img" aria-labelledby="t d" \
font-family="DejaVu Sans, Verdana, sans-serif">
<title id="t">{title}</title>
<desc id="d">{description}</desc>
<rect width="960" height="372" fill="#ffffff"/>
<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" \
orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="#444"/></marker></defs>"""
SIDES = """\
<text x="20" y="34" font-size="13" fill="#9b2c2c">{inside}</text>\
<line x1="{inside_ends}" y1="30" x2="750" y2="30" stroke="#9b2c2c" stroke-dasharray="4 4"/>
<text x="772" y="34" font-size="13" fill="#1f6b3a">{outside}</text>
<line x1="762" y1="14" x2="762" y2="352" stroke="#666" stroke-dasharray="2 4"/>
<text x="20" y="182" font-size="13" fill="#333" font-weight="bold">{example}</text>"""


def example() -> list[tuple[str, int, float, int]]:
    """Return cells with count, key and noise."""
    text = TUTORIAL.read_text(encoding="utf-8")
    (block,) = (b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if '"key"' in b)
    known: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(block, known)
    groups = [*known["people"].groupby("commune"), ("Total", known["people"])]
    cells = []
    for name, people in groups:
        key = sum(round(key * UNITS) for key in people["key"]) % UNITS
        (noise,) = known["table"].lookup([len(people)], [key], key_range=UNITS).tolist()
        cells.append((name, len(people), key / UNITS, noise))
    return cells


def drawn(words: dict[str, Any], cells: list[tuple[str, int, float, int]], comma: str) -> str:
    """Return the picture in one language."""
    rows = [
        (name, str(count), f"{key:.3f}".replace(".", comma), signed(noise), str(count + noise))
        for name, count, key, noise in cells
    ]
    told = dict(zip(("count", "key", "noise", "published"), rows[0][1:], strict=True))
    told["key"] = told["key"].rstrip("0")
    head = HEAD.format(title=words["title"], description=words["description"].format(**told))
    lines = [head, *boxes(words["boxes"]), SIDES.format(**words)]
    lines += row(210, words["headings"], bold=5)
    for place, texts in enumerate(rows):
        if place % 2 == 0:
            top = 222 + 31 * place
            lines.append(f'<rect x="20" y="{top}" width="920" height="29" fill="#f5f5f5"/>')
        lines += row(241 + 31 * place, texts, bold=1)
    return "\n".join([*lines, "</svg>", ""])


def signed(noise: int) -> str:
    """Write noise with its sign."""
    return f"{noise:+d}".replace("-", "\N{MINUS SIGN}") if noise else "0"


def boxes(texts: list[list[str]]) -> Iterator[str]:
    """Give the five boxes and the arrows between them."""
    for place, ((name, *more), (fill, line)) in enumerate(zip(texts, BOXES, strict=True)):
        left = 20 + 188 * place
        yield (
            f'<rect x="{left}" y="52" width="168" height="92" rx="8" fill="{fill}"'
            f' stroke="{line}" stroke-width="1.5"/>'
        )
        middle = f'<text x="{left + 84}" y="{{}}" text-anchor="middle" font-size="{{}}"'
        yield f'{middle.format(82, 17)} font-weight="bold" fill="{line}">{name}</text>'
        for below, text in zip((107, 125), more, strict=True):
            yield f'{middle.format(below, 12)} fill="#222">{text}</text>'
    for left in range(190, 755, 188):
        yield (
            f'<line x1="{left}" y1="98" x2="{left + 16}" y2="98" stroke="#444"'
            ' stroke-width="1.6" marker-end="url(#a)"/>'
        )


def row(height: int, texts: tuple[str, ...] | list[str], *, bold: int) -> Iterator[str]:
    """Give a row of the table; the last texts are bold, what is published is green."""
    for place, text in enumerate(texts):
        color = "#1f6b3a" if place == 4 else "#222"
        weight = ' font-weight="bold"' if place >= 5 - bold else ""
        style = f'font-size="14" fill="{color}"{weight}'
        yield f'<text x="{40 + 190 * place}" y="{height}" {style}>{text}</text>'


def pictures() -> dict[Path, str]:
    """Return the picture of each language by its file."""
    words = tomllib.loads((HERE / "flow.toml").read_text(encoding="utf-8"))
    cells = example()
    return {
        HERE / f"flow{ending}.svg": drawn(words[language], cells, comma)
        for language, ending, comma in (("en", "", "."), ("fr", "-fr", ","))
    }


def draw_flow() -> None:
    """Write it in both languages."""
    for file, text in pictures().items():
        file.write_text(text, encoding="utf-8")
