"""Drawings of pages that stand alone: for notebooks and files."""

import re
from collections.abc import Sequence
from pathlib import Path

from footing.messages import Message
from footing.svg import html_table, safe, text_width
from ptable.pictures.picture import Picture
from reports.charts.bars import bars_of_table
from reports.charts.drawing import Labels
from reports.charts.network import link_text, network
from reports.errors import ReportError
from reports.facts.frontier import FrontierFacts
from reports.facts.methods import MethodFacts
from reports.facts.release import ScenarioFacts
from reports.facts.service import Chart
from reports.i18n.languages import Words, words_of
from reports.pages.frontier import frontier_picture
from reports.pages.methods import methods_map
from reports.pages.scenarios import designs_map

_STYLE = Path(__file__).parent / "templates" / "style.css"
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')
#: Other drawings beside it have the same ids; titles name a drawing without them.
_IDS = re.compile(r' (?:id|aria-labelledby)="[^"]*"')
_HEAD = 28.0
_MAX_ROWS = _MAX_ACROSS = 12


def table_plot(
    names: tuple[str, ...], measure: str, cells: dict[tuple[str, ...], float], *, language: str
) -> Picture:
    """Draw a table as bars, as the page of a service does; its last variable across if full."""
    words = words_of(language)
    heads, columns = names, [measure]
    rows: dict[tuple[str, ...], tuple[float, ...]]
    rows = {labels: (number,) for labels, number in cells.items()}
    across = [*dict.fromkeys(labels[-1] for labels in cells if len(names) > 1)]
    down = [*dict.fromkeys(labels[:-1] for labels in cells)]
    if 0 < len(across) <= _MAX_ACROSS and len(across) * len(down) == len(cells):
        heads, columns = names[:-1], across
        rows = {row: tuple(cells[*row, last] for last in across) for row in down}
    bars = rows
    if len(rows) > _MAX_ROWS:
        largest = sorted(rows, key=lambda row: -max(rows[row]))[:_MAX_ROWS]
        bars = {row: rows[row] for row in largest}
    title = f"{' × '.join(names)}, {measure}"
    if len(bars) < len(rows):
        n, every = map(words.numbers.count, (len(bars), len(rows)))
        note = words.say("The %(n)s rows with the largest numbers, of %(all)s.", n=n, all=every)
        title += f". {note}"
    panels = tuple(zip(columns, zip(*bars.values(), strict=True), strict=True))
    chart = Chart(names=tuple(map(", ".join, bars)), panels=panels)
    lines = ([*row, *map(words.numbers.plain, values)] for row, values in bars.items())
    data = html_table(title, [*heads, *columns], lines)
    return _alone(words, title, bars_of_table(words, chart, title=title), data)


def comparison_plot(
    compared: ScenarioFacts | MethodFacts | FrontierFacts, *, language: str
) -> Picture:
    """Draw the map of designs or methods, or a frontier, as their page does."""
    words = words_of(language)
    if isinstance(compared, MethodFacts):
        figures = methods_map(words, compared)
    elif isinstance(compared, FrontierFacts):
        figures = [frontier_picture(words, compared)]
    else:
        figures = designs_map(words, compared)
    for figure in figures:
        data = figure.data
        lines = ([str(getattr(entry, "text", entry)) for entry in row] for row in data.rows)
        table = html_table(data.caption, [column.heading for column in data.columns], lines)
        return _alone(words, figure.title, [figure.svg], table)
    return _alone(words, "", [], "")


def network_plot(
    names: Sequence[str], links: Sequence[tuple[str, str, float]], *, language: str
) -> Picture:
    """Draw which columns were measured together, and how strongly they hang together."""
    words = words_of(language)
    title = words.say(
        "Columns measured together, and the strength of their association (Cramér's V)"
    )
    texts = [link_text(words, *link) for link in links]
    labels = Labels(id="network", title=title, description="; ".join(texts))
    heads = [words.say("Column"), words.say("Other column"), words.say("Cramér's V")]
    lines = ([a, b, words.numbers.ratio(strength)] for a, b, strength in links)
    drawing = network(words, labels, names, links)
    return _alone(words, title, [drawing], html_table(title, heads, lines))


def _alone(words: Words, title: str, drawings: Sequence[str], data: str) -> Picture:
    """Put drawings below their title, two beside each other, with the colours of pages."""
    if not drawings:
        raise ReportError(Message("There is nothing to compare: a chart needs two numbers."))
    sizes = [tuple(map(float, _SIZE.findall(drawing)[0])) for drawing in drawings]
    width, height = map(max, zip(*sizes, strict=True))
    parts, low, wide = [], 0.0, text_width(title, 12, bold=True) + 8
    for place, drawing in enumerate(drawings):
        x, y = place % 2 * width, _HEAD + place // 2 * height
        parts.append(_IDS.sub("", drawing).replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1))
        low, wide = y + height, max(wide, x + width)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="ckm-plot" width="{wide:g}" '
        f'height="{low:g}" viewBox="0 0 {wide:g} {low:g}" '
        f'style="background:#fff;max-width:100%;height:auto"><style>{_style()}</style>'
        f'<text x="4" y="18" class="t strong">{safe(title)}</text>{"".join(parts)}</svg>'
    )
    heading = words.say("Data of the picture")
    return Picture(svg=svg, description=title, table=data, data_heading=heading)


def _style() -> str:
    """Give the rules of drawings in light colours, for `ckm-plot` alone.

    Colours stand in place of their names, which many programs that show SVG do not know.
    """
    lines = _STYLE.read_text(encoding="utf-8").splitlines()
    colours = dict(re.findall(r"--(\w+): (#\w+)", lines[0]))
    rules = " ".join(line for line in lines if line.startswith("svg ."))
    rules = re.sub(r"var\(--(\w+)\)", lambda name: colours[name[1]], rules)
    return rules.replace("svg .", ".ckm-plot .")
