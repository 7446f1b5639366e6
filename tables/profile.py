"""What the columns of a source are like: values, missing ones, and what nests in what."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from footing.messages import Message, Name
from tables.errors import SourceError
from tables.filtering.filters import quote
from tables.source.source import Source

_SAMPLE = 100_000
_AMOUNTS = ("integer", "number")
_KINDS = (*_AMOUNTS, "text", "boolean", "date")
#: Up to here the number of different values is exact.
COUNTED = 1000
# The estimate of distinct values may be off by this share.
_SLACK = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnProfile:
    """A column: its kind, the share that is missing, and about how many values it has.

    Parameters
    ----------
    name, kind
        As `Source` has them.
    missing
        Share of records without a value.
    distinct
        About how many different values; 0 where there are none, or none that are counted.
    is_positive
        Whether all values are numbers of 0 or more.
    is_whole
        Whether all values are whole numbers.
    has_decimals
        Whether the column has texts of whole numbers, some of them written with decimals, such
        as 15400.0: these may be amounts or codes.
    has_commas
        Whether the column has texts that are numbers only where the comma is the decimal mark.
    """

    name: str
    kind: str
    missing: float
    distinct: int
    is_positive: bool
    is_whole: bool
    has_decimals: bool = False
    has_commas: bool = False


def profile_columns(source: Source) -> tuple[int, list[ColumnProfile]]:
    """Return the number of records and what each column is like.

    Up to a thousand different values are counted, more are estimated.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import open_source
    >>> with open_source(pa.table({"sex": ["F", "M", None, "F"]})) as source:
    ...     profile_columns(source)[1][0].distinct
    2
    """
    expressions = ["count(*)"]
    for name, kind in source.kinds.items():
        column = quote(name)
        expressions.append(f"count({column})")
        expressions.append(f"approx_count_distinct({column})" if kind in _KINDS else "0")
        is_amount = source.is_number(name)
        number = source.number_sql(name) if is_amount else column
        expressions.append(f"min({number}) >= 0" if is_amount else "false")
        expressions.append(f"bool_and({number} = floor({number}))" if is_amount else "false")
        mark = "[.,]" if is_amount else ","
        is_text = source.is_text_of_csv(name)
        expressions.append(_has_mark(column, mark) if is_text else "false")
    records, *figures = source.fetch(f"SELECT {', '.join(expressions)} FROM {source.relation}")[
        0
    ]
    if not records:
        raise SourceError(
            Message("The source {label!r} has no records.", label=Name(source.label))
        )
    estimated = dict(zip(source.kinds, figures[1::5], strict=True))
    few = [name for name, distinct in estimated.items() if 0 < distinct <= _SLACK * COUNTED]
    if few:
        exact = ", ".join(f"count(DISTINCT {quote(name)})" for name in few)
        rows = source.fetch(f"SELECT {exact} FROM {source.relation}")
        estimated |= dict(zip(few, rows[0], strict=True))
    return records, [
        ColumnProfile(
            name=name,
            # Texts of numbers with decimals are amounts; those of whole numbers may be codes.
            kind="number"
            if is_whole is False and source.is_number(name)
            else source.kinds[name],
            missing=1 - there / records,
            distinct=min(estimated[name], there),
            is_positive=bool(is_positive),
            is_whole=bool(is_whole),
            has_decimals=bool(is_whole and has_mark),
            has_commas=bool(has_mark and not source.is_number(name)),
        )
        for name, there, is_positive, is_whole, has_mark in zip(
            source.kinds, *(figures[place::5] for place in (0, 2, 3, 4)), strict=True
        )
    ]


def _has_mark(column: str, mark: str) -> str:
    """Return SQL that tells whether texts are numbers, and some have decimals.

    Three decimals everywhere may be thousands: 1,000.
    """
    number = f"[+-]?[0-9]+({mark}[0-9]+)?"
    decimal = f"[+-]?[0-9]+{mark}([0-9]{{1,2}}|[0-9]{{4,}})"
    return (
        f"bool_and(regexp_full_match({column}, '{number}')) AND "
        f"bool_or(regexp_full_match({column}, '{decimal}'))"
    )


def is_unique(source: Source, name: str) -> bool:
    """Tell whether every record has a value of its own in a column."""
    column = quote(name)
    condition = f"count(DISTINCT {column}) = count(*)"
    return bool(source.fetch(f"SELECT {condition} FROM {source.relation}")[0][0])


def categories_of(source: Source, name: str) -> list[object]:
    """Return the values of a column, sorted, without missing."""
    column = quote(name)
    rows = source.fetch(f"SELECT DISTINCT {column} FROM {source.relation} ORDER BY 1")
    return [value for (value,) in rows if value is not None]


def ends_of(source: Source, name: str) -> tuple[Decimal, Decimal, Decimal, Decimal] | None:
    """Return of a column of numbers the least, the first and ninth tenth, and the largest.

    Examples
    --------
    >>> from tables import open_source
    >>> import pyarrow as pa
    >>> with open_source(pa.table({"age": range(101)})) as source:
    ...     [str(end) for end in ends_of(source, "age")]
    ['0', '10', '90', '100']
    """
    column = source.number_sql(name)
    finite = f"isfinite({column}::DOUBLE)"
    select_list = (
        f"min({column}), quantile_disc({column}, 0.1), quantile_disc({column}, 0.9), "
        f"max({column})"
    )
    rows = source.fetch(f"SELECT {select_list} FROM {source.relation} WHERE {finite}")
    ends = [None if end is None else Decimal(str(end)) for end in rows[0]]
    least, low, high, largest = ends
    if least is None or low is None or high is None or largest is None:
        return None
    return least, low, high, largest


def nestings(source: Source, distinct: Mapping[str, int]) -> dict[str, set[str]]:
    """Return for each column those that it lies in: each of its values has one value there.

    Missing is a value like others here. What a sample of the records refutes is not asked of
    all of them; what is returned holds for all.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import open_source
    >>> places = pa.table({"region": [1, 1, 2], "town": ["a", "b", "c"]})
    >>> with open_source(places) as source:
    ...     nestings(source, {"region": 2, "town": 3})
    {'region': set(), 'town': {'region'}}
    """
    coarser = {
        finer: {b for b in distinct if b != finer and distinct[b] <= _SLACK * distinct[finer]}
        for finer in distinct
    }
    columns = ", ".join(map(quote, distinct))
    sample = f"(SELECT {columns} FROM {source.relation} LIMIT {_SAMPLE})"
    for records in (sample, source.relation):
        coarser = {finer: _holding(source, records, finer, coarser[finer]) for finer in coarser}
    return coarser


def _holding(source: Source, records: str, finer: str, broader: Iterable[str]) -> set[str]:
    """Return the columns that have one value for each value of the finer one."""
    names = sorted(broader)
    if not names:
        return set()
    one = [
        f"count({c}) = 0 OR count({c}) = count(*) AND min({c}) = max({c})"
        for c in map(quote, names)
    ]
    inner = ", ".join(f"{test} AS t{number}" for number, test in enumerate(one))
    groups_sql = f"SELECT {inner} FROM {records} GROUP BY {quote(finer)}"
    outer = ", ".join(f"bool_and(t{number})" for number in range(len(names)))
    row = source.fetch(f"SELECT {outer} FROM ({groups_sql})")[0]
    return {name for name, holds in zip(names, row, strict=True) if holds}
