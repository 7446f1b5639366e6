"""Differentially private tables: what they cost, what that means, how sure each number is."""

from typing import Any

from reports.catalogues.pages import headings
from reports.catalogues.training import CARD, DP_ERRORS, DP_ITEMS, DP_TABLES
from reports.facts.dp_tables import DPTableFact, DPTablesFacts
from reports.i18n.languages import Words
from reports.pages.training.private import delta, neighbours, unit_of
from reports.parts import Lines, Table


def dp_tables_page(words: Words, facts: DPTablesFacts) -> tuple[str, dict[str, Any]]:
    """Arrange what is known of a release."""
    unit = unit_of(words, facts.unit)
    promise: dict[str, float | str] = {
        "epsilon": facts.epsilon,
        "delta": delta(words, facts.delta) if facts.delta else "0",
        "unit": unit,
        "scheme": neighbours(words, "add-remove"),
    }
    return "dp_tables.html", {
        "title": facts.title or words.say("Tables with noise"),
        "headings": headings(words, "dp_tables"),
        "verdict": CARD["promise"].say(words, promise),
        "costs": _costs(words, facts),
        "meaning": _meaning(words, facts, unit),
        "account": DP_TABLES["account"].say(words, {"entry": facts.entry, "at": facts.at}),
        "tables": [
            {
                "name": table.name,
                "bounding": _bounding(words, table, unit),
                "numbers": _numbers(words, table, facts.confidence),
            }
            for table in facts.tables
        ],
        "reading": [
            DP_TABLES[name].say(words, {"unit": unit})
            for name in ("right", "kept", "ranks", "clamped", "missing")
        ],
    }


def _meaning(words: Words, facts: DPTablesFacts, unit: str) -> list[str]:
    sentences = []
    for name, odds, chance in zip(("member", "other"), facts.odds, facts.chances, strict=True):
        factor = "\N{INFINITY}" if odds is None else words.numbers.plain(round(odds, 2))
        sentences.append(
            DP_TABLES[name if chance else f"{name}-pure"].say(
                words, {"unit": unit, "odds": factor, "chance": chance}
            )
        )
    return [*sentences, CARD["knowledge"].say(words, {"unit": unit}), CARD["common"].say(words)]


def _bounding(words: Words, table: DPTableFact, unit: str) -> list[str]:
    values: dict[str, float | str] = {"unit": unit, "groups": table.groups, "rows": table.rows}
    sentences = [DP_TABLES["bounded"].say(words, values)]
    if table.are_found:
        sentences.append(DP_TABLES["found"].say(words))
    for what, low, high, beyond in table.bounds:
        values = {"what": _named(words, what), "low": low, "high": high, "beyond": beyond}
        sentences.append(DP_TABLES["bounds"].say(words, values))
    for name, value, low, high in table.left_out:
        values = {"what": words.say(DP_ITEMS[name]), "value": value, "low": low, "high": high}
        sentences.append(DP_TABLES["left-out"].say(words, values))
    return sentences


def _named(words: Words, what: str) -> str:
    """Say what was asked; columns and categories are the office's."""
    kind, space, rest = what.partition(" ")
    if kind == "bounds":
        return words.say("bounds of %(what)s", what=_named(words, rest.removeprefix("of ")))
    return f"{words.say(DP_ITEMS.get(kind, kind))}{space}{rest}"


def _costs(words: Words, facts: DPTablesFacts) -> Table:
    sure = words.numbers.plain(100 * facts.confidence)
    return (
        Lines(words, facts.parts)
        .text("Table", lambda part: part.table)
        .text("Quantity", lambda part: _named(words, part.what))
        .number("Cost", lambda part: part.cost)
        .number("Error, at most", lambda part: float(f"{part.error:.4g}"), kind="plain")
        .text("Of", lambda part: words.say(DP_ERRORS[part.of]) if part.of else "")
        .table(
            "costs",
            words.say(
                "Cost of each part, in %(currency)s, and the error that was expected, at "
                "%(sure)s %%",
                currency=facts.currency,
                sure=sure,
            ),
            n_heads=2,
        )
    )


def _numbers(words: Words, table: DPTableFact, confidence: float) -> Table:
    sure = words.numbers.plain(100 * confidence)
    return (
        Lines(words, table.numbers)
        .text("Group", lambda row: row.subject or words.say("all"))
        .text("Quantity", lambda row: _named(words, row.name))
        .number("Published", lambda row: _rounded(row.value))
        .number("Interval from", lambda row: _rounded(row.low))
        .number("to", lambda row: _rounded(row.high))
        .table(
            f"numbers-{table.name}",
            words.say(
                "Numbers of %(name)s, with intervals of %(sure)s %%", name=table.name, sure=sure
            ),
            n_heads=2,
        )
    )


def _rounded(value: float | str | None) -> float | str | None:
    return round(value, 3) if isinstance(value, int | float) else value
