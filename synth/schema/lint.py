"""What is missing from a schema, or would leak, told without a look at any value."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from synth.errors import SchemaError
from synth.schema.columns import Category, Column, Numeric
from synth.schema.rules.constraints import constraints_of
from synth.schema.schema import Schema

_MANY = 2000


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


def lint(schema: Schema, *, names: Iterable[str] | None = None) -> list[Finding]:
    """Return what is missing from a schema, or would leak.

    Parameters
    ----------
    schema
        The schema.
    names
        The names of the columns of the records, when they are known. Values are not asked
        for: what a check of values says would be a release of its own.

    Examples
    --------
    >>> from synth import Schema, Whole
    >>> [one.level for one in lint(Schema(columns=[Whole(name="age")]))]
    ['error', 'note']
    """
    found = [finding for column in schema.columns for finding in _of_column(column)]
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


def _of_column(column: Column) -> list[Finding]:
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
    if isinstance(column, Numeric) and column.has_bounds_alone:
        cells = column.domain_size
        found.append(
            say(
                "warning",
                f"bounds alone, cut into {cells} equal cells: a value that many share (0, 40) "
                "is spread over its cell; records may be worse than with independent columns. "
                "Declare bins, edges and points from a code book",
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
