"""Synthetic records judged: what they keep, and what they give away."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from reports.catalogues.synthesis import (
    CONCLUSIONS,
    CONTROLS,
    FIGURES,
    GOOD,
    GROUPS,
    TELLING,
    UNPROTECTED,
    say_guarantee,
)
from reports.catalogues.wording import written
from reports.charts.bars import Bar, Bars, rows
from reports.charts.curves import SHAPES, Curve, Curves, Spot, panels
from reports.facts.synthesis import (
    SpreadFact,
    SweptFigure,
    SynthesisFacts,
    SynthesisFigure,
    SynthesisFinding,
)
from reports.i18n.languages import Words
from reports.parts import Cell, Entry, Figure, Lines, Row, Table, with_interval
from reports.report import Download, as_csv, download, facts_file

#: Drawn as limits; the training records are 0 off themselves.
_LIMITS = ("bootstrap", "holdout", "independent")
_DRAWN = 5
#: What an office asks first, and so comes first.
_OFFICE = ("amounts", "dependence")
_WIDE_ENOUGH = 520.0
#: A smaller error is written without its sign: < 0.1 %.
_SEEN = 0.0005
_MOST_BARS, _MOST_MEASURES, _MOST_WAYS = 20, 40, 8
_APART = 3.0


def synthesis_page(words: Words, facts: SynthesisFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of synthetic records."""
    all_groups = [
        name
        for name in GROUPS
        if any(FIGURES[f.name].group == name for some in facts.figures.values() for f in some)
    ]
    groups = [name for name in all_groups if name not in _OFFICE]
    office = _swept_office(words, facts)
    compared = words.say("Methods of synthesis compared") if facts.measures else ""
    return "synthesis.html", {
        "title": facts.title or compared or words.say("Quality of synthetic records"),
        "headings": {
            "conclusion": words.say("Conclusion"),
            **{f"group-{n}": words.say(GROUPS[n]) for n in all_groups if n in _OFFICE},
            **({"office": words.say("Amounts and dependence, by method")} if office else {}),
            "pictures": words.say("Main results"),
            "judged": words.say("Records evaluated"),
            **{f"group-{name}": words.say(GROUPS[name]) for name in groups},
            "definitions": words.say("Definitions"),
        },
        "findings": [
            (name, [_said(words, finding) for finding in several])
            for name, several in facts.findings.items()
        ],
        "is_one": len(facts.figures) < 2,
        "amounts": _amounts(words, facts),
        "amounts_by": _amounts(words, facts, by_part=True),
        "amounts_picture": _amounts_picture(words, facts),
        "dependence": _group(words, facts, "dependence")
        if "dependence" in all_groups
        else None,
        "office": office,
        "sizes": _sizes(words, facts),
        "guarantees": _guarantees(words, facts),
        "pictures": _pictures(words, facts),
        "is_sweep": bool(facts.measures),
        "groups": [
            (name, words.say(GROUPS[name]), _group(words, facts, name)) for name in groups
        ],
        "definitions": _definitions(words, facts),
        "downloads": _downloads(facts),
    }


def _said(words: Words, finding: SynthesisFinding) -> str:
    values = dict(finding.values)
    if figure := values.get("figure"):
        values["figure"] = words.say(FIGURES[str(figure)].name)
    return CONCLUSIONS[finding.name].say(words, values, of=f"the conclusion {finding.name!r}")


def _sizes(words: Words, facts: SynthesisFacts) -> Table:
    lines = [
        (words.say("Training records"), facts.train),
        (words.say("Unseen real records"), facts.holdout),
        *(
            (words.say("Synthetic: %(name)s", name=n), size)
            for n, size in facts.synthetic.items()
        ),
    ]
    return (
        Lines(words, lines)
        .text("Records", lambda line: line[0])
        .number("How many", lambda line: line[1], "count")
        .table("sizes", words.say("Numbers of records"))
    )


def _guarantees(words: Words, facts: SynthesisFacts) -> Table:
    return (
        Lines(words, facts.guarantees.items())
        .text("Records", lambda line: words.say("Synthetic: %(name)s", name=line[0]))
        .text("Guarantee", lambda line: say_guarantee(words, line[1]))
        .table("guarantees", words.say("What is promised of the synthetic records"))
    )


def _group(words: Words, facts: SynthesisFacts, group: str) -> Table:
    """List the figures of a group, with a column per control."""
    several = len(facts.figures) > 1
    lines = [
        (name, figure)
        for key in FIGURES
        for name, some in facts.figures.items()
        for figure in some
        if figure.name == key and FIGURES[key].group == group
    ]
    controls = [c for c in CONTROLS if any(c in figure.controls for _, figure in lines)]
    table = Lines(words, lines).text("Figure", lambda line: _name(words, line[1]))
    if several:
        table = table.text("Records", lambda line: line[0])
    return (
        table.number("Synthetic", lambda line: _value(words, line[1]))
        .numbers(
            {c: words.say(CONTROLS[c]) for c in controls},
            lambda line, c: _number(words, line[1], line[1].controls.get(c)),
        )
        .text("Reference values", lambda line: words.say(GOOD[FIGURES[line[1].name].good]))
        .table(
            f"figures-{group}",
            words.say(
                "%(group)s: each figure with that of reference records",
                group=words.say(GROUPS[group]),
            ),
            n_heads=1 + several,
        )
    )


def _amounts(words: Words, facts: SynthesisFacts, *, by_part: bool = False) -> Table | None:
    """List what an office asks first: figures of amounts in real and synthetic records."""
    lines = [
        (name, figure)
        for name, some in facts.figures.items()
        for figure in some
        if FIGURES[figure.name].group == "amounts" and bool(figure.part) == by_part
    ]
    order = list(dict.fromkeys((f.subject for _, f in lines)))
    lines.sort(
        key=lambda line: (order.index(line[1].subject), list(FIGURES).index(line[1].name))
    )
    if not lines:
        return None
    several = len(facts.figures) > 1
    table = Lines(words, lines).text("Amount", lambda line: _name(words, line[1]))
    if several:
        table = table.text("Records", lambda line: line[0])
    caption = (
        words.say("Totals, means and quantiles of amounts by category")
        if by_part
        else words.say("Totals, means and quantiles of amounts")
    )
    return (
        table.number("Real records", lambda line: line[1].real, "amount")
        .number("Synthetic", lambda line: line[1].made, "amount")
        .number("Error", lambda line: _value(words, line[1]))
        .number("Sampling error", lambda line: line[1].sampling, "share")
        .table(
            "amounts-by-category" if by_part else "amounts",
            caption,
            n_heads=1 + several,
            notes=[
                words.say(
                    "Sampling error: in 19 of 20 cases, the error of another sample of as "
                    "many real records is no larger. Totals are for as many records as "
                    "there are real ones."
                )
            ],
        )
    )


def _amounts_picture(words: Words, facts: SynthesisFacts) -> Figure | None:
    """Draw how far off each figure of the amounts is, on what sampling alone does."""
    if len(facts.figures) != 1:
        return None
    (figures,) = facts.figures.values()
    bars, lines = [], []
    for one in figures:
        if one.real and one.made is not None and not one.part and one.name in FIGURES:
            off, reach = one.made / one.real - 1, one.sampling or 0.0
            bars.append(
                Bar(
                    name=_of_subject(words, one.subject, words.say(FIGURES[one.name].name)),
                    number=off,
                    low=-reach,
                    high=reach,
                    text=f"{'+' if off >= _SEEN else ''}{words.numbers.share(off)}",
                )
            )
            lines.append(one)
    if not bars:
        return None
    order = list(dict.fromkeys(one.subject for one in lines))
    places = sorted(range(len(bars)), key=lambda k: order.index(lines[k].subject))[:_MOST_BARS]
    data = Bars(
        id="amounts-off",
        title=words.say("Errors of amounts in the synthetic records"),
        description=words.say(
            "A dot for each figure of an amount; a line for the sampling error."
        ),
        across=words.say("error, as a share of the real records"),
    )
    svg = rows(
        words,
        data,
        [bars[k] for k in places],
        are_dots=True,
        width=_WIDE_ENOUGH,
        write=words.numbers.percent,
    )
    return (
        Lines(words, [lines[k] for k in places])
        .text("Amount", lambda one: _name(words, one))
        .number("Error", lambda one: (one.made or 0) / (one.real or 1) - 1, "share")
        .number("Sampling error", lambda one: one.sampling, "share")
        .figure(
            data,
            svg,
            notes=[
                words.say(
                    "Dots: synthetic records. Lines: where another sample of as many real "
                    "records is in 19 of 20 cases."
                )
            ],
        )
    )


def _swept_office(words: Words, facts: SynthesisFacts) -> Table | None:
    """List the figures of amounts and of dependence by way and epsilon, of all records."""
    measures = [m for m in facts.measures if FIGURES[m.name].group in _OFFICE]
    measures = [m for m in measures if not m.part][:_MOST_MEASURES]
    if not measures:
        return None
    keys = dict.fromkeys((s.line, s.epsilon) for m in measures for s in m.spreads)
    ways = sorted(keys, key=lambda key: (list(keys).index(key), key[1] or 0.0))[:_MOST_WAYS]
    headings = {
        key: f"{key[0]}, ε\xa0=\xa0{words.numbers.plain(key[1])}" if key[1] else key[0]
        for key in ways
    }

    def entry(measure: SweptFigure, key: tuple[str, float | None]) -> Entry | None:
        spreads = [s for s in measure.spreads if (s.line, s.epsilon) == key]
        return _spread(words, measure, spreads[0]) if spreads else None

    controls = [c for c in CONTROLS if any(c in m.controls for m in measures)]
    return (
        Lines(words, measures)
        .text("Figure", lambda one: _name(words, one))
        .numbers(headings, entry)
        .numbers(
            {c: words.say(CONTROLS[c]) for c in controls},
            lambda one, c: _number(words, one, one.controls.get(c)),
        )
        .table("office-by-way", words.say("Amounts and dependence, by method and epsilon"))
    )


def _name(words: Words, figure: SynthesisFigure | SweptFigure) -> Cell:
    return Cell(text=words.say(FIGURES[figure.name].name), small=figure.subject)


def _of_subject(words: Words, subject: str, name: str) -> str:
    return words.say("%(subject)s: %(name)s", subject=subject, name=name)


def _value(words: Words, figure: SynthesisFigure) -> Entry:
    if figure.value is None:
        return Cell(text=words.say("none"), small=words.say(figure.reason))
    return _spread(
        words, figure, SpreadFact(line="", mean=figure.value, low=figure.low, high=figure.high)
    )


def _spread(words: Words, figure: SynthesisFigure | SweptFigure, spread: SpreadFact) -> Entry:
    def write(value: float) -> str:
        return _number(words, figure, value)

    return with_interval(words, write, spread.mean, spread.low, spread.high)


def _number(words: Words, figure: SynthesisFigure | SweptFigure, value: float | None) -> str:
    if value is None:
        return words.say("none")
    return written(words, value, FIGURES[figure.name].kind)


def _measures(facts: SynthesisFacts) -> list[SweptFigure]:
    """Give the most telling figures by way: those of a sweep, or of each set."""
    by_name: dict[tuple[str, str], SweptFigure] = {
        (m.name, m.subject): m for m in facts.measures
    }
    for line, figures in facts.figures.items():
        for f in figures:
            if f.value is not None:
                key = (f.name, "" if FIGURES[f.name].group == "tables" else f.subject)
                figure = by_name.get(key) or SweptFigure(
                    name=f.name, subject=key[1], controls=f.controls
                )
                one = SpreadFact(line=line, mean=f.value, low=f.low, high=f.high)
                by_name[key] = replace(figure, spreads=(*figure.spreads, one))
    telling = [m for m in by_name.values() if m.name in TELLING]
    measures = sorted(telling, key=lambda m: TELLING.index(m.name)) or list(by_name.values())
    return measures[:_DRAWN]


def _pictures(words: Words, facts: SynthesisFacts) -> Row | None:
    """Draw a small picture per figure; a line per way, and a limit per control."""
    measures = _measures(facts)
    if not measures:
        return None
    good = FIGURES[measures[0].name].good
    ranked = sorted(measures[0].spreads, key=lambda s: s.mean, reverse=good == "high")
    lines = list(dict.fromkeys(s.line for s in ranked))
    ways = lines[:SHAPES]
    at, places, is_log = _places(words, ways, [s.epsilon for m in measures for s in m.spreads])
    several = []
    for number, measure in enumerate(measures):
        name = _name(words, measure)
        title = _of_subject(words, name.text, name.small) if name.small else name.text
        data = Curves(
            id=f"picture-{number}",
            title=title,
            description=_led(words, measure) or words.say(FIGURES[measure.name].meaning),
            across="ε" if is_log else "",
            upwards=words.say(
                "reference: %(values)s", values=words.say(GOOD[FIGURES[measure.name].good])
            ),
            is_log_across=is_log,
            from_zero=FIGURES[measure.name].good == "low",
            at=at,
        )
        several.append((data, [*_ways(measure, ways, places), *_limits(words, measure, at)]))
    notes = [_led(words, measure) for measure in measures if len(lines) > 1]
    if facts.folds:
        text = words.say(
            "Each point is the mean over %(n)s folds; the band extends from the lowest to "
            "the highest fold, and is not a confidence interval.",
            n=words.numbers.count(facts.folds),
        )
        notes.insert(0, text)
    if facts.folds and any(UNPROTECTED in line for line in lines):
        notes.append(
            words.say(
                "Methods that are NOT DP as claimed are drawn, and never called the best."
            )
        )
    if rest := len(lines) - len(ways):
        text = words.say(
            "The %(shown)s methods with the best first figure are drawn; %(n)s more are in "
            "the table.",
            shown=words.numbers.count(SHAPES),
            n=words.numbers.count(rest),
        )
        notes.append(text)
    return Row(
        id="by-way",
        title=words.say("Main figures, with those of reference records"),
        panels=panels(words, "by-way", several),
        data=_by_way(words, measures, lines),
        notes=tuple(filter(None, notes)),
    )


def _places(
    words: Words, lines: Sequence[str], epsilons: Iterable[float | None]
) -> tuple[dict[float, str], dict[float | str | None, float], bool]:
    """Give the axis and the places on it: of each epsilon, and of ways that state none."""
    every = set(epsilons)
    numbers = sorted(e for e in every if e is not None)
    if not numbers:
        order: dict[float | str | None, float] = {
            line: place + 1.0 for place, line in enumerate(lines)
        }
        return dict.fromkeys((0.0, *order.values(), len(lines) + 1.0), ""), order, False
    at = {numbers[0] / 1.5: ""} | {e: words.numbers.plain(e) for e in numbers}
    if None in every:
        at[numbers[-1] * _APART] = words.say("no ε")
    at[max(at) * 1.5] = ""
    return at, {**{e: e for e in numbers}, None: numbers[-1] * _APART}, True


def _ways(
    measure: SweptFigure, lines: Sequence[str], places: dict[float | str | None, float]
) -> list[Curve]:
    def spots(line: str) -> Iterator[Spot]:
        for s in sorted(measure.spreads, key=lambda s: s.epsilon or 0.0):
            if s.line == line:
                x = places.get(line, places.get(s.epsilon, 0.0))
                yield Spot(x=x, y=s.mean, low=s.low, high=s.high)

    return [Curve(name=line, spots=tuple(spots(line))) for line in lines]


def _limits(words: Words, measure: SweptFigure, at: dict[float, str]) -> list[Curve]:
    return [
        Curve(
            name=words.say(CONTROLS[control]),
            spots=tuple(Spot(x=x, y=value) for x in (min(at), max(at))),
            is_marked=False,
            is_limit=True,
        )
        for control in _LIMITS
        if (value := measure.controls.get(control)) is not None
    ]


def _led(words: Words, measure: SweptFigure) -> str:
    """Say which way is best at which epsilons."""
    if not measure.leads:
        return ""
    plain, best = words.numbers.plain, []
    for line, first, last in measure.leads:
        ends = [plain(e) for e in dict.fromkeys((first, last)) if e is not None]
        best.append(f"{line}, ε\xa0=\xa0{'–'.join(ends)}" if ends else line)
    name = words.say(FIGURES[measure.name].name)
    return words.say("%(figure)s – best: %(best)s.", figure=name, best="; ".join(best))


def _by_way(words: Words, measures: Sequence[SweptFigure], lines: Sequence[str]) -> Table:
    """List the figures drawn: a line per way and epsilon, then known records."""
    spreads = [{(s.line, s.epsilon): s for s in m.spreads} for m in measures]
    every = sorted(
        {key for one in spreads for key in one}, key=lambda k: (lines.index(k[0]), k[1] or 0.0)
    )

    def entry(key: tuple[str, float | None], place: int) -> Entry | None:
        if (spread := spreads[place].get(key)) is None:
            control = measures[place].controls.get(key[0])
            return None if control is None else _number(words, measures[place], control)
        return _spread(words, measures[place], spread)

    controls = [(c, None) for c in CONTROLS if any(c in m.controls for m in measures)]
    return (
        Lines(words, [*every, *controls])
        .text("Records", lambda key: words.say(CONTROLS[key[0]]) if key in controls else key[0])
        .number("ε", lambda key: key[1])
        .numbers({k: words.say(FIGURES[m.name].name) for k, m in enumerate(measures)}, entry)
        .table("by-way-data", words.say("The figures drawn, by method"))
    )


def _definitions(words: Words, facts: SynthesisFacts) -> Table:
    names = {figure.name for some in facts.figures.values() for figure in some}
    names |= {m.name for m in (_measures(facts) if facts.measures else ())}
    return (
        Lines(words, [one for name, one in FIGURES.items() if name in names])
        .text("Figure", lambda one: words.say(one.name))
        .text("Definition", lambda one: words.say(one.meaning))
        .table("definition-table", words.say("Definitions of the figures"))
    )


def _downloads(facts: SynthesisFacts) -> list[Download]:
    parts = ("subject", "value", "low", "high", "real", "made", "sampling")
    entries: list[tuple[Any, ...]] = [
        (
            *(name, figure.name, *attrgetter(*parts)(figure)),
            *(figure.controls.get(control) for control in CONTROLS),
            figure.reason,
        )
        for name, several in facts.figures.items()
        for figure in several
    ]
    columns = ("records", "figure", *parts, *CONTROLS, "reason")
    spread = ("line", "epsilon", "mean", "low", "high")
    if facts.measures:
        entries = [
            (m.name, m.subject, *attrgetter(*spread)(s), len(s.values))
            for m in facts.measures
            for s in m.spreads
        ]
        columns = ("figure", "subject", *spread, "folds")
    return [
        download("figures.csv", as_csv(columns, entries)),
        facts_file("evaluation.json", facts),
    ]
