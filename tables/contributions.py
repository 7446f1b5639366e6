"""What units contribute to groups: at most so many rows, in at most so many groups each.

Which rows of a unit are kept, and in which groups, follows from its own rows and a number drawn
for the purpose. Hence a unit that is added or taken away moves its own rows and no others.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tables.errors import RequestError
from tables.filtering.filters import quote

if TYPE_CHECKING:
    import pyarrow as pa

    from tables.source.source import Source

#: Columns that tell groups or units apart: a float is no key, since it may be written twice.
_KEYS = {"integer", "text", "boolean", "date"}
_NUMBERS = {"integer", "number", "boolean"}
_MOST = 2**62
_SALT_BITS = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a column is read: as whole steps within limits, or as one of some categories.

    Parameters
    ----------
    column
        Its name.
    step
        Numbers are rounded to multiples of it.
    limits
        Least and largest multiple; what lies beyond, infinity too, is moved to them.
    cuts
        Multiples at which a further bin begins, rising.
    width
        Multiples in a bin, instead of cuts; 0 for none.
    by_power
        Bins by sign and binary digits, instead of cuts.
    categories
        Texts of the only values that count; for a column that is no number.

    Examples
    --------
    >>> Reading(column="age", limits=(0, 120), width=10).categories
    ()
    """

    column: str
    step: float = 1.0
    limits: tuple[int, int] = (0, 1)
    cuts: tuple[int, ...] = ()
    width: int = 0
    by_power: bool = False
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """What one reading found, bin by bin: disclosive.

    Parameters
    ----------
    groups
        Of each bin, the place of its group.
    bins
        Its number in the group; by power, signed.
    counts, totals
        Rows with a value, and the sum of their multiples.

    Examples
    --------
    >>> one = np.array([0])
    >>> Bins(groups=one, bins=one, counts=one, totals=one).counts.size
    1
    """

    groups: NDArray[np.int64]
    bins: NDArray[np.int64]
    counts: NDArray[np.int64]
    totals: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contributions:
    """What units contribute to groups, after bounding: disclosive.

    Parameters
    ----------
    keys
        Of each group; those declared, or those that occur where none are.
    units, rows
        Of each group.
    readings
        One for each that was asked for.
    left_out
        Units with more groups than are kept; pairs of unit and group with more rows.

    Examples
    --------
    >>> no = np.zeros(0, np.int64)
    >>> Contributions(keys=(), units=no, rows=no, readings=(), left_out=(0, 0)).keys
    ()
    """

    keys: tuple[tuple[str, ...], ...]
    units: NDArray[np.int64]
    rows: NDArray[np.int64]
    readings: tuple[Bins, ...]
    left_out: tuple[int, int]

    def __repr__(self) -> str:
        return f"Contributions({len(self.readings)} readings)"


def contributions(
    source: Source,
    *,
    unit: str,
    by: Mapping[str, Sequence[str] | None],
    groups_per_unit: int,
    rows_per_group: int,
    readings: Sequence[Reading] = (),
) -> Contributions:
    """Bound what each unit contributes, and add it up; the records are read once.

    Parameters
    ----------
    source
        The opened source.
    unit
        Column of the units' identifiers; rows without one are left out.
    by
        Column → the keys of its groups; None for all that occur. Rows with a key missing, or
        one not declared, are left out before anything is bounded.
    groups_per_unit, rows_per_group
        What is kept of each unit.
    readings
        What is read of the rows that are kept.

    Raises
    ------
    RequestError
        If a column is missing or of the wrong kind, or a declared key cannot be in it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import open_source
    >>> people = pa.table({"id": [1, 1, 1, 2], "sex": ["F", "F", "F", "M"]})
    >>> with open_source(people) as source:
    ...     found = contributions(
    ...         source, unit="id", by={"sex": ["F", "M"]}, groups_per_unit=1, rows_per_group=2
    ...     )
    >>> found.keys, found.rows.tolist(), found.units.tolist(), found.left_out
    ((('F',), ('M',)), [2, 1], [1, 1], (0, 1))
    """
    _require_columns(source, unit, by, readings)
    parameters: dict[str, object] = {"salt": secrets.randbits(_SALT_BITS)}
    declared = []
    for name, keys in by.items():
        declared.append(_declared(source, name, keys))
        if keys is not None:
            parameters[f"keys_{len(declared) - 1}"] = declared[-1]
    kept, groups = source.new_name("ckm_kept"), source.new_name("ckm_groups")
    is_bounded = None not in declared and _product(declared) <= groups_per_unit
    source.create(
        kept,
        _kept_sql(
            source, unit, list(by), declared, groups_per_unit, rows_per_group, readings, is_bounded
        ),
        parameters,
    )
    try:
        inside = f"group_rank <= {groups_per_unit} AND row_rank <= {rows_per_group}"
        keys = _groups(source, kept, groups, declared, inside)
        found = [_bins(source, kept, groups, n, inside, r) for n, r in enumerate(readings)]
        beyond = source.fetch(
            f"SELECT count(*) FILTER (group_rank = {groups_per_unit + 1} AND row_rank = 1), "
            f"count(*) FILTER (group_rank <= {groups_per_unit} "
            f"AND row_rank = {rows_per_group + 1}) FROM {kept}"
        )[0]
    finally:
        for name in (kept, groups):
            source.fetch(f"DROP TABLE IF EXISTS {name}")
    return Contributions(
        keys=tuple(row[:-2] for row in keys),
        units=np.array([row[-2] for row in keys], np.int64),
        rows=np.array([row[-1] for row in keys], np.int64),
        readings=tuple(found),
        left_out=beyond,
    )


def _require_columns(
    source: Source,
    unit: str,
    by: Mapping[str, Sequence[str] | None],
    readings: Sequence[Reading],
) -> None:
    wanted = [(name, _KEYS, "tells units or groups apart") for name in (unit, *by)]
    wanted += [
        (r.column, _KEYS, "has categories")
        if r.categories
        else (r.column, _NUMBERS, "holds numbers")
        for r in readings
    ]
    for name, kinds, role in wanted:
        source.require(name)
        if source.kinds[name] not in kinds:
            raise RequestError(
                f"A column that {role} is {' or '.join(sorted(kinds))}; {name!r} is "
                f"{source.columns[name]}.",
                hint="make a column of another kind, or choose another",
            )


def _declared(source: Source, name: str, keys: Sequence[str] | None) -> list[str] | None:
    """Return the declared keys as the column writes them."""
    if keys is None:
        return None
    kind = source.columns[name]
    rows = source.fetch(
        f"SELECT TRY_CAST(k AS {kind})::VARCHAR FROM (SELECT unnest($keys) AS k)",
        {"keys": list(keys)},
    )
    for key, (text,) in zip(keys, rows, strict=True):
        if text is None:
            raise RequestError(
                f"Column {name!r} is {kind}, and cannot hold the declared key {key!r}.",
                hint="declare keys as the column writes them",
            )
    found = [text for (text,) in rows]
    if len(set(found)) < len(found):
        raise RequestError(f"A declared key of {name!r} stands twice.", hint="remove one")
    return found


def _product(declared: Sequence[list[str] | None]) -> int:
    return int(np.prod([len(keys) for keys in declared if keys is not None], dtype=object))


def _kept_sql(
    source: Source,
    unit: str,
    by: Sequence[str],
    declared: Sequence[list[str] | None],
    groups_per_unit: int,
    rows_per_group: int,
    readings: Sequence[Reading],
    is_bounded: bool,  # noqa: FBT001  (internal)
) -> str:
    """Return SQL of the rows that are kept, and of one more of each that is cut."""
    who, keys = quote(unit), [quote(name) for name in by]
    columns = list(dict.fromkeys(quote(r.column) for r in readings))
    near, content = ", ".join([who, *keys]), ", ".join(["$salt", who, *columns])
    row = f"row_number() OVER (PARTITION BY {near} ORDER BY hash({content}))"
    order = ", ".join([f"hash($salt, {near})", *keys])
    group = "1" if is_bounded else f"dense_rank() OVER (PARTITION BY {who} ORDER BY {order})"
    inner = [f"{key} AS k{n}" for n, key in enumerate(keys)]
    inner += [f"{_value_sql(r)} AS v{n}" for n, r in enumerate(readings)]
    tests = [f"{name} IS NOT NULL" for name in (who, *keys)]
    for n, (key, name) in enumerate(zip(keys, by, strict=True)):
        if declared[n] is not None:
            cast = f"unnest($keys_{n})::{source.columns[name]}"
            tests.append(f"{key} IN (SELECT {cast})")
    ranks = f"{row} AS row_rank, {group} AS group_rank"
    return (
        f"FROM (SELECT {', '.join([*inner, ranks])} FROM {source.relation} "
        f"WHERE {' AND '.join(tests)}) WHERE row_rank <= {rows_per_group + 1} "
        f"AND (group_rank <= {groups_per_unit} "
        f"OR (group_rank = {groups_per_unit + 1} AND row_rank = 1))"
    )


def _value_sql(reading: Reading) -> str:
    """Return SQL of a value in whole steps, or of a category."""
    name = quote(reading.column)
    if reading.categories:
        return name
    # A step below 1 is the inverse of a whole number: multiplying is exact where dividing is not.
    scaled = (
        f"{name}::DOUBLE * {round(1 / reading.step)}"
        if reading.step < 1
        else f"{name}::DOUBLE / {reading.step!r}"
    )
    least, most = reading.limits
    return f"least(greatest(round({scaled}), {least}), {most})::BIGINT"


def _groups(
    source: Source,
    kept: str,
    groups: str,
    declared: Sequence[list[str] | None],
    inside: str,
) -> list[Any]:
    """Number the groups, keep them in a table of ours, and return keys, units and rows."""
    import pyarrow as pa

    names = [f"k{n}" for n in range(len(declared))]
    texts = [f"{name}::VARCHAR AS {name}" for name in names]
    found = source.fetch(
        f"SELECT {', '.join([*texts, 'count(*) FILTER (row_rank = 1)', 'count(*)'])} "
        f"FROM {kept} WHERE {inside} {'GROUP BY ALL' if names else ''}"
    )
    known = {row[:-2]: row[-2:] for row in found}
    if None in declared:
        keys = sorted(known)
    else:
        keys = list(itertools.product(*(texts or () for texts in declared)))
    columns: dict[str, Any] = {f"k{n}": [key[n] for key in keys] for n in range(len(names))}
    columns["place"] = pa.array(range(len(keys)), pa.int64())
    for name in names:
        columns[name] = pa.array(columns[name], pa.string())
    source.keep(groups, pa.table(columns))
    return [(*key, *known.get(key, (0, 0))) for key in keys]


def _bins(
    source: Source, kept: str, groups: str, number: int, inside: str, reading: Reading
) -> Bins:
    """Count and sum the values of a reading by group and bin."""
    value, parameters = f"v{number}", None
    keys = [row[0] for row in source.fetch(f"DESCRIBE {groups}") if row[0] != "place"]
    bin_sql, total = _bin_sql(reading, value), f"sum({value})"
    text = "bin"
    if reading.categories:
        text, total = "list_position($categories, bin::VARCHAR) - 1", "0"
        parameters = {"categories": list(reading.categories)}
    named = "".join(f"{key}, " for key in keys)
    told = "".join(f"{key}::VARCHAR AS {key}, " for key in keys)
    joined = f"JOIN {groups} USING ({', '.join(keys)})" if keys else f", {groups}"
    table = source.arrow(
        f"WITH raw AS (SELECT {named}{bin_sql} AS bin, count(*) AS counts, {total} AS totals "
        f"FROM {kept} WHERE {inside} AND {value} IS NOT NULL GROUP BY ALL), "
        f"found AS (SELECT {told}({text})::BIGINT AS bins, counts, "
        f"least(greatest(totals, -{_MOST}), {_MOST})::BIGINT AS totals FROM raw) "
        f"SELECT place AS groups, bins, counts, totals FROM found {joined} "
        "WHERE bins IS NOT NULL",
        parameters,
    )
    return Bins(**{name: _integers(table, name) for name in table.column_names})


def _bin_sql(reading: Reading, value: str) -> str:
    """Return SQL of the number of a value's bin."""
    if reading.categories:
        return value
    if reading.by_power:  # exact: limits stay below 2**40
        return f"sign({value}) * CASE WHEN {value} = 0 THEN 0 ELSE 1 + floor(log2(abs({value}))) END"
    if reading.width:
        return f"({value} - {reading.limits[0]}) // {reading.width}"
    return " + ".join(["0", *(f"({value} >= {cut})::INTEGER" for cut in reading.cuts)])


def _integers(table: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(table[name].to_numpy(), dtype=np.int64)
