"""What units contribute to groups: at most so many rows, in at most so many groups each.

Which rows of a unit are kept, and in which groups, follows from its own rows and a number drawn
for the purpose. Hence a unit that is added or taken away moves its own rows and no others.
"""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from footing.messages import Enumeration, Message, Name, said
from tables.errors import RequestError
from tables.filtering.filters import Filter, parse_filter, quote

if TYPE_CHECKING:
    import pyarrow as pa

    from tables.source.source import Source

#: Columns that tell groups or units apart; of numbers, those count that are whole.
_KEYS = {"integer", "number", "text", "boolean", "date"}
_NUMBERS = {"integer", "number", "boolean"}
_WHOLE = 2**53
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
    digits
        Bins by sign, power of two and so many binary digits after the first, instead of cuts.
    widest
        Such a bin has at most two to the power of it multiples.
    categories
        Texts of the only values that count.

    Examples
    --------
    >>> Reading(column="age", limits=(0, 120), cuts=(18, 65)).categories
    ()
    """

    column: str
    step: float = 1.0
    limits: tuple[int, int] = (0, 1)
    cuts: tuple[int, ...] = ()
    digits: int | None = None
    widest: int = 62
    categories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bins:
    """What one reading found, bin by bin: disclosive.

    Parameters
    ----------
    groups
        Of each bin, the place of its group.
    bins
        Its number in the group; by digits, signed.
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
    readings: Sequence[Reading | Mapping[str, Any]] = (),
    where: str = "",
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
        What is read of the rows that are kept; the parameters of a reading will do.
    where
        A filter of the rows, before anything is bounded.

    Raises
    ------
    RequestError
        If a column is missing or of the wrong kind, or a declared key cannot be in it.
    FilterError
        If the filter does not fit the columns.

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
    bounding = _Bounding(
        source=source,
        unit=unit,
        by=tuple(by),
        declared=tuple(_declared(source, name, keys) for name, keys in by.items()),
        most_groups=groups_per_unit,
        most_rows=rows_per_group,
        readings=tuple(r if isinstance(r, Reading) else Reading(**r) for r in readings),
        where=parse_filter(where) if where else None,
    )
    bounding.require_columns()
    try:
        return bounding.found()
    finally:
        for name in (bounding.kept, bounding.groups):
            source.fetch(f"DROP TABLE IF EXISTS {name}")


def _declared(source: Source, name: str, keys: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the declared keys as the column writes them."""
    if keys is None:
        return None
    source.require(name)
    cast = f"TRY_CAST(k AS {_key_type(source, name)})"
    if source.kinds[name] in {"integer", "number"}:  # where a cast would round
        cast = f"CASE WHEN TRY_CAST(k AS DOUBLE) = {cast} THEN {cast} END"
    rows = source.fetch(
        f"SELECT ({cast})::VARCHAR FROM (SELECT unnest($keys) AS k)", {"keys": list(keys)}
    )
    texts = tuple(text for (text,) in rows)
    if None in texts:
        raise RequestError(
            Message(
                "Column {name!r} is {kinds}, and cannot hold the declared key {keys!r}.",
                name=Name(name),
                kinds=said(source.kinds[name]),
                keys=Name(keys[texts.index(None)]),
            ),
            hint=Message("declare keys as the column writes them"),
        )
    if len(set(texts)) < len(texts):
        raise RequestError(
            Message("A declared key of {name!r} stands twice.", name=Name(name)),
            hint=Message("remove one"),
        )
    return texts


@dataclass(frozen=True, kw_only=True)
class _Bounding:
    """Rows that are kept, in a table of ours, and what is counted of them."""

    source: Source
    unit: str
    by: tuple[str, ...]
    declared: tuple[tuple[str, ...] | None, ...]
    most_groups: int
    most_rows: int
    readings: tuple[Reading, ...]
    where: Filter | None

    @cached_property
    def kept(self) -> str:
        return self.source.new_name("ckm_kept")

    @cached_property
    def groups(self) -> str:
        return self.source.new_name("ckm_groups")

    @property
    def names(self) -> list[str]:
        """What the keys are called in our tables."""
        return [f"k{n}" for n in range(len(self.by))]

    @property
    def inside(self) -> str:
        """SQL of what is within the bounds; a row more was kept of what is cut."""
        return f"group_rank <= {self.most_groups} AND row_rank <= {self.most_rows}"

    def require_columns(self) -> None:
        needs = [
            (name, _KEYS, Message("tells units or groups apart"))
            for name in (self.unit, *self.by)
        ]
        needs += [
            (r.column, _KEYS, Message("has categories"))
            if r.categories
            else (r.column, _NUMBERS, Message("holds numbers"))
            for r in self.readings
        ]
        for name, kinds, role in needs:
            self.source.require(name)
            if kinds is _NUMBERS and self.source.is_number(name):
                continue
            if self.source.kinds[name] not in kinds:
                raise RequestError(
                    Message(
                        "A column that {role} is {kinds}; {name!r} is {kinds_2}.",
                        role=role,
                        kinds=Enumeration(" or ", Name.each(sorted(kinds))),
                        name=Name(name),
                        kinds_2=said(self.source.kinds[name]),
                    ),
                    hint=Message("make a column of another kind, or choose another"),
                )
        for error in (
            self.where.errors(self.source.types, self.source.refusals) if self.where else ()
        ):
            raise error

    def found(self) -> Contributions:
        parameters: dict[str, object] = {
            f"keys_{n}": list(keys) for n, keys in enumerate(self.declared) if keys is not None
        }
        parameters["salt"] = secrets.randbits(_SALT_BITS)
        condition = self.where.sql(self.source.types, parameters) if self.where else "true"
        self.source.create(self.kept, self._kept_sql(condition), parameters)
        rows = self._numbered_groups()
        readings = tuple(self._bins(f"v{n}", r) for n, r in enumerate(self.readings))
        left_out = self.source.fetch(
            f"SELECT count(*) FILTER (group_rank = {self.most_groups + 1} AND row_rank = 1), "
            f"count(*) FILTER (group_rank <= {self.most_groups} "
            f"AND row_rank = {self.most_rows + 1}) FROM {self.kept}"
        )[0]
        return Contributions(
            keys=tuple(row[:-2] for row in rows),
            units=np.array([row[-2] for row in rows], np.int64),
            rows=np.array([row[-1] for row in rows], np.int64),
            readings=readings,
            left_out=left_out,
        )

    def _kept_sql(self, condition: str) -> str:
        """Return SQL of the rows that are kept, and of one more of each that is cut."""
        who, *keys = (_key_sql(self.source, name) for name in (self.unit, *self.by))
        columns = list(dict.fromkeys(quote(r.column) for r in self.readings))
        near, content = ", ".join([who, *keys]), ", ".join(["$salt", who, *columns])
        # Contents themselves part those whose hashes are equal: which rows are kept of a unit
        # follows from them and the number, and from nothing that another unit has.
        order = ", ".join([f"hash({content})", *columns])
        inner = [f"{key} AS {name}" for key, name in zip(keys, self.names, strict=True)]
        inner += [f"{_value_sql(self.source, r)} AS v{n}" for n, r in enumerate(self.readings)]
        inner += [
            f"row_number() OVER (PARTITION BY {near} ORDER BY {order}) AS row_rank",
            f"{self._group_sql(who, keys)} AS group_rank",
        ]
        tests = [condition, *(f"{name} IS NOT NULL" for name in (who, *keys))]
        for n, (key, name) in enumerate(zip(keys, self.by, strict=True)):
            if self.declared[n] is not None:
                cast = f"unnest($keys_{n})::{_key_type(self.source, name)}"
                tests.append(f"{key} IN (SELECT {cast})")
        return (
            f"FROM (SELECT {', '.join(inner)} FROM {self.source.relation} "
            f"WHERE {' AND '.join(tests)}) WHERE row_rank <= {self.most_rows + 1} "
            f"AND (group_rank <= {self.most_groups} "
            f"OR (group_rank = {self.most_groups + 1} AND row_rank = 1))"
        )

    def _group_sql(self, who: str, keys: Sequence[str]) -> str:
        """Return SQL of the place of a row's group among those of its unit."""
        sizes = [len(texts) for texts in self.declared if texts is not None]
        if None not in self.declared and math.prod(sizes) <= self.most_groups:
            return "1"
        # The keys themselves part groups whose hashes are equal.
        order = ", ".join([f"hash({', '.join(['$salt', who, *keys])})", *keys])
        return f"dense_rank() OVER (PARTITION BY {who} ORDER BY {order})"

    def _numbered_groups(self) -> list[Any]:
        """Keep the groups in a table of ours; return keys, units and rows of each."""
        import pyarrow as pa

        select_list = [f"{name}::VARCHAR" for name in self.names]
        select_list += ["count(*) FILTER (row_rank = 1)", "count(*)"]
        rows = self.source.fetch(
            f"SELECT {', '.join(select_list)} FROM {self.kept} WHERE {self.inside} "
            f"{'GROUP BY ALL' if self.by else ''}"
        )
        sizes = {row[:-2]: row[-2:] for row in rows}
        keys = (
            sorted(sizes)
            if None in self.declared
            else list(itertools.product(*(texts or () for texts in self.declared)))
        )
        columns = {
            name: pa.array([key[n] for key in keys], pa.string())
            for n, name in enumerate(self.names)
        }
        place = pa.array(range(len(keys)), pa.int64())
        self.source.keep(self.groups, pa.table(columns | {"place": place}))
        return [(*key, *sizes.get(key, (0, 0))) for key in keys]

    def _bins(self, value: str, reading: Reading) -> Bins:
        """Count and sum the values of a reading by group and bin."""
        number, total, parameters = "bin", f"sum({value})", None
        if reading.categories:
            number, total = "list_position($categories, bin::VARCHAR) - 1", "0"
            parameters = {"categories": list(reading.categories)}
        columns_sql = "".join(f"{name}, " for name in self.names)
        texts_sql = "".join(f"{name}::VARCHAR AS {name}, " for name in self.names)
        join_sql = f"JOIN {self.groups} USING ({', '.join(self.names)})"
        table = self.source.arrow(
            f"WITH raw AS (SELECT {columns_sql}{_bin_sql(reading, value)} AS bin, "
            f"count(*) AS counts, {total} AS totals FROM {self.kept} "
            f"WHERE {self.inside} AND {value} IS NOT NULL GROUP BY ALL), "
            f"found AS (SELECT {texts_sql}({number})::BIGINT AS bins, counts, "
            f"least(greatest(totals, -{_MOST}), {_MOST})::BIGINT AS totals FROM raw) "
            f"SELECT place AS groups, bins, counts, totals FROM found "
            f"{join_sql if self.by else f', {self.groups}'} WHERE bins IS NOT NULL",
            parameters,
        )
        return Bins(**{name: _integers(table, name) for name in table.column_names})


def _key_type(source: Source, name: str) -> str:
    """Return the type of what tells groups apart; that of an enumeration lists its values."""
    if source.kinds[name] == "number":
        return "BIGINT"
    return "VARCHAR" if source.kinds[name] == "text" else source.columns[name]


def _key_sql(source: Source, name: str) -> str:
    """Return SQL of what tells units, groups or categories apart."""
    column, kind = quote(name), _key_type(source, name)
    if source.kinds[name] == "number":
        inside = f"abs({column}) < {_WHOLE}"
        return f"CASE WHEN {column} = trunc({column}) AND {inside} THEN {column}::BIGINT END"
    return column if kind == source.columns[name] else f"{column}::{kind}"


def _value_sql(source: Source, reading: Reading) -> str:
    """Return SQL of a value in whole steps, or of a category."""
    if reading.categories:
        return _key_sql(source, reading.column)
    name = source.number_sql(reading.column)
    # Below 1 a step is one over a whole number: multiplying is exact, dividing is not.
    scaled = (
        f"{name}::DOUBLE * {round(1 / reading.step)}"
        if reading.step < 1
        else f"{name}::DOUBLE / {reading.step!r}"
    )
    least, most = reading.limits
    clamped = f"least(greatest(round({scaled}), {least}), {most})::BIGINT"
    return f"CASE WHEN {name} IS NOT NULL THEN {clamped} END"  # both skip what is missing


def _bin_sql(reading: Reading, value: str) -> str:
    """Return SQL of the number of a value's bin."""
    if reading.categories:
        return value
    if reading.digits is not None:
        # Exact: limits stay far below 2**47, where a logarithm may round up. All but the first
        # digits are shifted away; bins of one power are 2**digits, in one row with the others.
        power = f"floor(log2(greatest(abs({value}), 1)))::BIGINT"
        shift = f"greatest(least({power} - {reading.digits}, {reading.widest}), 0)"
        size = f"{shift} * {1 << reading.digits} + (abs({value}) >> ({shift})::INTEGER)"
        return f"sign({value}) * ({size})"
    return " + ".join(["0", *(f"({value} >= {cut})::INTEGER" for cut in reading.cuts)])


def _integers(table: pa.Table, name: str) -> NDArray[np.int64]:
    return np.asarray(table[name].to_numpy(), dtype=np.int64)
