"""Synthetic records judged: what they keep, and what they give away."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from reports.catalogues.synthesis import (
    CONCLUSIONS,
    CONTROLS,
    FIGURES,
    GOOD,
    GROUPS,
    PICTURES,
    say_guarantee,
)
from reports.catalogues.wording import written
from reports.charts.marked import Marked, MarkedLine, marked_bars
from reports.parts import Cell, Lines
from reports.report import as_csv, as_json, download

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.facts.synthesis import SynthesisFacts, SynthesisFigure
    from reports.i18n.languages import Words
    from reports.parts import Entry, Figure, Table
    from reports.report import Download

#: Shown as marks; the training records are 0 off themselves.
_MARKS = ("bootstrap", "holdout", "independent")
#: Picture → its figures, where its bars start and its marks.
_PICTURES: dict[str, tuple[tuple[str, ...], float, tuple[str, ...]]] = {
    "distances": (
        ("tvd1", "tvd2", "tvd3", "ks_mean", "spearman_change_pairs", "cramer_change"),
        0.0,
        _MARKS,
    ),
    "chances": (
        ("detection_auc", "domias", "mia_mean", "mia_worst", "mia_euclidean", "nearer_train"),
        0.5,
        _MARKS,
    ),
    "learning": (("class_auc",), 0.5, ("train", *_MARKS)),
}


def synthesis_page(words: Words, facts: SynthesisFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of synthetic records."""
    groups = [
        name
        for name in GROUPS
        if any(FIGURES[f.name].group == name for some in facts.figures.values() for f in some)
    ]
    return "synthesis.html", {
        "title": facts.title or words.say("Synthetic records judged"),
        "headings": {
            "conclusion": words.say("Conclusion"),
            "judged": words.say("What was judged"),
            "pictures": words.say("At a glance"),
            **{f"group-{name}": words.say(GROUPS[name]) for name in groups},
            "definitions": words.say("Definitions"),
        },
        "findings": [
            (
                name,
                [
                    CONCLUSIONS[finding.name].say(
                        words, finding.values, of=f"the conclusion {finding.name!r}"
                    )
                    for finding in several
                ],
            )
            for name, several in facts.findings.items()
        ],
        "is_one": len(facts.figures) == 1,
        "sizes": _sizes(words, facts),
        "guarantees": _guarantees(words, facts),
        "pictures": _pictures(words, facts),
        "groups": [
            (name, words.say(GROUPS[name]), _group(words, facts, name)) for name in groups
        ],
        "definitions": _definitions(words, facts),
        "downloads": _downloads(facts),
    }


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
    shown = Lines(words, lines).text("Figure", lambda line: _name(words, line[1]))
    if several:
        shown = shown.text("Records", lambda line: line[0])
    return (
        shown.number("Synthetic", lambda line: _value(words, line[1]))
        .numbers(
            {c: words.say(CONTROLS[c]) for c in controls},
            lambda line, c: _number(words, line[1], line[1].controls.get(c)),
        )
        .text("Good values", lambda line: words.say(GOOD[FIGURES[line[1].name].good]))
        .table(
            f"figures-{group}",
            words.say(
                "%(group)s: beside each figure, that of known records",
                group=words.say(GROUPS[group]),
            ),
            n_heads=1 + several,
        )
    )


def _name(words: Words, figure: SynthesisFigure) -> Cell:
    return Cell(text=words.say(FIGURES[figure.name].name), small=figure.subject)


def _value(words: Words, figure: SynthesisFigure) -> Entry:
    if figure.value is None:
        return Cell(text=words.say("none"), small=words.say(figure.reason))
    text = _number(words, figure, figure.value)
    if figure.low is None or figure.high is None:
        return text
    bounds = (words.numbers.ratio(figure.low), words.numbers.ratio(figure.high))
    return Cell(
        text=text, small=words.say("%(low)s to %(high)s", low=bounds[0], high=bounds[1])
    )


def _number(words: Words, figure: SynthesisFigure, value: float | None) -> str:
    if value is None:
        return words.say("none")
    return written(words, value, FIGURES[figure.name].kind)


def _pictures(words: Words, facts: SynthesisFacts) -> list[Figure]:
    return [
        figure
        for place, (name, figures) in enumerate(facts.figures.items())
        for kind in _PICTURES
        for figure in _picture(
            words, figures, kind, place, "" if len(facts.figures) == 1 else f" – {name}"
        )
    ]


def _picture(
    words: Words, figures: Sequence[SynthesisFigure], kind: str, place: int, of_set: str
) -> list[Figure]:
    """Draw figures as bars; none where nothing is defined."""
    names, start, marks = _PICTURES[kind]
    shown = [f for f in figures if f.name in names and f.value is not None]
    if not shown:
        return []
    used = [c for c in marks if any(figure.controls.get(c) is not None for figure in shown)]
    lines = [
        MarkedLine(
            name=words.say(FIGURES[f.name].name) if f.name != "class_auc" else f.subject,
            value=f.value if f.value is not None else 0.0,
            marks={c: v for c, v in f.controls.items() if c in used and v is not None},
            low=f.low,
            high=f.high,
        )
        for f in shown
    ]
    said = PICTURES[kind].say(words, f"{kind}-{place}")
    data = Marked(
        **said | {"title": said["title"] + of_set},
        marks={c: words.say(CONTROLS[c]) for c in used},
        start=start,
    )
    table = (
        Lines(words, list(zip(lines, shown, strict=True)))
        .text("Figure", lambda line: line[0].name)
        .number("Synthetic", lambda line: _number(words, line[1], line[1].value))
        .numbers(data.marks, lambda line, c: _number(words, line[1], line[1].controls.get(c)))
    )
    return [table.figure(data, marked_bars(words, data, lines))]


def _definitions(words: Words, facts: SynthesisFacts) -> Table:
    used = {figure.name for some in facts.figures.values() for figure in some}
    return (
        Lines(words, [known for name, known in FIGURES.items() if name in used])
        .text("Figure", lambda known: words.say(known.name))
        .text("Definition", lambda known: words.say(known.meaning))
        .table("definition-table", words.say("What each figure is"))
    )


def _downloads(facts: SynthesisFacts) -> list[Download]:
    parts = ("subject", "value", "low", "high")
    rows = [
        (
            *(name, figure.name, *attrgetter(*parts)(figure)),
            *(figure.controls.get(control) for control in CONTROLS),
            figure.reason,
        )
        for name, several in facts.figures.items()
        for figure in several
    ]
    columns = ("records", "figure", *parts, *CONTROLS, "reason")
    return [
        download("figures.csv", as_csv(columns, rows)),
        download("evaluation.json", as_json(facts)),
    ]
