"""All tables that a service permits: what they give away together, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.pages import headings
from reports.catalogues.wording import WordLists
from reports.charts.curves import Curve, Curves, Spot, panels
from reports.i18n.messages import translated
from reports.parts import Cell, Column, Lines, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reports.facts.exposure import ClosureFact, ExposureFacts, GrowthFact, PartFact
    from reports.i18n.languages import Words
    from reports.parts import Table

_WORDS = WordLists("exposure")
_SAID, _PICTURES = _WORDS.sentences("sentences"), _WORDS.pictures()
_HEADINGS, _CAPTIONS, _DIGESTS = map(_WORDS.texts, ("headings", "captions", "digests"))
_CAUTIONS = _WORDS.texts("cautions")
_MOST_TICKS = 6


def exposure_page(words: Words, facts: ExposureFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what was found in all tables of a service."""
    parts = ("growth", "advice")
    without = [name for name in parts if not getattr(facts, name)]
    verdict, *remarks = findings(words, facts)
    return "exposure.html", {
        "title": words.text(facts.title),
        "headings": headings(words, "exposure", without=without),
        "verdict": verdict,
        "remarks": remarks,
        "is_over": facts.is_over,
        "largest": words.numbers.share(facts.share_held),
        "limit": "" if facts.limit is None else words.numbers.share(facts.limit),
        "sure": words.numbers.share(facts.confidence),
        "sizes": _parts(words, facts, "sizes"),
        "picture": None if facts.growth is None else _picture(words, facts, facts.growth),
        "places": _places(words, facts),
        "advice": _advice(words, facts),
        "digests": _digests(words, facts),
        "cautions": cautions(words, facts),
    }


def findings(words: Words, facts: ExposureFacts) -> list[str]:
    """Say what is found, in which areas, what is certain, and what is found of persons."""
    return [_found(words, facts), *_areas(words, facts), *_remarks(words, facts)]


def cautions(words: Words, facts: ExposureFacts) -> list[str]:
    """Say what the attack is, what it does not look at, and what is said of sums."""
    names = ("attack", "release" if facts.release else "service")
    of_sums = (translated(text, words.language) for text in facts.cautions)
    return [*(words.say(_CAUTIONS[name]) for name in names), *of_sums]


def _places(words: Words, facts: ExposureFacts) -> list[Table]:
    """List where most is found."""
    without = {"sizes"} | ({"areas"} if facts.release else set())
    without |= set() if facts.differences else {"differences"}
    return [_parts(words, facts, name) for name in _HEADINGS if name not in without]


def _areas(words: Words, facts: ExposureFacts) -> list[str]:
    """Say in which areas it was looked for, where not in all."""
    if facts.n_areas_drawn == facts.n_areas:
        return []
    areas = {"drawn": facts.n_areas_drawn, "all": facts.n_areas, "seed": facts.seed}
    sentences = [_SAID["drawn"].say(words, areas)]
    if facts.interval is not None:
        low, high = facts.interval
        sentences.append(_SAID["interval"].say(words, {"low": low, "high": high}))
    return [" ".join([*sentences, _SAID["sample"].say(words)])]


def _found(words: Words, facts: ExposureFacts) -> str:
    whole = facts.whole
    if not whole.n_small:
        return _SAID["nothing"].say(words)
    values = {
        "share": whole.together / whole.n_small,
        "small": whole.n_small,
        "most": facts.small,
        "guessed": facts.guessed,
        "alone": whole.alone / whole.n_small,
        "sure": facts.sure,
        "wrong": facts.sure_wrong,
    }
    return _SAID["some-sure" if facts.sure else "none-sure"].say(words, values)


def _remarks(words: Words, facts: ExposureFacts) -> list[str]:
    """Say what is certain, and what is found of persons."""
    sentences, persons, remaining = [], facts.persons, facts.remaining
    if facts.unfinished:
        sentences.append(_SAID["unfinished"].say(words))
    if facts.whole.n_small:
        sentences.append(
            words.say_many(
                "%(n)s small count can be derived exactly from what is published.",
                "%(n)s small counts can be derived exactly from what is published.",
                facts.certain,
            )
            if facts.certain
            else _SAID["none-exact"].say(words)
        )
    if remaining.n_small:
        values = {
            "small": remaining.n_small,
            "most": facts.small,
            "together": remaining.together / remaining.n_small,
            "alone": remaining.alone / remaining.n_small,
        }
        sentences.append(_SAID["remaining"].say(words, values))
    zeros, groups = facts.zeros, facts.groups
    if zeros.n_occupied:
        numbers = {"zeros": zeros.n, "occupied": zeros.n_occupied, "named": zeros.named}
        shares = {"right": zeros.right / max(zeros.named, 1), "share": zeros.share}
        sentences.append(_SAID["zeros"].say(words, {**numbers, **shares}))
    limit = facts.zeros_limit
    if limit is not None and facts.zeros_share_held > limit:
        over = {"limit": limit, "share": facts.zeros_share_held}
        sentences.append(_SAID["zeros-over"].say(words, over))
    if groups.n:
        sentences.append(_SAID["groups"].say(words, {"n": groups.n, "right": groups.share}))
    limit = facts.attribute_limit
    if limit is not None and facts.attribute_share > limit:
        over = {"limit": limit, "share": facts.attribute_share}
        sentences.append(_SAID["groups-over"].say(words, over))
    elif is_over(limit, facts.attribute_share_held):
        sentences.append(_SAID["groups-sample"].say(words))
    if persons.n:
        ways = ("by_frequency", "alone", "together")
        shares = {name: getattr(persons, name) / persons.n for name in ways}
        sentences.append(_SAID["persons"].say(words, {"persons": persons.n, **shares}))
    return sentences


def is_over(limit: float | None, share: float) -> bool:
    """Tell whether a share is above a limit; None for none."""
    return limit is not None and share > limit


def _parts(words: Words, facts: ExposureFacts, name: str) -> Table:
    def found(part: PartFact, name: str) -> Cell:
        number = getattr(part, name)
        share = words.numbers.share(number / part.n_small) if part.n_small else ""
        return Cell(text=words.numbers.count(number), small=share)

    def named(part: PartFact) -> str:
        is_whole = not part.name or part.name.startswith("\N{MINUS SIGN}")
        return f"{words.say('total')} {part.name}".strip() if is_whole else part.name

    return (
        Lines(words, getattr(facts, name))
        .text(_HEADINGS[name], named)
        .number("Tables", lambda part: part.n_tables, "count")
        .number("Cells", lambda part: part.n_cells, "count")
        .number("Small counts", lambda part: part.n_small, "count")
        .number("Inferred from one table", lambda part: found(part, "alone"))
        .number("Inferred from all tables", lambda part: found(part, "together"))
        .table(name, words.say(_CAPTIONS[name]))
    )


def _picture(words: Words, facts: ExposureFacts, growth: GrowthFact) -> Row:
    whole, points, say = facts.whole, growth.points, words.say

    def spots(numbers: Sequence[tuple[int, int | None]], base: int) -> tuple[Spot, ...]:
        return tuple(Spot(x=x, y=100 * n / base) for x, n in numbers if n is not None)

    ends = [(points[0].n_tables, whole.alone), (points[-1].n_tables, whole.alone)]
    first = words.say_many(
        "of the small counts of the %(n)s table requested first",
        "of the small counts of the %(n)s tables requested first",
        growth.n_first,
    )
    lines = [
        Curve(
            name=say("of all small counts"),
            spots=spots([(p.n_tables, p.found) for p in points], whole.n_small),
        ),
        Curve(
            name=first,
            spots=spots([(p.n_tables, p.found_first) for p in points], growth.n_small_first),
        ),
        Curve(
            name=say("of all small counts, each from its own table alone"),
            spots=spots(ends, whole.n_small),
            is_marked=False,
            is_limit=True,
        ),
    ]
    values = {"n": points[-1].n_tables, "share": whole.together / whole.n_small}
    # Numbers of tables are whole: few of them are the ticks themselves.
    counts = [point.n_tables for point in points] if len(points) <= _MOST_TICKS else []
    data = Curves(
        **_PICTURES["asked"].say(words, "tables-asked", **values),
        at={float(n): words.numbers.count(n) for n in counts},
    )
    table = (
        Lines(words, points)
        .number("Tables", lambda point: point.n_tables, "count")
        .number("Inferred, of all tables", lambda point: point.found, "count")
        .number("Inferred, of the first tables", lambda point: point.found_first, "count")
        .table("tables-asked-data", data.title)
    )
    return Row(
        id=data.id,
        title=data.title,
        panels=panels(words, data.id, [(data, lines)]),
        data=table,
        notes=(
            _SAID["order"].say(words, {"seed": growth.seed}),
            _SAID["first"].say(words, {"n": growth.n_small_first}),
        ),
    )


def _advice(words: Words, facts: ExposureFacts) -> list[Table]:
    """List what to close, one after the other, and which noise would do instead."""
    closed = _closures(words, facts.advice, words.say("Withhold"))
    tables = [
        closed.table(
            "advice-steps", words.say("Tables and levels to withhold, one after the other")
        )
    ]
    if facts.noise:
        noise = _closures(words, facts.noise, words.say("Noise"))
        tables.append(
            noise.table(
                "advice-noise", words.say("Alternative: more noise, with a new p-table")
            )
        )
    return tables


def _digests(words: Words, facts: ExposureFacts) -> Table:
    """List what was looked at by digest, as the JSON beside the page has it."""
    names = {name: words.say(text) for name, text in _DIGESTS.items()}
    return (
        Lines(words, facts.digests.items())
        .text("Part", lambda line: names.get(line[0], line[0]))
        .column(Column(words.say("Digest")), lambda line: Cell(text=line[1], is_code=True))
        .table("digests", words.say("Inputs of the audit, by digest"))
    )


def _closures(
    words: Words, closures: Sequence[ClosureFact], heading: str
) -> Lines[tuple[int, ClosureFact]]:
    return (
        Lines(words, list(enumerate(closures, start=1)))
        .number("Step", lambda line: line[0], "count")
        .column(Column(heading), lambda line: Cell(text=line[1].what, is_code=True))
        .number("Tables left", lambda line: line[1].n_tables, "count")
        .number("Cells", lambda line: line[1].n_cells, "count")
        .number("Small counts", lambda line: line[1].n_small, "count")
        .number("Share inferred", lambda line: line[1].share, "share")
    )
