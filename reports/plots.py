"""Drawings of pages that stand alone: for notebooks and files."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from footing.notebook import html_table, safe
from ptable.pictures.picture import Picture
from reports.charts.service import charts
from reports.errors import ReportError
from reports.i18n.languages import words_of
from reports.pages.scenarios import designs_map
from reports.parts import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from reports.facts.release import ScenarioFacts
    from reports.facts.service import Grid
    from reports.i18n.languages import Words

_STYLE = Path(__file__).parent / "templates" / "style.css"
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
#: Other drawings beside it have the same ids; titles name a drawing without them.
_IDS = re.compile(r' (?:id|aria-labelledby)="[^"]*"')
_HEAD = 28.0


def table_plot(grid: Grid, *, language: str) -> Picture:
    """Draw the bars of a table, as the page of a service does."""
    words = words_of(language)
    drawings = charts(words, grid)
    if not drawings:
        raise ReportError("One number alone is no chart.", hint="plot a table of more cells")
    title = f"{grid.caption}, {grid.measure}"
    if len(grid.drawn) < grid.n_leaves:
        n, every = (words.numbers.count(size) for size in (len(grid.drawn), grid.n_leaves))
        note = words.say("The %(n)s rows with the largest numbers, of %(all)s.", n=n, all=every)
        title += f". {note}"
    heads = [column.heading for column in (*grid.heads, *grid.columns)]
    lines = (
        [*(head.label for head in row.heads), *map(words.numbers.plain, row.numbers)]
        for row in grid.drawn
    )
    return _alone(words, title, drawings, html_table(title, heads, lines))


def designs_plot(scenarios: ScenarioFacts, *, language: str) -> Picture:
    """Draw the map of risk and utility, as the page of a comparison does."""
    words = words_of(language)
    for figure in designs_map(words, scenarios):
        heads = [column.heading for column in figure.data.columns]
        lines = (
            [entry.text if isinstance(entry, Cell) else entry for entry in row]
            for row in figure.data.rows
        )
        data = html_table(figure.data.caption, heads, lines)
        return _alone(words, figure.title, [figure.svg], data)
    raise ReportError("No design has both figures of the map.")


def _alone(words: Words, title: str, drawings: Iterable[str], data: str) -> Picture:
    """Put drawings below each other and their title, with the colours of pages."""
    parts, low, wide = [], _HEAD, 0.0
    for drawing in drawings:
        width, height = map(float, _sizes(drawing))
        parts.append(_IDS.sub("", drawing).replace("<svg ", f'<svg y="{low:g}" ', 1))
        low, wide = low + height, max(wide, width)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ckm-plot" width="{wide:g}" '
        f'height="{low:g}" viewBox="0 0 {wide:g} {low:g}" '
        f'style="background:#fff;max-width:100%;height:auto"><style>{_style()}</style>'
        f'<text x="4" y="18" class="t strong">{safe(title)}</text>{"".join(parts)}</svg>'
    )
    heading = words.say("Data of the picture")
    return Picture(svg=svg, description=title, table=data, data_heading=heading)


def _sizes(drawing: str) -> Sequence[str]:
    found = _SIZE.search(drawing)
    assert found is not None  # noqa: S101  (drawings of pages have their size)
    return found.groups()


@cache
def _style() -> str:
    """Give the rules of drawings in light colours, for `ckm-plot` alone.

    Colours stand in place of their names, which many programs that show SVG do not know.
    """
    lines = _STYLE.read_text(encoding="utf-8").splitlines()
    colours = dict(re.findall(r"--(\w+): (#\w+)", lines[0]))
    rules = " ".join(line for line in lines if line.startswith("svg ."))
    rules = re.sub(r"var\(--(\w+)\)", lambda name: colours[name[1]], rules)
    return rules.replace("svg .", ".ckm-plot .")
