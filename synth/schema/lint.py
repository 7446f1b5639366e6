"""What is missing from a schema, or would leak, told without a look at any value."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from footing.messages import Argument, Message, Name
from footing.serialisation import set_fields
from synth.errors import SchemaError
from synth.marginals.measuring import Neighbours
from synth.marginals.spending import Budget, TableSettings
from synth.schema.columns import Category, Column, Numeric, Real, Whole
from synth.schema.discovery import Discovery
from synth.schema.nesting_count import SHARE, undeclared_nests
from synth.schema.rules.constraints import constraints_of, identities_of
from synth.schema.schema import Schema
from synth.totals import require_sound, totals_of

_MANY = 2000
_MUCH = 0.05
_WIDE = 100
_MANY_RECORDS = 100_000  # where nobody says how many there are


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something to mend, or to know.

    Parameters
    ----------
    level
        ``"error"``: nothing is fitted. ``"warning"``: accuracy or trust suffers. ``"note"``.
    place
        The column or the rule.
    text
        What it is.

    Examples
    --------
    >>> Finding(level="note", place="age", text="nobody is named").level
    'note'
    """

    level: str
    place: str
    text: str


def lint(
    schema: Schema,
    *,
    names: Iterable[str] | None = None,
    records: int | None = None,
    budget: Budget | None = None,
) -> list[Finding]:
    """Return what is missing from a schema, would leak, or costs accuracy.

    Parameters
    ----------
    schema
        The schema.
    names
        The names of the columns of the records, when they are known. Values are not asked
        for: what a check of values says would be a release of its own.
    records, budget
        About how many records there will be, a public number, and what may be spent: together
        they tell how much of each column will be noise.

    Examples
    --------
    >>> from synth import Schema, Whole
    >>> [one.level for one in lint(Schema(columns=[Whole(name="age")]))]
    ['error', 'note']
    """
    derived = identities_of(schema) if schema.is_declared else {}
    if wrong := _contradiction(schema):
        return [wrong]
    free = [
        _finding(
            "note", name, Message("follows from other columns by a rule, and costs nothing")
        )
        for name in derived
    ]
    columns = [one for one in schema.columns if one.name not in derived]
    findings = [finding for one in columns for finding in _of_column(one, len(schema.columns))]
    findings += free
    if schema.is_declared:
        findings += _of_totals(schema, records)
    if records is not None and budget is not None and not schema.is_declared:
        text = Message("what noise does is told when all domains are declared")
        findings.append(_finding("note", "tables", text))
    elif records is not None and budget is not None:
        findings += _of_noise(schema, columns, records, budget)
    if schema.unit.name == "record":
        text = Message("the unit is a record: a person with several is protected less")
        findings.append(_finding("note", "unit", text))
    return [
        *findings,
        *_of_values(schema),
        *_of_nests(schema),
        *_of_rules(schema),
        *_of_names(schema, names),
    ]


def _finding(level: str, place: str, text: str) -> Finding:
    return Finding(level=level, place=place, text=text)


def _of_noise(
    schema: Schema, columns: Sequence[Column], records: int, budget: Budget
) -> Iterator[Finding]:
    """Say what noise alone does to columns, before anything smooths it."""
    number, spending, unit = len(columns), TableSettings(), schema.unit
    wide = {one.name for one in columns if isinstance(one, Numeric) and one.is_uncut}
    share = Discovery().bins_share / len(schema.columns)
    totals = sum(one.share for one in totals_of(schema))
    rho = budget.concentrated() * (1 - share * len(wide)) * (1 - totals)
    near = Neighbours(adjacency=budget.adjacency, rows=unit.most_records, unit=unit.name)
    prices = spending.margin_prices(rho, sizes=[one.size for one in columns])
    for one, price in zip(columns, prices, strict=True):
        scale = near.counting(price).scale
        moved = min(one.size * scale / math.sqrt(2 * math.pi) / max(records, 1), 1.0)
        if one.name not in wide:
            yield _finding(
                "warning" if moved > _MUCH else "note",
                one.name,
                Message(
                    "noise moves {moved:.1%} of the records to others of {size} codes, before "
                    "it is smoothed",
                    moved=moved,
                    size=one.size,
                ),
            )
    tables = spending.how_many(records, columns=number, rho=rho)
    noise = near.counting(spending.table_price(rho, tables=tables)).scale
    yield _finding(
        "note",
        "tables",
        Message(
            "about {tables} tables are measured, each count with noise of scale "
            "{noise:.3g}: what fewer than {least_group:.0f} records share is put "
            "together",
            tables=tables,
            noise=noise,
            least_group=spending.least_group * noise,
        ),
    )


def _contradiction(schema: Schema) -> Finding | None:
    try:
        require_sound(schema)
    except SchemaError as error:
        return _finding("error", "schema", error.problem)
    return None


def _of_totals(schema: Schema, records: int | None) -> Iterator[Finding]:
    """Say which totals are measured, and where one record of noise would outweigh the file."""
    for one in totals_of(schema):
        yield _finding(
            "note",
            one.column.name,
            Message(
                "its total is measured, for {share:.1%} of the budget, and synthetic records "
                "come to it",
                share=one.share,
            ),
        )
    derived = identities_of(schema)
    for column in schema.columns:
        if not isinstance(column, (Whole, Real)) or column.name in derived:
            continue
        if (number := _outweighed(column)) > (records or _MANY_RECORDS):
            yield _finding(
                "warning",
                column.name,
                Message(
                    "one record of noise in the last cell weighs as much as {number:,} records "
                    "of the first: what lies beyond the last cell that stands out is drawn by "
                    "a fitted tail; a tighter bound, with outside='clip', makes totals surer",
                    number=number,
                ),
            )


def _outweighed(column: Numeric) -> int:
    """Return how many small amounts one in the last cell weighs as much as."""
    cells = column.grid.cells()
    sides = [[one for one in cells if one[0] > 0], [(-b, -a) for a, b in cells[::-1] if b < 0]]
    numbers = [0]
    for side in filter(None, sides):
        first, last = side[0], side[-1]
        small = column.factor if column.is_uncut else sum(first) / 2
        numbers.append(
            int((sum(last) / 2 if not column.is_uncut else last[1] / 2) / max(small, 1))
        )
    return max(numbers)


def _of_column(column: Column, columns: int) -> Iterator[Finding]:
    name = column.name
    if not column.is_declared:
        text = Message("the domain is not declared; read off the records it leaks")
        yield _finding("error", name, text)
        return
    if not column.declared_by:
        yield _finding(
            "warning", name, Message("declared_by is missing: who declared the domain?")
        )
    if column.size > _MANY:
        yield _finding(
            "warning",
            name,
            Message("{size} codes: most of their counts will be noise", size=column.size),
        )
    if column.size == 1:
        yield _finding("note", name, Message("only one value is possible"))
    if not column.missing:
        yield _finding(
            "note", name, Message("no kind of missing is declared: null will be refused")
        )
    if isinstance(column, Numeric):
        yield from _of_numbers(column, columns)
    if isinstance(column, Category) and column.other is not None:
        yield _finding(
            "note",
            name,
            Message(
                "values that are not declared become {other!r}", other=Argument(column.other)
            ),
        )


def _of_numbers(column: Numeric, columns: int) -> Iterator[Finding]:
    if column.is_uncut:
        price = Discovery().bins_share / columns
        yield _finding(
            "note",
            column.name,
            Message(
                "neither bins nor edges: they are found in the records, for {price:.1%} of "
                "the budget; declared ones cost nothing",
                price=price,
            ),
        )
    elif not (column.points or column.edges):
        widest = max(last - first for first, last in column.grid.cells()) + 1
        if widest > _WIDE:
            yield _finding(
                "note",
                column.name,
                Message(
                    "bins of up to {widest} numbers, and no points: what many records share, 0 "
                    "for instance, is spread over its bin",
                    widest=widest,
                ),
            )
    if column.outside == "clip":
        yield _finding(
            "note", column.name, Message("values out of bounds are put on the bounds")
        )


def _of_values(schema: Schema) -> Iterator[Finding]:
    """Name columns of which two values are one, as people write them."""
    for column in schema.columns:
        if isinstance(column, Category) and (problem := column.alike()):
            yield _finding("error", column.name, problem)


def _of_nests(schema: Schema) -> Iterator[Finding]:
    """Say which lists of values look nested, and which codes of parents nothing lies in."""
    proposals = undeclared_nests(schema)
    for one in proposals:
        yield _finding(
            "warning",
            one.child,
            Message(
                "its codes look nested in {parent!r}: each begins with one of its codes. Say "
                "so: {entry}, or that nothing nests: {nothing}. Not declared, it is counted in "
                "the records, for {price:.1%} of the budget",
                parent=Name(one.parent),
                entry=Name(f'"parents": [{json.dumps(set_fields(one), ensure_ascii=False)}]'),
                nothing=Name('"parents": []'),
                price=SHARE / len(proposals),
            ),
        )
    for nest in schema.nests() if schema.is_declared else ():
        empty = {*range(nest.values)} - {*nest.above.tolist()}
        if empty and (nest.above >= 0).all():
            yield _finding(
                "warning",
                schema.names[nest.parent],
                Message(
                    "no code of {child!r} lies in {number} of its codes: they are never drawn",
                    child=Name(schema.names[nest.child]),
                    number=len(empty),
                ),
            )


def _of_rules(schema: Schema) -> Iterator[Finding]:
    if not schema.is_declared:
        return
    try:
        constraints = constraints_of(schema.cut_at_rules())
    except SchemaError as error:
        yield _finding("error", "rules", error.problem)
        return
    text = Message("records that break this rule are drawn again; the model does not know it")
    for one in constraints:
        if one.how == "redrawing":
            yield _finding("note", one.rule.name, text)


def _of_names(schema: Schema, names: Iterable[str] | None) -> Iterator[Finding]:
    if names is None:
        return
    present: list[Any] = list(names)
    schema_names = [*schema.names, *filter(None, [schema.unit.identifier])]
    for name in present:
        if name not in {*schema_names, *schema.ignored}:
            yield _finding("error", str(name), Message("in the records, and not in the schema"))
    for name in schema_names:
        if name not in present:
            yield _finding("error", name, Message("in the schema, and not in the records"))
