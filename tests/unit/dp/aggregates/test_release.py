"""Tables with noise: exact below the noise, right on average, within their intervals."""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from dp import BudgetLedger, BudgetSpentError, Plan, Question, TablePlan, audit, release
from dp.aggregates.release import _answered
from tables import RequestError, open_source
from tables.contribution_bounds import Bins, Contributions, contributions
from tests.unit.dp.support import ERROR

RUNS = 2_000
LETTERS = ("a", "b", "c")
QUESTIONS = (
    Question(kind="units"),
    Question(kind="rows"),
    Question(kind="sum", column="age", lower=0, upper=100),
    Question(kind="mean", column="age", lower=0, upper=100),
    Question(kind="histogram", column="age", edges=(0, 18, 65, 100)),
    Question(kind="quantiles", column="age", lower=0, upper=100, step=1, at=(0.1, 0.5, 0.9)),
    Question(kind="top", column="letter", categories=LETTERS, k=2),
    Question(kind="left-out"),
)
ANSWERED = [
    pytest.param(q, marks=[pytest.mark.slow] * (q.kind == "quantiles"))
    for q in QUESTIONS
    if q.kind != "top"
]
FOUND = (Question(kind="sum", column="age"), Question(kind="mean", column="age"))


def people(n=500, seed=1, groups="FM"):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "id": np.arange(n),
            "sex": rng.choice(list(groups), n),
            "age": rng.integers(0, 100, n),
            "letter": rng.choice(LETTERS, n, p=[0.6, 0.3, 0.1]),
        }
    )


def plan(questions, *, by=None, groups=1, rows=1, **words):
    table = TablePlan(
        name="t",
        by={"sex": ("F", "M")} if by is None else by,
        questions=questions,
        groups_per_unit=groups,
        rows_per_group=rows,
    )
    known = {"unit": "id", "protects": "person", "epsilon": 4.0, "tables": (table,)}
    return Plan(**known | words)


def read(made, data):
    table = made.tables[0]
    with open_source(data, threads=1) as source:
        return contributions(
            source,
            unit=made.unit,
            by=table.by,
            groups_per_unit=table.groups_per_unit,
            rows_per_group=table.rows_per_group,
            readings=[q.reading for q in table.questions if q.reading],
        )


def repeated(found, times):
    """One group as many groups: one draw is as many runs."""

    def many(bins):
        n = len(bins.bins)
        parts = {
            name: np.tile(getattr(bins, name), times) for name in ("bins", "counts", "totals")
        }
        return Bins(groups=np.repeat(np.arange(times), n), **parts)

    return Contributions(
        keys=tuple((str(n),) for n in range(times)),
        units=np.repeat(found.units, times),
        rows=np.repeat(found.rows, times),
        readings=tuple(map(many, found.readings)),
        left_out=found.left_out,
    )


def drawn(made, data, times):
    return _answered(made, made.tables[0], repeated(read(made, data), times)).answers


@pytest.fixture
def no_noise(monkeypatch):
    """For tests alone: what is drawn is 0, and the largest is chosen."""
    monkeypatch.setattr(
        "dp.mechanisms.noise.add_noise", lambda _law, values, **_: np.asarray(values)
    )
    monkeypatch.setattr(
        "dp.mechanisms.choice.choose_largest",
        lambda scores, **_: int(np.argmax(scores)),
    )


@pytest.mark.slow
def test_without_noise_all_answers_are_those_of_exact_tabulation(no_noise):
    data = people()
    made = plan(QUESTIONS, epsilon=1e6)
    found = _answered(made, made.tables[0], read(made, data))
    age, sex = data["age"].to_numpy(), np.array(data["sex"].to_pylist())
    letter = np.array(data["letter"].to_pylist())
    for place, key in enumerate("FM"):
        own = age[sex == key]
        units, rows, total, mean, bins, quantiles, top, _ = (
            answer.values[min(place, len(answer.values) - 1)] for answer in found.answers
        )
        assert units == rows == len(own)
        assert total == pytest.approx(own.sum())
        assert mean == pytest.approx(own.mean())
        assert bins.tolist() == np.histogram(own, [0, 18, 65, 101])[0].tolist()
        exact = np.quantile(own, [0.1, 0.5, 0.9], method="inverted_cdf")
        assert np.abs(quantiles - exact).max() <= 1
        counts = [(letter[sex == key] == name).sum() for name in LETTERS]
        assert np.flatnonzero(top == 1) == np.argmax(counts)
    assert found.answers[-1].values.tolist() == [[0, 0]]


def test_found_bounds_hold_all_values_without_noise(no_noise):
    made = plan(FOUND, epsilon=1e6)
    data = people()
    found = _answered(made, made.tables[0], read(made, data)).answers
    own = data["age"].to_numpy()[np.array(data["sex"].to_pylist()) == "F"]
    assert found[0].bounds == (0, 127)
    assert found[0].beyond[0] == 0
    assert found[0].values[0, 0] == own.sum()
    assert found[1].values[0, 0] == pytest.approx(own.mean())


def test_values_beyond_found_bounds_are_clamped_and_counted(no_noise, monkeypatch):
    monkeypatch.setattr("dp.mechanisms.noise.Noise.accuracy", lambda *_, **__: 2.0)
    data = pa.table(
        {"id": range(10), "sex": ["F"] * 10, "age": [5, 6, 7, 4, 5, 6, 7, 4, 900, -9]}
    )
    made = plan(FOUND[:1])
    found = _answered(made, made.tables[0], read(made, data)).answers[0]
    assert found.bounds == (4, 7)
    assert found.beyond[0] == 2
    assert found.values[0, 0] == 44 + 7 + 4


@pytest.mark.slow
@pytest.mark.parametrize("questions", [QUESTIONS[:6], FOUND], ids=["declared", "found"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_answers_are_right_on_average_and_within_their_intervals(delta, questions):
    """Over 2,000 runs; at 95 % no interval is missed more often than its chance explains."""
    data = people(400, groups="F")
    made = plan(questions, groups=2, rows=2, delta=delta, by={"sex": ("F",)})
    answers = drawn(made, data, RUNS)
    age = data["age"].to_numpy()
    quantiles = np.quantile(age, [0.1, 0.5, 0.9], method="inverted_cdf")
    bins = np.histogram(age, [0, 18, 65, 101])[0]
    truths = {
        "units": [400],
        "rows": [400],
        "sum": [age.sum()],
        "mean": [age.mean()],
        "histogram": bins,
        "quantiles": quantiles,
    }
    for question, found in zip(questions, answers, strict=True):
        truth = truths[question.kind]
        is_held = (found.lower <= truth) & (truth <= found.upper)
        least = binom.ppf(ERROR, RUNS, made.confidence)
        assert (is_held.sum(axis=0) >= least).all(), question.name
        if question.kind in {"units", "rows", "sum", "histogram"}:
            off = found.values.mean(axis=0) - truth
            assert (np.abs(off) < 6 * found.values.std(axis=0) / RUNS**0.5).all(), question.name


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_errors_told_before_are_exceeded_as_rarely_as_stated(delta):
    data = people(400, groups="F")
    made = plan((*QUESTIONS[:3], QUESTIONS[4]), delta=delta, by={"sex": ("F",)})
    age = data["age"].to_numpy()
    truths = ([400], [400], [age.sum()], np.histogram(age, [0, 18, 65, 101])[0])
    for part, found, truth in zip(made.parts, drawn(made, data, RUNS), truths, strict=True):
        is_near = np.abs(found.values - truth) <= part.error + 1e-9
        assert (is_near.sum(axis=0) >= binom.ppf(ERROR, RUNS, made.confidence)).all()


def neighbours(kind):
    """Data without a unit, and with one whose records are many, missing or extreme."""
    base = people(6, groups="F")
    own = {
        "repeated": [("F", 100, "a")] * 50,
        "missing": [("F", None, "a"), (None, 100, "a"), ("F", 100, None)] * 5,
        "extreme": [("F", 10**15, "a"), ("F", -(10**15), "a")],
    }[kind]
    columns = [[999] * len(own), *map(list, zip(*own, strict=True))]
    fields = zip(base.schema, columns, strict=True)
    more = pa.table([pa.array(c, f.type) for f, c in fields], schema=base.schema)
    return base, pa.concat_tables([base, more])


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.kind)
@pytest.mark.parametrize("kind", ["repeated", "missing", "extreme"])
def test_no_answer_tells_neighbours_apart_better_than_its_epsilon(question, kind):
    made = plan((question,), by={"sex": ("F",)}, epsilon=1.0, groups=1, rows=2)
    without, with_unit = (read(made, data) for data in neighbours(kind))

    def runs(found):
        def several(n):
            many = repeated(found, n)
            if question.kind == "left-out":
                one = [_answered(made, made.tables[0], found) for _ in range(n)]
                return np.array([r.answers[0].values[0].sum() for r in one])
            answers = _answered(made, made.tables[0], many).answers[0]
            weights = 3.0 ** np.arange(answers.values.shape[1])
            return np.nan_to_num(answers.values) @ weights  # one number of them all

        return several

    times = 1_000 if question.kind in {"left-out", "quantiles"} else 6_000
    found = audit(runs(without), runs(with_unit), runs=times, error=ERROR)
    assert not found.refutes(1.0)


def exact(made, data, monkeypatch):
    """What noise would go on, number by number, and the sensitivity that it was made for."""
    seen = []

    def kept(noise, values):
        numbers = np.asarray(values, dtype=float).ravel()
        if seen and seen[-1][0] is noise.sensitivity:  # the levels of a tree, one by one
            numbers = np.concatenate([seen.pop()[1], numbers])
        seen.append((noise.sensitivity, numbers))
        return np.asarray(values)

    monkeypatch.setattr("dp.mechanisms.noise.Noise.release", kept)
    # Noise of quantiles is drawn where it is looked at; here all of it is.
    monkeypatch.setattr(
        "dp.aggregates.quantiles._open_nodes", lambda _paths, shape: np.ones(shape, bool)
    )
    _answered(made, made.tables[0], read(made, data))
    return seen


@pytest.mark.parametrize("question", ANSWERED, ids=lambda q: q.kind)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_unit_moves_what_noise_goes_on_as_far_as_stated_and_no_farther(
    question, delta, monkeypatch
):
    base = people(6, groups="F")
    sexes, own = ["F", "M", "X"], {"letter": ["a"], "age": [100]}
    columns = {"id": [999] * 9, "sex": sexes * 3} | {name: v * 9 for name, v in own.items()}
    more = pa.concat_tables([base, pa.table(columns).select(base.column_names)])
    made = plan((question,), by={"sex": tuple(sexes)}, groups=2, rows=2, delta=delta)
    pairs = zip(exact(made, base, monkeypatch), exact(made, more, monkeypatch), strict=True)
    for (sensitivity, one), (_, other) in pairs:
        moved = other - one
        assert np.abs(moved).sum() == pytest.approx(sensitivity.l1)
        assert np.linalg.norm(moved) == pytest.approx(sensitivity.l2)


def test_a_unit_moves_the_bins_of_bounds_as_far_as_stated(monkeypatch):
    base = people(6, groups="F")
    columns = {"id": [999] * 6, "sex": ["F", "M"] * 3, "age": [70] * 6, "letter": ["a"] * 6}
    more = pa.concat_tables([base, pa.table(columns).select(base.column_names)])
    made = plan(FOUND[:1], groups=2, rows=2, delta=1e-6)
    (sensitivity, one), (_, other) = (exact(made, d, monkeypatch)[0] for d in (base, more))
    assert np.abs(other - one).sum() == sensitivity.l1 == sensitivity.l2 == 4


@pytest.mark.slow
def test_the_auditor_finds_a_bound_that_is_forgotten():
    """A planted fault: noise for one row, where fifty of a unit are kept."""
    made = plan(QUESTIONS[1:2], by={"sex": ("F",)}, epsilon=1.0)
    faulty = plan(QUESTIONS[1:2], by={"sex": ("F",)}, epsilon=1.0, rows=50)
    pair = [repeated(read(faulty, data), 4_000) for data in neighbours("repeated")]

    def runs(found):
        return lambda _n: _answered(made, made.tables[0], found).answers[0].values[:, 0]

    assert audit(runs(pair[0]), runs(pair[1]), runs=4_000, error=ERROR).refutes(1.0)


@pytest.mark.slow
def test_a_key_that_one_unit_has_is_not_found():
    data = people(1, groups="F")
    made = plan(QUESTIONS[:1], by={"sex": None}, delta=1e-6, noise="laplace")
    assert [_answered(made, made.tables[0], read(made, data)).keys for _ in range(200)] == [
        ()
    ] * 200
    many = _answered(made, made.tables[0], read(made, people(2_000)))
    assert many.keys == (("F",), ("M",))


@pytest.fixture
def ledger(tmp_path):
    return BudgetLedger.create(
        tmp_path / "budget.db", epsilon=4, adjacency="add-remove", unit="person"
    )


def released(ledger, made, data):
    with open_source(data, threads=1) as source:
        return release(partial(contributions, source), made, ledger=ledger, who="Ada", what="t")


def test_the_ledger_is_charged_before_noise_is_drawn(ledger, monkeypatch):
    def broken(*_, **__):
        raise OSError("no randomness")

    monkeypatch.setattr("dp.mechanisms.noise.add_noise", broken)
    with pytest.raises(OSError, match="no randomness"):
        released(ledger, plan(QUESTIONS[:1]), people(20))
    assert ledger.left.epsilon == 0


def test_what_cannot_be_read_costs_nothing(ledger):
    asked = (Question(kind="mean", column="wage", lower=0, upper=9),)
    with pytest.raises(RequestError, match="Column 'wage' is not in the data"):
        released(ledger, plan(asked), people(20))
    assert ledger.left.epsilon == 4


def test_without_budget_nothing_is_read(ledger):
    def unread(**_):
        raise AssertionError("records were read")

    with pytest.raises(BudgetSpentError, match="left is epsilon = 4"):
        release(unread, plan(QUESTIONS[:1], epsilon=4.5), ledger=ledger, who="Ada", what="t")
    assert ledger.entries() == ()
