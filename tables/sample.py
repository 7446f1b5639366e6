"""A sample of records as codes of categories, for trying methods out; disclosive."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from footing.messages import Message
from tables.errors import DataError, RequestError
from tables.filtering.filters import quote
from tables.keys import RecordKeys, require_sound
from tables.prepared.prepare import _code
from tables.prepared.prepared import LEVEL
from tables.recoding.derive import require_derived
from tables.request import Request, require_fit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from footing.arrays import Integers, Words
    from tables.cells.axes import Axis
    from tables.source.source import Source


logger = logging.getLogger(__name__)

#: The texts of a category, one per output column of its dimension.
Label: TypeAlias = tuple[str, ...]

_NAME = "ckm_sample"
#: Columns of a copy: the number of a record, and with that of a dimension its finest category.
ROW, CODE = "ckm_row", "ckm_code_"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class SampledDimension:
    """One dimension of sampled records, at each of its levels.

    Parameters
    ----------
    codes
        For each level, finest first and without the total, the category of every record.
    labels
        For each level, the categories.
    """

    codes: tuple[Integers, ...]
    labels: tuple[tuple[Label, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class RecordSample:
    """Records as codes. Disclosive: never write or print them.

    Parameters
    ----------
    dimensions
        Name → its codes.
    record_keys
        The key of every record, in [0, key_range).
    key_range
        One more than the largest possible key.
    groups
        Column → a number for each of its values, by record.
    n_records
        How many records there are outside the sample as well.
    drawn
        ``"all"`` records, those of some ``"areas"``, or ``"records"`` one by one.
    """

    dimensions: Mapping[str, SampledDimension]
    record_keys: Words
    key_range: int
    groups: Mapping[str, Integers]
    n_records: int
    drawn: str

    def __len__(self) -> int:
        return len(self.record_keys)

    def __repr__(self) -> str:
        return f"RecordSample({len(self.dimensions)} dimensions)"


def read_sample(
    source: Source,
    keys: RecordKeys | None,
    *,
    requests: Mapping[str, Request],
    area: str | None = None,
    groups: Sequence[str] = (),
    most_records: int = 20_000,
    most_areas: int = 100,
    seed: int = 1,
    tolerate_missing_keys: bool = False,
    copy: Path | None = None,
) -> RecordSample:
    """Read records as codes: all of them, or where there are more a sample.

    With `copy` the records themselves are written to this file, which must be private: their
    columns as they came, but those that are derived of others, the number `ROW` of each record
    in the sample, and for each dimension, by its place, the code of its finest category
    (`CODE`).
    """
    if most_records < 1 or most_areas < 1:
        raise RequestError(Message("A sample needs a record and an area at least."))
    require_fit(requests, source)
    if keys is not None:
        require_sound(source, keys, tolerate_missing=tolerate_missing_keys)
    require_derived(source, list(requests.values()))
    for name in groups:
        source.require(name)
    reader = _Reader(source, keys, requests, groups, copy)
    try:
        return reader.read(area, most_records=most_records, most_areas=most_areas, seed=seed)
    finally:
        reader.clean()


class _Reader:
    """The records with the categories of each, beside them in the database."""

    def __init__(
        self,
        source: Source,
        keys: RecordKeys | None,
        requests: Mapping[str, Request],
        groups: Sequence[str],
        copy: Path | None,
    ) -> None:
        self._source = source
        self._keys = keys
        self._copy = copy
        if copy is not None:
            for name in (ROW, *(f"{CODE}{place}" for place in range(len(requests)))):
                source.require_new(name)
        self._table = source.new_name(_NAME)
        self._axes: dict[str, Axis] = {}
        self._joins: list[str] = []
        self._groups = tuple(groups)
        self._columns = [c for request in requests.values() for c in request.columns]
        for place, (name, request) in enumerate(requests.items()):
            axis, coding = _code(source, name, request)
            source.keep(f"{self._table}_a{place}", coding)
            self._axes[name] = axis
            on = " AND ".join(
                f"r.{quote(c)} IS NOT DISTINCT FROM a{place}.{quote(c)}"
                for c in request.columns
            )
            self._joins.append(f"JOIN {self._table}_a{place} AS a{place} ON {on}")

    def clean(self) -> None:
        """Drop what was kept in the database."""
        for name in ("", *(f"_a{place}" for place in range(len(self._axes)))):
            self._source.fetch(f"DROP TABLE IF EXISTS {self._table}{name}")

    def read(
        self, area: str | None, *, most_records: int, most_areas: int, seed: int
    ) -> RecordSample:
        (n_records,) = self._source.fetch(f"SELECT count(*) FROM {self._source.relation}")[0]
        if not n_records:
            raise DataError(
                Message("There are no records."), hint=Message("look at the path of the data")
            )
        sizes = np.zeros(0, np.int64) if area is None else self._area_sizes(area)
        sampling, where, limit = "all", "", None
        if n_records > most_records or np.count_nonzero(sizes) > most_areas:
            areas = _drawn_areas(
                sizes, most_records=most_records, most_areas=most_areas, seed=seed
            )
            if len(areas) and area is not None:
                areas_sql = ", ".join(map(str, areas.tolist()))
                sampling, where = "areas", f"WHERE {self._level_of(area)} IN ({areas_sql})"
            else:
                sampling, limit = "records", most_records
        answer = self._records(where, limit=limit, seed=seed)
        return self._coded(answer, n_records=n_records, sampling=sampling)

    def _area_sizes(self, area: str) -> Integers:
        """Count the records of every area, in the order of its categories."""
        records = f"{self._source.relation} AS r {self._joins[list(self._axes).index(area)]}"
        answer = self._source.arrow(
            f"SELECT {self._level_of(area)} AS area, count(*) AS n FROM {records} GROUP BY 1"
        )
        sizes = np.zeros(self._axes[area].levels[0].size, np.int64)
        sizes[answer["area"].to_numpy()] = answer["n"].to_numpy()
        return sizes

    def _level_of(self, area: str) -> str:
        return f"a{list(self._axes).index(area)}.{quote(f'{LEVEL}0')}"

    def _records(self, where: str, *, limit: int | None, seed: int) -> pa.Table:
        parameters: dict[str, object] = {}
        key = quote(f"{self._table} key")
        own = [] if self._copy is None else self._copied
        names = dict.fromkeys([*self._columns, *self._groups, *own])
        number = "0" if self._keys is None else self._keys.sql(self._source, parameters)
        inner = [f"coalesce({number}, 0)::UBIGINT AS {key}"]
        inner += [quote(name) for name in names]
        columns = [f"r.{key} AS k"]
        for place, axis in enumerate(self._axes.values()):
            columns += [
                f"a{place}.{quote(f'{LEVEL}{step}')} AS d{place}_{step}"
                for step in range(len(axis.levels) - 1)
            ]
        columns += [
            f"dense_rank() OVER (ORDER BY r.{quote(name)}) AS g{place}"
            for place, name in enumerate(self._groups)
        ]
        columns += [f"r.{quote(name)} AS r{place}" for place, name in enumerate(own)]
        sql = (
            f"SELECT {', '.join(columns)} FROM (SELECT {', '.join(inner)} FROM "
            f"{self._source.relation}) AS r {' '.join(self._joins)} {where}"
        )
        if limit is not None:
            codes = ", ".join(f"d{place}_0" for place in range(len(self._axes)))
            sql = (
                f"SELECT * FROM ({sql}) "
                f"ORDER BY md5('{int(seed)} ' || k::VARCHAR), k, {codes} LIMIT {limit}"
            )
        if self._copy is None:
            return self._source.arrow(sql, parameters)
        return self._copied_records(sql, parameters, self._copy)

    @property
    def _copied(self) -> list[str]:
        """The columns of a copy: what is derived is derived of it again."""
        return [name for name in self._source.columns if name not in self._source.derived]

    def _copied_records(self, sql: str, parameters: dict[str, object], path: Path) -> pa.Table:
        """Keep the records of the sample in their order, write them, and return their codes."""
        codes = ["k"]
        for place, axis in enumerate(self._axes.values()):
            codes += [f"d{place}_{step}" for step in range(len(axis.levels) - 1)]
        codes += [f"g{place}" for place in range(len(self._groups))]
        listed = ", ".join(codes)
        numbered = f"SELECT *, row_number() OVER (ORDER BY {listed}) - 1 AS {ROW} FROM ({sql})"
        self._source.create(self._table, numbered, parameters)
        columns = [f"r{place} AS {quote(name)}" for place, name in enumerate(self._copied)]
        columns += [f"d{place}_0 AS {CODE}{place}" for place in range(len(self._axes))]
        rows = f"FROM {self._table} ORDER BY {ROW}"
        self._source.copy(f"SELECT {', '.join([*columns, ROW])} {rows}", {}, str(path))
        return self._source.arrow(f"SELECT {listed} {rows}")

    def _coded(self, answer: pa.Table, *, n_records: int, sampling: str) -> RecordSample:
        names = answer.column_names
        numbers = {name: answer[name].to_numpy() for name in names}
        order = np.lexsort([numbers[name] for name in reversed(names)])
        dimensions = {}
        for place, (name, axis) in enumerate(self._axes.items()):
            levels = axis.levels[:-1]
            dimensions[name] = SampledDimension(
                codes=tuple(
                    numbers[f"d{place}_{step}"][order].astype(np.int64)
                    for step in range(len(levels))
                ),
                labels=tuple(
                    tuple(tuple(str(texts[rank]) for texts in axis.labels) for rank in ranks)
                    for ranks in (level.ranks.tolist() for level in levels)
                ),
            )
        return RecordSample(
            dimensions=dimensions,
            record_keys=numbers["k"][order].astype(np.uint64),
            key_range=1 if self._keys is None else self._keys.resolve(self._source),
            groups={
                name: numbers[f"g{place}"][order].astype(np.int64)
                for place, name in enumerate(self._groups)
            },
            n_records=n_records,
            drawn=sampling,
        )


def _drawn_areas(sizes: Integers, *, most_records: int, most_areas: int, seed: int) -> Integers:
    """Draw areas until the next would be too much; none where not even two fit."""
    areas = np.random.default_rng(seed).permutation(np.flatnonzero(sizes))[:most_areas]
    sample = areas[np.cumsum(sizes[areas]) <= most_records]
    return np.sort(sample) if len(sample) > 1 else np.zeros(0, np.int64)
