"""What is missing from a schema, or would leak, told without a look at any value."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from synth.errors import SchemaError
from synth.marginals.measuring import Neighbours
from synth.marginals.spending import Budget, Settings
from synth.schema.columns import Category, Column, Numeric
from synth.schema.discovery import Discovery
from synth.schema.rules.constraints import constraints_of
from synth.schema.schema import Schema

_MANY = 2000
_MUCH = 0.05


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
    columns = schema.columns
    found = [finding for column in columns for finding in _of_column(column, len(columns))]
    if records is not None and budget is not None and schema.is_declared:
        found += _of_noise(schema, records, budget)
    if schema.unit.name == "record":
        found.append(
            Finding(
                level="note",
                place="unit",
                text="the unit is a record: whoever has several is protected less",
            )
        )
    found += _of_rules(schema)
    found += _of_names(schema, names)
    return found


def _of_noise(schema: Schema, records: int, budget: Budget) -> Iterator[Finding]:
    """Say what noise alone does to the columns, before anything smooths it."""
    share, spending = Discovery().bins_share / len(schema.columns), Settings()
    wide = {one.name for one in schema.columns if _is_wide(one)}
    rho = budget.concentrated() * (1 - share * len(wide))
    unit = schema.unit
    near = Neighbours(adjacency=budget.adjacency, rows=unit.most_records, unit=unit.name)
    scale = near.counting(spending.margin_price(rho, margins=len(schema.columns))).scale
    for column in schema.columns:
        moved = column.size * scale * math.sqrt(2 / math.pi) / (2 * max(records, 1))
        if column.name not in wide:
            yield Finding(
                level="warning" if moved > _MUCH else "note",
                place=column.name,
                text=f"noise moves {min(moved, 1):.1%} of the records to other codes, of "
                f"{column.size}, before it is smoothed",
            )
    tables = spending.how_many(records, columns=len(schema.columns), rho=rho)
    noise = near.counting(spending.table_price(rho, tables=tables)).scale
    yield Finding(
        level="note",
        place="tables",
        text=f"about {tables} tables are measured, each count with noise of scale {noise:.3g}: "
        f"what fewer than {spending.least_group * noise:.0f} records share is put together",
    )


def _is_wide(column: Column) -> bool:
    return isinstance(column, Numeric) and column.is_uncut


def _of_column(column: Column, columns: int) -> list[Finding]:
    def say(level: str, text: str) -> Finding:
        return Finding(level=level, place=column.name, text=text)

    if not column.is_declared:
        what = "values" if isinstance(column, Category) else "bounds"
        return [say("error", f"the {what} are not declared; read off the records they leak")]
    found = []
    if not column.declared_by:
        found.append(say("warning", "nobody is named who declared the domain (declared_by)"))
    if column.size > _MANY:
        found.append(say("warning", f"{column.size} codes: most of their counts will be noise"))
    if column.size == 1:
        found.append(say("note", "only one value is possible"))
    if not column.missing:
        found.append(say("note", "no kind of missing is declared: null will be refused"))
    if _is_wide(column):
        price = Discovery().bins_share / columns
        found.append(
            say(
                "note",
                f"neither bins nor edges: they are found in the records, for {price:.1%} of "
                "the budget; declared ones cost nothing",
            )
        )
    if isinstance(column, Numeric) and column.outside == "clip":
        found.append(say("note", "values out of bounds are put on the bounds"))
    if isinstance(column, Category) and column.other is not None:
        found.append(say("note", f"values that are not declared become {column.other!r}"))
    return found


def _of_rules(schema: Schema) -> list[Finding]:
    if not schema.is_declared:
        return []
    try:
        kept = constraints_of(schema.cut_at_rules())
    except SchemaError as error:
        return [Finding(level="error", place="rules", text=error.problem)]
    return [
        Finding(
            level="note",
            place=one.rule.name,
            text="records that break this rule are drawn again; the model does not know it",
        )
        for one in kept
        if one.how == "redrawing"
    ]


def _of_names(schema: Schema, names: Iterable[str] | None) -> list[Finding]:
    if names is None:
        return []
    present: list[Any] = list(names)
    known = {*schema.names, *schema.ignored, schema.unit.identifier}
    needed = [*schema.names, *([schema.unit.identifier] if schema.unit.identifier else [])]
    extra = [
        Finding(level="error", place=str(name), text="in the records, and not in the schema")
        for name in present
        if name not in known
    ]
    absent = [
        Finding(level="error", place=name, text="in the schema, and not in the records")
        for name in needed
        if name not in present
    ]
    return extra + absent
