"""Records → cells: one scan for all tables and all their margins.

The scan groups by the finest cells; margins are rolled up from cells. Sums of keys and
weights are sums of integers, so no order of records, chunks or threads can change them.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tables.axes import build_axis
from tables.cells import Cells
from tables.errors import DataError
from tables.filters import Filter, quote
from tables.keys import RecordKeys, require_sound
from tables.request import Request, require_fit
from tables.sketch import Sketch, join_sketches, read_sketch, sketch_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from tables.axes import Axis
    from tables.source import Source

    Codes = NDArray[np.int32]
    Sums = NDArray[np.int64]

__all__ = ["cube"]

logger = logging.getLogger(__name__)

_WEIGHT_DECIMALS = 15
_MAX_GROUPED = 60  # DuckDB's grouping() tells up to 63 columns apart


def cube(
    source: Source,
    keys: RecordKeys,
    requests: Sequence[Request],
    *,
    tolerate_missing_keys: bool = False,
    sketch: int = 0,
    progress: Callable[[float], None] | None = None,
) -> list[Cells]:
    """Tabulate several requests in one scan of the records, or few for very many columns.

    Parameters
    ----------
    source
        The records.
    keys
        Their keys.
    requests
        The tables.
    tolerate_missing_keys
        Count a missing key as zero instead of refusing; sketches refuse in any case.
    sketch
        Also sketch every cell, so that sets which differ by up to this many records can be
        told, see `tables.sketch`; 0 sketches none.
    progress
        Called with the share of the scan done.

    Returns
    -------
    list of Cells
        One for each request, in order.

    Raises
    ------
    RequestError, SourceError
        If requests do not fit the columns; all problems at once.
    DataError
        If keys or weights are missing or out of range, or categories are undeclared.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from tables import Request, StoredKeys, open_source
    >>> records = pa.table({"sex": ["F", "M", "F"], "key": pa.array([1, 2, 3], pa.uint8())})
    >>> with open_source(records) as source:
    ...     (cells,) = cube(source, StoredKeys(column="key"), [Request(dimensions=["sex"])])
    >>> cells.count.tolist(), cells.cell_key.tolist()
    ([2, 1, 3], [4, 2, 6])
    """
    require_fit(requests, source)
    require_sound(source, keys, tolerate_missing=tolerate_missing_keys and not sketch)
    for weight in sorted({r.weight for r in requests if r.weight is not None}):
        _require_weights(source, weight)
    source.prepare_grouping()
    tables: list[Cells] = []
    scan_s = 0.0
    started = time.perf_counter()
    scans = _scans(requests)
    for done, batch in enumerate(scans):
        plan = _Plan(source, keys, batch, sketch=sketch)
        begun = time.perf_counter()
        tell = None if progress is None else _part_of(progress, done, len(scans))
        answer = source.arrow(plan.sql, plan.parameters, progress=tell)
        scan_s += time.perf_counter() - begun
        finest = [_finest(plan, request, answer, source) for request in batch]
        del answer  # as large as the cells: make room before rolling up
        for request in batch:
            axes, block = finest.pop(0)
            tables.append(_cells(axes, block, request, plan.key_range))
            del block
    logger.info(
        "tabulated",
        extra={
            "tables": len(requests),
            "scan_s": round(scan_s, 3),
            "rollup_s": round(time.perf_counter() - started - scan_s, 3),
        },
    )
    return tables


def _scans(requests: Sequence[Request]) -> list[list[Request]]:
    """Split requests so that no statement groups by more columns than DuckDB can tell apart."""
    scans: list[list[Request]] = []
    grouped: set[object] = set()
    for request in requests:
        mine = {*request.columns, request.where} - {None}
        if not scans or len(grouped | mine) > _MAX_GROUPED:
            scans.append([])
            grouped = set()
        scans[-1].append(request)
        grouped |= mine
    return scans


def _part_of(tell: Callable[[float], None], done: int, total: int) -> Callable[[float], None]:
    return lambda share: tell((done + share) / total)


class _Plan:
    """One statement that serves all requests.

    Requests over the same columns, or over columns of another request with the same filter,
    share a grouping; others get a grouping set each. Filters become columns of the grouping,
    so that all requests share one scan.
    """

    def __init__(
        self, source: Source, keys: RecordKeys, requests: Sequence[Request], *, sketch: int = 0
    ) -> None:
        kinds = self._kinds = source.kinds
        self.sketch = sketch
        self.parameters: dict[str, object] = {}
        self.orders = source.orders
        self.key_range = keys.resolve(source)
        key_sql = self._key_sql = keys.sql(source, self.parameters)
        self._key_parameters = dict(self.parameters)
        columns = list(dict.fromkeys(c for r in requests for c in r.columns))
        self.column_alias = {c: f"d{i}" for i, c in enumerate(columns)}
        weights = list(dict.fromkeys(r.weight for r in requests if r.weight is not None))
        self.weight_alias = {w: f"w{i}" for i, w in enumerate(weights)}
        filters: list[Filter] = []
        for request in requests:
            if isinstance(request.where, Filter) and request.where not in filters:
                filters.append(request.where)
        conditions = [f.sql(kinds, self.parameters) for f in filters]
        everything = any(r.where is None for r in requests)
        # A filter that all requests share is the statement's own; it needs no column.
        shared = not everything and len(filters) == 1
        self._flags = {} if shared else {f: f"f{i}" for i, f in enumerate(filters)}
        self._sets = self._grouping_sets(requests)

        inner = [f"{key_sql} AS k"]
        for column, alias in self.column_alias.items():
            inner.append(f"{quote(column)} AS {alias}")
        for weight, alias in self.weight_alias.items():
            inner.append(f"CAST({quote(weight)} AS DECIMAL(38,{_WEIGHT_DECIMALS})) AS {alias}")
        if self._flags:
            inner += [
                f"coalesce({c}, false) AS {flag}"
                for c, flag in zip(conditions, self._flags.values(), strict=True)
            ]
        where = "" if everything or not filters else f"WHERE {' OR '.join(conditions)}"
        outer = [*self.column_alias.values(), *self._flags.values()]
        selected = [
            *outer,
            "count(*) AS n",
            f"{_modulo('coalesce(sum(k), 0)', self.key_range)} AS key",
            *(
                f"sum({alias}) AS {alias}, count(*) FILTER ({alias} > 0) AS {alias}_n"
                for alias in self.weight_alias.values()
            ),
        ]
        records = f"SELECT {', '.join(inner)} FROM {source.relation} {where}"
        if sketch:
            columns, aggregates = sketch_columns(sketch, self.key_range)
            records = f"SELECT *, {', '.join(columns)} FROM ({records})"
            selected += aggregates
        if len(self._sets) > 1:
            selected.append(f"grouping({', '.join(outer)}) AS g")
            listed = ", ".join(f"({', '.join(sorted(s))})" for s in self._sets)
            group = f"GROUP BY GROUPING SETS ({listed})"
        else:
            group = f"GROUP BY {', '.join(outer)}" if outer else ""
        if frozenset() in self._sets:  # the grand total has a row even when nobody is there
            group += " HAVING count(*) > 0"
        self._outer = outer
        self.sql = f"SELECT {', '.join(selected)} FROM ({records}) {group}"

    def rows(self, request: Request, answer: pa.Table) -> pa.Table:
        """Return the rows of the answer from which the request's cells are rolled up."""
        import pyarrow.compute as pc

        if len(self._sets) > 1:
            chosen = self._chosen(request)
            # grouping() sets a bit, first column highest, where a column is summed over.
            bits = sum(1 << i for i, c in enumerate(reversed(self._outer)) if c not in chosen)
            answer = answer.filter(pc.equal(answer["g"], bits))
        flag = self._flags.get(request.where) if isinstance(request.where, Filter) else None
        return answer if flag is None else answer.filter(answer[flag])

    def members(
        self, source: Source, request: Request, rows: pa.Table, is_wanted: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Fetch the smallest keys of some rows of the answer: row numbers, and keys."""
        import pyarrow as pa

        chosen = self._chosen(request)
        aliases = {c: a for c, a in self.column_alias.items() if a in chosen}
        wanted = np.flatnonzero(is_wanted)
        columns = {alias: rows[alias].take(pa.array(wanted)) for alias in aliases.values()}
        beside = pa.table({"row": pa.array(wanted), **columns})
        parameters = dict(self._key_parameters)
        where = (
            f"WHERE {request.where.sql(self._kinds, parameters)}"
            if isinstance(request.where, Filter)
            else ""
        )
        inner = [f"{self._key_sql} AS k"]
        inner += [f"{quote(column)} AS {alias}" for column, alias in aliases.items()]
        same = [f"r.{a} IS NOT DISTINCT FROM b.{a}" for a in aliases.values()] or ["true"]
        found = source.arrow(
            f"SELECT row, unnest(keys) AS key FROM (SELECT b.row, min(k::UBIGINT, "
            f"{self.sketch + 1}) AS keys FROM (SELECT {', '.join(inner)} FROM "
            f"{source.relation} {where}) r JOIN {source.beside} b ON {' AND '.join(same)} "
            "GROUP BY b.row)",
            parameters,
            beside=beside,
        )
        return found["row"].to_numpy(), found["key"].to_numpy()

    def is_finest(self, request: Request) -> bool:
        """Whether the rows of the request are its finest cells, each once."""
        return self._wanted(request) in self._sets

    def _chosen(self, request: Request) -> frozenset[str]:
        """Return the grouping set from which the request's cells are rolled up."""
        wanted = self._wanted(request)
        fitting = (s for s in self._sets if wanted <= s)
        return min(fitting, key=lambda s: (len(s), sorted(s)))

    def _wanted(self, request: Request) -> frozenset[str]:
        wanted = {self.column_alias[c] for c in request.columns}
        if isinstance(request.where, Filter) and request.where in self._flags:
            wanted.add(self._flags[request.where])
        return frozenset(wanted)

    def _grouping_sets(self, requests: Sequence[Request]) -> list[frozenset[str]]:
        wanted = {self._wanted(request) for request in requests}
        unflagged = set(self._flags.values())
        return sorted(
            (
                s
                for s in wanted
                if not any(s < t and s & unflagged == t & unflagged for t in wanted)
            ),
            key=sorted,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Block:
    """Cells of one combination of levels, in the order of their codes."""

    codes: tuple[Codes, ...]
    count: Sums
    key: NDArray[np.uint64]
    weight: tuple[Sums, ...]
    sketch: Sketch | None = None


def _finest(
    plan: _Plan, request: Request, answer: pa.Table, source: Source
) -> tuple[tuple[Axis, ...], _Block]:
    """Return the axes of a request and its finest cells."""
    rows = plan.rows(request, answer)
    values = {
        c: _in_order(rows[plan.column_alias[c]], plan.orders.get(c)) for c in request.columns
    }
    pairs = [build_axis(request, dimension, values) for dimension in request.dimensions]
    axes = tuple(axis for axis, _ in pairs)
    weight: tuple[Sums, ...] = ()
    if request.weight is not None:
        alias = plan.weight_alias[request.weight]
        weight = (*_limbs(rows[alias]), rows[f"{alias}_n"].to_numpy().astype(np.int64))
    cells = _Block(
        codes=tuple(codes for _, codes in pairs),
        count=rows["n"].to_numpy().astype(np.int64),
        key=rows["key"].to_numpy().astype(np.uint64),
        weight=weight,
        sketch=_sketch(plan, request, rows, source) if plan.sketch else None,
    )
    sizes = tuple(axis.levels[0].size for axis in axes)
    return axes, _group(cells, sizes, plan.key_range, is_distinct=plan.is_finest(request))


def _sketch(plan: _Plan, request: Request, rows: pa.Table, source: Source) -> Sketch:
    """Return the sketches of the answer's rows, with the members of small ones."""
    sketch = read_sketch(rows, plan.sketch)
    is_small = sketch.is_small
    if not is_small.any():
        return sketch
    return sketch.with_members(*plan.members(source, request, rows, is_small))


def _in_order(values: pa.ChunkedArray, order: pa.Array | None) -> pa.ChunkedArray:
    """Code the values by categories that came in an order."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if order is None or pa.types.is_dictionary(values.type):
        return values
    order = order.cast(values.type)
    places = pc.index_in(values, value_set=order)
    chunks = places.chunks or [pa.array([], pa.int32())]
    return pa.chunked_array([pa.DictionaryArray.from_arrays(c, order) for c in chunks])


def _cells(axes: tuple[Axis, ...], finest: _Block, request: Request, key_range: int) -> Cells:
    """Roll the finest cells up to all wanted levels and lay them out as one list."""
    level_sets = tuple(request.level_sets([len(axis.levels) for axis in axes]))
    blocks = _roll_up(axes, finest, level_sets, key_range)
    shown = [_shown(axes, levels, blocks.pop(levels)) for levels in level_sets]
    limbs = [np.concatenate(parts) for parts in zip(*(b.weight for b in shown), strict=True)]
    return Cells(
        axes=axes,
        ranks=tuple(np.concatenate([b.codes[a] for b in shown]) for a in range(len(axes))),
        count=np.concatenate([block.count for block in shown]),
        cell_key=np.concatenate([block.key for block in shown]),
        key_range=key_range,
        weight=_from_limbs(limbs[:3]) if limbs else None,
        weighted_count=limbs[3] if limbs else None,
        level_sets=level_sets,
        sketch=join_sketches([b.sketch for b in shown if b.sketch is not None])
        if finest.sketch is not None
        else None,
    )


def _roll_up(
    axes: tuple[Axis, ...],
    finest: _Block,
    level_sets: Sequence[tuple[int, ...]],
    key_range: int,
) -> dict[tuple[int, ...], _Block]:
    """Compute every wanted combination of levels from the smallest finer one at hand."""
    blocks = {(0,) * len(axes): finest}
    for levels in sorted(level_sets, key=lambda s: (sum(s), s)):
        if levels in blocks:
            continue
        parent = min(
            (p for p in blocks if all(a <= b for a, b in zip(p, levels, strict=True))),
            key=lambda p: (len(blocks[p].count), p),
        )
        codes = []
        for axis, have, want, code in zip(
            axes, parent, levels, blocks[parent].codes, strict=True
        ):
            for level in axis.levels[have:want]:
                code = code if level.up is None else level.up[code]  # noqa: PLW2901
            codes.append(code)
        sizes = tuple(axis.levels[want].size for axis, want in zip(axes, levels, strict=True))
        coarser = replace(blocks[parent], codes=tuple(codes))
        blocks[levels] = _group(coarser, sizes, key_range)
    return blocks


def _group(
    cells: _Block, sizes: tuple[int, ...], key_range: int, *, is_distinct: bool = False
) -> _Block:
    """Sum cells with equal codes, or only sort cells known to be distinct."""
    total = 1
    for size in sizes:
        total *= max(size, 1)
    place = np.zeros(len(cells.count), np.int64)
    if total < 2**62:
        for code, size in zip(cells.codes, sizes, strict=True):
            place = place * size + code
    else:  # too many combinations to number: renumber axis by axis
        for code, size in zip(cells.codes, sizes, strict=True):
            _, place = np.unique(place * size + code, return_inverse=True)
        total = int(place.max(initial=-1)) + 1
    if total > 8 * len(place) + 1024:
        occupied, place = np.unique(place, return_inverse=True)
        total = len(occupied)
    first = np.full(total, -1, np.int64)
    first[place[::-1]] = np.arange(len(place))[::-1]
    kept = np.flatnonzero(first >= 0)
    first = first[kept]
    codes = tuple(code[first] for code in cells.codes)
    if is_distinct:
        weight = tuple(limb[first] for limb in cells.weight)
        sketch = None if cells.sketch is None else cells.sketch.take(first)
        return _Block(codes, cells.count[first], cells.key[first], weight, sketch)
    return _Block(
        codes,
        _sum_at(place, cells.count, total)[kept],
        _sum_keys(place, cells.key, total, key_range)[kept],
        tuple(_sum_at(place, limb, total)[kept] for limb in cells.weight),
        None if cells.sketch is None else cells.sketch.merge(place),
    )


def _sum_at(place: Sums, values: Sums, total: int) -> Sums:
    sums = np.zeros(total, np.int64)
    np.add.at(sums, place, values)
    return sums


def _sum_keys(
    place: Sums, keys: NDArray[np.uint64], total: int, key_range: int
) -> NDArray[np.uint64]:
    """Sum keys modulo `key_range`, exactly."""
    sums = np.zeros(total, np.uint64)
    if key_range == 2**64:
        np.add.at(sums, place, keys)
        return sums
    if key_range <= 2**32:
        np.add.at(sums, place, keys)
        return sums % np.uint64(key_range)
    # Sums of keys overflow 64 bits: sum the halves, then shift the high one back in.
    modulus = np.uint64(key_range)
    low = np.zeros(total, np.uint64)
    np.add.at(sums, place, keys >> np.uint64(32))
    np.add.at(low, place, keys & np.uint64(2**32 - 1))
    sums %= modulus
    for _ in range(32):
        sums = _add_modulo(sums, sums, modulus)
    return _add_modulo(sums, low % modulus, modulus)


def _add_modulo(
    a: NDArray[np.uint64], b: NDArray[np.uint64], modulus: np.uint64
) -> NDArray[np.uint64]:
    """Return (a + b) mod modulus for a, b < modulus, where the sum may pass 2**64."""
    return np.where(a >= modulus - b, a - (modulus - b), a + b)


def _shown(axes: tuple[Axis, ...], levels: tuple[int, ...], block: _Block) -> _Block:
    """Return the block's published cells, coded by their rank on each axis."""
    pairs = [axis.levels[level] for axis, level in zip(axes, levels, strict=True)]
    if not all(level.is_shown.all() for level in pairs):
        keep = np.ones(len(block.count), bool)
        for level, code in zip(pairs, block.codes, strict=True):
            keep &= level.is_shown[code]
        block = _Block(
            tuple(code[keep] for code in block.codes),
            block.count[keep],
            block.key[keep],
            tuple(limb[keep] for limb in block.weight),
            None if block.sketch is None else block.sketch.take(np.flatnonzero(keep)),
        )
    ranks = tuple(level.ranks[code] for level, code in zip(pairs, block.codes, strict=True))
    return replace(block, codes=ranks)


def _modulo(expression: str, key_range: int) -> str:
    if key_range & (key_range - 1) == 0:
        return f"(({expression})::HUGEINT & {key_range - 1}::HUGEINT)::UBIGINT"
    return f"(({expression})::HUGEINT % {key_range}::HUGEINT)::UBIGINT"


def _limbs(sums: pa.ChunkedArray) -> tuple[Sums, ...]:
    """Split 128-bit sums into three integers that can be summed on without overflow."""
    import pyarrow as pa

    array = sums.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.array([], sums.type)
    raw = np.frombuffer(array.buffers()[1] or b"", np.uint64)
    raw = raw[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = raw[0::2], raw[1::2].astype(np.int64)
    half = np.uint64(2**32 - 1)
    return (low & half).astype(np.int64), (low >> np.uint64(32)).astype(np.int64), high


def _from_limbs(limbs: Sequence[Sums]) -> NDArray[np.float64]:
    """Join the integers and scale them back; equal sums give equal floats."""
    low, middle, high = limbs
    middle = middle + (low >> 32)
    low = low & (2**32 - 1)
    high = high + (middle >> 32)
    middle = middle & (2**32 - 1)
    joined = high.astype(float) * 2.0**64 + (middle.astype(float) * 2.0**32 + low.astype(float))
    return np.asarray(joined / 10.0**_WEIGHT_DECIMALS)


def _require_weights(source: Source, weight: str) -> None:
    mark = ("weight", weight)
    if mark in source.sound:
        return
    column = quote(weight)
    is_missing, is_bad = source.fetch(
        f"SELECT count(*) > count({column}), coalesce(min({column}) < 0, false) OR "
        f"coalesce(NOT isfinite(max({column})::DOUBLE), false) FROM {source.relation}"
    )[0]
    if is_missing or is_bad:
        what = (
            "Some records have no weight"
            if is_missing
            else "Some weights are not finite and non-negative"
        )
        raise DataError(
            f"{what} in {weight!r}.", hint="repair them, or filter the records out beforehand"
        )
    source.sound.add(mark)
