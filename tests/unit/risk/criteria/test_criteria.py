"""The criteria of a method, measured."""

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, solve
from risk.attacks import Differencing
from risk.criteria import criteria
from risk.criteria.coded import CodedRecords, CubeRequest, LookedUpMethod, RecordMethod
from risk.criteria.criteria import measure_criteria, small_counts_found
from risk.criteria.result import MEANINGS, Criteria
from risk.errors import RiskError

AREA, AGE, JOB = 0, 1, 2
TABLES = [(AREA,), (AREA, AGE), (AGE, JOB), (AREA, AGE, JOB)]


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(3)
    codes = np.column_stack(
        [rng.integers(0, 6, 360), rng.integers(0, 4, 360), rng.integers(0, 5, 360)]
    )
    return CodedRecords(codes, sizes=(6, 4, 5))


def always(method):
    return lambda _office, _planned: method


def measure(make, records, **changes):
    given = {
        "tables": TABLES,
        "geography": AREA,
        "sensitive": JOB,
        "rng": np.random.default_rng(11),
        "n_persons": 300,
    }
    found = measure_criteria(make, records, **(given | changes))
    return {criterion.name: criterion.share for criterion in found.measured}


class Masked:
    """Hide small cells of planned tables; refuse all others."""

    def __init__(self, records, planned):
        self.records, self.planned = records, planned

    def publish(self, request):
        if request not in self.planned:
            raise PermissionError("not planned")
        counts = self.records.counts(request)
        return np.ma.masked_where(counts < 5, counts)


def test_exact_counts_meet_every_criterion_but_protection(records):
    found = measure(always(RecordMethod(records)), records)
    assert found == {
        "same_answer": 1.0,
        "same_by_another_route": 1.0,
        "parts_below_totals": 1.0,
        "additive": 1.0,
        "found_by_differencing": 1.0,
        "sure_but_wrong": 0.0,
        "on_demand": 1.0,
        "decentral": 1.0,
        "cells_lost": 0.0,
        "small_counts_found": 1.0,
    }
    assert set(found) == set(MEANINGS)


def test_deterministic_rounding_is_consistent_and_not_additive(records):
    table = Mechanism.rounding(5).build()
    found = measure(always(LookedUpMethod(records, table)), records)
    for name in ("same_answer", "same_by_another_route", "decentral", "parts_below_totals"):
        assert found[name] == 1.0
    assert found["additive"] < 0.6
    # one person changes a count rounded to 5 one time in five
    assert found["found_by_differencing"] == pytest.approx(0.2, abs=0.06)
    assert found["sure_but_wrong"] == 0.0


def fresh(records, table):
    def make(office, _planned):
        rng = np.random.default_rng([7, office])
        return LookedUpMethod(records, table, keys="fresh", rng=rng)

    return make


def test_fresh_random_rounding_answers_otherwise_every_time(records):
    table = Mechanism.random_rounding(5).build()
    found = measure(fresh(records, table), records)
    for name in ("same_answer", "same_by_another_route", "decentral"):
        assert 0.3 < found[name] < 0.8
    assert found["additive"] < 0.4
    assert found["found_by_differencing"] < 0.4
    assert found["sure_but_wrong"] > 0.1


def test_parts_exceed_totals_in_thin_lines(records):
    thin = CodedRecords(records.codes[:100], sizes=records.sizes)
    found = measure(fresh(thin, Mechanism.random_rounding(5).build()), thin)
    assert 0.8 < found["parts_below_totals"] < 1.0


def test_the_cell_key_method_is_consistent_and_gives_one_person_away(records):
    table = solve(NoiseSpec(max_noise=2, variance=1.0))

    def make(_office, _planned):
        return LookedUpMethod(records, table, secret=b"what offices share")

    found = measure(make, records)
    for name in ("same_answer", "same_by_another_route", "decentral", "on_demand"):
        assert found[name] == 1.0
    assert found["parts_below_totals"] > 0.95
    assert found["additive"] < 0.4
    # the noise of all other cells is the same in both tables: only hers changes
    expected = Differencing().closed_form(table)
    assert found["found_by_differencing"] == pytest.approx(expected, abs=0.06)
    assert found["sure_but_wrong"] < 0.01
    assert found["cells_lost"] == 0.0


@pytest.mark.slow
def test_offices_of_two_secrets_give_two_answers(records):
    table = solve(NoiseSpec(max_noise=2, variance=1.0))

    def make(office, _planned):
        return LookedUpMethod(records, table, secret=bytes([office]))

    found = measure(make, records)
    assert found["same_by_another_route"] == 1.0
    assert found["decentral"] < 0.6


def test_suppression_loses_cells_and_serves_planned_tables_alone(records):
    found = measure(lambda _office, planned: Masked(records, planned), records)
    assert found["same_answer"] == 1.0
    assert found["same_by_another_route"] == 1.0
    assert found["on_demand"] == 0.0
    assert found["found_by_differencing"] == 0.0
    assert 0.3 < found["cells_lost"] < 0.9
    assert found["additive"] == 1.0


def test_swapped_records_add_up_and_hide_those_who_moved(records):
    rng = np.random.default_rng(8)
    codes = records.codes.copy()
    moved = rng.choice(len(codes), 120, replace=False)
    codes[moved, AREA] = np.roll(codes[moved, AREA], 1)
    other = CodedRecords(codes, sizes=records.sizes)
    found = measure(always(RecordMethod(other)), records)
    assert found["additive"] == found["decentral"] == found["on_demand"] == 1.0
    left = (codes[:, AREA] == records.codes[:, AREA]).mean()
    assert left < 0.8
    assert found["found_by_differencing"] == pytest.approx(left, abs=0.06)


def test_what_cannot_be_measured_is_open_and_not_good(records):
    found = measure(always(RecordMethod(records)), records, tables=[(JOB,)])
    assert found["decentral"] is None

    class Closed:
        def publish(self, _request):
            return None

    closed = measure(always(Closed()), records)
    assert closed["cells_lost"] == 1.0
    assert closed["additive"] is None
    assert closed["parts_below_totals"] is None
    assert closed["on_demand"] == 0.0


def test_a_method_that_answers_in_another_shape_is_a_mistake(records):
    class Wrong:
        def publish(self, _request):
            return np.zeros(3)

    with pytest.raises(RiskError, match="table of shape"):
        measure(always(Wrong()), records)


@pytest.mark.parametrize("codes", [[], [[0.5]], [[-1]], [1, 2], [["a"]]])
def test_records_must_be_coded(codes):
    with pytest.raises(RiskError):
        CodedRecords(codes)


def test_requests_must_fit_the_records(records):
    with pytest.raises(RiskError, match="3 attributes"):
        records.counts(CubeRequest(dimensions=(3,)))
    with pytest.raises(RiskError, match="once"):
        CubeRequest(dimensions=(1, 1))
    with pytest.raises(RiskError, match="places"):
        CubeRequest(dimensions=("age",))
    with pytest.raises(RiskError, match="at least one"):
        measure(always(RecordMethod(records)), records, tables=[])
    with pytest.raises(RiskError, match="attributes"):
        measure(always(RecordMethod(records)), records, geography=9)


def test_counts_and_sums_are_those_of_a_loop(records):
    request = CubeRequest(dimensions=(2, 0), within={1: (1, 3)}, without=(5, 6))
    counts = records.counts(request)
    kept = [
        row
        for place, row in enumerate(records.codes.tolist())
        if row[1] in (1, 3) and place not in (5, 6)
    ]
    for job in range(5):
        for area in range(6):
            assert counts[job, area] == sum(r[2] == job and r[0] == area for r in kept)
    assert counts[-1, -1] == len(kept)
    assert counts[2, -1] == sum(r[2] == 2 for r in kept)


def test_a_criterion_that_was_not_measured_is_named():
    with pytest.raises(RiskError, match="No criterion 'beauty'"):
        Criteria(method="", simple="", measured=()).share("beauty")


def share_found(make, records, **changes):
    return small_counts_found(make, records, **({"tables": TABLES, "small": 2} | changes))


@pytest.fixture(scope="module")
def skewed():
    rng = np.random.default_rng(3)
    shares = (
        [0.5, 0.3, 0.1, 0.06, 0.03, 0.01],
        [0.6, 0.3, 0.08, 0.02],
        [0.5, 0.3, 0.1, 0.07, 0.03],
    )
    return CodedRecords(np.column_stack([rng.choice(len(p), 1500, p=p) for p in shares]))


def test_hiding_small_cells_alone_hides_little_and_noise_hides_more_the_wider_it_is(skewed):
    records = skewed
    hidden = share_found(lambda _office, planned: Masked(records, planned), records)
    widths = [
        share_found(
            always(
                LookedUpMethod(records, solve(NoiseSpec(max_noise=d, variance=v)), secret=b"s")
            ),
            records,
        )
        for d, v in ((2, 0.5), (5, 4.0))
    ]
    assert min(hidden, widths[0]) > widths[1] + 0.1
    assert small_counts_found(always(RecordMethod(records)), records, tables=TABLES) == 1


def test_a_single_hidden_cell_of_a_line_is_found_with_the_other_tables_alone():
    codes = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [1, 9, 8, 7], axis=0)
    records = CodedRecords(codes)
    alone = lambda _office, planned: Masked(records, planned)  # noqa: E731
    assert share_found(alone, records, tables=[(0, 1)]) == 1
    # without its margins no table of one cell says what is hidden
    no_small = CodedRecords(np.repeat([[0], [1]], [8, 9], axis=0))
    assert share_found(always(RecordMethod(no_small)), no_small, tables=[(0,)]) is None


def test_too_large_a_joint_table_is_attacked_table_by_table(skewed, monkeypatch):
    def base():
        found = measure_criteria(
            always(RecordMethod(skewed)),
            skewed,
            tables=[(AREA, AGE, JOB), (AREA, JOB)],
            geography=AREA,
            sensitive=JOB,
            rng=np.random.default_rng(1),
            n_persons=1,
        )
        return next(c.base for c in found.measured if c.name == "small_counts_found")

    whole = skewed.counts(CubeRequest(dimensions=(AREA, AGE, JOB)))
    part = skewed.counts(CubeRequest(dimensions=(AREA, JOB)))
    n_whole, n_part = (int(((c >= 1) & (c <= 2)).sum()) for c in (whole, part))
    assert (base(), n_part > 0) == (n_whole, True)  # the second is a margin of the first
    monkeypatch.setattr(criteria, "_MAX_JOINT", 100)
    assert base() == n_whole + n_part


def test_what_is_hidden_is_lost_as_a_whole(records):
    method = Masked(records, [CubeRequest(dimensions=(AREA, AGE, JOB))])
    found = measure_criteria(
        always(method),
        records,
        tables=[(AREA, AGE, JOB)],
        geography=AREA,
        sensitive=JOB,
        rng=np.random.default_rng(1),
        n_persons=1,
    )
    counts = records.counts(CubeRequest(dimensions=(AREA, AGE, JOB)))
    counts = counts[counts > 0]
    assert found.mean_change == 0
    assert found.mean_loss == pytest.approx(counts[counts < 5].sum() / len(counts))
