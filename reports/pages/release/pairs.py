"""Published against original counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reports.charts.matrix import Matrix, matrix
from reports.parts import Figure, Lines

if TYPE_CHECKING:
    from reports.facts.release import PairFact
    from reports.i18n.languages import Words

#: A picture with more bins than this shows the first ones; so does its table of pairs.
_MAX_BINS = 60
_MAX_PAIRS = 3000


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
        id="pairs",
        title=words.say("Published against original counts"),
        description=words.say(
            "A matrix of bins of counts: rows are original, columns published counts. The "
            "darker a cell, the more cells of the tables lie there, %(most)s at most; those "
            "where both lie in the same bin are outlined.",
            most=count(most),
        ),
        across=words.say("published count, from"),
        down=words.say("original, from"),
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
            notes=_cut(words, len(every)),
        )
    )
    return [figure]


def _cut(words: Words, n_bins: int) -> tuple[str, ...]:
    if n_bins <= _MAX_BINS:
        return ()
    return (
        words.say(
            "The picture shows the first %(n)s rows and columns; report.json has all.",
            n=words.numbers.count(_MAX_BINS),
        ),
    )


def _depth(cells: int, most: int) -> float:
    """Give a share for the shade: of logarithms, since counts of cells differ by powers."""
    return math.log1p(cells) / math.log1p(most)
