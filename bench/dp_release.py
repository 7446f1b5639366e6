"""Five private aggregates by 1,000 groups of 10 M rows of 1 M units, beside the bare queries.

One bare query counts the units of each group, as the tables do; the other leaves them out.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from bench.measure import DATA, Line, arguments, best_cpu, report

_BARE = (
    "SELECT g, {units} count(*), sum(x), avg(y), histogram(y // 10), "
    "quantile_disc(x, [.1, .25, .5, .75, .9]) FROM '{path}' GROUP BY g"
)


def write_records(rows: int) -> str:
    """Write rows of units that are in about ten groups each."""
    import duckdb

    DATA.mkdir(exist_ok=True)
    path = DATA / f"dp_release_{rows}.parquet"
    if not path.exists():
        duckdb.sql(
            f"COPY (SELECT (hash(i) % {rows // 10})::BIGINT u, (hash(i + 77) % 1000)::INT g, "
            "(hash(i * 3) % 100000)::INT x, (hash(i * 7) % 120)::INT y "
            f"FROM range({rows}) t(i)) TO '{path}'"
        )
    return str(path)


def plan_of(noise: str) -> Any:
    """Return five questions by 1,000 declared groups, three groups of a unit."""
    from dp import Plan, Question, TablePlan

    wide: dict[str, Any] = {"column": "x", "lower": 0, "upper": 100_000}
    table = TablePlan(
        name="bench",
        by={"g": tuple(map(str, range(1000)))},
        questions=(
            Question(kind="units"),
            Question(kind="sum", **wide),
            Question(kind="mean", column="y", lower=0, upper=120),
            Question(kind="histogram", column="y", edges=tuple(range(0, 130, 10))),
            Question(kind="quantiles", at=(0.1, 0.25, 0.5, 0.75, 0.9), **wide),
        ),
        groups_per_unit=3,
    )
    delta = 1e-7 if noise == "gaussian" else 0.0
    return Plan(unit="u", protects="unit", epsilon=1, delta=delta, tables=(table,))


def main() -> None:
    """Time both parts of a release, and the bare queries."""
    import duckdb

    from dp.aggregates.release import _answered
    from tables import open_source
    from tables.contribution_bounds import contributions

    given = arguments(__doc__, rows=10_000_000, repeats=3)
    path = write_records(given.rows)
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    bare = {
        name: best_cpu(
            lambda units=units: connection.sql(_BARE.format(units=units, path=path)).fetchall(),
            given.repeats,
        )[0]
        for name, units in (("with units", "count(DISTINCT u),"), ("without units", ""))
    }
    plan = plan_of("laplace")
    table = plan.tables[0]
    readings = [q.reading for q in table.questions if q.reading]
    with open_source(path) as source:
        read = partial(
            contributions,
            source,
            unit="u",
            by=table.by,
            groups_per_unit=3,
            rows_per_group=1,
            readings=readings,
        )
        reading, found = best_cpu(read, given.repeats)
    drawing = best_cpu(lambda: _answered(plan, table, found), 1)[0]
    whole = reading + drawing
    lines = [
        Line("the whole release", whole, "CPU s", f"bare query {name}", seconds, goal=goal)
        for (name, seconds), goal in zip(bare.items(), (3, None), strict=True)
    ]
    lines.append(Line("of that, drawing noise", drawing, "CPU s"))
    report(f"private tables of {given.rows:,} rows", lines)


if __name__ == "__main__":
    main()
