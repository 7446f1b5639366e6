"""The noise of a release: what was designed beside what was drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.charts.bars import Bars, paired_bars
from reports.charts.matrix import Matrix, matrix
from reports.parts import Cell, Figure, Table, numbers, texts

if TYPE_CHECKING:
    from reports.facts.release import NoiseClassFact, NoiseFacts
    from reports.i18n.languages import Words
    from reports.parts import Entry

__all__ = ["class_name", "noise_parts"]

#: A table of more cells than this is not repeated on the page; report.json has it.
_MAX_CELLS = 3000
#: A picture with more rows or columns than this shows the first ones.
_MAX_LINES = 60


def noise_parts(words: Words, noise: NoiseFacts) -> dict[str, Any]:
    """Arrange the p-table of a release and the noise it made.

    Parameters
    ----------
    words
        The language.
    noise
        The facts.

    Examples
    --------
    >>> from reports.facts.release import NoiseFacts
    >>> from reports.i18n.languages import words_of
    >>> noise = NoiseFacts(
    ...     parameters={},
    ...     ptable_id="",
    ...     certificate={},
    ...     transition=(),
    ...     classes=(),
    ...     shares=(),
    ...     pairs=(),
    ... )
    >>> sorted(noise_parts(words_of("en"), noise))
    ['certificate', 'classes', 'parameters', 'pictures']
    """
    return {
        "parameters": Table(
            id="parameters",
            caption=words.say("Parameters of the noise"),
            columns=texts(words.say("Parameter"), words.say("Value")),
            rows=tuple(
                (Cell(text=name, is_code=True), value)
                for name, value in noise.parameters.items()
            ),
        ),
        "certificate": Table(
            id="certificate",
            caption=words.say("Certificate of the p-table: by how much it misses each demand"),
            columns=(*texts(words.say("Demand")), *numbers(words.say("Residual"))),
            rows=tuple(
                (Cell(text=name, is_code=True), words.numbers.tiny(residual))
                for name, residual in noise.certificate.items()
            ),
        ),
        "classes": _classes(words, noise),
        "pictures": [*_shares(words, noise), *_transition(words, noise)],
    }


def class_name(words: Words, low: int, high: int | None) -> str:
    """Name a class of original counts.

    Parameters
    ----------
    words
        The language.
    low, high
        Its ends; None leaves it open.

    Examples
    --------
    >>> from reports.i18n.languages import words_of
    >>> class_name(words_of("en"), 51, None), class_name(words_of("en"), 1, 20)
    ('51 or more', '1–20')
    """
    count = words.numbers.count
    if high is None:
        return words.say("%(low)s or more", low=count(low))
    return count(low) if low == high else f"{count(low)}–{count(high)}"


def _classes(words: Words, noise: NoiseFacts) -> Table:
    return Table(
        id="classes",
        caption=words.say("Noise by class of original counts"),
        columns=(
            *texts(words.say("Original count")),
            *numbers(
                words.say("Draws"),
                words.say("Mean, designed"),
                words.say("Mean, drawn"),
                words.say("Variance, designed"),
                words.say("Variance, drawn"),
                words.say("Share unchanged, designed"),
                words.say("Share unchanged, drawn"),
                words.say("Range, designed"),
                words.say("Range, drawn"),
            ),
        ),
        rows=tuple(_class_row(words, fact) for fact in noise.classes),
        notes=(
            words.say(
                "Over independent draws of noise: cells that hold the same records share "
                "theirs and count once."
            ),
        ),
    )


def _class_row(words: Words, fact: NoiseClassFact) -> tuple[Entry, ...]:
    number = words.numbers
    lines = (
        (number.amount, fact.mean_designed, fact.mean_drawn),
        (number.amount, fact.variance_designed, fact.variance_drawn),
        (number.probability, fact.stay_designed, fact.stay_drawn),
    )
    absent = words.say("no cells") if not fact.cells else words.say("not defined")
    ends = ((fact.least_designed, fact.max_designed), (fact.least_drawn, fact.max_drawn))
    return (
        class_name(words, fact.low, fact.high),
        number.count(fact.cells),
        *(
            absent if value is None else write(value)
            for write, *values in lines
            for value in values
        ),
        *(
            absent
            if least is None or most is None
            else words.say(
                "%(low)s to %(high)s", low=number.signed(least), high=number.signed(most)
            )
            for least, most in ends
        ),
    )


def _shares(words: Words, noise: NoiseFacts) -> list[Figure]:
    lines = sorted((fact.noise, fact.designed, fact.drawn) for fact in noise.shares)
    if not lines:
        return []
    number = words.numbers
    title = words.say("How often each noise came, designed and drawn")
    gap = max(abs(designed - drawn) for _, designed, drawn in lines)
    bars = Bars(
        id="noise-shares",
        title=title,
        description=words.say(
            "Bars for noise from %(least)s to %(most)s: outlined as designed, filled as drawn. "
            "The two differ by at most %(gap)s.",
            least=number.signed(lines[0][0]),
            most=number.signed(lines[-1][0]),
            gap=number.probability(gap),
        ),
        across=words.say("noise: published minus original count"),
        upwards=words.say("share of draws"),
        first=words.say("designed"),
        second=words.say("drawn"),
    )
    data = Table(
        id="noise-shares-data",
        caption=words.say("Share of draws with each noise"),
        columns=numbers(words.say("Noise"), words.say("Designed"), words.say("Drawn")),
        rows=tuple(
            (number.signed(n), number.probability(p), number.probability(q))
            for n, p, q in lines
        ),
    )
    return [
        Figure(id="noise-shares", title=title, svg=paired_bars(words, bars, lines), data=data)
    ]


def _transition(words: Words, noise: NoiseFacts) -> list[Figure]:
    law = noise.transition
    if not law or not law[0]:
        return []
    rows = min(len(law), _MAX_LINES)
    columns = min(max(map(len, law)), _MAX_LINES)
    last = len(law) - 1
    count = words.numbers.count
    names = [_row_name(words, i, last=last, cycle=noise.cycle) for i in range(rows)]
    title = words.say("Transition probabilities: how likely a count is published as another")
    cells = {
        (i, j): (p, str(round(100 * p)) if p >= 0.005 else "<1")
        for i, row in enumerate(law[:rows])
        for j, p in enumerate(row[:columns])
        if p > 0
    }
    data = Matrix(
        id="transition",
        title=title,
        description=words.say(
            "Shades from light to dark for probabilities from 0 to 1; rows are the original "
            "counts 0 to %(last)s, columns the published ones. The diagonal, where nothing "
            "changes, is outlined.",
            last=count(last),
        ),
        across=words.say("published count"),
        down=words.say("original"),
        columns=[count(j) for j in range(columns)],
        rows=names,
        home={i: i for i in range(min(rows, columns))},
    )
    notes = [words.say("Numbers in cells are percent; an empty cell cannot occur.")]
    if noise.cycle > 1:
        notes.append(
            words.say(
                "Larger counts take the last %(cycle)s rows in turn, and what they are "
                "published as moves up with them.",
                cycle=count(noise.cycle),
            )
        )
    if rows < len(law) or columns < max(map(len, law)):
        notes.append(
            words.say(
                "The picture shows the first %(n)s rows and columns; report.json has all.",
                n=count(_MAX_LINES),
            )
        )
    return [
        Figure(
            id="transition",
            title=title,
            svg=matrix(words, data, cells),
            data=_transition_data(words, law, names, columns),
            notes=tuple(notes),
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


def _transition_data(
    words: Words, law: tuple[tuple[float, ...], ...], names: list[str], columns: int
) -> Table:
    write = words.numbers.probability
    shown = law[: max(1, min(len(names), _MAX_CELLS // columns))]
    return Table(
        id="transition-data",
        caption=words.say("Probability of each published count (columns), by original (rows)"),
        columns=numbers(
            words.say("Original"), *(words.numbers.count(j) for j in range(columns))
        ),
        rows=tuple(
            (name, *(write(row[j]) if j < len(row) else write(0) for j in range(columns)))
            for name, row in zip(names, shown, strict=False)
        ),
    )
