"""What an epsilon means: beliefs before and after, what other epsilons would say, the price."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.catalogues.pages import headings
from reports.catalogues.wording import WordLists
from reports.charts.curves import Curve, Curves, Spot, panels
from reports.facts.meaning import EpsilonFact, MeaningFacts
from reports.i18n.languages import Words
from reports.pages.training.private import delta, neighbours, unit_of
from reports.parts import Lines, Row, Table

_WORDS = WordLists("meaning")
_SAID, _PICTURES = _WORDS.sentences("sentences"), _WORDS.pictures()


def meaning_page(words: Words, facts: MeaningFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what a guarantee means."""
    meaning, kinds = facts.asked, _kinds(words, facts)
    values: dict[str, float | str] = {
        "before": meaning.value[0][0],
        "after": meaning.value[0][2],
    }
    values |= {"unit": unit_of(words, facts.unit), "epsilon": meaning.epsilon}
    if meaning.member:
        values["member"] = meaning.member[0][2]
    verdict = _SAID["verdict" if meaning.member else f"verdict-{facts.adjacency}"]
    return "meaning.html", {
        "title": _SAID["title"].say(words, values),
        "headings": headings(words, "meaning"),
        "verdict": verdict.say(words, values),
        "epsilon": words.numbers.plain(meaning.epsilon),
        "scheme": neighbours(words, facts.adjacency),
        "unit": values["unit"],
        "delta": delta(words, facts.delta) if facts.delta else "",
        "beliefs": _beliefs(words, kinds, meaning, "beliefs"),
        "picture": _picture(words, kinds, facts),
        "others": _others(words, kinds, facts),
        "table": _by_prior(words, kinds, facts.table),
    }


def _kinds(words: Words, facts: MeaningFacts) -> dict[str, str]:
    """Name the kinds of statements that the guarantee is about."""
    value = "place" if facts.adjacency == "distance" else "value"
    names = {"member": "member"} if facts.asked.member else {}
    return {kind: _SAID[name].say(words) for kind, name in (names | {"value": value}).items()}


def _beliefs(words: Words, kinds: Mapping[str, str], fact: EpsilonFact, ident: str) -> Table:
    write = words.numbers.hundredths
    rows = list(zip(*(getattr(fact, kind) for kind in kinds), strict=True))
    return (
        Lines(words, rows)
        .number("Before", lambda row: row[0][0], "percent")
        .numbers(
            dict(enumerate(kinds.values())),
            lambda row, place: f"{write(row[place][1])} – {write(row[place][2])}",
        )
        .table(ident, _SAID["beliefs"].say(words))
    )


def _picture(words: Words, kinds: Mapping[str, str], facts: MeaningFacts) -> Row:
    pictures, first = [], next(iter(kinds))
    for kind, what in kinds.items():
        before, _, after = getattr(facts.asked, kind)[0]
        texts = _PICTURES["beliefs"].say(words, f"by-{kind}", before=before, after=after)
        data = Curves(**texts, title=what, home=(100 * before, 100 * after))
        pictures.append((data, [_band(facts, kind)]))
    several = [_most(words, one, first) for one in facts.ranges]
    pictures.append((Curves(**_PICTURES["several"].say(words, "by-epsilon")), several))
    return Row(
        id="drawn",
        title=_SAID["drawn"].say(words),
        panels=panels(words, "drawn", pictures),
        data=_beliefs(words, kinds, facts.curve, "drawn-data"),
        notes=(_SAID["line"].say(words), _SAID["last"].say(words, {"what": kinds[first]})),
    )


def _band(facts: MeaningFacts, kind: str) -> Curve:
    spots = (
        Spot(x=100 * before, y=100 * before, low=100 * least, high=100 * most)
        for before, least, most in getattr(facts.curve, kind)
    )
    return Curve(name="", spots=tuple(spots), is_marked=False)


def _most(words: Words, one: EpsilonFact, kind: str) -> Curve:
    spots = (Spot(x=100 * before, y=100 * most) for before, _, most in getattr(one, kind))
    name = f"ε = {words.numbers.plain(one.epsilon)}"
    return Curve(name=name, spots=tuple(spots), is_marked=False)


def _others(words: Words, kinds: Mapping[str, str], facts: MeaningFacts) -> Table:
    lines = (
        Lines(words, facts.others)
        .number("ε", lambda one: one.epsilon)
        .numbers(dict(kinds), lambda one, kind: getattr(one, kind)[0][2], "hundredths")
    )
    notes = []
    if facts.others[0].error is not None:
        lines = lines.number("Error of a count, ±", lambda one: one.error, "count")
        notes.append(_SAID["error"].say(words))
    before = {"before": facts.asked.value[0][0]}
    return lines.table("others", _SAID["others"].say(words, before), notes=notes)


def _by_prior(
    words: Words, kinds: Mapping[str, str], several: tuple[EpsilonFact, ...]
) -> Table:
    kind, what = next(iter(kinds.items()))
    columns = {i: f"ε = {words.numbers.plain(one.epsilon)}" for i, one in enumerate(several)}
    rows = list(zip(*(getattr(one, kind) for one in several), strict=True))
    return (
        Lines(words, rows)
        .number("Before", lambda row: row[0][0], "percent")
        .numbers(columns, lambda row, i: row[i][2], "hundredths")
        .table("by-prior", _SAID["by-prior"].say(words, {"what": what}))
    )
