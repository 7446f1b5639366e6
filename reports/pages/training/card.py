"""The privacy card of a model, on one page."""

from typing import Any

from footing.messages import mark
from reports.catalogues.pages import headings
from reports.catalogues.training import CARD, CARD_TEXTS, DOUBTS, NEIGHBOURS
from reports.facts.quantity import Quantity
from reports.facts.training import CardFacts
from reports.i18n.languages import Words
from reports.pages.common import quantities
from reports.pages.training.private import account, delta, neighbours, sampler, scheme, unit_of
from reports.parts import Lines, Table
from reports.report import Download, as_csv, download, facts_file


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
    promise = CARD["promise"].say(
        words,
        {
            "epsilon": facts.epsilon,
            "delta": delta(words, facts.delta),
            "unit": unit_of(words, facts.unit),
            "scheme": scheme(words, facts.accounted_sampling, facts.adjacency),
        },
    )
    return CARD["doubted"].say(words, {"promise": promise}) if facts.doubts else promise


def _meaning(words: Words, facts: CardFacts) -> list[str]:
    unit = unit_of(words, facts.unit)
    member = facts.adjacency if facts.adjacency in {"replace", "zero-out"} else "member"
    sentences = []
    for name, odds, chance in zip((member, "other"), facts.odds, facts.chances, strict=True):
        factor = "\N{INFINITY}" if odds is None else words.numbers.plain(round(odds, 2))
        values: dict[str, float | str] = {"unit": unit, "odds": factor, "chance": chance}
        sentences.append(CARD[name].say(words, values))
    sentences.append(CARD["knowledge"].say(words, {"unit": unit}))
    sentences += [
        CARD["accusation"].say(words, {"wrong": wrong, "right": right})
        for wrong, right in facts.rates[1:2] or facts.rates[:1]
    ]
    return [*sentences, CARD["common"].say(words)]


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
                "Largest change in the odds of a statement about one %(unit)s",
                unit=unit_of(words, facts.unit),
            ),
        )
    )


def _tables(words: Words, facts: CardFacts) -> list[dict[str, Any]]:
    parts = (
        ("protected", words.say("The unit and the neighbours"), _protected),
        ("training", words.say("Assumptions of the account, and what was done"), _training),
        ("uses", words.say("The data, the outputs and the settings tried"), _uses),
    )
    return [
        {
            "id": name,
            "table": quantities(words, figures(words, facts), are_numbers=False).table(
                f"{name}-table", caption
            ),
        }
        for name, caption, figures in parts
    ]


def _protected(words: Words, facts: CardFacts) -> tuple[Quantity, ...]:
    records = words.say_many(
        "%(n)s record at most of each", "%(n)s records at most of each", facts.records_per_unit
    )
    return (
        Quantity(mark("Unit"), unit_of(words, facts.unit), note=records),
        Quantity(
            mark("Neighbours"),
            neighbours(words, facts.adjacency),
            note=words.say(NEIGHBOURS.get(facts.adjacency, "")),
        ),
    )


def _training(words: Words, facts: CardFacts) -> tuple[Quantity, ...]:
    return (
        Quantity(mark("Batches drawn"), sampler(words, facts.sampling)),
        Quantity(mark("Batches accounted for"), sampler(words, facts.accounted_sampling)),
        Quantity(mark("Account"), account(words, facts.accountant)),
        Quantity(
            mark("Steps and sampling rate"),
            CARD["steps"].say(
                words,
                {
                    "steps": facts.steps,
                    "rate": facts.sampling_rate,
                    "batch": round(facts.expected_batch, 1),
                },
            ),
        ),
        Quantity(
            mark("Noise and clipping"),
            CARD["noise"].say(
                words,
                {
                    "noise": facts.noise_multiplier,
                    "norm": facts.clipping_norm,
                    "scheme": _text(words, facts.clipping),
                },
            ),
        ),
        Quantity(mark("Source of randomness"), _text(words, facts.randomness)),
    )


def _uses(words: Words, facts: CardFacts) -> tuple[Quantity, ...]:
    touches = words.listed(_text(words, text) for text in facts.touches)
    return (
        Quantity(
            mark("Data, and what of them is public"), facts.data or words.say("not stated")
        ),
        Quantity(mark("Outputs"), _text(words, facts.released)),
        Quantity(mark("Other uses of the data"), touches or words.say("none")),
        Quantity(
            mark("Settings tried"),
            CARD["tried"].say(
                words, {"trials": facts.trials, "tuning": _text(words, facts.tuning)}
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
        facts_file("card.json", facts),
    ]
