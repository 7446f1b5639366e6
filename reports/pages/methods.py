"""Rival methods by the criteria that were measured of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.comparison import CRITERIA, DETAILS, DRAWN, METHODS, TRIALS
from reports.catalogues.synthesis import say_guarantee
from reports.catalogues.wording import written
from reports.parts import Cell, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reports.facts.methods import CriterionFact, MethodFact, MethodFacts
    from reports.i18n.languages import Words
    from reports.parts import Rating, Table

#: Nearer to all or none than this is all or none.
_CLOSE = 1e-9


def method_parts(words: Words, facts: MethodFacts) -> dict[str, Any]:
    """Arrange what was measured of the methods."""
    return {
        "about": list(_about(words, facts)),
        "matrix": _matrix(words, facts),
        "meanings": [
            (words.say(criterion.heading), words.say(criterion.meaning))
            for criterion in CRITERIA.values()
        ],
        "parameters": _parameters(words, facts),
        "details": _details(words, facts),
        "refused": _refused(words, facts),
        "guarantees": _guarantees(words, facts),
    }


def rating_of(criterion: CriterionFact) -> Rating | None:
    """Tell whether a share is the best that can be, the worst, or between."""
    better = CRITERIA[criterion.name].better
    if criterion.share is None or not better:
        return None
    good = criterion.share if better == "more" else 1 - criterion.share
    if good >= 1 - _CLOSE:
        return "best"
    return "worst" if good <= _CLOSE else "part"


def _about(words: Words, facts: MethodFacts) -> Iterator[str]:
    counts = {"records": facts.records, "all": facts.all_records}
    yield DRAWN[facts.drawn].say(words, counts, of="the sample")
    shown = [words.say(" by ").join(table) for table in facts.tables]
    yield TRIALS["tables"].say(words, {"tables": words.listed(shown)})
    places = {"geography": facts.geography, "target": facts.target}
    yield TRIALS["areas" if facts.geography else "no-areas"].say(words, places)
    for name, column in facts.levels.items():
        yield TRIALS["level"].say(words, {"name": name, "column": column})
    for reason in ("filtered", "summed", "left_out"):
        if names := getattr(facts, reason):
            yield TRIALS[reason].say(words, {"names": words.listed(names)})
    yield TRIALS["simple"].say(words)


def _matrix(words: Words, facts: MethodFacts) -> Table:
    tried = [method for method in facts.methods if method.criteria]
    notes = [TRIALS["base"].say(words), TRIALS["signs"].say(words)]
    if any(method.kind == "cell-key-ledger" for method in tried):
        notes.append(TRIALS["ledger"].say(words))
    return (
        Lines(words, tried)
        .text("Method", lambda method: _head(words, method))
        .numbers(
            {name: words.say(criterion.heading) for name, criterion in CRITERIA.items()},
            lambda method, name: _share(
                words, next(one for one in method.criteria if one.name == name)
            ),
        )
        .table("methods-matrix", words.say("Methods and criteria, as measured"), notes=notes)
    )


def _head(words: Words, method: MethodFact) -> Cell:
    label = words.say(METHODS[method.kind])
    if method.is_default:
        return Cell(text=label)
    return Cell(text=method.name, small=label)


def _parameters(words: Words, facts: MethodFacts) -> Table:
    """Arrange what each was tried with, how far numbers moved, and what was declared."""
    simple = {"yes": words.say("yes"), "no": words.say("no")}

    def parameters(method: MethodFact) -> str:
        return words.listed(
            f"{name} = {written(words, value, 'plain')}"
            for name, value in method.parameters.items()
        )

    def change(method: MethodFact) -> float | str:
        return words.say("none") if method.mean_change is None else method.mean_change

    return (
        Lines(words, facts.methods)
        .text("Method", lambda method: _head(words, method))
        .text("Name in files", lambda method: Cell(text=method.name, is_code=True))
        .text("Parameters", parameters)
        .number("Mean change of a number", change, "amount")
        .text("Simple to run, as declared", lambda m: simple.get(m.simple, m.simple))
        .table(
            "methods-parameters",
            words.say("What the methods were tried with, and how far numbers moved"),
        )
    )


def _share(words: Words, criterion: CriterionFact) -> Cell:
    if criterion.share is None:
        return Cell(text=words.say("not measured"))
    return Cell(
        text=words.numbers.share(criterion.share),
        small=words.say("of %(base)s", base=words.numbers.count(criterion.base)),
        rating=rating_of(criterion),
    )


def _details(words: Words, facts: MethodFacts) -> Table:
    lines = []
    for method in facts.methods:
        told = [
            DETAILS[name].say(words, {"number": number}, of=f"the detail {name!r}")
            for name, number in method.facts.items()
            if number is not None
        ]
        if method.criteria and method.records != facts.records:
            told.insert(0, TRIALS["fewer"].say(words, {"records": method.records}))
        if told:
            lines.append((method, " ".join(told)))
    return (
        Lines(words, lines)
        .text("Method", lambda line: _head(words, line[0]).text)
        .text("What it did", lambda line: line[1])
        .table("methods-details", words.say("What some methods did besides"))
    )


def _guarantees(words: Words, facts: MethodFacts) -> Table:
    promised = [(m, m.guarantee) for m in facts.methods if m.guarantee is not None]
    return (
        Lines(words, promised)
        .text("Method", lambda line: _head(words, line[0]).text)
        .text("Guarantee", lambda line: say_guarantee(words, line[1]))
        .table("methods-guarantees", words.say("What is promised of the synthetic records"))
    )


def _refused(words: Words, facts: MethodFacts) -> Table:
    return (
        Lines(words, [method for method in facts.methods if not method.criteria])
        .text("Method", lambda method: _head(words, method).text)
        .text("Reason", lambda method: method.reason)
        .table("methods-refused", words.say("Methods that could not be tried"))
    )
