"""Edit rules on codes: forbidden cells for the engine, and verdicts on drawn records."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from footing.arrays import AnyIntegers, Flags, Integers
from footing.messages import Message, Name
from synth.errors import RuleError
from synth.schema.columns import Column, Numeric
from synth.schema.public import Rule
from synth.schema.rules.logic import Amount, Codes, Verdict
from synth.schema.rules.rules import EditRule, Identity, ParsedRule
from synth.schema.schema import Schema

_MAX_CELLS = 200_000
_MAX_KINDS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A rule, and how it is kept.

    Parameters
    ----------
    rule
        The rule.
    how
        ``"construction"``: no cell that the model can draw breaks it, or it says what a column
        is, which is then worked out. ``"both"``: cells that always break it are not drawn,
        records of other cells are drawn again. ``"redrawing"``: records that break it are drawn
        again.
    table
        The forbidden combinations of codes, if there are any.
    """

    rule: EditRule
    how: str
    table: Rule | None = None


def constraints_of(schema: Schema, *, method: str = "tables") -> list[Constraint]:
    """Return how each rule of a schema is kept by a method."""
    derived = identities_of(schema)
    constraints = [_constraint(rule, schema, derived) for rule in schema.rules]
    if method == "tables":
        return constraints
    return [one if one.table is None else replace(one, how="redrawing") for one in constraints]


def modelled_sizes(schema: Schema) -> list[int]:
    """Return how many codes each column has in a model: 1 if it follows from others."""
    derived = identities_of(schema)
    return [1 if column.name in derived else column.size for column in schema.columns]


def identities_of(schema: Schema) -> dict[str, ParsedRule]:
    """Return the columns that follow from others, each after those that it follows from.

    The first rule that says what a column is counts, unless it would follow from itself then,
    or would have to be missing and cannot.
    """
    identities: dict[str, ParsedRule] = {}
    below: dict[str, set[str]] = {}
    for rule in map(schema.parsed, schema.rules):
        one = rule.identity
        if one is None or one.column.name in identities:
            continue
        name, parts = one.column.name, {part.name for part in one.parts}
        above = set[str]().union(parts, *(below.get(part, ()) for part in parts))
        can_miss = bool(one.column.missing) or not any(part.missing for part in one.parts)
        if name not in above and can_miss:
            identities[name], below[name] = rule, above
            for other in below.values():
                if name in other:
                    other.update(above)
    return {
        name: identities[name] for name in sorted(identities, key=lambda one: len(below[one]))
    }


def _constraint(
    rule: EditRule, schema: Schema, derived: Mapping[str, ParsedRule]
) -> Constraint:
    names = sorted(rule.columns, key=schema.names.index)
    if {*names} & {*derived}:
        identities = [
            one.identity for one in derived.values() if one.rule is rule and one.identity
        ]
        if not all(map(_is_within, identities)):
            raise RuleError(
                Message("No record can satisfy the rule {rule!r}.", rule=Name(rule.name))
            )
        return Constraint(rule=rule, how="construction" if identities else "redrawing")
    columns = [schema.column(name) for name in names]
    if not names or math.prod(column.size for column in columns) > _MAX_CELLS:
        return Constraint(rule=rule, how="redrawing")
    true, false, neither = _judged_cells(schema.parsed(rule), columns)
    forbidden = false & ~true & ~neither
    is_mixed = bool((false & (true | neither)).any())
    if forbidden.all():
        raise RuleError(
            Message("No record can satisfy the rule {rule!r}.", rule=Name(rule.name))
        )
    if not forbidden.any() or not _is_small(forbidden):
        return Constraint(
            rule=rule, how="redrawing" if is_mixed or forbidden.any() else "construction"
        )
    places = tuple(schema.names.index(name) for name in names)
    table = Rule(columns=places, forbidden=forbidden.copy())
    return Constraint(rule=rule, how="both" if is_mixed else "construction", table=table)


def _is_within(identity: Identity) -> bool:
    """Tell whether a column that follows from others can be missing or within its bounds."""
    operands: dict[str, Amount | Codes] = {}
    for column in (identity.column, *identity.parts):
        low, high = np.array(column.bounds) / column.factor
        can_miss = bool(column.missing) and column is not identity.column
        operands[column.name] = Amount(low, high, np.asarray(can_miss))
    true, _, neither = identity.judge(operands)
    return bool(true | neither)


def possible_codes(parsed: ParsedRule, schema: Schema) -> dict[int, Flags]:
    """Return which codes of each column a record may have that fulfils a rule."""
    columns = [schema.column(name) for name in parsed.rule.columns]
    if not columns or math.prod(column.size for column in columns) > _MAX_CELLS * _MAX_KINDS:
        return {}
    true = _judged_cells(parsed, columns).true
    return {
        schema.names.index(column.name): np.asarray(
            true.any(axis=tuple({*range(true.ndim)} - {axis})), bool
        )
        for axis, column in enumerate(columns)
    }


def _judged_cells(parsed: ParsedRule, columns: Sequence[Column]) -> Verdict:
    """Tell what may hold in each combination of codes."""
    operands = {
        column.name: _cells(column, axis, len(columns)) for axis, column in enumerate(columns)
    }
    shape = tuple(column.size for column in columns)
    return Verdict(*(np.broadcast_to(one, shape) for one in parsed.judge(operands)))


def _is_small(forbidden: Flags) -> bool:
    """Tell whether the engine can take the rule in: codes it treats alike are one group."""
    kinds = [
        len(np.unique(np.moveaxis(forbidden, axis, 0).reshape(size, -1), axis=0))
        for axis, size in enumerate(forbidden.shape)
    ]
    return max(kinds) <= _MAX_KINDS and math.prod(kinds) <= _MAX_KINDS**2 * 2


def _cells(column: Column, axis: int, axes: int) -> Amount | Codes:
    """Return what is known of each code of a column, along an axis."""
    shape = [1] * axes
    shape[axis] = column.size
    codes = np.arange(column.size).reshape(shape)
    if not isinstance(column, Numeric):
        return Codes(codes)
    ends = np.zeros((2, column.size))
    ends[:, : column.domain_size] = np.array(column.grid.cells(), float).T / column.factor
    low, high = (end.reshape(shape) for end in ends)
    return Amount(low, high, codes >= column.domain_size, codes)


def derive(
    parsed: ParsedRule,
    codes: NDArray[np.int32],
    *,
    numbers: dict[str, Integers],
    columns: Sequence[Column],
) -> None:
    """Work out a column that follows from others, in place.

    A number out of bounds is put at the bound: the record breaks the rule and is not kept.
    """
    identity = parsed.identity
    if identity is None:
        return
    column, place = identity.column, [one.name for one in columns].index(identity.column.name)
    amount = identity.amount(_operands(identity.parts, codes, numbers, columns))
    exact = np.rint(np.broadcast_to(amount.low, len(codes)) * column.factor)
    low, high = column.bounds
    numbers[column.name] = np.clip(exact, low, high).astype(np.int64)
    codes[:, place] = np.where(
        amount.missing, column.domain_size, column.grid.cell_of(numbers[column.name])
    )


def _operands(
    parts: Iterable[Column],
    codes: AnyIntegers,
    numbers: Mapping[str, Integers],
    columns: Sequence[Column],
) -> dict[str, Amount | Codes]:
    operands: dict[str, Amount | Codes] = {}
    names = {column.name for column in parts}
    for place, column in enumerate(columns):
        if column.name not in names:
            continue
        own_codes = codes[:, place]
        if isinstance(column, Numeric):
            exact = numbers[column.name] / column.factor
            operands[column.name] = Amount(
                exact, exact, own_codes >= column.domain_size, own_codes
            )
        else:
            operands[column.name] = Codes(own_codes)
    return operands


def judge_records(
    rules: Sequence[ParsedRule],
    codes: AnyIntegers,
    *,
    numbers: Mapping[str, Integers],
    columns: Sequence[Column],
) -> list[Verdict]:
    """Tell for each rule where it is true, false or neither."""
    names = {name for parsed in rules for name in parsed.rule.columns}
    needs = [column for column in columns if column.name in names]
    operands = _operands(needs, codes, numbers, columns)
    verdicts = (parsed.judge(operands) for parsed in rules)
    return [Verdict(*(np.broadcast_to(one, len(codes)) for one in test)) for test in verdicts]
