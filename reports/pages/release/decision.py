"""The first page of the internal edition: what is released, six figures, a place to sign."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reports.catalogues.release import KEY_FIGURES
from reports.pages.common import released
from reports.parts import Cell, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from reports.facts.release import CheckFact, MeasureFact, ReleaseFacts, WorstFact
    from reports.i18n.languages import Words
    from reports.parts import Entry, Table

_MAX_WARNINGS = 4


class _Figure(NamedTuple):
    """A figure by its name in the catalogue: what was found, and the limit of the office."""

    name: str
    found: Entry
    limit: Entry


def decision_parts(words: Words, facts: ReleaseFacts) -> dict[str, Any]:
    """Arrange what somebody signs."""
    records = words.say(
        "The largest counts %(records)s people or other units.",
        records=words.numbers.count(max((t.records for t in facts.tables), default=0)),
    )
    return {
        "released": f"{released(words, facts.tables)} {records}",
        "titles": [words.text(table.title) or table.name for table in facts.tables],
        "figures": _table(words, facts),
        "warnings": facts.warnings[:_MAX_WARNINGS],
        "more_warnings": len(facts.warnings[_MAX_WARNINGS:]),
    }


def whole(facts: ReleaseFacts) -> list[MeasureFact]:
    """Give the measures of all tables together, or of the only one."""
    together = [fact for fact in facts.utility if not fact.table]
    return [f for f in together or facts.utility if f.group == "all"]


def _table(words: Words, facts: ReleaseFacts) -> Table:
    return (
        Lines(words, list(_figures(words, facts)))
        .text(
            "Figure",
            lambda line: Cell(
                text=words.say(KEY_FIGURES[line.name].name),
                small=words.say(KEY_FIGURES[line.name].meaning),
            ),
        )
        .number("Found", lambda line: line.found)
        .text("Limit of the office", lambda line: line.limit)
        .table("key-figures", words.say("Six figures"))
    )


def _figures(words: Words, facts: ReleaseFacts) -> Iterator[_Figure]:
    checks = {check.name: check for check in facts.checks}
    measures = {fact.name: fact for fact in whole(facts) if fact.cells == "all"}
    share, amount = words.numbers.share, words.numbers.amount
    absent = words.say("not computed")

    def limited(name: str, check: str, unit: str, found: Entry) -> _Figure:
        return _Figure(name, found, _limit(words, checks.get(check), unit))

    yield limited("posterior", "posterior", "probability", _worst(words, facts))
    yield _Figure("sure", _sure(words, facts), words.say("no limit set"))
    attack = checks.get("all-tables")
    found: Entry = words.say("not examined")
    if attack is not None:
        several = words.say_many(
            "by %(n)s table", "by %(n)s tables", round(attack.found["tables"])
        )
        found = Cell(text=share(attack.found["share"]), small=several)
    yield limited("all-tables", "all-tables", "share", found)
    use = checks.get("utility")
    found = absent
    if use is not None and use.found:
        found = Cell(text=amount(use.found["aad"]), small=use.where)
    yield limited("aad", "utility", "aad", found)
    for name in ("changed_pct", "false_zeros"):
        yield _Figure(name, _counted(words, measures.get(name)), words.say("no limit set"))


def _limit(words: Words, check: CheckFact | None, unit: str) -> Entry:
    if check is None or unit not in check.allowed:
        return words.say("no limit set")
    number = check.allowed[unit]
    text = words.numbers.plain(number) if unit == "aad" else words.numbers.percent(number)
    limit = words.say("at most %(limit)s", limit=text)
    return Cell(text=limit, outcome=check.outcome)


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
        table=worst.table,
    )
    return Cell(text=words.numbers.share(worst.probability), small=where)


def _sure(words: Words, facts: ReleaseFacts) -> Entry:
    """Write the share of small cells that are known as small, in the table of most."""
    tables = [fact for fact in _by_table(facts) if fact.small]
    if not tables:
        return words.say("no small count is published")
    most = max(tables, key=lambda fact: fact.sure / fact.small)
    return sure_entry(words, most, most.table)


def _by_table(facts: ReleaseFacts) -> Sequence[WorstFact]:
    return [fact for fact in facts.risk.worst if fact.table] or facts.risk.worst


def _counted(words: Words, fact: MeasureFact | None) -> Entry:
    """Write a share or a number of cells with the other one below it."""
    if fact is None or fact.number is None:
        return words.say("not computed")
    part = fact.number if fact.name == "false_zeros" else fact.number * fact.base / 100
    return _of(words, round(part), fact.base)


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
