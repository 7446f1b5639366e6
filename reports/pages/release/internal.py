"""The internal edition: all that the office signs."""

from typing import Any

from footing.messages import mark
from reports.catalogues.pages import headings
from reports.catalogues.release import CHECKS
from reports.facts.quantity import Quantity
from reports.facts.release import CheckFact, ReleaseFacts, TableFact
from reports.i18n.languages import Words
from reports.pages.common import (
    definitions,
    file_columns,
    has_failed,
    outcome_cell,
    page_title,
    quantities,
    released_files,
    verdict,
)
from reports.pages.frontier import frontier_parts
from reports.pages.release.decision import decision_parts
from reports.pages.release.deviations import size_picture
from reports.pages.release.noise import noise_parts
from reports.pages.release.risk import risk_parts
from reports.pages.release.utility import (
    change_table,
    dominated_table,
    exposure_table,
    utility_parts,
)
from reports.pages.scenarios import scenario_parts
from reports.parts import NOTHING, Cell, Entry, Lines, Table

#: What the page says of each design, beside the two figures of the map.
_FIGURES = ("differencing", "aad", "changed_pct", "false_zeros_pct")
_STAGES = {
    "inputs": mark("inputs and keys"),
    "tables": mark("tables and noise"),
    "writing": mark("writing the files"),
    "checks": mark("checks and figures"),
    "report": mark("report"),
}


def internal_page(
    words: Words, facts: ReleaseFacts, *, is_full: bool = False
) -> tuple[str, dict[str, Any]]:
    """Arrange what the office signs, and if asked all else that is known of a release."""
    outcomes = [check.outcome for check in facts.checks]
    is_audited = any(check.name == "all-tables" for check in facts.checks)
    open_ones = [words.say("what all tables tell together was not examined")]
    scenarios = facts.scenarios and scenario_parts(words, facts.scenarios, _FIGURES)
    utility, by_size = utility_parts(words, facts), size_picture(words, facts.noise.sizes)
    measures = facts.utility if is_full else utility["shown"]
    return "internal.html", {
        "title": page_title(words, words.text(facts.title), facts.id),
        "id": facts.id,
        "is_full": is_full,
        "headings": headings(words, "internal", without=_without(facts)),
        "verdict": verdict(words, outcomes, () if is_audited else open_ones),
        "has_failed": has_failed(outcomes),
        "decision": decision_parts(words, facts),
        "map": scenarios["pictures"] if scenarios else [],
        "by_size": by_size,
        "checks": _checks(words, facts),
        "tables": _tables(words, facts),
        "files": released_files(words, facts.tables),
        "noise": noise_parts(words, facts.noise),
        "utility": utility,
        "sums": change_table(words, facts.amounts),
        "contributors": exposure_table(words, facts.amounts),
        "dominated": dominated_table(words, facts.dominated),
        "risk": risk_parts(words, facts.risk),
        "scenarios": scenarios,
        "frontier": facts.frontier and frontier_parts(words, facts.frontier),
        "inputs": _inputs(words, facts),
        "versions": _versions(words, facts),
        "seconds": _seconds(words, facts),
        "definitions": definitions(words, measures, facts.scenarios, facts.risk),
    }


def _without(facts: ReleaseFacts) -> list[str]:
    """Name the parts of the page that a release has nothing for."""
    parts = {"scenarios": facts.scenarios, "frontier": facts.frontier}
    return [name for name, content in parts.items() if content is None]


def _checks(words: Words, facts: ReleaseFacts) -> Table:
    return (
        Lines(words, facts.checks)
        .text("Check", lambda check: words.say(CHECKS[check.name].name))
        .text("Rule", lambda check: rule_text(words, check))
        .text("Found", lambda check: found_text(words, check))
        .text("Result", lambda check: outcome_cell(words, check.outcome))
        .text("Where", lambda check: _where(words, check))
        .table("check-table", words.say("Checks of the release"))
    )


def rule_text(words: Words, check: CheckFact) -> str:
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


def found_text(words: Words, check: CheckFact) -> str:
    """Say what a check found."""
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
        return NOTHING
    return check.where or words.say("everywhere")


def _tables(words: Words, facts: ReleaseFacts) -> Table:
    def where(table: TableFact) -> Entry:
        return Cell(text=table.where, is_code=True) if table.where else words.say("all")

    lines = (
        Lines(words, facts.tables)
        .text("Table", lambda table: Cell(text=table.name, small=words.text(table.title)))
        .text("Dimensions", lambda table: ", ".join(map(words.text, table.dimensions)))
        .text("Measures", lambda table: _measures(words, table))
    )
    if any(table.where for table in facts.tables):
        lines = lines.text("Only records where", where)
    return (
        lines.number("Records counted", lambda table: table.records, "count")
        .number("Published rows", lambda table: table.published, "count")
        .number("Non-empty cells", lambda table: table.cells, "count")
        .table("tables", words.say("Released tables"))
    )


def _measures(words: Words, table: TableFact) -> str:
    """Name the measures of a table."""
    texts = {"count": words.say("counts"), "weighted": words.say("weighted counts")}
    kinds = {
        "sum": words.say("sums of %(name)s"),
        "mean": words.say("means of %(name)s"),
        "median": words.say("medians of %(name)s"),
        "quantile": words.say("quantiles of %(name)s"),
    }
    names = []
    for measure in table.measures:
        kind, _, name = measure.partition(":")
        text = kinds[kind] % {"name": name} if kind in kinds else texts.get(measure, measure)
        names.append(text)
    return ", ".join(names)


def _inputs(words: Words, facts: ReleaseFacts) -> Table:
    reproduction = facts.reproduction
    lines = Lines(words, (reproduction.job, *reproduction.inputs))
    return file_columns(lines, lambda file: file).table(
        "inputs", words.say("What the numbers depend on")
    )


def _versions(words: Words, facts: ReleaseFacts) -> Table:
    names = {"record key": words.say("record key"), "system": words.say("system")}
    return (
        Lines(words, facts.reproduction.versions.items())
        .text("Program", lambda line: names.get(line[0], line[0]))
        .text("Version", lambda line: line[1])
        .table("versions", words.say("Versions"))
    )


def _seconds(words: Words, facts: ReleaseFacts) -> Table:
    seconds = facts.reproduction.seconds
    figures = [Quantity(_STAGES.get(n, n), value, "amount") for n, value in seconds.items()]
    return quantities(words, figures, name=mark("Stage"), value=mark("Seconds")).table(
        "seconds", words.say("How long it took")
    )
