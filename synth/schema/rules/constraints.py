"""Edit rules on codes: forbidden cells for the engine, and verdicts on drawn records."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from footing.arrays import AnyIntegers, Flags, Integers
from synth.errors import RuleError
from synth.schema.columns import Column, Numeric
from synth.schema.public import Rule
from synth.schema.rules.logic import Amount, Codes, Verdict
from synth.schema.rules.rules import EditRule, ParsedRule
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
        ``"construction"``: no cell that the model can draw breaks it. ``"both"``: cells that
        always break it are not drawn, records of other cells are drawn again. ``"redrawing"``:
        records that break it are drawn again.
    table
        The forbidden combinations of codes, if there are any.
    """

    rule: EditRule
    how: str
    table: Rule | None = None


def constraints_of(schema: Schema) -> list[Constraint]:
    """Return how each rule of a schema is kept."""
    return [_constraint(rule, schema) for rule in schema.rules]


def _constraint(rule: EditRule, schema: Schema) -> Constraint:
    names = sorted(rule.columns, key=schema.names.index)
    columns = [schema.column(name) for name in names]
    if not names or math.prod(column.size for column in columns) > _MAX_CELLS:
        return Constraint(rule=rule, how="redrawing")
    true, false, neither = _judged_cells(schema.parsed(rule), columns)
    forbidden = false & ~true & ~neither
    is_mixed = bool((false & (true | neither)).any())
    if forbidden.all():
        raise RuleError(f"No record can satisfy the rule {rule.name!r}.")
    if not forbidden.any() or not _is_small(forbidden):
        return Constraint(
            rule=rule, how="redrawing" if is_mixed or forbidden.any() else "construction"
        )
    places = tuple(schema.names.index(name) for name in names)
    table = Rule(columns=places, forbidden=forbidden.copy())
    return Constraint(rule=rule, how="both" if is_mixed else "construction", table=table)


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


def judge_records(
    rules: Sequence[ParsedRule],
    codes: AnyIntegers,
    *,
    numbers: Mapping[str, Integers],
    columns: Sequence[Column],
) -> list[Verdict]:
    """Tell for each rule where it is true, false or neither."""
    operands: dict[str, Amount | Codes] = {}
    wanted = {name for parsed in rules for name in parsed.rule.columns}
    for place, column in enumerate(columns):
        if column.name not in wanted:
            continue
        coded = codes[:, place]
        if isinstance(column, Numeric):
            exact = numbers[column.name] / column.factor
            operands[column.name] = Amount(exact, exact, coded >= column.domain_size, coded)
        else:
            operands[column.name] = Codes(coded)
    found = (parsed.judge(operands) for parsed in rules)
    return [Verdict(*(np.broadcast_to(one, len(codes)) for one in test)) for test in found]
