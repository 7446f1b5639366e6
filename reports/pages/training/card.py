"""The privacy card of a model, on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.pages import headings
from reports.catalogues.training import CARD_TEXTS, DOUBTS, NEIGHBOURS
from reports.i18n.languages import mark
from reports.pages.training.private import account, delta, neighbours, sampler, scheme, unit_of
from reports.parts import Cell, Lines, Table, texts
from reports.report import as_csv, as_json, download

if TYPE_CHECKING:
    from reports.facts.training import CardFacts
    from reports.i18n.languages import Words
    from reports.parts import Entry
    from reports.report import Download


def card_page(words: Words, facts: CardFacts) -> tuple[str, dict[str, Any]]:
    """Arrange a privacy card."""
    return "card.html", {
        "title": facts.title or words.say("Privacy card of a model"),
        "headings": headings(words, "card"),
        "is_demonstration": "seed" in facts.doubts,
        "verdict": _verdict(words, facts),
        "doubts": [words.say(DOUBTS[name]) for name in facts.doubts],
        "meaning": _meaning(words, facts),
        "beliefs": _beliefs(words, facts),
        "tables": _tables(words, facts),
        "limits": _limits(words, facts),
        "downloads": _downloads(facts),
    }


def _verdict(words: Words, facts: CardFacts) -> str:
    promise = words.say(
        "ε = %(epsilon)s, δ = %(delta)s per %(unit)s (%(scheme)s).",
        epsilon=words.numbers.amount(facts.epsilon),
        delta=delta(words, facts.delta),
        unit=unit_of(words, facts.unit),
        scheme=scheme(words, facts.accounted_sampling, facts.adjacency),
    )
    if not facts.doubts:
        return promise
    return words.say("Stated, but not to be relied on: %(promise)s", promise=promise)


def _meaning(words: Words, facts: CardFacts) -> list[str]:
    unit = unit_of(words, facts.unit)
    odds = [
        "\N{INFINITY}" if factor is None else words.numbers.plain(round(factor, 2))
        for factor in facts.odds
    ]
    chances = [words.numbers.tiny(chance) for chance in facts.chances]
    member = {
        # claim dp-meaning
        "replace": mark(
            "By this model the odds that it is one %(unit)s and not another that is in the "
            "data change by a factor of %(odds)s at most, but for a chance of %(chance)s."
        ),
        # claim dp-meaning
        "zero-out": mark(
            "By this model the odds that the values of one %(unit)s were used change by a "
            "factor of %(odds)s at most, but for a chance of %(chance)s."
        ),
    }.get(
        facts.adjacency,
        # claim dp-meaning
        mark(
            "By this model the odds that one %(unit)s is in the data change by a factor of "
            "%(odds)s at most, but for a chance of %(chance)s."
        ),
    )
    found = [
        words.say(member, unit=unit, odds=odds[0], chance=chances[0]),
        # claim dp-meaning
        words.say(
            "The odds of any other statement about one %(unit)s change by a factor of %(odds)s "
            "at most, but for a chance of %(chance)s.",
            unit=unit,
            odds=odds[1],
            chance=chances[1],
        ),
        words.say(
            "Both hold by the reckoning of somebody who knows all other data, or whose belief "
            "about them does not depend on this %(unit)s.",
            unit=unit,
        ),
    ]
    found += [
        words.say(
            "An attacker who wrongly accuses %(wrong)s of those who were not in the data finds "
            "%(right)s of those who were, at most.",
            wrong=words.numbers.share(wrong),
            right=words.numbers.share(right),
        )
        for wrong, right in facts.rates[1:2] or facts.rates[:1]
    ]
    found.append(
        words.say(
            "What holds of most people can be learned without any one of them: that is not "
            "hidden. Each further release on the same data adds to ε."
        )
    )
    return found


def _beliefs(words: Words, facts: CardFacts) -> Table:
    return (
        Lines(words, facts.beliefs)
        .number("before", lambda line: line[0], "share")
        .number("in the data, at least", lambda line: line[1], "share")
        .number("in the data, at most", lambda line: line[2], "share")
        .number("other statement, at least", lambda line: line[3], "share")
        .number("other statement, at most", lambda line: line[4], "share")
        .table(
            "beliefs",
            words.say(
                "What somebody can believe after of one %(unit)s, within these factors",
                unit=unit_of(words, facts.unit),
            ),
        )
    )


def _tables(words: Words, facts: CardFacts) -> list[dict[str, Any]]:
    parts = (
        ("protected", words.say("The unit and the neighbours"), _protected),
        ("training", words.say("What the account assumes, and what was done"), _training),
        ("uses", words.say("The data, what leaves, and what was tried"), _uses),
    )
    columns = texts(words.say("Name"), words.say("Value"))
    return [
        {
            "id": name,
            "table": Table(
                id=f"{name}-table", caption=caption, columns=columns, rows=rows(words, facts)
            ),
        }
        for name, caption, rows in parts
    ]


def _protected(words: Words, facts: CardFacts) -> tuple[tuple[Entry, ...], ...]:
    records = words.say_many(
        "%(n)s record at most of each", "%(n)s records at most of each", facts.records_per_unit
    )
    return (
        (words.say("Unit"), Cell(text=unit_of(words, facts.unit), small=records)),
        (
            words.say("Neighbours"),
            Cell(
                text=neighbours(words, facts.adjacency),
                small=words.say(NEIGHBOURS.get(facts.adjacency, "")),
            ),
        ),
    )


def _training(words: Words, facts: CardFacts) -> tuple[tuple[Entry, ...], ...]:
    return (
        (words.say("Batches drawn"), sampler(words, facts.sampling)),
        (words.say("Batches accounted for"), sampler(words, facts.accounted_sampling)),
        (words.say("Account"), account(words, facts.accountant)),
        (
            words.say("Steps and sampling rate"),
            words.say(
                "%(steps)s steps, rate %(rate)s, %(batch)s records expected in a batch",
                steps=words.numbers.count(facts.steps),
                rate=words.numbers.ratio(facts.sampling_rate),
                batch=words.numbers.plain(round(facts.expected_batch, 1)),
            ),
        ),
        (
            words.say("Noise and clipping"),
            words.say(
                "noise multiplier %(noise)s, norm %(norm)s; %(scheme)s",
                noise=words.numbers.plain(facts.noise_multiplier),
                norm=words.numbers.plain(facts.clipping_norm),
                scheme=_text(words, facts.clipping),
            ),
        ),
        (words.say("Source of chance"), _text(words, facts.randomness)),
    )


def _uses(words: Words, facts: CardFacts) -> tuple[tuple[Entry, ...], ...]:
    touches = words.listed(_text(words, text) for text in facts.touches)
    return (
        (words.say("Data, and what of them is public"), facts.data or words.say("not stated")),
        (words.say("What leaves"), _text(words, facts.released)),
        (words.say("Other uses of the data"), touches or words.say("none")),
        (
            words.say("Settings tried"),
            words.say(
                "%(trials)s; cost counted: %(tuning)s",
                trials=words.numbers.plain(facts.trials),
                tuning=_text(words, facts.tuning),
            ),
        ),
    )


def _limits(words: Words, facts: CardFacts) -> list[str]:
    return [_text(words, text) for text in facts.limits] or [words.say("No limit is stated.")]


def _text(words: Words, text: str) -> str:
    return words.say(CARD_TEXTS[text]) if text in CARD_TEXTS else text


def _downloads(facts: CardFacts) -> list[Download]:
    names = (
        "epsilon", "delta", "unit", "records_per_unit", "adjacency", "sampling",
        "accounted_sampling", "accountant", "sampling_rate", "noise_multiplier",
        "clipping_norm", "steps", "expected_batch", "clipping", "released", "data", "trials",
        "tuning", "randomness",
    )  # fmt: skip
    rows = [(name, getattr(facts, name)) for name in names]
    rows += [("touches", text) for text in facts.touches]
    rows += [("limits", text) for text in facts.limits]
    rows += [("doubt", name) for name in facts.doubts]
    return [
        download("card.csv", as_csv(("name", "value"), rows)),
        download("card.json", as_json(facts)),
    ]
