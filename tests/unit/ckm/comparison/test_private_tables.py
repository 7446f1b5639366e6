"""One budget for all planned tables: what is spent, what agrees, what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckm.comparison import private_tables
from ckm.comparison import testbed as benches
from ckm.comparison.private_tables import PrivateMethod, agreeing
from ckm.errors import ConfigError
from dp import epsilon_of_rho
from risk.criteria.coded import CodedRecords, CubeRequest
from risk.criteria.criteria import measure_criteria

SIZES = (3, 4, 2)
PLANNED = [CubeRequest(dimensions=(1, 0)), CubeRequest(dimensions=(0, 2))]


def bench(n=400, units=None):
    rng = np.random.default_rng(4)
    codes = np.column_stack([rng.integers(0, size, n) for size in SIZES])
    return benches.Testbed(
        records=CodedRecords(codes, sizes=SIZES),
        names=("area", "age", "sex"),
        labels=tuple(tuple((str(k),) for k in range(size)) for size in SIZES),
        depths=(0, 0, 0),
        tables=((1, 0), (0, 2)),
        geography=0,
        target=2,
        coarser=(),
        moving=(),
        record_keys=np.arange(n, dtype=np.uint64),
        key_range=2**64,
        households={} if units is None else {"person": units},
    )


def method(testbed=None, seed=1, **changed):
    given = {"rho": 0.5, "delta": 1e-6, "rng": np.random.default_rng(seed)} | changed
    return PrivateMethod(testbed or bench(), PLANNED, **given)


def test_tables_that_agree_are_those_of_weighted_least_squares():
    rng = np.random.default_rng(1)
    margins = [(), (0,), (0, 1), (0, 2), (1,), (2,)]
    truth = rng.integers(0, 9, SIZES)
    rest = {p: tuple(a for a in range(3) if a not in p) for p in margins}
    noisy = {
        p: truth.sum(axis=rest[p]) + rng.normal(0, 2, [SIZES[a] for a in p]) for p in margins
    }
    variances = {places: float(rng.uniform(0.5, 3)) for places in margins}
    rows, aims = [], []
    cells = np.indices(SIZES).reshape(3, -1)
    for places in margins:
        for at in np.ndindex(noisy[places].shape):
            weight = variances[places] ** -0.5
            pairs = zip(places, at, strict=True)
            rows.append(
                weight * np.all([cells[p] == c for p, c in pairs], axis=0) * np.ones(24)
            )
            aims.append(weight * noisy[places][at])
    joint = np.linalg.lstsq(np.array(rows), np.array(aims), rcond=None)[0].reshape(SIZES)
    for places, table in agreeing(noisy, variances, sizes=SIZES).items():
        np.testing.assert_allclose(table, joint.sum(axis=rest[places]), atol=1e-9)


@pytest.mark.parametrize(("unit", "rows"), [(None, 1), ("person", 3)])
def test_all_that_is_spent_is_the_budget(monkeypatch, unit, rows):
    scales = []
    law = private_tables._law
    monkeypatch.setattr(private_tables, "_law", lambda s: scales.append(s) or law(s))
    method(bench(units=np.arange(400) // 5), rho=0.7, unit=unit, rows=rows)
    assert len(scales) == 6  # the total, three lines, two tables
    assert sum(rows**2 / (2 * scale**2) for scale in scales) == pytest.approx(0.7)


def test_a_unit_has_no_more_records_than_declared(monkeypatch):
    kept = []
    of = private_tables._bounded
    monkeypatch.setattr(private_tables, "_bounded", lambda *a: kept.append(of(*a)) or kept[0])
    units = np.arange(400) % 90
    facts = method(bench(units=units), unit="person", rows=2).facts()
    assert set(np.bincount(units[kept[0]])) == {2}
    assert len(set(kept[0].tolist())) == 180
    assert facts["not_counted"] == pytest.approx(1 - 180 / 400)
    assert facts["epsilon"] == epsilon_of_rho(0.5, delta=1e-6)


def test_answers_are_unbiased_and_spread_as_the_noise():
    request = CubeRequest(dimensions=(0, 1))
    testbed = bench(60)
    truth = testbed.records.counts(request)
    found = np.array([method(testbed, seed=s).publish(request) for s in range(150)]) - truth
    assert np.abs(found.mean(axis=0)).max() < 4 * found.std(axis=0).max() / 150**0.5
    weights = np.sqrt([1, 3, 4, 12, 2, 6])
    alone = weights.sum() / weights[3] / (2 * 0.5)  # the variance of its noise, before sums
    assert 0.4 * alone < found[:, :-1, :-1].var() < alone


def test_tables_agree_by_every_route_and_what_was_not_planned_is_refused():
    testbed = bench(120)
    found = measure_criteria(
        lambda office, planned: PrivateMethod(
            testbed, planned, rho=0.5, delta=1e-6, rng=np.random.default_rng(office)
        ),
        testbed.records,
        tables=testbed.tables,
        geography=0,
        sensitive=2,
        rng=np.random.default_rng(1),
        n_persons=9,
        n_unplanned=3,
    )
    for name in ("same_answer", "same_by_another_route", "additive"):
        assert found.share(name) == 1
    assert found.share("found_by_differencing") == 0
    assert found.share("decentral") < 1
    private = method(testbed)
    assert private.publish(CubeRequest(dimensions=(1, 2))) is None
    assert private.publish(CubeRequest(dimensions=(2,), within={0: (1,)}, without=(3,))) is None


def test_with_much_to_spend_filters_and_margins_are_the_truth():
    testbed = bench()
    private = method(testbed, rho=1e6)
    for request in (
        *PLANNED,
        CubeRequest(dimensions=()),
        CubeRequest(dimensions=(0,), within={1: (0, 3)}),
        CubeRequest(dimensions=(2, 0), within={0: (2,)}),
    ):
        np.testing.assert_allclose(
            private.publish(request), testbed.records.counts(request), atol=1e-6
        )
    assert (private.facts()["negative"], private.facts()["filled"]) == (0, None)


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"delta": 0.0025}, "delta must be less"), ({"rows": 2}, "rows is more")],
)
def test_settings_that_promise_nothing_are_refused(changed, said):
    with pytest.raises(ConfigError, match=said):
        method(**changed)


@pytest.mark.parametrize("rows", [1, 3])
def test_what_noise_goes_on_moves_with_a_unit_no_farther_than_its_budget(monkeypatch, rows):
    """Data with a unit, whose records are many and all of one cell, and without it.

    Exactly: squared moves over twice the variance, summed over all that is published, is rho.
    """
    seen = []

    def law(scale):
        seen.append([scale])
        return np.array([0]), np.array([1.0])

    def kept(noisy, variances, *, sizes):
        for pair, table in zip(seen, noisy.values(), strict=True):
            pair.append(table)
        return agreeing(noisy, variances, sizes=sizes)

    monkeypatch.setattr(private_tables, "_law", law)
    monkeypatch.setattr(private_tables, "agreeing", kept)
    units, found = np.append(np.arange(60), [99] * 9), []
    whole = bench(69, units=units)
    codes = whole.records.codes.copy()
    codes[60:] = codes[60]
    for n in (69, 60):
        seen.clear()
        records = CodedRecords(codes[:n], sizes=SIZES)
        one = replace(whole, records=records, households={"person": units[:n]})
        method(one, unit="person", rows=rows, rho=0.7)
        found.append(list(seen))
    losses = [
        np.sum((table - other) ** 2) / (2 * scale**2)
        for (scale, table), (_, other) in zip(*found, strict=True)
    ]
    assert sum(losses) == pytest.approx(0.7)
