"""In how many published counts a record is: what averaging leaves of their noise."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterable, Iterator

from ckm.ledger.definition import Definition

#: Margins of a service's table: whatever totals the caller chose.
_CHOSEN = "chosen"


def n_counts_with_a_record(definitions: Iterable[Definition]) -> int:
    """Return the most published counts that contain one record.

    Every combination of levels of a table is a partition of the records that pass its filter,
    so that one of its cells contains the record. It counts once, whichever tables show it.

    Parameters
    ----------
    definitions
        The tables.

    Notes
    -----
    Weights of an unbiased estimate of a record's cell sum to 1 over the ``m`` counts that
    contain it, so that their noise has at least ``1/m`` of the variance of one (see
    `risk.reconstruction.least_squares.variance_left`). Filters are taken to let it pass.

    Examples
    --------
    >>> n_counts_with_a_record([Definition(name="t", dimensions=("sex", "age"))])
    4
    """
    counts: set[tuple[object, ...]] = set()
    n_unread = 0
    for one in definitions:
        try:
            where, levels = _shape(one)
            combinations = set(_combinations(one, levels))
        except (TypeError, ValueError, KeyError, IndexError):
            n_unread += 2 ** len(one.dimensions)
            continue
        counts |= {(one.method, one.data, where, some) for some in combinations}
    return len(counts) + n_unread


def _shape(one: Definition) -> tuple[str, dict[str, int]]:
    """Return the filter of a table, and how many levels its hierarchies have."""
    if not one.shape:
        return one.where or "", {}
    content = json.loads(one.shape)
    if len(content) == 2:  # a method's settings stand beside
        content = json.loads(content[0])
    where, hierarchies = content[0], content[1]
    if isinstance(hierarchies, dict):  # categories that a caller of a service chose
        return one.shape, {}
    filters = "" if where == repr(None) else str(where)
    return filters, {name: _n_levels(*of) for name, of in hierarchies}


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
