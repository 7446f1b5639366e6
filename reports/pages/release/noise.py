"""The noise of a release: as designed, as drawn, and what it made of original counts."""

import contextlib
import math
from collections.abc import Callable
from typing import Any

from footing.messages import mark
from reports.catalogues.release import (
    BASES,
    DEMANDS,
    NOTES,
    PARAMETER_VALUES,
    PARAMETERS,
    PICTURES,
)
from reports.charts.bars import Bar, Bars, columns
from reports.charts.matrix import Matrix, matrix
from reports.facts.quantity import Quantity
from reports.facts.release import NoiseClassFact, NoiseFacts
from reports.i18n.languages import Words
from reports.pages.common import quantities
from reports.pages.release.deviations import class_name
from reports.parts import Cell, Entry, Figure, Lines, Table

#: A table of more cells than this is not repeated on the page; report.json has it.
_MAX_CELLS = 3000
#: A picture with more rows or columns than this shows the first ones.
_MAX_LINES = 60
#: Values of parameters that ask for nothing.
_SAYS_NOTHING = {"none", "exact", "0", "0.0", "false"}


def noise_parts(words: Words, noise: NoiseFacts) -> dict[str, Any]:
    """Arrange the p-table of a release and the noise it made."""
    return {
        "parameters": _parameters(words, noise),
        "amounts": _amounts(words, noise),
        "certificate": quantities(
            words,
            [
                Quantity(DEMANDS.get(name, name), residual, "tiny")
                for name, residual in noise.certificate.items()
            ],
            name=mark("Requirement"),
            value=mark("Residual"),
        ).table(
            "certificate",
            words.say("Certificate of the p-table: deviation from each requirement"),
        ),
        "classes": _classes(words, noise),
        "pictures": _shares(words, noise),
        "transition": _transition(words, noise),
    }


def _parameters(words: Words, noise: NoiseFacts) -> Table:
    """Name the parameters that say something, with their values."""
    parameters = {n: v for n, v in noise.parameters.items() if v not in _SAYS_NOTHING}

    def value(text: str) -> float | str:
        with contextlib.suppress(ValueError):
            if math.isfinite(number := float(text)):
                return number
        return words.say(PARAMETER_VALUES.get(text, text))

    figures = [Quantity(PARAMETERS.get(n, n), value(text)) for n, text in parameters.items()]
    return quantities(words, figures, name=mark("Parameter")).table(
        "parameters", words.say("Parameters of the noise")
    )


def _amounts(words: Words, noise: NoiseFacts) -> Table:
    return (
        Lines(words, noise.amounts)
        .text("Variable", lambda fact: fact.variable)
        .text("Noise is a share of", lambda fact: words.say(BASES[fact.base]))
        .number("Standard deviation", lambda fact: fact.deviation, "share")
        .number("Largest", lambda fact: fact.largest, "share")
        .table("amount-noise", words.say("Noise of sums and means"))
    )


def _classes(words: Words, noise: NoiseFacts) -> Table:
    write = words.numbers

    def beside(
        actual: float | None,
        designed: float | None,
        kind: Callable[[float], str],
        exact: Callable[[float], str] = write.plain,
    ) -> Entry:
        target = None if designed is None else round(designed, 3)
        small = "" if target is None else words.say("designed %(n)s", n=exact(target))
        text = words.say("no cells") if actual is None else kind(actual)
        return Cell(text=text, small=small)

    def span(fact: NoiseClassFact) -> Entry:
        def said(least: int | None, most: int | None) -> str:
            if least is None or most is None:
                return ""
            low, high = write.signed(least), write.signed(most)
            return words.say("%(low)s to %(high)s", low=low, high=high)

        designed = said(fact.least_designed, fact.most_designed)
        small = words.say("designed %(n)s", n=designed) if designed else ""
        text = said(fact.least_drawn, fact.most_drawn)
        return Cell(text=text or words.say("no cells"), small=small)

    return (
        Lines(words, noise.classes)
        .text("Original count", lambda f: class_name(words, f.low, f.high))
        .number("Draws", lambda f: f.cells, "count")
        .number("Mean", lambda f: beside(f.mean_drawn, f.mean_designed, write.amount))
        .number(
            "Variance", lambda f: beside(f.variance_drawn, f.variance_designed, write.amount)
        )
        .number(
            "Unchanged",
            lambda f: beside(f.stay_drawn, f.stay_designed, write.share, write.share),
        )
        .number("Range", span)
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
    gap = max(abs(designed - actual) for _, designed, actual in lines)
    texts = PICTURES["noise-shares"]
    least, most = lines[0][0], lines[-1][0]
    bars = Bars(**texts.say(words, "noise-shares", least=least, most=most, gap=gap))
    shares = {noise: (designed, actual) for noise, designed, actual in lines}
    groups = [
        (
            name := words.numbers.signed(noise),
            [
                Bar(name=name, number=share, is_filled=bool(place))
                for place, share in enumerate(shares.get(noise, ()))
            ],
        )
        for noise in range(least, most + 1)
    ]
    return [
        Lines(words, lines)
        .number("Noise", lambda line: line[0], "signed")
        .number("Designed", lambda line: line[1], "probability")
        .number("Drawn", lambda line: line[2], "probability")
        .figure(
            bars,
            columns(words, bars, groups),
            caption=words.say("Share of draws with each noise"),
        )
    ]


def _transition(words: Words, noise: NoiseFacts) -> list[Figure]:
    distribution = noise.transition
    if not distribution or not distribution[0]:
        return []
    rows = min(len(distribution), _MAX_LINES)
    columns = min(max(map(len, distribution)), _MAX_LINES)
    last = len(distribution) - 1
    count = words.numbers.count
    names = [_row_name(words, i, last=last, cycle=noise.cycle) for i in range(rows)]
    cells = {
        (i, j): (p, str(round(100 * p)) if p >= 0.005 else "<1")
        for i, row in enumerate(distribution[:rows])
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
    if rows < len(distribution) or columns < max(map(len, distribution)):
        notes.append(NOTES["cut"].say(words, {"n": _MAX_LINES}))
    lines = distribution[: max(1, min(rows, _MAX_CELLS // columns))]
    return [
        Lines(words, list(zip(names, lines, strict=False)))
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
    ]


def _row_name(words: Words, row: int, *, last: int, cycle: int) -> str:
    """Name the counts that a row serves."""
    count = words.numbers.count
    if row <= last - cycle:
        return count(row)
    if cycle == 1:
        return class_name(words, row, None)
    return f"{count(row)}, {count(row + cycle)}, …"
