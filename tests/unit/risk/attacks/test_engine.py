"""Attacks on the engine itself, through the requests that users make."""

import numpy as np
import pandas as pd
import pytest

import ckm
from risk.attacks import Differencing, TwoPartition
from tables import Secret
from tests.unit.risk.attacks.support import r_table

AGES = ("0-14", "15-29", "30-44", "45-59", "60-74", "75+")


def people(counts):
    """Write counts by area and age as records."""
    lines = [
        (f"a{area}", AGES[age])
        for area, row in enumerate(counts)
        for age, count in enumerate(row)
        for _ in range(count)
    ]
    areas, ages = zip(*lines, strict=True)
    return pd.DataFrame({"id": range(len(lines)), "area": areas, "age": ages})


def oracle_of(engine, *, most_queries=10**9, least_groups=1):
    """Adapt an engine: one filtered total per group, a quota, and a rule on fine groups."""
    used = 0

    def oracle(request):
        nonlocal used
        if used + len(request.groups) > most_queries:
            raise PermissionError
        used += len(request.groups)
        names = [", ".join(f"'{AGES[place]}'" for place in group) for group in request.groups]
        tables = engine.tabulate_all(
            {
                str(n): ckm.TableRequest(
                    dimensions=[], where=f"area = 'a{request.line}' and age in ({ages})"
                )
                for n, ages in enumerate(names)
            }
        )
        return [
            int(table.to_arrow()["count"][0].as_py()) if len(group) >= least_groups else None
            for table, group in zip(tables.values(), request.groups, strict=True)
        ]

    return oracle


@pytest.fixture(scope="module")
def engine():
    rng = np.random.default_rng(101)
    counts = rng.integers(8, 25, (6, 6))
    options = {"id": "id", "secret": Secret(bytes(range(16))), "ptable": r_table(2, 1)}
    with ckm.Engine(people(counts), **options) as built:
        yield built, counts


@pytest.mark.slow
def test_averaging_finds_the_totals_of_the_engine(engine):
    # 6 lines at probability .951: 3 or fewer hits come once in 470 times; the secret is fixed.
    built, counts = engine
    attack, rng = TwoPartition(n_categories=6), np.random.default_rng(102)
    result = attack.run(oracle_of(built), truth=counts.sum(axis=1), rng=rng)
    assert result.successes >= 4
    assert (result.queries, result.refused) == (6 * 62, 0)


@pytest.mark.slow
def test_rules_and_quotas_of_a_service_count_against_averaging(engine):
    built, counts = engine
    truth, rng = counts.sum(axis=1), np.random.default_rng(103)
    attack = TwoPartition(n_categories=6)
    ruled = attack.run(oracle_of(built, least_groups=3), truth=truth, rng=rng)
    # Groups of one or two categories are refused: 6 of 15 pairs of three remain per area.
    assert ruled.refused == 6 * (6 + 15)
    assert ruled.queries == 6 * 62
    short = attack.run(oracle_of(built, most_queries=2 * 62), truth=truth, rng=rng)
    assert short.refused == 4 * 62
    assert short.successes <= 2


def test_a_request_that_the_engine_refuses_is_a_failed_query(engine):
    built, _ = engine

    def oracle(request):
        return [int(built.tabulate([], where="income > 3").n_rows) for _ in request.groups]

    rng = np.random.default_rng(104)
    result = TwoPartition(n_categories=3).run(oracle, truth=[5], rng=rng)
    assert (result.successes, result.queries, result.refused) == (0, 6, 6)


@pytest.mark.slow
def test_differencing_finds_persons_through_the_engine():
    # 32 lines with a person at probability .781: below 17 or above 31 comes once in 1,200.
    is_there = np.tile([1, 1, 0], 16)
    counts = np.column_stack([np.full(48, 20), is_there])
    secret = Secret(bytes(range(16, 32)))
    with ckm.Engine(people(counts), id="id", secret=secret, ptable=r_table(2, 1)) as built:
        found = Differencing().run(oracle_of(built), truth=is_there)
        right = Differencing(measure="accuracy").run(oracle_of(built), truth=is_there)
        limited = Differencing().run(oracle_of(built, most_queries=48), truth=is_there)
    assert 17 <= found.successes <= 31
    assert right.successes == found.successes + 16  # no empty sliver raises the alarm
    assert limited.refused == 48
    assert limited.successes < found.successes
