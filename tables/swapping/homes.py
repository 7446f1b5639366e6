"""From records to households: where each is, how rare, and whom it is like."""

from dataclasses import dataclass

import numpy as np

from footing.arrays import Floats, Integers, Words
from footing.messages import Message, Name
from tables.errors import DataError
from tables.filtering.filters import quote
from tables.keys import HashedKeys
from tables.secret import Secret
from tables.source.source import Source
from tables.swapping.plan import SwapPlan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Homes:
    """The households in an order that is drawn from their identifiers; for inside use only.

    Parameters
    ----------
    draw
        Per household, a hash of its identifier; they ascend.
    area
        Per household, its area of the finest level.
    paths
        Per area, its number at every level, from broad to fine.
    size
        Per household, its records.
    rarest
        Per level and household, the least number of records of its area that share the risk
        columns with a member; or one over the largest risk of a member, where risks are given.
    profiles
        Per profile and household, a number that two households share when they agree in it.
    """

    draw: Words
    area: Integers
    paths: Integers
    size: Integers
    rarest: Integers | Floats
    profiles: Integers

    def __len__(self) -> int:
        return len(self.draw)


def read_homes(
    source: Source, plan: SwapPlan, *, secret: Secret, areas: str, homes: str
) -> Homes:
    """Group the records by household."""
    _require_complete(source, plan)
    source.create(areas, _areas_sql(source, plan), {})
    levels = len(plan.geography)
    ranked = _numbered("l", levels)
    ranks = source.arrow(f"SELECT {ranked} FROM {areas} ORDER BY area").columns
    paths = np.stack([column.to_numpy().astype(np.int64) for column in ranks], axis=1)
    if len(paths) < 2:
        raise DataError(
            Message("All records are in one area, so that no household can move."),
            hint=Message("name a finer column of geography"),
        )
    parameters: dict[str, object] = {}
    draw = HashedKeys(column=plan.household, secret=secret).sql(source, parameters)
    source.create(homes, _homes_sql(source, plan, areas=areas, draw=draw), parameters)
    if plan.carry_along and source.fetch(f"SELECT bool_or(is_mixed) FROM {homes}")[0][0]:
        raise DataError(
            Message("Within some households, what is carried along differs."),
            hint=Message("carry columns along that are of the place, not of a person"),
        )
    if source.fetch(f"SELECT bool_or(is_split) FROM {homes}")[0][0]:
        raise DataError(
            Message(
                "Some households {household!r} live in several areas.",
                household=Name(plan.household),
            ),
            hint=Message("name an identifier that is unique over all areas"),
        )
    return _homes(source, plan, homes=homes, paths=paths)


def _require_complete(source: Source, plan: SwapPlan) -> None:
    names = [plan.household, *plan.geography, *plan.risk_values]
    missing = ", ".join(f"bool_or({quote(name)} IS NULL)" for name in names)
    total, *flags = source.fetch(f"SELECT count(*), {missing} FROM {source.relation}")[0]
    if not total:
        raise DataError(Message("The source has no record to swap."))
    for name in plan.risk_values:
        number = source.number_sql(name)
        bad = f"NOT isfinite({number}::DOUBLE) OR {number} < 0"
        if source.fetch(f"SELECT bool_or({bad}) FROM {source.relation}")[0][0]:
            raise DataError(
                Message("Some risks {name!r} are negative or not finite.", name=Name(name))
            )
    lacking = [repr(name) for name, is_missing in zip(names, flags, strict=True) if is_missing]
    if lacking:
        raise DataError(
            Message("Some records have no {lacking}.", lacking=Name.each(lacking)),
            hint=Message("leave such records out, or give them a category of their own"),
        )


def _areas_sql(source: Source, plan: SwapPlan) -> str:
    """Give areas numbers; all levels above tell an area apart too."""
    columns = [quote(column) for column in plan.geography]
    path = ", ".join(columns)
    names = ", ".join(f"{column} AS g{place}" for place, column in enumerate(columns))
    ranks = ", ".join(
        f"dense_rank() OVER (ORDER BY {_numbered('g', place + 1)}) AS l{place}"
        for place in range(len(columns))
    )
    return (
        f"SELECT row_number() OVER (ORDER BY {_numbered('g', len(columns))}) - 1 AS area, *,"
        f" {ranks} FROM (SELECT DISTINCT {names} FROM (SELECT {path} FROM {source.relation}))"
    )


def _homes_sql(source: Source, plan: SwapPlan, *, areas: str, draw: str) -> str:
    levels, household = len(plan.geography), quote(plan.household)
    risk = [f"r.{quote(column)}" for column in plan.risk]
    alike = {place: p for place, p in enumerate(plan.similar) if p}
    counts = ", ".join(
        f"count(*) OVER (PARTITION BY a.l{place}, {', '.join(risk)}) AS c{place}"
        for place in range(levels)
    )
    if plan.risk_values:
        names = (plan.risk_values * levels)[:levels]
        of_member = (f"{source.number_sql(name, of='r')}::DOUBLE" for name in names)
        rare = [f"CASE WHEN {x} > 0 THEN 1 / {x} ELSE 1e300 END" for x in of_member]
        counts = ", ".join(f"{sql} AS c{place}" for place, sql in enumerate(rare))
    carried = "".join(f", r.{quote(c)} AS x{n}" for n, c in enumerate(plan.carry_along))
    kept_along = "".join(f", any_value(x{n}) AS x{n}" for n in range(len(plan.carry_along)))
    mixed = [
        f"count(DISTINCT x{n}) + (count(x{n}) BETWEEN 1 AND count(*) - 1)::INTEGER > 1"
        for n in range(len(plan.carry_along))
    ]
    if mixed:
        kept_along += f", {' OR '.join(mixed)} AS is_mixed"
    out_along = "".join(f", x{n}" for n in range(len(plan.carry_along)))
    out_along += ", is_mixed" if mixed else ""
    members = "".join(
        f", row({', '.join(f'r.{quote(column)}' for column in profile)}) AS m{place}"
        for place, profile in alike.items()
    )
    same = " AND ".join(
        f"r.{quote(column)} = a.g{place}" for place, column in enumerate(plan.geography)
    )
    rarest = ", ".join(f"min(c{place}) AS c{place}" for place in range(levels))
    lists = "".join(f", list_sort(list(m{place})) AS m{place}" for place in alike)
    ranks = "".join(f", dense_rank() OVER (ORDER BY m{place}) AS p{place}" for place in alike)
    columns_sql = "".join(f", c{place}" for place in range(levels))
    return f"""
        WITH drawn AS (
            SELECT {household} AS home, {draw} AS draw FROM {source.relation}
            GROUP BY 1, 2
        ), members AS (
            SELECT r.{household} AS home, a.area AS area, {counts}{members}{carried}
            FROM {source.relation} r JOIN {areas} a ON {same}
        ), grouped AS (
            SELECT home, min(area) AS area, min(area) < max(area) AS is_split,
                count(*) AS size, {rarest}{lists}{kept_along}
            FROM members GROUP BY home
        )
        SELECT row_number() OVER (ORDER BY draw, home) - 1 AS number, home, draw, area,
            is_split, size{columns_sql}{ranks}{out_along}
        FROM grouped JOIN drawn USING (home)"""


def _homes(source: Source, plan: SwapPlan, *, homes: str, paths: Integers) -> Homes:
    levels = len(plan.geography)
    columns = ["area", "size", *(f"c{place}" for place in range(levels))]
    columns += [f"p{place}" if p else "0" for place, p in enumerate(plan.similar)]
    kinds = ["DOUBLE" if plan.risk_values and c[0] == "c" else "BIGINT" for c in columns]
    pairs = enumerate(zip(columns, kinds, strict=True))
    select_list = ", ".join(f"{column}::{kind} AS x{n}" for n, (column, kind) in pairs)
    answer = source.arrow(f"SELECT draw, {select_list} FROM {homes} ORDER BY number")
    draw, *numbers = (column.to_numpy() for column in answer.columns)
    return Homes(
        draw=draw,
        area=numbers[0],
        paths=paths,
        size=numbers[1],
        rarest=np.stack(numbers[2 : 2 + levels]),
        profiles=np.stack(numbers[2 + levels :]),
    )


def _numbered(letter: str, length: int) -> str:
    return ", ".join(f"{letter}{place}" for place in range(length))
