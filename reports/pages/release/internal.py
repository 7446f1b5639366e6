"""The internal edition: all that the office signs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.release import CHECKS
from reports.pages.common import file_entries, has_failed, outcome_cell, page_title, verdict
from reports.pages.definitions import definitions
from reports.pages.release.amounts import change_table, exposure_table
from reports.pages.release.noise import noise_parts
from reports.pages.release.pairs import pair_picture
from reports.pages.release.risk import risk_parts
from reports.pages.release.utility import utility_parts
from reports.pages.scenarios import scenario_parts
from reports.parts import Cell, Table, numbers, texts

if TYPE_CHECKING:
    from reports.facts.release import CheckFact, ReleaseFacts
    from reports.i18n.languages import Words

__all__ = ["internal_page"]


def internal_page(words: Words, facts: ReleaseFacts) -> tuple[str, dict[str, Any]]:
    """Arrange all that is known of a release.

    Parameters
    ----------
    words
        The language.
    facts
        All that is known.

    Examples
    --------
    >>> internal_page.__name__  # facts of a whole release: see docs/report.md
    'internal_page'
    """
    outcomes = [check.outcome for check in facts.checks]
    scenarios = None
    if facts.scenarios is not None:
        scenarios = scenario_parts(words, facts.scenarios)
    return "internal.html", {
        "title": page_title(words, words.text(facts.title), facts.id),
        "id": facts.id,
        "facts": facts,
        "headings": _headings(words),
        "verdict": verdict(words, outcomes),
        "has_failed": has_failed(outcomes),
        "checks": _checks(words, facts),
        "tables": _tables(words, facts),
        "files": _files(words, facts),
        "noise": noise_parts(words, facts.noise),
        "pairs": pair_picture(words, facts.noise.pairs),
        "utility": utility_parts(words, facts.utility, facts.levels),
        "sums": change_table(words, facts.amounts),
        "contributors": exposure_table(words, facts.amounts),
        "risk": risk_parts(words, facts.risk),
        "scenarios": scenarios,
        "exceptions": _exceptions(words, facts),
        "inputs": _inputs(words, facts),
        "versions": _versions(words, facts),
        "seconds": _seconds(words, facts),
        "definitions": definitions(words, facts.utility, facts.scenarios, facts.risk),
    }


def _headings(words: Words) -> dict[str, str]:
    return {
        "verdict": words.say("Verdict and checks"),
        "released": words.say("What was released"),
        "protection": words.say("How the counts are protected"),
        "noise": words.say("Noise, designed and drawn"),
        "utility": words.say("Utility"),
        "risk": words.say("Risk"),
        "scenarios": words.say("Scenarios"),
        "exceptions": words.say("Warnings and exceptions"),
        "reproduction": words.say("How to reproduce the release"),
        "definitions": words.say("Definitions and references"),
    }


def _checks(words: Words, facts: ReleaseFacts) -> Table:
    return Table(
        id="checks",
        caption=words.say("Checks of the release"),
        columns=texts(
            words.say("Check"),
            words.say("Rule"),
            words.say("Found"),
            words.say("Result"),
            words.say("Where"),
        ),
        rows=tuple(
            (
                words.say(CHECKS[check.name].name),
                _rule(words, check),
                _found(words, check),
                outcome_cell(words, check.outcome),
                _where(words, check),
            )
            for check in facts.checks
        ),
    )


def _rule(words: Words, check: CheckFact) -> str:
    """Say the rule, or that the office set none."""
    check_words = CHECKS[check.name]
    rule = check_words.rule
    if check_words.rule_of_nothing and not any(check.allowed.values()):
        return words.say(check_words.rule_of_nothing)
    if check.outcome == "no limit":
        return words.say("no limit set")
    if check.outcome == "not computed" and not set(rule.places) <= set(check.allowed):
        return words.say(check_words.public)
    return rule.say(words, check.allowed, of=f"the check {check.name!r}")


def _found(words: Words, check: CheckFact) -> str:
    if check.outcome == "not computed":
        return words.say("nothing: it was not computed")
    if check.outcome == "no limit" and not check.found:
        return words.say("its figures stand in a part of their own")
    says = CHECKS[check.name]
    sentence = says.found
    if says.found_otherwise and not set(sentence.places) <= set(check.found):
        sentence = says.found_otherwise
    return sentence.say(words, check.found, of=f"the check {check.name!r}")


def _where(words: Words, check: CheckFact) -> str:
    if check.outcome == "not computed":
        return "–"
    return check.where or words.say("everywhere")


def _tables(words: Words, facts: ReleaseFacts) -> Table:
    count = words.numbers.count
    return Table(
        id="tables",
        caption=words.say("Released tables"),
        columns=(
            *texts(
                words.say("Table"),
                words.say("Dimensions"),
                words.say("Measures"),
                words.say("Only records where"),
            ),
            *numbers(
                words.say("Published rows"),
                words.say("Cells that hold somebody"),
                words.say("of them margins"),
                words.say("Empty cells"),
            ),
        ),
        rows=tuple(
            (
                Cell(text=table.name, small=words.text(table.title)),
                ", ".join(map(words.text, table.dimensions)),
                ", ".join(table.measures),
                Cell(text=table.where, is_code=True) if table.where else words.say("all"),
                count(table.published),
                count(table.cells),
                count(table.margins),
                count(table.empty),
            )
            for table in facts.tables
        ),
    )


def _files(words: Words, facts: ReleaseFacts) -> Table:
    return Table(
        id="files",
        caption=words.say("Released files"),
        columns=(
            *texts(words.say("Table"), words.say("File")),
            *numbers(words.say("Bytes")),
            *texts(words.say("SHA-256")),
        ),
        rows=tuple(
            (table.name, *file_entries(words, file))
            for table in facts.tables
            for file in table.files
        ),
        n_heads=2,
    )


def _exceptions(words: Words, facts: ReleaseFacts) -> Table:
    return Table(
        id="granted",
        caption=words.say("Exceptions granted"),
        columns=texts(
            words.say("What"), words.say("Who granted it"), words.say("When"), words.say("Why")
        ),
        rows=tuple(
            (item.what, item.who, words.numbers.date(item.when), item.why)
            for item in facts.exceptions
        ),
    )


def _inputs(words: Words, facts: ReleaseFacts) -> Table:
    made = facts.reproduction
    return Table(
        id="inputs",
        caption=words.say("What the numbers depend on"),
        columns=(
            *texts(words.say("File")),
            *numbers(words.say("Bytes")),
            *texts(words.say("SHA-256")),
        ),
        rows=tuple(file_entries(words, file) for file in (made.job, *made.inputs)),
    )


def _versions(words: Words, facts: ReleaseFacts) -> Table:
    return Table(
        id="versions",
        caption=words.say("Versions"),
        columns=texts(words.say("Program"), words.say("Version")),
        rows=tuple(facts.reproduction.versions.items()),
    )


def _seconds(words: Words, facts: ReleaseFacts) -> Table:
    return Table(
        id="seconds",
        caption=words.say("How long it took"),
        columns=(*texts(words.say("Stage")), *numbers(words.say("Seconds"))),
        rows=tuple(
            (stage, words.numbers.amount(seconds))
            for stage, seconds in facts.reproduction.seconds.items()
        ),
    )
