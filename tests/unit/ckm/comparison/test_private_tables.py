"""One budget for all planned tables: what is spent, what agrees, what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ckm.comparison import private_tables
from ckm.comparison.bench import QuestionFilter
from ckm.comparison.private_tables import PrivateTrial, agreeing
from ckm.engine.request import TableRequest
from ckm.errors import ConfigError
from dp import epsilon_of_rho
from risk.criteria.answers import Answers
from risk.criteria.coded import CodedQuestions, CodedRecords, CubeRequest, RecordMethod
from risk.criteria.criteria import judge

SIZES = (3, 4, 2)
NAMES = ("area", "age", "sex")
PLANNED = {"one": ("age", "area"), "two": ("area", "sex")}
QUESTIONS = {
    "whole": (("sex",), QuestionFilter()),
    "ages": (("area",), QuestionFilter(dimension="age", codes=(0, 3))),
    "area": (("sex", "area"), QuestionFilter(dimension="area", codes=(2,))),
    "other": (("age", "sex"), QuestionFilter()),
    "without": (("sex",), QuestionFilter(dimension="area", codes=(1,), row=3)),
}


def drawn(n=400):
    rng = np.random.default_rng(4)
    return np.column_stack([rng.integers(0, size, n) for size in SIZES])


def bench(n=400, units=None, codes=None):
    """Give what a trial asks of a bench: codes, labels, planned tables and questions."""
    codes = drawn(n) if codes is None else codes
    records = CodedRecords(codes, sizes=SIZES)
    requests = [
        CubeRequest(dimensions=tuple(map(NAMES.index, names))) for names in PLANNED.values()
    ]
    truth = CodedQuestions(lambda *_: RecordMethod(records), records, requests).planned
    return SimpleNamespace(
        n_records=len(codes),
        names=NAMES,
        counted={name: TableRequest(dimensions=d) for name, d in PLANNED.items()},
        truth=dict(zip(PLANNED, truth, strict=True)).__getitem__,
        sample=SimpleNamespace(
            dimensions={
                name: SimpleNamespace(
                    codes=(codes[:, place],),
                    labels=(tuple((str(code),) for code in range(SIZES[place])),),
                )
                for place, name in enumerate(NAMES)
            },
            groups={} if units is None else {"person": units},
        ),
        questions=SimpleNamespace(
            requests={n: TableRequest(dimensions=d) for n, (d, _) in QUESTIONS.items()},
            filters={name: about for name, (_, about) in QUESTIONS.items()},
        ),
    )


def method(testbed=None, seed=1, **changed):
    given = {"rho": 0.5, "delta": 1e-6, "seed": seed} | changed
    return PrivateTrial(testbed or bench(), **given)


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
    testbed = bench(60)
    answers = [method(testbed, seed=s).planned()["one"] for s in range(150)]
    found = np.array([answer.published - answer.count for answer in answers])
    assert np.abs(found.mean(axis=0)).max() < 4 * found.std(axis=0).max() / 150**0.5
    weights = np.sqrt([1, 3, 4, 12, 2, 6])
    alone = weights.sum() / weights[3] / (2 * 0.5)  # the variance of its noise, before sums
    is_inner = np.all(answers[0].ranks, axis=0)
    assert is_inner.sum() == 12
    assert 0.4 * alone < found[:, is_inner].var() < alone


def test_tables_agree_by_every_route_and_what_was_not_planned_is_refused():
    private = method(bench(120))
    planned, again, first, second = (
        list(tables.values())
        for tables in (private.planned(), private.again(), private.alone(1), private.alone(2))
    )
    found = judge(Answers(planned=planned, again=again, alone=(first, second)))
    for name in ("same_answer", "same_by_another_route", "additive"):
        assert found.share(name) == 1
    assert found.share("decentral") < 1
    answered = private.ask(QUESTIONS)
    refused = [name for name, answer in answered.items() if answer is None]
    assert refused == ["other", "without"]


def test_with_much_to_spend_filters_and_margins_are_the_truth():
    private = method(rho=1e6)
    answered = [*private.planned().values(), *private.ask(QUESTIONS).values()]
    for answer in filter(None, answered):
        np.testing.assert_allclose(answer.published, answer.count, atol=1e-6)
        assert answer.count.max() > 50
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
    codes = drawn(69)
    codes[60:] = codes[60]
    for n in (69, 60):
        seen.clear()
        one = bench(codes=codes[:n], units=units[:n])
        method(one, unit="person", rows=rows, rho=0.7)
        found.append(list(seen))
    losses = [
        np.sum((table - other) ** 2) / (2 * scale**2)
        for (scale, table), (_, other) in zip(*found, strict=True)
    ]
    assert sum(losses) == pytest.approx(0.7)
