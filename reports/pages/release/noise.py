"""The noise of a release: as designed, as drawn, and what it made of original counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from reports.catalogues.release import NOTES, PICTURES
from reports.charts.bars import Bars, paired_bars
from reports.charts.matrix import Matrix, matrix
from reports.parts import Cell, Figure, Lines

if TYPE_CHECKING:
    from reports.facts.release import NoiseClassFact, NoiseFacts, PairFact
    from reports.i18n.languages import Words
    from reports.parts import Figure, Table

#: A table of more cells than this is not repeated on the page; report.json has it.
_MAX_CELLS = 3000
#: A picture with more rows or columns than this shows the first ones.
_MAX_LINES = 60

#: A picture with more bins than this shows the first ones; so does its table of pairs.
_MAX_BINS = 60
_MAX_PAIRS = 3000


def noise_parts(words: Words, noise: NoiseFacts) -> dict[str, Any]:
    """Arrange the p-table of a release and the noise it made."""
    return {
        "parameters": Lines(words, noise.parameters.items())
        .text("Parameter", lambda line: Cell(text=line[0], is_code=True))
        .text("Value", lambda line: line[1])
        .table("parameters", words.say("Parameters of the noise")),
        "certificate": Lines(words, noise.certificate.items())
        .text("Demand", lambda line: Cell(text=line[0], is_code=True))
        .number("Residual", lambda line: line[1], "tiny")
        .table(
            "certificate",
            words.say("Certificate of the p-table: by how much it misses each demand"),
        ),
        "classes": _classes(words, noise),
        "pictures": [*_shares(words, noise), *_transition(words, noise)],
    }


def class_name(words: Words, low: int, high: int | None) -> str:
    """Name a class of original counts."""
    count = words.numbers.count
    if high is None:
        return words.say("%(low)s or more", low=count(low))
    return count(low) if low == high else f"{count(low)}–{count(high)}"


def _classes(words: Words, noise: NoiseFacts) -> Table:
    def or_absent(fact: NoiseClassFact, value: float | None) -> float | str:
        if value is not None:
            return value
        return words.say("not defined") if fact.cells else words.say("no cells")

    def span(fact: NoiseClassFact, least: int | None, most: int | None) -> float | str:
        if least is None or most is None:
            return or_absent(fact, None)
        low, high = words.numbers.signed(least), words.numbers.signed(most)
        return words.say("%(low)s to %(high)s", low=low, high=high)

    return (
        Lines(words, noise.classes)
        .text("Original count", lambda f: class_name(words, f.low, f.high))
        .number("Draws", lambda f: f.cells, "count")
        .number("Mean, designed", lambda f: or_absent(f, f.mean_designed), "amount")
        .number("Mean, drawn", lambda f: or_absent(f, f.mean_drawn), "amount")
        .number("Variance, designed", lambda f: or_absent(f, f.variance_designed), "amount")
        .number("Variance, drawn", lambda f: or_absent(f, f.variance_drawn), "amount")
        .number(
            "Share unchanged, designed",
            lambda f: or_absent(f, f.stay_designed),
            "probability",
        )
        .number("Share unchanged, drawn", lambda f: or_absent(f, f.stay_drawn), "probability")
        .number("Range, designed", lambda f: span(f, f.least_designed, f.most_designed))
        .number("Range, drawn", lambda f: span(f, f.least_drawn, f.most_drawn))
        .table(
            "classes",
            words.say("Noise by class of original counts"),
            notes=(NOTES["draws"].say(words),),
        )
    )


def _shares(words: Words, noise: NoiseFacts) -> list[Figure]:
    lines = sorted((fact.noise, fact.designed, fact.drawn) for fact in noise.shares)
    if not lines:
        return []
    gap = max(abs(designed - drawn) for _, designed, drawn in lines)
    said = PICTURES["noise-shares"]
    least, most = lines[0][0], lines[-1][0]
    bars = Bars(**said.say(words, "noise-shares", least=least, most=most, gap=gap))
    figure = (
        Lines(words, lines)
        .number("Noise", lambda line: line[0], "signed")
        .number("Designed", lambda line: line[1], "probability")
        .number("Drawn", lambda line: line[2], "probability")
        .figure(
            bars,
            paired_bars(words, bars, lines),
            caption=words.say("Share of draws with each noise"),
        )
    )
    return [figure]


def _transition(words: Words, noise: NoiseFacts) -> list[Figure]:
    law = noise.transition
    if not law or not law[0]:
        return []
    rows = min(len(law), _MAX_LINES)
    columns = min(max(map(len, law)), _MAX_LINES)
    last = len(law) - 1
    count = words.numbers.count
    names = [_row_name(words, i, last=last, cycle=noise.cycle) for i in range(rows)]
    cells = {
        (i, j): (p, str(round(100 * p)) if p >= 0.005 else "<1")
        for i, row in enumerate(law[:rows])
        for j, p in enumerate(row[:columns])
        if p > 0
    }
    data = Matrix(
        **PICTURES["transition"].say(words, "transition", last=last),
        columns=[count(j) for j in range(columns)],
        rows=names,
        home={i: i for i in range(min(rows, columns))},
    )
    notes = [NOTES["percent"].say(words)]
    if noise.cycle > 1:
        notes.append(NOTES["cycle"].say(words, {"cycle": noise.cycle}))
    if rows < len(law) or columns < max(map(len, law)):
        notes.append(NOTES["cut"].say(words, {"n": _MAX_LINES}))
    shown = law[: max(1, min(rows, _MAX_CELLS // columns))]
    figure = (
        Lines(words, list(zip(names, shown, strict=False)))
        .number("Original", lambda line: line[0])
        .numbers(
            {j: count(j) for j in range(columns)},
            lambda line, j: line[1][j] if j < len(line[1]) else 0,
            "probability",
        )
        .figure(
            data,
            matrix(words, data, cells),
            caption=words.say(
                "Probability of each published count (columns), by original (rows)"
            ),
            notes=notes,
        )
    )
    return [figure]


def _row_name(words: Words, row: int, *, last: int, cycle: int) -> str:
    """Name the counts that a row serves."""
    count = words.numbers.count
    if row <= last - cycle:
        return count(row)
    if cycle == 1:
        return class_name(words, row, None)
    return f"{count(row)}, {count(row + cycle)}, …"


def pair_picture(words: Words, pairs: tuple[PairFact, ...]) -> list[Figure]:
    """Draw published against original counts; none without pairs."""
    pairs = tuple(pair for pair in pairs if pair.cells > 0)
    if not pairs:
        return []
    count = words.numbers.count
    every = sorted({n for pair in pairs for n in (pair.original, pair.published)})
    bins = every[:_MAX_BINS]
    place = {n: position for position, n in enumerate(bins)}
    most = max(pair.cells for pair in pairs)
    data = Matrix(
        **PICTURES["pairs"].say(words, "pairs", most=most),
        columns=[count(n) for n in bins],
        rows=[count(n) for n in bins],
        home={position: position for position in range(len(bins))},
        ends=(words.say("few cells"), words.say("many cells")),
    )
    cells = {
        (place[pair.original], place[pair.published]): (_depth(pair.cells, most), "")
        for pair in pairs
        if pair.original in place and pair.published in place
    }
    cut = [NOTES["cut"].say(words, {"n": _MAX_BINS})] if len(every) > _MAX_BINS else []
    figure = (
        Lines(words, pairs[:_MAX_PAIRS])
        .number("Original", lambda pair: pair.original, "count")
        .number("Published", lambda pair: pair.published, "count")
        .number("Cells", lambda pair: pair.cells, "count")
        .figure(
            data,
            matrix(words, data, cells),
            caption=words.say("Cells by original and published count, from"),
            n_heads=2,
            notes=cut,
        )
    )
    return [figure]


def _depth(cells: int, most: int) -> float:
    """Give a share for the shade: of logarithms, since counts of cells differ by powers."""
    return math.log1p(cells) / math.log1p(most)
