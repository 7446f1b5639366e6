"""What a user loses: the main measures, and all of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from reports.catalogues.measures import measure_name
from reports.catalogues.release import NOTES
from reports.facts.release import (
    AmountFact,
    DominatedFact,
    LevelFact,
    MeasureFact,
    ReleaseFacts,
    of_all_cells,
)
from reports.i18n.languages import Words
from reports.pages.release.deviations import (
    class_words,
    measure_entry,
)
from reports.parts import Entry, Lines, Table

_Heads = dict[str, Callable[[MeasureFact], Entry]]  # heading → what stands below

_MAIN = (
    "aad", "rmse", "max_abs", "bias_mean", "rmad_pct", "changed_pct", "false_zeros",
    "hellinger_raw",
)  # fmt: skip
_BY_TABLE = (
    "aad",
    "rmse",
    "bias_mean",
    "rmad_pct",
    "changed_pct",
    "false_zeros",
    "hellinger_raw",
)
_BY_GROUP = ("aad", "rmad_pct", "changed_pct", "false_zeros", "hellinger_raw")
_KNOWN_GROUPS = ("all", "margin", "parent")


def utility_parts(words: Words, facts: ReleaseFacts) -> dict[str, Any]:
    """Arrange the measures of utility."""
    overall = of_all_cells(facts.utility)
    return {
        "tables": [
            _by_class(words, overall),
            _by_table(words, facts.utility),
        ],
        "shown": [fact for fact in overall if fact.name in _MAIN],
        "full": [
            by_variable(words, facts.utility, facts.levels, ident="variables"),
            all_measures(words, facts.utility, facts.levels),
        ],
    }


def _by_table(words: Words, utility: Sequence[MeasureFact]) -> Table:
    return _pivot(
        words,
        [f for f in utility if f.table and (f.group, f.cells) == ("all", "all")],
        _BY_TABLE,
        heads={words.say("Table"): lambda fact: fact.table},
        ident="by-table",
        caption=words.say("Measures by table"),
    )


def by_variable(
    words: Words, utility: Sequence[MeasureFact], levels: Mapping[str, LevelFact], *, ident: str
) -> Table:
    """Arrange measures by variable and category."""
    return _pivot(
        words,
        [f for f in utility if f.group not in _KNOWN_GROUPS and f.cells == "all"],
        _BY_GROUP,
        heads={
            words.say("Table"): lambda fact: _table(words, fact),
            words.say("Variable"): lambda fact: _level(words, fact, levels)[0],
            words.say("Category"): lambda fact: _level(words, fact, levels)[1],
        },
        ident=ident,
        caption=words.say("Measures by variable"),
    )


def _pivot(
    words: Words,
    facts: Iterable[MeasureFact],
    names: Sequence[str],
    *,
    heads: _Heads,
    ident: str,
    caption: str,
) -> Table:
    """Make a table with a line per set of cells and a column per measure that is there."""
    lines: dict[tuple[Entry, ...], dict[str, MeasureFact]] = {}
    for fact in facts:
        line = lines.setdefault(tuple(head(fact) for head in heads.values()), {})
        if fact.name in names:
            line[fact.name] = fact
    rows = [
        (head, line, max(fact.base for fact in line.values()))
        for head, line in lines.items()
        if line
    ]
    columns = [name for name in names if any(name in line for line in lines.values())]
    return (
        Lines(words, rows)
        .texts(dict(enumerate(heads)), lambda row, place: row[0][place])
        .number("Base", lambda row: row[2], "count")
        .numbers(
            {name: measure_name(words, name) for name in columns},
            lambda row, name: measure_entry(words, row[1].get(name), base=row[2]),
        )
        .table(ident, caption, n_heads=len(heads))
    )


def _by_class(words: Words, overall: Sequence[MeasureFact]) -> Table:
    """Measures down, classes of cells across: names are long, classes few."""
    classes = list(dict.fromkeys(fact.cells for fact in overall))
    measures = {(fact.name, fact.cells): fact for fact in overall}
    names = [name for name in _MAIN if any((name, cells) in measures for cells in classes)]
    bases = {fact.cells: fact.base for fact in overall if fact.name == "aad"}

    def entry(name: str, cells: str) -> Entry:
        if not name:
            return words.numbers.count(bases.get(cells, 0))
        return measure_entry(words, measures.get((name, cells)), base=bases.get(cells))

    return (
        Lines(words, ["", *names] if names else [])
        .text("Measure", lambda n: measure_name(words, n) if n else words.say("Cells"))
        .numbers({cells: class_words(words, cells) for cells in classes}, entry)
        .table(
            "utility-classes",
            words.say("Main measures on all tables together, by class of original counts"),
            notes=(NOTES["once"].say(words),),
        )
    )


def _table(words: Words, fact: MeasureFact) -> str:
    return fact.table or words.say("all tables")


def _level(words: Words, fact: MeasureFact, levels: Mapping[str, LevelFact]) -> tuple[str, str]:
    """Name a level and its category as readers know them."""
    if fact.group not in levels:
        return fact.group, fact.value
    level = levels[fact.group]
    return words.text(level.label), words.text(level.categories.get(fact.value, fact.value))


def _group(words: Words, fact: MeasureFact, levels: Mapping[str, LevelFact]) -> str:
    names = {
        "all": words.say("all cells"),
        "margin": words.say("margin %(name)s", name=fact.value),
        "parent": words.say("totals over %(name)s", name=fact.value),
    }
    return names.get(fact.group, ": ".join(_level(words, fact, levels)))


def all_measures(
    words: Words, utility: Sequence[MeasureFact], levels: Mapping[str, LevelFact]
) -> Table:
    """Arrange every measure there is, one a line."""
    return (
        Lines(words, utility)
        .text("Table", lambda fact: _table(words, fact))
        .text("Cells", lambda fact: _group(words, fact, levels))
        .text("Original count", lambda fact: class_words(words, fact.cells))
        .text("Measure", lambda fact: measure_name(words, fact.name))
        .number("Number", lambda fact: measure_entry(words, fact))
        .number("Base", lambda fact: fact.base, "count")
        .table("measures", words.say("All measures of utility"), n_heads=4)
    )


def change_table(words: Words, amounts: Sequence[AmountFact]) -> Table:
    """Arrange how sums were changed, a table and variable a line."""
    return (
        Lines(words, amounts)
        .text("Table", lambda fact: fact.table)
        .text("Variable", lambda fact: fact.variable or words.say("weighted counts"))
        .number("Cells with a sum", lambda fact: fact.cells, "count")
        .number("Bias", lambda fact: _share(words, fact.bias))
        .number("Half of the cells deviate by at most", lambda fact: _share(words, fact.median))
        .number("Nine tenths deviate by at most", lambda fact: _share(words, fact.most))
        .number(
            "Share of cells within 5 per cent of the original sum",
            lambda fact: _share(words, fact.within),
        )
        .table(
            "sums",
            words.say("How far published sums and weighted counts lie from the original ones"),
            n_heads=2,
            notes=(NOTES["sums"].say(words),),
        )
    )


def exposure_table(words: Words, amounts: Sequence[AmountFact]) -> Table:
    """Arrange what sums tell of the largest contributor, a table and variable a line."""
    return (
        Lines(words, [fact for fact in amounts if fact.variable])
        .text("Table", lambda fact: fact.table)
        .text("Variable", lambda fact: fact.variable)
        .number("Exposed cells", lambda fact: fact.exposed, "count")
        .number(
            "Probability of a near estimate, by formula",
            lambda fact: _share(words, fact.expected),
        )
        .number(
            "Share of exposed cells with a near estimate",
            lambda fact: _share(words, fact.found),
        )
        .number(
            "Cells with a count of 0 whose sum shows that they are not empty",
            lambda fact: fact.told,
            "count",
        )
        .number("Share of these with one record", lambda fact: _share(words, fact.single))
        .table(
            "contributors",
            words.say("Disclosure of the largest contributor by sums"),
            n_heads=2,
            notes=(NOTES["contributors"].say(words),),
        )
    )


def dominated_table(words: Words, facts: Sequence[DominatedFact]) -> Table:
    """Arrange what several sums tell together of one contributor, a variable a line."""
    return (
        Lines(words, facts)
        .text("Variable", lambda fact: fact.variable)
        .number("Contributors with several exposed cells", lambda f: f.contributors, "count")
        .number("Their exposed cells", lambda fact: fact.cells, "count")
        .number("Near estimates from one cell", lambda fact: _share(words, fact.alone))
        .number(
            "Contributors with a near estimate from the mean of their cells",
            lambda fact: _share(words, fact.together),
        )
        .table(
            "dominated", words.say("Disclosure of one contributor by several sums"), n_heads=1
        )
    )


def _share(words: Words, number: float | None) -> str | None:
    if number is None:
        return None
    return words.numbers.probability(number) if number >= 0 else words.numbers.amount(number)
