"""Rival methods by the criteria that were measured of each."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from reports.catalogues.comparison import (
    ADVICE,
    CRITERIA,
    DETAILS,
    DISAGREED,
    DRAWN,
    METHODS,
    SLIDES,
    STANDING,
    TRIALS,
)
from reports.catalogues.synthesis import say_guarantee
from reports.catalogues.wording import Kind, written
from reports.charts.curves import Design
from reports.facts.methods import CriterionFact, MethodFact, MethodFacts, ReleasedFact
from reports.i18n.languages import Words
from reports.i18n.messages import translated
from reports.pages.scenarios import points_map
from reports.parts import Cell, Figure, Lines, Rating, Table

#: Nearer to all or none than this is all or none.
_CLOSE = 1e-9


def method_parts(words: Words, facts: MethodFacts) -> dict[str, Any]:
    """Arrange what was measured of the methods."""
    return {
        "standing": standing(words, facts),
        "released": _released(words, facts),
        "verdict": _advice(words, facts),
        "pictures": methods_map(words, facts),
        "slides": _slides(words, facts),
        "disagreed": list(_disagreed(words, facts)),
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


def disagreement(method: MethodFact, criterion: str) -> str:
    """Tell whether measurement shows less or more than the slides say; nothing if neither."""
    claim = SLIDES[method.kind][criterion]
    rating = _rating(method, criterion)
    if claim.startswith("yes"):
        return "less" if rating == "worst" or (rating == "part" and claim == "yes") else ""
    return "more" if rating == "best" else ""


def _rating(method: MethodFact, criterion: str) -> Rating | None:
    if criterion == "simple":
        ratings: dict[str, Rating] = {"yes": "best", "no": "worst"}
        return ratings.get(method.simple)
    return rating_of(_criterion(method, criterion))


def _criterion(method: MethodFact, name: str) -> CriterionFact:
    return next(one for one in method.criteria if one.name == name)


def methods_map(words: Words, facts: MethodFacts) -> list[Figure]:
    """Draw the methods by what is lost and by small counts found, persons if none is small."""
    trials = [m for m in facts.methods if m.criteria and m.kind != "exact"]
    criteria = {
        "small_counts_found": words.say("small counts inferred"),
        "found_by_differencing": words.say("persons disclosed by differencing two tables"),
    }
    name = next(
        (n for n in criteria if any(_criterion(m, n).share is not None for m in trials)), ""
    )
    places = [(m, m.mean_loss, _criterion(m, name).share) for m in trials if name]
    points = [(m, x, 100 * y) for m, x, y in places if x is not None and y is not None]
    methods = [method for method, *_ in points]
    choice = facts.conclusion.get("recommended", {}).get("method")
    spots = [
        Design(
            number=str(facts.methods.index(method) + 1),
            name=_label(words, method),
            across=x,
            upwards=y,
            is_front=not any(a <= x and b <= y and (a, b) != (x, y) for _, a, b in points),
            is_chosen=method.name == choice,
        )
        for method, x, y in points
    ]
    upwards = criteria.get(name, "")
    across = words.say("average change of a count")
    kinds: dict[str, Kind] = {f"{upwards}, %": "amount", across: "amount"}
    rest = [_label(words, method) for method in facts.methods if method not in methods]
    notes = [TRIALS["loss"].say(words)]
    notes += [TRIALS["unmapped"].say(words, {"names": words.listed(rest)})] if rest else []
    return points_map(words, spots, kinds, ident="methods-map", head="Method", notes=notes)


def _label(words: Words, method: MethodFact) -> str:
    return _head(words, method).text


def _advice(words: Words, facts: MethodFacts) -> list[str]:
    """Say which method is recommended, why and at what price; none without any."""
    labels = {method.name: _label(words, method) for method in facts.methods}
    sentences = {
        name: {**values, "method": labels.get(str(values.get("method")), "")}
        for name, values in facts.conclusion.items()
    }
    if "recommended" in sentences:
        won = sentences["recommended"]
        sentences = {"recommended": won, "reason": won, **sentences, "price": won}
    if sentences:
        sentences["rules"] = {}
    return [ADVICE[name].say(words, values, of=name) for name, values in sentences.items()]


def standing(words: Words, facts: MethodFacts) -> list[str]:
    """Say where the job's own method stands, and then what is better, at what price."""
    labels = {method.name: _label(words, method) for method in facts.methods}
    sentences = []
    for name, values in facts.standing.items():
        method = str(values.get("method"))
        replacements = {**values, "method": labels.get(method, method)}
        if "reason" in replacements:
            replacements["reason"] = translated(str(replacements["reason"]), words.language)
        sentences.append(STANDING[name].say(words, replacements, of=name))
        if not name.startswith("own"):
            sentences += _given_up(words, facts, method)
            continue
        if facts.stopped:
            reason = {"reason": translated(facts.stopped, words.language)}
            sentences.append(STANDING["stopped"].say(words, reason))
        elif facts.has_ledger:
            sentences.append(STANDING["ledger"].say(words))
        elif values.get("found") and facts.methods[0].kind == "as-released-noise":
            sentences.append(STANDING["no-ledger"].say(words))
    return sentences


def _given_up(words: Words, facts: MethodFacts, name: str) -> Iterator[str]:
    """Say by which other criteria a method is worse than that of the job."""
    own, *others = facts.methods
    other = next((method for method in others if method.name == name), None)
    if other is None:
        return
    worse = []
    for criterion in own.criteria:
        better = CRITERIA[criterion.name].better
        covered = {"found_by_differencing", "small_counts_found"}  # told already
        theirs = _criterion(other, criterion.name)
        if not better or criterion.name in covered or None in (criterion.share, theirs.share):
            continue
        gain = float(theirs.share or 0) - float(criterion.share or 0)
        if (gain if better == "less" else -gain) > _CLOSE:
            here, there = (
                words.numbers.share(float(c.share or 0)) for c in (criterion, theirs)
            )
            heading = words.say(CRITERIA[criterion.name].heading)
            text = words.say(
                "%(criterion)s (%(share)s instead of %(own)s)",
                criterion=heading,
                share=there,
                own=here,
            )
            worse.append(text)
    if worse:
        yield STANDING["given-up"].say(words, {"criteria": words.listed(worse)})


def _released(words: Words, facts: MethodFacts) -> Table:
    """Arrange what the job's own method would release, table by table."""

    def change(one: ReleasedFact) -> Cell:
        if one.change is None:
            return Cell(text=words.say("none"))
        if one.measure == "count":
            return Cell(text=words.numbers.amount(one.change))
        return Cell(text=words.numbers.share(one.change))

    def lost(one: ReleasedFact) -> str:
        return "" if one.lost is None else words.numbers.share(one.lost)

    return (
        Lines(words, facts.released)
        .text("Table", lambda one: Cell(text=one.table, is_code=True))
        .text("Measure", lambda one: Cell(text=one.measure, is_code=True))
        .number("Cells", lambda one: one.cells, "count")
        .number("Suppressed", lambda one: one.hidden, "count")
        .text("Mean change", change)
        .text("Share of amounts suppressed", lost)
        .table(
            "methods-released",
            words.say("Result of your method, table by table"),
            notes=(TRIALS["released"].say(words),),
        )
    )


def _rated(facts: MethodFacts) -> list[MethodFact]:
    return [method for method in facts.methods if method.criteria and method.kind in SLIDES]


def _slides(words: Words, facts: MethodFacts) -> Table:
    """Lay what slides say beside what was measured, with a sign where these disagree."""
    names = next(iter(SLIDES.values()))

    def entry(method: MethodFact, name: str) -> Cell:
        claim = SLIDES[method.kind][name]
        text = words.say(claim.rstrip("*")) + "*" * claim.endswith("*")
        sign = "≠ " if disagreement(method, name) else ""
        return Cell(text=sign + text, small=_measured(words, method, name))

    return (
        Lines(words, _rated(facts))
        .text("Method", lambda method: _label(words, method))
        .texts({name: _criterion_name(words, name) for name in names}, entry)
        .table(
            "methods-slides",
            words.say("Methods as described in slides (INSEE, October 2024), and as measured"),
            notes=(TRIALS["against_slides"].say(words),),
        )
    )


def _criterion_name(words: Words, name: str) -> str:
    own = {"simple": words.say("Simple"), "found_by_differencing": words.say("Differencing")}
    return own.get(name) or words.say(CRITERIA[name].heading)


def _measured(words: Words, method: MethodFact, name: str) -> str:
    if name == "simple":
        return method.simple and words.say(method.simple)
    share = _share(words, _criterion(method, name)).text
    if name == "found_by_differencing":
        return words.say("found: %(share)s", share=share)
    return share


def _disagreed(words: Words, facts: MethodFacts) -> Iterator[str]:
    """Say where measurement disagrees with the slides and why, by criterion."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name in next(iter(SLIDES.values())):
        for method in _rated(facts):
            way = disagreement(method, name)
            is_same = _rating(method, "same_answer") == "best"
            if way == "less" and name == "found_by_differencing" and is_same:
                way = "same"
            share = _measured(words, method, name)
            phrase = words.say(
                "“%(name)s” (%(share)s)", name=_label(words, method), share=share
            )
            groups[name, way].append(phrase)
    for (name, way), methods in groups.items():
        if way:
            sentence = DISAGREED.get(f"{name}-{way}") or DISAGREED[way]
            heading = _criterion_name(words, name)
            values = {"criterion": heading, "methods": words.listed(methods)}
            yield sentence.say(words, values)


def _about(words: Words, facts: MethodFacts) -> Iterator[str]:
    counts = {"records": facts.records, "all": facts.all_records}
    yield DRAWN[facts.drawn].say(words, counts, of="the sample")
    table_names = [words.say(" by ").join(table) for table in facts.tables]
    yield TRIALS["tables"].say(words, {"tables": words.listed(table_names)})
    places = {"geography": facts.geography, "target": facts.target}
    yield TRIALS["areas" if facts.geography else "no-areas"].say(words, places)
    for reason in ("summed", "left_out"):
        if names := getattr(facts, reason):
            yield TRIALS[reason].say(words, {"names": words.listed(names)})
    if facts.most_found is not None:
        yield TRIALS["most_found"].say(words, {"share": facts.most_found})
    yield TRIALS["simple"].say(words)


def _matrix(words: Words, facts: MethodFacts) -> Table:
    trials = [method for method in facts.methods if method.criteria]
    notes = [TRIALS["base"].say(words), TRIALS["signs"].say(words)]
    if any(method.kind.endswith("-ledger") for method in trials):
        notes.append(TRIALS["ledger"].say(words))
    return (
        Lines(words, trials)
        .number("No.", lambda method: facts.methods.index(method) + 1, "count")
        .text("Method", lambda method: _head(words, method))
        .numbers(
            {name: words.say(criterion.heading) for name, criterion in CRITERIA.items()},
            lambda method, name: _share(words, _criterion(method, name)),
        )
        .table(
            "methods-matrix",
            words.say("Methods and criteria, as measured"),
            n_heads=2,
            notes=notes,
        )
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
        notes = [
            DETAILS[name].say(words, {"number": number}, of=f"the detail {name!r}")
            for name, number in method.facts.items()
            if number is not None
        ]
        if notes:
            lines.append((method, " ".join(notes)))
    return (
        Lines(words, lines)
        .text("Method", lambda line: _label(words, line[0]))
        .text("Result", lambda line: line[1])
        .table("methods-details", words.say("Further results of some methods"))
    )


def _guarantees(words: Words, facts: MethodFacts) -> Table:
    methods = [(m, m.guarantee) for m in facts.methods if m.guarantee is not None]
    return (
        Lines(words, methods)
        .text("Method", lambda line: _label(words, line[0]))
        .text("Guarantee", lambda line: say_guarantee(words, line[1]))
        .table("methods-guarantees", words.say("What is promised of the synthetic records"))
    )


def _refused(words: Words, facts: MethodFacts) -> Table:
    return (
        Lines(words, [method for method in facts.methods if not method.criteria])
        .text("Method", lambda method: _label(words, method))
        .text("Reason", lambda method: translated(method.reason, words.language))
        .table("methods-refused", words.say("Methods that could not be tried"))
    )
