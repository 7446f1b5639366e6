"""In how many published counts a record is: what averaging leaves of their noise."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ckm.ledger.definition import Definition
from tables import FilterError
from tables.filtering.filters import parse_filter

#: Margins of a service's table: whatever totals the caller chose.
_CHOSEN = "chosen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Appearance:
    """A published table, and which of its margins had cells that no earlier table showed.

    Parameters
    ----------
    definition
        The table.
    digest
        The same for entries of a ledger with the same definition; empty for none.
    levels
        Name of a dimension → how many levels it has, where the definition does not say.
    new
        The combinations of levels with cells of other records than earlier tables showed;
        None where it is not known.
    """

    definition: Definition
    digest: bytes = b""
    levels: Mapping[str, int] = field(default_factory=dict)
    new: frozenset[frozenset[tuple[str, int]]] | None = frozenset()


def n_counts_with_a_record(tables: Iterable[Appearance]) -> int:
    """Return the most published counts that contain one record.

    Every combination of levels of a table is a partition of the records that pass its filter,
    so that one of its cells contains the record. It counts once, whichever tables show it, and
    again where cells of it hold other records than before: those of another year have noise of
    their own.

    Parameters
    ----------
    tables
        The tables, in the order in which they were published.

    Notes
    -----
    Weights of an unbiased estimate of a record's cell sum to 1 over the ``m`` counts that
    contain it, so that their noise has at least ``1/m`` of the variance of one (see
    `risk.reconstruction.least_squares.variance_left`). Filters are taken to let it pass, and
    a record of one year to be there in the others.

    Examples
    --------
    >>> table = Definition(name="t", dimensions=("sex", "age"))
    >>> n_counts_with_a_record([Appearance(definition=table)])
    4
    """
    counts: Counter[tuple[object, ...]] = Counter()
    digests = set[bytes]()
    n_unread = 0
    for table in tables:
        one = table.definition
        try:
            where, levels = _shape(one)
            combinations = set(_combinations(one, {**table.levels, **levels}))
        except (TypeError, ValueError, KeyError, IndexError):
            n_unread += 2 ** len(one.dimensions)
            continue
        is_again = table.new is None and table.digest in digests
        digests |= {table.digest} - {b""}
        for some in combinations:
            key = (one.method, one.data, where, some)
            is_other = some in table.new if table.new is not None else is_again
            counts[key] += not counts[key] or is_other
    return counts.total() + n_unread


def _shape(one: Definition) -> tuple[str, dict[str, int]]:
    """Return the filter of a table, and how many levels its hierarchies have."""
    if not one.shape:
        return _condition(one), {}
    content = json.loads(one.shape)
    if len(content) == 2:  # a method's settings stand beside
        content = json.loads(content[0])
    where, hierarchies = content[0], content[1]
    if isinstance(hierarchies, dict):  # categories that a caller of a service chose
        return one.shape, {}
    filters = "" if where == repr(None) else str(where)
    return _condition(one) or filters, {name: _n_levels(*of) for name, of in hierarchies}


def _condition(one: Definition) -> str:
    """Return a filter in one way of writing: entries of a ledger have its words alone."""
    if not one.where:
        return ""
    try:
        return repr(parse_filter(one.where))
    except FilterError:
        return one.where


def _n_levels(columns: list[str], tree: list[list[str]] | None) -> int:
    if tree is None:
        return len(columns)
    parents = {code: parent for code, parent in tree if parent}

    def depth(code: str) -> int:
        return 1 + depth(parents[code]) if code in parents else 1

    return max(map(depth, parents), default=1)


def _combinations(one: Definition, levels: dict[str, int]) -> Iterator[frozenset[object]]:
    """Give the combinations of levels of a table: dimensions, each with a level."""
    names = one.dimensions
    margins: list[tuple[str, ...]] = [names]
    if one.margins in {"all", _CHOSEN}:
        sizes = range(len(names) + 1)
        margins = [some for size in sizes for some in itertools.combinations(names, size)]
    elif one.margins != "none":
        lists = [tuple(some) for some in json.loads(one.margins)]
        if any(isinstance(level, int) for some in lists for level in some):
            yield from map(frozenset, (enumerate(some) for some in lists))  # of a service
            return
        margins += lists
    for margin in margins:
        every = [[(name, level) for level in range(levels.get(name, 1))] for name in margin]
        if math.prod(map(len, every)) > 0:
            yield from map(frozenset, itertools.product(*every))
