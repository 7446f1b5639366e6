"""What every edition says: the verdict, and how a check ended."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from footing.messages import mark
from reports.catalogues.measures import figure_name, measure_name
from reports.catalogues.pages import TERMS
from reports.catalogues.release import ATTACKS, REFERENCES
from reports.catalogues.wording import written
from reports.facts.quantity import Quantity
from reports.facts.release import (
    FileFact,
    MeasureFact,
    Outcome,
    PublicTableFact,
    RiskFacts,
    ScenarioFacts,
    StatedFile,
    TableFact,
)
from reports.i18n.languages import Words
from reports.parts import NOTHING, Cell, Column, Entry, Lines, Table

_Item = TypeVar("_Item")


def page_title(words: Words, title: str, ident: str) -> str:
    """Name a page after its release."""
    if title:
        return title
    return words.say("Release %(id)s", id=ident) if ident else words.say("Release of tables")


def outcome_cell(words: Words, outcome: Outcome) -> Cell:
    """Say how a check ended."""
    says = {
        "passed": words.say("passed"),
        "failed": words.say("failed"),
        "no limit": words.say("no limit set"),
        "not computed": words.say("not computed"),
    }
    return Cell(text=says[outcome], outcome=outcome)


def verdict(words: Words, outcomes: Collection[Outcome], more: Iterable[str] = ()) -> str:
    """Sum up the checks in one sentence, and add what else must be said."""
    number = Counter(outcomes)
    failed, total = number["failed"], number["failed"] + number["passed"]
    if failed:
        parts = [
            words.say_many(
                "Of the checks made, %(made)s in all, %(n)s failed",
                "Of the checks made, %(made)s in all, %(n)s failed",
                failed,
                made=words.numbers.count(total),
            )
        ]
    elif total:
        parts = [words.say_many("The one check passed", "All %(n)s checks passed", total)]
    else:
        parts = [words.say("No check was made")]
    if n := number["no limit"]:
        parts.append(
            words.say_many(
                "the office set no limit for %(n)s check",
                "the office set no limit for %(n)s checks",
                n,
            )
        )
    if n := number["not computed"]:
        parts.append(
            words.say_many("%(n)s check was not computed", "%(n)s checks were not computed", n)
        )
    return words.say("%(text)s.", text=words.listed([*parts, *more]))


def has_failed(outcomes: Collection[Outcome]) -> bool:
    """Tell whether a check failed, or could not be made."""
    return any(outcome in ("failed", "not computed") for outcome in outcomes)


def quantities(
    words: Words,
    figures: Iterable[Quantity],
    *,
    name: str = mark("Name"),
    value: str = mark("Value"),
    are_numbers: bool = True,
) -> Lines[Quantity]:
    """List figures: what each is called and says, and its value with what stands below it.

    Parameters
    ----------
    words, figures
        The language, and the figures.
    name, value
        Headings: messages, as for `Words.say`.
    are_numbers
        Whether the column of values is one of numbers.
    """

    def called(one: Quantity) -> Entry:
        text = words.say(one.name)
        return Cell(text=text, small=words.say(one.meaning)) if one.meaning else text

    def told(one: Quantity) -> Entry:
        text = NOTHING if one.value is None else written(words, one.value, one.kind)
        return Cell(text=text, small=one.note) if one.note else text

    values = Column(words.say(value), is_number=are_numbers)
    return Lines(words, list(figures)).text(name, called).column(values, told)


def _digest_of(file: FileFact) -> str:
    """Return the hash of a file; of one that nobody hashed, its ETag or its last change."""
    return f"– ({file.etag or file.modified})" if isinstance(file, StatedFile) else file.sha256


def file_columns(lines: Lines[_Item], file_of: Callable[[_Item], FileFact]) -> Lines[_Item]:
    """Add name, size and hash of a file."""
    return (
        lines.text("File", lambda item: Cell(text=file_of(item).file, is_code=True))
        .number("Bytes", lambda item: file_of(item).bytes, "count")
        .text("SHA-256", lambda item: Cell(text=_digest_of(file_of(item)), is_code=True))
    )


def released_files(
    words: Words, tables: Iterable[TableFact] | Iterable[PublicTableFact]
) -> Table:
    """List the files of released tables."""
    files = [(table.name, file) for table in tables for file in table.files]
    lines = Lines(words, files).text("Table", lambda line: line[0])
    return file_columns(lines, lambda line: line[1]).table(
        "files", words.say("Released files"), n_heads=2
    )


def released(words: Words, tables: Sequence[TableFact] | Sequence[PublicTableFact]) -> str:
    """Say how many tables and cells are published, and how many cells are suppressed."""
    sentence = words.say(
        "%(tables)s with %(cells)s published cells.",
        tables=words.say_many("%(n)s table", "%(n)s tables", len(tables)),
        cells=words.numbers.count(sum(table.published for table in tables)),
    )
    suppressed = sum(t.suppressed for t in tables if isinstance(t, PublicTableFact))
    if not suppressed:
        return sentence
    more = words.say_many(
        "%(n)s further cell is suppressed.", "%(n)s further cells are suppressed.", suppressed
    )
    return f"{sentence} {more}"


def definitions(
    words: Words,
    utility: Sequence[MeasureFact],
    scenarios: ScenarioFacts | None,
    risk: RiskFacts | None,
) -> dict[str, Any]:
    """Define what a page shows, and nothing else."""
    return {
        "terms": [(words.say(name), words.say(meaning)) for name, meaning in TERMS],
        "measures": _measures(words, dict.fromkeys(fact.name for fact in utility)),
        "figures": _figures(words, scenarios),
        "references": _references(risk),
    }


def _measures(words: Words, names: Iterable[str]) -> Table:
    from risk.utility import DEFINITIONS

    return _defined(
        words,
        ident="measure-definitions",
        caption=words.say("Measures of utility on this page"),
        lines=[(name, measure_name(words, name), *DEFINITIONS[name]) for name in names],
    )


def _figures(words: Words, scenarios: ScenarioFacts | None) -> Table:
    names: dict[str, None] = {}
    if scenarios is not None:
        names = dict.fromkeys(n for design in scenarios.designs for n in design.figures)
        names |= dict.fromkeys((scenarios.risk, scenarios.utility))
    lines = []
    if names:
        from risk.risk_map.catalogue import FIGURES

        lines = [
            (name, figure_name(words, name), FIGURES[name].unit, FIGURES[name].definition)
            for name in names
        ]
    return _defined(
        words,
        ident="figure-definitions",
        caption=words.say("Figures of designs"),
        lines=lines,
    )


def _defined(
    words: Words, *, ident: str, caption: str, lines: Sequence[tuple[str, str, str, str]]
) -> Table:
    return (
        Lines(words, lines)
        .text("Name", lambda line: line[1])
        .text("Unit", lambda line: words.say(line[2]))
        .text("Definition", lambda line: words.say(line[3]))
        .text("In report.json", lambda line: Cell(text=line[0], is_code=True))
        .table(ident, caption)
    )


def _references(risk: RiskFacts | None) -> list[Any]:
    names = ["handbook"]
    if risk is not None:
        names += [name for fact in risk.attacks for name in ATTACKS[fact.name].references]
    return [REFERENCES[name] for name in dict.fromkeys(names)]
