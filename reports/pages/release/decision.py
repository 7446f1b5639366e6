"""The first page of the internal edition: what is released, six figures, a place to sign."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from footing.messages import mark
from reports.catalogues.release import KEY_FIGURES
from reports.facts.quantity import Quantity
from reports.facts.release import (
    CheckFact,
    MeasureFact,
    Outcome,
    ReleaseFacts,
    WorstFact,
    of_all_cells,
)
from reports.i18n.languages import Words
from reports.i18n.messages import translated
from reports.pages.common import quantities, released
from reports.parts import Cell, Entry, Table

_MAX_TITLES, _MAX_WARNINGS = 12, 4
_TABLE = re.compile(r"^\[\[table\]\] '([^']*)'")


def decision_parts(words: Words, facts: ReleaseFacts) -> dict[str, Any]:
    """Arrange what somebody signs."""
    records = words.say(
        "The largest counts %(records)s people or other units.",
        records=words.numbers.count(max((t.records for t in facts.tables), default=0)),
    )
    by_name = _titles(words, facts)
    titles = list(by_name.values())
    more = ["…"] if len(titles) > _MAX_TITLES else []
    texts = (translated(text, words.language) for text in facts.warnings)
    warnings = [_TABLE.sub(lambda match: by_name.get(match[1], match[0]), one) for one in texts]
    return {
        "released": f"{released(words, facts.tables)} {records}",
        "titles": words.listed([*titles[:_MAX_TITLES], *more]) + "." * (not more),
        "figures": _table(words, facts),
        "warnings": warnings[:_MAX_WARNINGS],
        "more_warnings": len(warnings[_MAX_WARNINGS:]),
        "all_warnings": warnings,
    }


def _titles(words: Words, facts: ReleaseFacts) -> dict[str, str]:
    """Give each table its title, or its name where it has none."""
    return {table.name: words.text(table.title) or table.name for table in facts.tables}


def _table(words: Words, facts: ReleaseFacts) -> Table:
    return (
        quantities(
            words, _figures(words, facts), name=mark("Figure"), value=mark("Value measured")
        )
        .text("Limit of the office", lambda one: Cell(text=one.limit, outcome=one.outcome))
        .table("key-figures", words.say("Main figures"))
    )


def _figures(words: Words, facts: ReleaseFacts) -> Iterator[Quantity]:
    checks = {check.name: check for check in facts.checks}
    measures = {fact.name: fact for fact in of_all_cells(facts.utility) if fact.cells == "all"}
    share, amount = words.numbers.share, words.numbers.amount
    absent = words.say("not computed")

    def limited(name: str, check: str, unit: str, value: Entry) -> Quantity:
        figure = KEY_FIGURES[name]
        cell = value if isinstance(value, Cell) else Cell(text=value)
        limit, outcome = _limit(words, checks.get(check), unit)
        return Quantity(
            figure.name,
            cell.text,
            note=cell.small,
            meaning=figure.meaning,
            limit=limit,
            outcome=outcome,
        )

    yield limited("posterior", "posterior", "probability", _worst(words, facts))
    yield limited("sure", "known-small", "share", _sure(words, facts))
    attack = checks.get("all-tables")
    entry: Entry = words.say("not examined")
    if attack is not None:
        several = words.say_many(
            "of the counts from 1 to %(small)s, by %(n)s table",
            "of the counts from 1 to %(small)s, by %(n)s tables",
            round(attack.found["tables"]),
            small=words.numbers.count(attack.found["small"]),
        )
        entry = Cell(text=share(attack.found["share"]), small=several)
    yield limited("all-tables", "all-tables", "share", entry)
    use = checks.get("utility")
    entry = absent
    if use is not None and use.found:
        where = _titles(words, facts).get(use.where, use.where)
        entry = Cell(text=amount(use.found["aad"]), small=where)
    yield limited("aad", "utility", "aad", entry)
    for name, check in (("changed_pct", "changed"), ("false_zeros", "false-zeros")):
        yield limited(name, check, "share", _counted(words, measures.get(name)))


def _limit(words: Words, check: CheckFact | None, unit: str) -> tuple[str, Outcome | None]:
    if check is None or unit not in check.allowed:
        return words.say("no limit set"), None
    number = check.allowed[unit]
    text = words.numbers.plain(number) if unit == "aad" else words.numbers.percent(number)
    return words.say("at most %(limit)s", limit=text), check.outcome


def _worst(words: Words, facts: ReleaseFacts) -> Entry:
    """Write the largest posterior of a single count, and where it is."""
    tables = _by_table(facts)
    if not tables:
        return words.say("no small count is published")
    worst = max(tables, key=lambda fact: fact.probability)
    where = words.say(
        "that it is %(original)s, where %(published)s is published; %(table)s",
        original=words.numbers.count(worst.original),
        published=words.numbers.count(worst.published),
        table=_titles(words, facts).get(worst.table, worst.table),
    )
    return Cell(text=words.numbers.share(worst.probability), small=where)


def _sure(words: Words, facts: ReleaseFacts) -> Entry:
    """Write the share of small cells that are known as small, in the table of most."""
    tables = [fact for fact in _by_table(facts) if fact.small]
    if not tables:
        return words.say("no small count is published")
    most = max(tables, key=lambda fact: fact.sure / fact.small)
    return sure_entry(words, most, _titles(words, facts).get(most.table, most.table))


def _by_table(facts: ReleaseFacts) -> Sequence[WorstFact]:
    return [fact for fact in facts.risk.worst if fact.table] or facts.risk.worst


def _counted(words: Words, fact: MeasureFact | None) -> Entry:
    """Write a share or a number of cells with the other one below it."""
    if fact is None or fact.cells_of_base is None:
        return words.say("not computed")
    return _of(words, fact.cells_of_base, fact.base)


def sure_entry(words: Words, fact: WorstFact, table: str = "") -> Entry:
    """Write the share of small cells that are known as small."""
    if not fact.small:
        return words.say("no cells")
    return _of(words, fact.sure, fact.small, table)


def _of(words: Words, part: int, whole: int, table: str = "") -> Cell:
    count = words.numbers.count
    of = words.say("%(part)s of %(whole)s cells", part=count(part), whole=count(whole))
    share = words.numbers.share(part / whole if whole else 0)
    return Cell(text=share, small=words.listed(filter(None, (of, table))))
