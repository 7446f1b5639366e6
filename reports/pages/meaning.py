"""What an epsilon means: beliefs before and after, what other epsilons would say, the price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.pages import headings
from reports.charts.curves import Curve, Curves, Spot, panels
from reports.pages.training.private import delta, neighbours, unit_of
from reports.parts import Cell, Lines, Row, Table

if TYPE_CHECKING:
    from reports.facts.meaning import BeliefFact, EpsilonFact, MeaningFacts
    from reports.i18n.languages import Words


def meaning_page(words: Words, facts: MeaningFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what a guarantee means."""
    value = words.numbers.plain(facts.epsilon)
    title = facts.title or words.say("What epsilon %(epsilon)s means", epsilon=value)
    pages = headings(words, "meaning")
    return "meaning.html", {
        "title": title,
        "headings": pages,
        "verdict": _verdict(words, facts),
        "scheme": neighbours(words, facts.adjacency),
        "unit": unit_of(words, facts.unit),
        "delta": delta(words, facts.delta) if facts.delta else "",
        "beliefs": _beliefs(words, facts),
        "picture": _picture(words, facts),
        "others": _others(words, facts),
        "table": _table(words, facts),
    }


def _percent(words: Words, share: float) -> str:
    return words.numbers.hundredths(share)


def _verdict(words: Words, facts: MeaningFacts) -> str:
    first = facts.beliefs[0]
    values = {"before": words.numbers.percent(first.prior), "unit": unit_of(words, facts.unit)}
    values["after"] = _percent(words, first.value[1])
    if facts.adjacency == "distance":
        return words.say(
            # claim dp-meaning
            "Who gives one of two places at a distance of 1 %(unit)s a chance of %(before)s "
            "before the report can give it %(after)s at most after it.",
            **values,
        )
    if first.member is None:
        return words.say(
            # claim dp-meaning
            "Who gives a statement about one respondent a chance of %(before)s before the "
            "report can give it %(after)s at most after it.",
            **{name: value for name, value in values.items() if name != "unit"},
        )
    return words.say(
        # claim dp-meaning
        "Who gives a statement a chance of %(before)s before the publication can give it "
        "%(member)s at most after it where it says who is in the data, and "
        "%(after)s at most where it says anything else about one %(unit)s.",
        member=_percent(words, first.member[1]),
        **values,
    )


def _columns(words: Words, facts: MeaningFacts) -> dict[str, str]:
    """Name the kinds of statements that the guarantee is about."""
    named = {"member": words.say("Who is in the data"), "value": words.say("Any statement")}
    if facts.adjacency == "distance":
        named["value"] = words.say("One of two places")
    return named if facts.beliefs[0].member else {"value": named["value"]}


def _after(words: Words, fact: BeliefFact, name: str) -> str:
    least, most = getattr(fact, name)
    return f"{_percent(words, least)} – {_percent(words, most)}"


def _beliefs(words: Words, facts: MeaningFacts) -> Table:
    return (
        Lines(words, facts.beliefs)
        .number("Before", lambda fact: words.numbers.percent(fact.prior))
        .numbers(
            _columns(words, facts), lambda fact, name: Cell(text=_after(words, fact, name))
        )
        .table("beliefs", words.say("Belief after the publication, least and most"))
    )


def _picture(words: Words, facts: MeaningFacts) -> Row:
    before, after = words.say("belief before (%)"), words.say("belief after (%)")
    first, columns = facts.beliefs[0], _columns(words, facts)
    drawn = []
    for name, said in columns.items():
        home = (100 * first.prior, 100 * getattr(first, name)[1])
        text = words.say(
            "From a belief of %(before)s before, %(after)s after.",
            before=words.numbers.percent(first.prior),
            after=_after(words, first, name),
        )
        data = _axes(f"by-{name}", said, text, (before, after), home)
        drawn.append((data, [Curve(name="", spots=_band(facts, name), is_marked=False)]))
    data = _axes(
        "by-epsilon",
        words.say("Most that can be believed, by epsilon"),
        words.say("The larger epsilon, the more can be believed after."),
        (before, after),
    )
    name = next(iter(columns))
    drawn.append((data, [_most(words, one, name) for one in facts.ranges]))
    title = words.say("Belief before and after: what can be learnt of one unit")
    return Row(
        id="drawn",
        title=title,
        panels=panels(words, "drawn", drawn),
        data=Lines(words, facts.curve)
        .number("Before", lambda fact: words.numbers.percent(fact.prior))
        .numbers(columns, lambda fact, name: _after(words, fact, name))
        .table("drawn-data", title),
        notes=(
            words.say(
                "The line is a belief that stays as it was; the band is how far it can move. "
                "The ring is the belief of the first sentence."
            ),
            words.say("The last picture: %(what)s.", what=columns[name]),
        ),
    )


def _axes(
    ident: str,
    title: str,
    description: str,
    axes: tuple[str, str],
    home: tuple[float, float] | None = None,
) -> Curves:
    across, upwards = axes
    return Curves(
        id=ident,
        title=title,
        description=description,
        across=across,
        upwards=upwards,
        home=home,
    )


def _band(facts: MeaningFacts, name: str) -> tuple[Spot, ...]:
    return tuple(
        Spot(x=100 * fact.prior, y=100 * fact.prior, low=100 * least, high=100 * most)
        for fact in facts.curve
        for least, most in (getattr(fact, name),)
    )


def _most(words: Words, one: EpsilonFact, name: str) -> Curve:
    spots = (Spot(x=100 * f.prior, y=100 * getattr(f, name)[1]) for f in one.beliefs)
    said = words.say("ε = %(epsilon)s", epsilon=words.numbers.plain(one.epsilon))
    return Curve(name=said, spots=tuple(spots), is_marked=False)


def _others(words: Words, facts: MeaningFacts) -> Table:
    lines = (
        Lines(words, facts.others)
        .number("ε", lambda one: words.numbers.plain(one.epsilon))
        .numbers(
            _columns(words, facts),
            lambda one, name: _percent(words, getattr(one.beliefs[0], name)[1]),
        )
    )
    has_error = facts.others[0].error is not None
    if has_error:
        lines = lines.number("Error of a count, ±", lambda one: one.error, "count")
    before = words.numbers.percent(facts.beliefs[0].prior)
    caption = words.say(
        "Most that can be believed after, of %(before)s before, with a δ of 0", before=before
    )
    note = words.say("The error is that which 95 of 100 counts stay within.")
    return lines.table("others", caption, notes=(note,) if has_error else ())


def _table(words: Words, facts: MeaningFacts) -> Table:
    name = next(iter(_columns(words, facts)))
    columns = {
        i: f"ε = {words.numbers.plain(one.epsilon)}" for i, one in enumerate(facts.table)
    }
    rows = list(zip(*(one.beliefs for one in facts.table), strict=True))
    return (
        Lines(words, rows)
        .number("Before", lambda row: words.numbers.percent(row[0].prior))
        .numbers(columns, lambda row, i: _percent(words, getattr(row[i], name)[1]))
        .table(
            "by-prior",
            words.say(
                "%(what)s: most that can be believed after, by belief before and ε",
                what=_columns(words, facts)[name],
            ),
        )
    )
