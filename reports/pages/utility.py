"""What a user loses: the main measures, and all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reports.catalogues.measures import kind_of, measure_name
from reports.catalogues.wording import written
from reports.charts.spread import Spread, SpreadLine, spread
from reports.parts import Cell, Figure, Table, numbers, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from reports.facts import MeasureFact
    from reports.languages import Words
    from reports.parts import Entry

__all__ = ["all_measures", "by_variable", "class_words", "measure_entry", "utility_parts"]

_MAIN = (
    "aad", "rmse", "max_abs", "bias_mean", "bias_z", "rmad_pct", "changed_pct",
    "changed_nonzero_pct", "false_zeros", "hellinger_raw", "hd_utility",
    "hellinger_probability",
)  # fmt: skip
_QUANTILES = ("min", "q10", "median", "q90", "q95", "q99", "max")
_ADDITIVITY = ("gap_mean", "gap_max_abs", "gap_nonzero_pct", "gap_mean_square", "gap_ratio")
_RELATIONS = (
    "spearman", "decile_changes_pct", "cramers_v_original", "cramers_v_published", "rcv_pct",
    "bvr_pct", "rv_pct",
)  # fmt: skip
_BY_TABLE = ("aad", "rmse", "bias_z", "rmad_pct", "changed_pct", "false_zeros", "hellinger_raw")
_BY_GROUP = ("aad", "rmad_pct", "changed_pct", "false_zeros", "hellinger_raw")
_KNOWN_GROUPS = ("all", "margin", "parent")


def utility_parts(words: Words, utility: Sequence[MeasureFact]) -> dict[str, Any]:
    """Arrange the measures of utility.

    Parameters
    ----------
    words
        The language.
    utility
        The measures.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> sorted(utility_parts(words_of("en"), ()))
    ['all', 'more', 'pictures', 'tables']
    """
    whole = [fact for fact in utility if not fact.table]
    overall = [fact for fact in whole if fact.group == "all"]
    return {
        "tables": [
            _by_class(words, overall),
            _quantiles(words, overall),
        ],
        "pictures": _spread(words, overall),
        "more": [
            by_table(words, utility),
            _by_margin(words, utility),
            by_variable(words, utility, ident="variables"),
            _gaps(words, utility),
            _relations(words, utility),
        ],
        "all": all_measures(words, utility),
    }


def class_words(words: Words, name: str) -> str:
    """Say a class of original counts.

    Parameters
    ----------
    words
        The language.
    name
        Of the class.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> class_words(words_of("en"), "small")
    'small counts, 1–20'
    """
    known = {
        "all": words.say("all cells"),
        "small": words.say("small counts, 1–20"),
        "medium": words.say("medium counts, 21–50"),
        "large": words.say("large counts, 51 or more"),
    }
    return known.get(name, name)


def measure_entry(words: Words, fact: MeasureFact | None, *, base: int | None = None) -> Entry:
    """Write a measure; where there is none, the reason stands below.

    Parameters
    ----------
    words
        The language.
    fact
        The measure; None where nobody computed it.
    base
        How many cells the line is about; another base of the measure is written below it.

    Examples
    --------
    >>> from reports.facts import MeasureFact
    >>> from reports.languages import words_of
    >>> fact = MeasureFact(
    ...     table="",
    ...     group="all",
    ...     value="all",
    ...     cells="all",
    ...     name="aad",
    ...     number=None,
    ...     base=0,
    ...     reason="there are no cells",
    ... )
    >>> measure_entry(words_of("en"), fact).text
    'not defined'
    """
    if fact is None:
        return words.say("not computed")
    if fact.number is None:
        return Cell(text=words.say("not defined"), small=words.say(fact.reason))
    from risk.utility import DEFINITIONS

    text = written(words, fact.number, kind_of(DEFINITIONS[fact.name][0]))
    if base is None or fact.base == base:
        return text
    return Cell(text=text, small=words.say("of %(n)s", n=words.numbers.count(fact.base)))


def _pivot(
    words: Words,
    *,
    ident: str,
    caption: str,
    heads: tuple[str, ...],
    lines: Iterable[tuple[tuple[Entry, ...], Callable[[str], MeasureFact | None]]],
    names: Sequence[str],
) -> Table:
    """Make a table with a line per set of cells and a column per measure that is there."""
    found = [(head, {name: find(name) for name in names}) for head, find in lines]
    shown = [name for name in names if any(line[name] is not None for _, line in found)]
    rows = []
    for head, line in found:
        bases = [fact.base for fact in line.values() if fact is not None]
        if not bases:
            continue
        base = max(bases)
        entries = [measure_entry(words, line[name], base=base) for name in shown]
        rows.append((*head, words.numbers.count(base), *entries))
    return Table(
        id=ident,
        caption=caption,
        columns=(
            *texts(*heads),
            *numbers(words.say("Base"), *(measure_name(words, name) for name in shown)),
        ),
        rows=tuple(rows),
        n_heads=len(heads),
    )


def _finder(facts: Iterable[MeasureFact]) -> Callable[[str], MeasureFact | None]:
    known = {fact.name: fact for fact in facts}
    return known.get


def _by_class(words: Words, overall: Sequence[MeasureFact]) -> Table:
    """Measures down, classes of cells across: names are long, classes few."""
    classes = list(dict.fromkeys(fact.cells for fact in overall))
    known = {(fact.name, fact.cells): fact for fact in overall}
    rows = tuple(
        (
            measure_name(words, name),
            *(measure_entry(words, known.get((name, cells)), base=-1) for cells in classes),
        )
        for name in _MAIN
        if any((name, cells) in known for cells in classes)
    )
    return Table(
        id="utility-classes",
        caption=words.say("Main measures on all tables together, by class of original counts"),
        columns=(
            *texts(words.say("Measure")),
            *numbers(*(class_words(words, cells) for cells in classes)),
        ),
        rows=rows,
        notes=(words.say("Below each number stands how many cells or lines it is made of."),),
    )


def _quantiles(words: Words, overall: Sequence[MeasureFact]) -> Table:
    lines = []
    for kind in ("d1", "d2"):
        for cells in dict.fromkeys(fact.cells for fact in overall):
            some = [
                _renamed(fact, kind)
                for fact in overall
                if fact.cells == cells and fact.name.startswith(f"{kind}_")
            ]
            if some:
                head = (measure_name(words, kind), class_words(words, cells))
                lines.append((head, dict(some).get))
    columns = {
        "min": words.say("least"),
        "q10": "0.1",
        "median": words.say("median"),
        "q90": "0.9",
        "q95": "0.95",
        "q99": "0.99",
        "max": words.say("largest"),
    }
    write = words.numbers.plain
    headings = [
        text if not text.startswith("0.") else write(float(text)) for text in columns.values()
    ]
    rows = []
    for head, find in lines:
        facts = [find(name) for name in columns]
        base = max((fact.base for fact in facts if fact is not None), default=0)
        rows.append(
            (
                *head,
                words.numbers.count(base),
                *(measure_entry(words, fact, base=base) for fact in facts),
            )
        )
    return Table(
        id="quantiles",
        caption=words.say("Quantiles of absolute and relative deviations"),
        columns=(
            *texts(words.say("Deviation"), words.say("Cells")),
            *numbers(words.say("Base"), *headings),
        ),
        rows=tuple(rows),
        n_heads=2,
    )


def _renamed(fact: MeasureFact, kind: str) -> tuple[str, MeasureFact]:
    return fact.name.removeprefix(f"{kind}_"), fact


def _spread(words: Words, overall: Sequence[MeasureFact]) -> list[Figure]:
    lines = []
    for cells in dict.fromkeys(fact.cells for fact in overall):
        known = {fact.name: fact.number for fact in overall if fact.cells == cells}
        values = [known.get(f"d1_{q}") for q in ("min", "q10", "median", "q90", "max")]
        numbers_ = [value for value in values if value is not None]
        if len(numbers_) == 5:
            least, q10, median, q90, most = numbers_
            lines.append(
                SpreadLine(
                    name=class_words(words, cells).partition(",")[0],
                    least=least,
                    q10=q10,
                    median=median,
                    q90=q90,
                    most=most,
                )
            )
    if not lines:
        return []
    title = words.say("Absolute deviation of a cell")
    data = Spread(
        id="spread",
        title=title,
        description=words.say(
            "A line per class of original counts: it runs from the least to the largest "
            "deviation, the box holds the middle 80 percent, the bar is the median."
        ),
        across=words.say("counts"),
    )
    write = words.numbers.amount
    return [
        Figure(
            id="spread",
            title=title,
            svg=spread(words, data, lines),
            data=Table(
                id="spread-data",
                caption=words.say("Absolute deviation of a cell, by class of original counts"),
                columns=(
                    *texts(words.say("Cells")),
                    *numbers(
                        words.say("least"),
                        words.numbers.plain(0.1),
                        words.say("median"),
                        words.numbers.plain(0.9),
                        words.say("largest"),
                    ),
                ),
                rows=tuple(
                    (
                        line.name,
                        *map(write, (line.least, line.q10, line.median, line.q90, line.most)),
                    )
                    for line in lines
                ),
            ),
            notes=(words.say("Box: the middle 80 percent of the cells; bar: the median."),),
        )
    ]


def by_table(words: Words, utility: Sequence[MeasureFact]) -> Table:
    """Arrange measures by table.

    Parameters
    ----------
    words
        The language.
    utility
        The measures.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> by_table(words_of("en"), ()).rows
    ()
    """
    some = [f for f in utility if f.table and (f.group, f.cells) == ("all", "all")]
    return _pivot(
        words,
        ident="by-table",
        caption=words.say("Measures by table"),
        heads=(words.say("Table"),),
        lines=_lines(some, lambda fact: (fact.table,)),
        names=_BY_TABLE,
    )


def _by_margin(words: Words, utility: Sequence[MeasureFact]) -> Table:
    some = [f for f in utility if f.group == "margin" and f.cells == "all"]
    return _pivot(
        words,
        ident="by-margin",
        caption=words.say("Measures by margin"),
        heads=(words.say("Table"), words.say("Margin")),
        lines=_lines(some, lambda fact: (_table(words, fact), fact.value)),
        names=_BY_GROUP,
    )


def by_variable(words: Words, utility: Sequence[MeasureFact], *, ident: str) -> Table:
    """Arrange measures by variable and category.

    Parameters
    ----------
    words
        The language.
    utility
        The measures.
    ident
        Of the table, unique on the page.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> by_variable(words_of("en"), (), ident="variables").rows
    ()
    """
    some = [f for f in utility if f.group not in _KNOWN_GROUPS and f.cells == "all"]
    return _pivot(
        words,
        ident=ident,
        caption=words.say("Measures by variable"),
        heads=(words.say("Table"), words.say("Variable"), words.say("Category")),
        lines=_lines(some, lambda fact: (_table(words, fact), fact.group, fact.value)),
        names=_BY_GROUP,
    )


def _gaps(words: Words, utility: Sequence[MeasureFact]) -> Table:
    some = [f for f in utility if f.group == "parent"]
    return _pivot(
        words,
        ident="gaps",
        caption=words.say("Gaps between published totals and the sums of their parts"),
        heads=(words.say("Table"), words.say("Dimension")),
        lines=_lines(some, lambda fact: (_table(words, fact), fact.value)),
        names=_ADDITIVITY,
    )


def _relations(words: Words, utility: Sequence[MeasureFact]) -> Table:
    some = [f for f in utility if (f.group, f.cells) == ("all", "all")]
    some = [f for f in some if f.name in _RELATIONS]
    return _pivot(
        words,
        ident="relations",
        caption=words.say("Ranks, association and variance"),
        heads=(words.say("Table"),),
        lines=_lines(some, lambda fact: (_table(words, fact),)),
        names=_RELATIONS,
    )


def _lines(
    facts: Iterable[MeasureFact], head: Callable[[MeasureFact], tuple[Entry, ...]]
) -> list[tuple[tuple[Entry, ...], Callable[[str], MeasureFact | None]]]:
    """Bring the measures of the same cells together, in the order they came in."""
    several: dict[tuple[Entry, ...], list[MeasureFact]] = {}
    for fact in facts:
        several.setdefault(head(fact), []).append(fact)
    return [(key, _finder(some)) for key, some in several.items()]


def _table(words: Words, fact: MeasureFact) -> str:
    return fact.table or words.say("all tables")


def _group(words: Words, fact: MeasureFact) -> str:
    names = {
        "all": words.say("all cells"),
        "margin": words.say("margin %(name)s", name=fact.value),
        "parent": words.say("totals over %(name)s", name=fact.value),
    }
    return names.get(fact.group, f"{fact.group}: {fact.value}")


def all_measures(words: Words, utility: Sequence[MeasureFact]) -> Table:
    """Arrange every measure there is, one a line.

    Parameters
    ----------
    words
        The language.
    utility
        The measures.

    Examples
    --------
    >>> from reports.languages import words_of
    >>> all_measures(words_of("en"), ()).id
    'measures'
    """
    return Table(
        id="measures",
        caption=words.say("All measures of utility"),
        columns=(
            *texts(words.say("Table"), words.say("Cells"), words.say("Original count")),
            *texts(words.say("Measure"), words.say("Name")),
            *numbers(words.say("Number"), words.say("Base")),
        ),
        rows=tuple(
            (
                _table(words, fact),
                _group(words, fact),
                class_words(words, fact.cells),
                measure_name(words, fact.name),
                Cell(text=fact.name, is_code=True),
                measure_entry(words, fact),
                words.numbers.count(fact.base),
            )
            for fact in utility
        ),
        n_heads=4,
    )
