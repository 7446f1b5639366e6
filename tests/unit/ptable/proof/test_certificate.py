import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest

from ptable import (
    Certificate,
    Limits,
    NoiseSpec,
    PTable,
    PTableError,
    PTableWarning,
    solve,
)
from ptable.design.stack import StackedSpec
from ptable.proof.certificate import (
    _certify_limited,
    _differences,
    _is_close,
    breaches,
    certify,
    prove_again,
)
from ptable.proof.limits import LimitsCertificate
from ptable.solver.joint import Joint


@pytest.fixture(scope="module")
def table():
    return solve(NoiseSpec(max_noise=3, variance=1.0, small=1))


def test_a_certificate_is_checked_from_the_integers(table):
    table.certificate.check(table)
    assert table.certificate.largest_gap < 1e-8
    assert set(table.certificate.solver) == {"cvxpy", "Clarabel", "numpy"}


def test_a_certificate_is_plain_json(table):
    text = json.dumps(table.certificate.to_dict())
    assert Certificate.from_dict(json.loads(text)) == table.certificate


@pytest.mark.parametrize(
    "change",
    [
        {"solver": 5},
        {"status": "opt\nimal"},
        {"distance": "near"},
        {"distance": True},
        {"unsolved": ["1"]},
    ],
)
def test_a_record_of_something_else_is_refused(table, change):
    fields = table.certificate.to_dict()
    fields["record"] |= change
    with pytest.raises(PTableError, match="does not say what the solver did"):
        Certificate.from_dict(fields)


def test_certificates_of_before_have_no_record(table):
    fields = table.certificate.to_dict()
    del fields["record"]
    before = Certificate.from_dict(fields)
    assert before.record is None
    assert "record" not in before.to_dict()
    before.check(table)


def test_a_table_that_is_not_optimal_is_found_out(table):
    rows = [table.units(count) for count in range(table.n_rows)]
    for v, change in ((-2, 3000), (-1, -9000), (0, 9000), (1, -3000)):
        rows[-1][v] += change * 100
    other = PTable.from_units(rows).with_proof(table.spec, table.certificate)
    with pytest.raises(PTableError, match=r"entropy of count 5"):
        table.certificate.check(other)


def test_a_changed_multiplier_is_found_out(table):
    first, *others = table.certificate.rows
    wrong = replace(others[-1], multipliers=(0.5, -0.1))
    proof = replace(table.certificate, rows=(first, *others[:-1], wrong))
    with pytest.raises(PTableError, match="residual of count 5"):
        proof.check(table)


def test_another_specification_is_found_out(table):
    other = table.with_proof(NoiseSpec(max_noise=3, variance=1.1, small=1), table.certificate)
    with pytest.raises(PTableError, match="requested_variance of count 1"):
        table.certificate.check(other)
    larger = table.with_proof(NoiseSpec(max_noise=4, variance=1.0, small=1), None)
    with pytest.raises(PTableError, match="asks for 6 rows"):
        table.certificate.check(larger)


def test_a_table_without_specification_cannot_be_checked(table):
    with pytest.raises(PTableError, match="without a specification"):
        table.certificate.check(table.with_proof(None, None))


def _claim(spec, rows, base, **other):
    """Give a table a certificate whose figures are those of its own integers."""
    bare = PTable.from_units(rows, **other)
    multipliers = [(row.multipliers, row.peak) for row in base.certificate.rows]
    return certify(spec, bare, multipliers, solver={}), bare


def _units(table):
    return [table.units(count) for count in range(table.n_rows)]


def _shift(row, change, places):
    for v, times in places.items():
        row[v] += change * times


def test_noise_on_zeros_and_rows_in_turn_are_found_out(table):
    noisy = [{0: 2**31, 1: 2**31}, *_units(table)[1:]]
    other = PTable.from_units(noisy).with_proof(table.spec, table.certificate)
    with pytest.raises(PTableError, match="count 0"):
        table.certificate.check(other)
    turns = PTable.from_units(_units(table), large_counts="cycle:2")
    with pytest.raises(PTableError, match="counts beyond the last row"):
        table.certificate.check(turns.with_proof(table.spec, table.certificate))


@pytest.mark.parametrize("rule", ["exact", "nearest"])
def test_another_variance_than_asked_is_found_out_whatever_the_figures(rule):
    spec = NoiseSpec(max_noise=5, variance=3.0, variance_rule=rule)
    base = solve(spec)
    rows = _units(base)
    _shift(rows[1], 2**18, {-1: -1, 0: 2, 1: -1})
    certificate, bare = _claim(spec, rows, base)
    assert 0 < certificate.rows[0].gap < 1e-6
    with pytest.raises(PTableError, match="the variance drift of count 1"):
        certificate.check(bare.with_proof(spec, certificate))


def test_a_variance_above_the_bound_is_found_out():
    spec = NoiseSpec(max_noise=5, variance=3.0, variance_rule="at-most")
    base = solve(spec)
    rows = _units(base)
    _shift(rows[5], 2**13, {-1: 1, 0: -2, 1: 1})
    certificate, bare = _claim(spec, rows, base)
    with pytest.raises(PTableError, match="the variance drift of count 5"):
        certificate.check(bare.with_proof(spec, certificate))


def test_a_bound_that_does_not_bind_is_no_drift():
    spec = NoiseSpec(max_noise=5, variance=20.0, variance_rule="at-most")
    table = solve(spec)
    assert table.certificate.rows[0].variance < 5
    assert {row.variance_drift for row in table.certificate.rows} == {0.0}
    table.certificate.check(table)


def test_falling_probabilities_on_a_monotone_left_are_found_out():
    spec = NoiseSpec(max_noise=3, variance=1.7, monotone="left")
    base = solve(spec)
    rows = _units(base)
    assert rows[1][-1] == pytest.approx(rows[1][0], abs=2)
    _shift(rows[1], 2**10, {-1: 1, 0: -3, 1: 3, 2: -1})
    certificate, bare = _claim(spec, rows, base)
    assert certificate.rows[0].gap < 1e-5
    with pytest.raises(PTableError, match="the shape of count 1"):
        certificate.check(bare.with_proof(spec, certificate))


def test_a_probability_below_the_least_is_found_out():
    spec = NoiseSpec(max_noise=3, variance=0.02, min_probability=1e-6)
    base = solve(spec)
    rows = _units(base)
    _shift(rows[3], 100, {-3: -1, -2: 3, -1: -3, 0: 1})
    certificate, bare = _claim(spec, rows, base)
    assert abs(certificate.rows[2].gap) < 1e-5
    with pytest.raises(PTableError, match="the least probability of count 3"):
        certificate.check(bare.with_proof(spec, certificate))


def test_the_integers_of_a_quantised_table_are_held_against_its_specification(table):
    spec = NoiseSpec(max_noise=2, variance=1.0)
    quantised = solve(spec).quantise(256)
    assert breaches(quantised) == ()
    wide = quantised.with_proof(NoiseSpec(max_noise=2, variance=1.5), None)
    assert breaches(wide)[0] == "the variance drift of count 1 is too large"
    with pytest.raises(PTableError, match="without a specification"):
        breaches(quantised.with_proof(None, None))


# --- what is asked of a row, one after the other ---------------------------------------------


@pytest.mark.parametrize(
    ("rule", "change", "is_off"),
    [
        ("exact", 2, True),
        ("exact", -2, True),
        ("at-least", -2, True),
        ("at-least", 2, False),
        ("at-most", 2, True),
        ("at-most", -2, False),
    ],
)
def test_a_probability_of_staying_is_held_to_its_rule(rule, change, is_off):
    p_stay = {"exact": 0.4, "at-least": 0.5, "at-most": 0.3}[rule]
    spec = NoiseSpec(max_noise=3, variance=1.0, p_stay=p_stay, p_stay_rule=rule)
    base = solve(spec)
    assert base.certificate.rows[2].stay_excess <= 1 / 2**32
    rows = _units(base)
    # keeps sum and mean; the variance moves by less than what integers may
    _shift(rows[3], change, {-1: -1, 0: 2, 1: -1})
    certificate, bare = _claim(spec, rows, base)
    row = certificate.rows[2]
    stays = Fraction(rows[3][0], 2**32) - Fraction(str(p_stay))
    excess = {"exact": abs(stays), "at-least": max(0, -stays), "at-most": max(0, stays)}[rule]
    assert row.stay_excess == float(excess)
    named = breaches(bare.with_proof(spec, None))
    assert ("the probability of staying of count 3 is off" in named) == is_off


def test_rows_without_a_probability_of_staying_have_no_excess(table):
    assert {row.stay_excess for row in table.certificate.rows} == {0.0}


def test_a_row_that_must_be_symmetric_is_held_to_it():
    spec = NoiseSpec(max_noise=2, variance=1.0, symmetric=True)
    base = solve(spec)
    rows = _units(base)
    _shift(rows[2], 1, {-2: 1, -1: -2, 0: 1})  # the mean moves not, the right half neither
    rows[2][-2] += 0
    moved = PTable.from_units(rows).with_proof(spec, None)
    assert "the row of count 2 is not symmetric" in breaches(moved)
    assert breaches(base) == ()
    certificate, _ = _claim(spec, rows, base)
    assert certificate.rows[1].shape_excess == 2 / 2**32


def test_a_row_with_one_peak_is_held_to_it():
    spec = NoiseSpec(max_noise=3, variance=2.0, monotone="unimodal")
    base = solve(spec)
    peaks = [row.peak for row in base.certificate.rows]
    assert any(peak is not None for peak in peaks)
    base.certificate.check(base)
    place = next(k for k, peak in enumerate(peaks) if peak is not None)
    rows = _units(base)
    row = rows[place + 1]
    _shift(row, 2**20, {-1: 1, 0: -3, 1: 3, 2: -1})
    certificate, bare = _claim(spec, rows, base)
    top = max(row, key=row.get)
    ordered = [row[v] for v in sorted(row)]
    peak = sorted(row).index(top)
    falls = [max(0, a - b) for a, b in pairwise(ordered[: peak + 1])]
    rises = [max(0, b - a) for a, b in pairwise(ordered[peak:])]
    assert certificate.rows[place].shape_excess == max(falls + rises) / 2**32 > 1e-5
    assert f"the shape of count {place + 1} is not the one asked for" in breaches(
        bare.with_proof(spec, None)
    )


def test_a_peak_out_of_reach_is_found_out(table):
    first, *others = table.certificate.rows
    for spec, peak in (
        (NoiseSpec(max_noise=3, variance=2.0, monotone="unimodal"), 9),
        (table.spec, 0),
    ):
        base = solve(spec)
        first, *others = base.certificate.rows
        proof = replace(base.certificate, rows=(replace(first, peak=peak), *others))
        with pytest.raises(PTableError, match="count 1 has a peak out of reach"):
            proof.check(base)


def test_multipliers_taken_away_leave_no_bound(table):
    *others, last = table.certificate.rows
    proof = replace(table.certificate, rows=(*others, replace(last, multipliers=None)))
    with pytest.raises(PTableError, match="entropy_bound of count 5"):
        proof.check(table)
    row = certify(table.spec, table, [(None, None)] * 5, solver={}).rows[-1]
    assert (row.entropy_bound, row.residual) == (math.inf, math.inf)


def test_figures_are_told_in_units_whatever_the_step():
    spec = NoiseSpec(max_noise=2, variance=0.75, step=3, anchors=(1, 4))
    table = solve(spec)
    for row in table.certificate.rows:
        assert (row.requested_variance, row.bias, row.requested_bias) == (0.75, 0, 0)
        assert row.variance == pytest.approx(0.75, abs=1e-8)
        assert abs(row.variance_drift) < 1e-8
    table.certificate.check(table)


def test_a_declared_bias_is_what_integers_can_have():
    table = solve(NoiseSpec(max_noise=2, variance=1.0, zero_bias=0.1))
    zero = table.certificate.rows[0]
    assert zero.count == 0
    assert zero.requested_bias == zero.bias == float(Fraction(round(2**32 / 10), 2**32))
    assert table.certificate.largest_bias == 0
    table.certificate.check(table)


@pytest.mark.parametrize(("bias", "variance"), [(0.1, 0.15), (0.4, 0.5)])
def test_the_moments_of_a_biased_row_are_about_its_mean(bias, variance):
    spec = NoiseSpec(max_noise=2, variance=1.0, zero_bias=bias, zero_variance=variance)
    table = solve(spec)
    zero = table.certificate.rows[0]
    assert zero.variance == pytest.approx(variance, abs=1e-8)
    assert abs(zero.variance_drift) < 1e-8
    assert abs(zero.gap) < 1e-8
    table.certificate.check(table)
    assert breaches(table) == ()


def test_a_declared_bias_is_told_in_units_whatever_the_step():
    spec = NoiseSpec(max_noise=2, variance=0.75, zero_bias=0.1, step=2, anchors=(1, 3))
    zero = solve(spec).certificate.rows[0]
    assert zero.requested_bias == zero.bias == pytest.approx(0.1, abs=1e-9)


def test_probabilities_and_entropy_are_those_of_the_integers(table):
    for row in table.certificate.rows:
        units = table.units(row.count)
        shares = [n / 2**32 for n in units.values()]
        assert row.entropy == pytest.approx(-sum(p * math.log(p) for p in shares if p))
        allowed = table.spec.row(row.count).noise
        assert row.min_probability == min(units.get(v, 0) for v in allowed) / 2**32
        assert row.gap == row.entropy_bound - row.entropy
    least = min(table.certificate.rows, key=lambda row: row.entropy)
    assert table.certificate.fewest_outcomes == least


def test_noise_out_of_reach_has_no_residual(table):
    rows = _units(table)
    rows[1][1] = 5  # a published count of 2 is reached, one of 1 is blocked
    rows[1][0] = 0
    foreign = {0: 2**32 - 7, 5: 7}
    certificate, bare = _claim(table.spec, [*rows[:1], foreign, *rows[2:]], table)
    assert certificate.rows[0].residual == math.inf
    assert "the noise of count 1 is out of reach" in breaches(bare.with_proof(table.spec, None))


def test_the_summary_names_rows_that_differ():
    spec = NoiseSpec(max_noise=5, variance=1.0, small=2, variance_rule="nearest")
    with pytest.warns(PTableWarning):
        certificate = solve(spec).certificate
    lines = certificate.summary().splitlines()
    assert lines[0] == "8 rows, variance rule 'nearest': 2 rows differ from the request"
    assert lines[1].startswith("largest bias 0, variance drift ")
    assert lines[2].startswith("largest entropy gap ")
    assert lines[3].startswith("fewest effective outcomes ")
    assert lines[4:] == [
        "count 1: variance 2 instead of 1",
        "count 2: variance 2 instead of 1",
    ]
    html = certificate._repr_html_()
    assert "<caption>Certificate</caption>" in html
    assert "variance 2 instead of 1" in html
    assert "8 rows, variance rule &#39;nearest&#39;" in html or "8 rows" in html


def test_a_rule_per_row_and_a_stack_are_kept():
    per_row = NoiseSpec(max_noise=2, variance=1.0, variance_rule=("at-most", "exact"))
    fields = solve(per_row).certificate.to_dict()
    assert fields["variance_rule"] == ["at-most", "exact"]
    assert Certificate.from_dict(fields).variance_rule == ("at-most", "exact")
    stack = StackedSpec(
        parts=(
            (0, NoiseSpec(max_noise=2, variance=1.0)),
            (3, NoiseSpec(max_noise=2, variance=1.5)),
        )
    )
    table = solve(stack)
    assert table.certificate.variance_rule == "by part"
    table.certificate.check(table)


# --- certificates from files -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("multipliers", [0.1, "x"]),
        ("multipliers", [0.1, True]),
        ("multipliers", [0.1, math.inf]),
        ("multipliers", [0.1, math.nan]),
        ("multipliers", [0.1, -1e301]),
        ("count", "1"),
        ("variance", None),
        ("bias", False),
        ("entropy", 1e301),
        ("entropy", 1.5e300),
        ("residual", -math.inf),
        ("peak", "0"),
        ("peak", math.nan),
        ("note", 3),
        ("place", None),
    ],
)
def test_a_row_of_something_else_than_figures_is_refused(table, name, wrong):
    fields = json.loads(json.dumps(table.certificate.to_dict()))
    fields["rows"][1][name] = wrong
    with pytest.raises(PTableError, match="something else than figures in its rows"):
        Certificate.from_dict(fields)


def test_figures_as_large_as_a_file_may_hold_are_read(table):
    fields = json.loads(json.dumps(table.certificate.to_dict()))
    fields["rows"][0]["multipliers"] = [9e299, -9e299]
    fields["rows"][0]["peak"] = 2
    row = Certificate.from_dict(fields).rows[0]
    assert (row.multipliers, row.peak) == ((9e299, -9e299), 2)


def test_rows_of_files_that_know_less_have_no_bias_excess_or_peak(table):
    fields = json.loads(json.dumps(table.certificate.to_dict()))
    for name in ("requested_bias", "stay_excess", "shape_excess", "peak"):
        del fields["rows"][0][name]
    row = Certificate.from_dict(fields).rows[0]
    assert (row.requested_bias, row.stay_excess, row.shape_excess, row.peak) == (0, 0, 0, None)


@pytest.mark.parametrize("wrong", [{"numpy": 2}, {"numpy": "2\n"}, {3: "x"}, {"a\x1b": "1"}])
def test_programs_that_are_no_printable_words_are_refused(table, wrong):
    with pytest.raises(PTableError, match="which programs took part"):
        Certificate.from_dict({**table.certificate.to_dict(), "solver": wrong})


# --- the integers alone ----------------------------------------------------------------------


def test_the_integers_of_a_table_are_named_for_all_that_they_break(table):
    spec, rows = table.spec, _units(table)

    def broken(rows=rows, **other):
        return breaches(PTable.from_units(rows, **other).with_proof(spec, None))

    assert broken() == ()
    assert broken(rows[:-1]) == ("its counts are not those of its specification",)
    assert broken([{0: 2**31, 2: 2**31}, *rows[1:]]) == ("the noise of count 0 is not 0",)
    assert broken(large_counts="cycle:2") == (
        "counts beyond the last row do not all take the last row",
    )
    assert broken(step=2)[0] == "the step of the noise is another one"
    tilted = [dict(row) for row in rows]
    _shift(tilted[5], 3, {0: -1, 1: 1})
    assert broken(tilted) == ()  # no more than the largest noise
    _shift(tilted[5], 1, {0: -1, 1: 1})
    assert broken(tilted) == ("the mean noise of count 5 is off",)


def test_the_integers_may_leave_the_variance_by_four_keys_on_each_noise():
    spec = NoiseSpec(max_noise=1, variance=0.5)
    for off, is_told in ((-4, False), (4, False), (-5, True), (5, True)):
        beside = 2**30 + off
        rows = [{0: 2**32}, {-1: beside, 0: 2**32 - 2 * beside, 1: beside}]
        told = breaches(PTable.from_units(rows).with_proof(spec, None))
        assert told == (("the variance drift of count 1 is too large",) if is_told else ())


def test_a_certificate_of_another_version_is_proved_again_from_figures_alone(table):
    stored = json.loads(json.dumps(table.certificate.to_dict()))
    assert prove_again(table, stored) == replace(table.certificate, record=None)
    for change in ({"multipliers": ["much", 0.0]}, {"peak": "left"}):
        rows = [stored["rows"][0] | change, *stored["rows"][1:]]
        with pytest.raises(PTableError, match="something else than figures in its rows"):
            prove_again(table, stored | {"rows": rows})
    with pytest.raises(PTableError, match="without a specification"):
        prove_again(table.with_proof(None, None), stored)
    with pytest.raises(PTableError, match="does not say which programs"):
        prove_again(table, stored | {"solver": {"numpy": "2\n"}})


def test_as_many_rows_as_asked_for_are_certified(table):
    prices = [(row.multipliers, row.peak) for row in table.certificate.rows]
    with pytest.raises(PTableError, match="5 rows, the p-table has 5 and the certificate 4"):
        certify(table.spec, table, prices[:-1], solver={})
    short = PTable.from_units(_units(table)[:-1])
    with pytest.raises(PTableError, match="5 rows, the p-table has 4 and the certificate 5"):
        certify(table.spec, short, prices, solver={})


def test_figures_of_limits_are_alike_to_their_last_digits_and_in_their_form():
    assert _is_close([[0.5, "a"], None], [[0.5 + 1e-13, "a"], None])
    assert not _is_close([0.5], [0.6])
    assert not _is_close([0.5], [0.5, 0.5])
    assert not _is_close([0.5], None)
    assert not _is_close(0.5, None)
    assert not _is_close("a", "b")


def test_figures_of_limits_that_are_missing_on_one_side_are_named(table):
    limits = LimitsCertificate(
        objective="entropy", loss=0.5, bound=None, least=None, worst=(), margin=1e-4,
        budget=None, entropy=0.5, entropy_bound=None, solver_entropy=0.5, loss_multipliers=(),
        entropy_multipliers=(), kept=(),
    )  # fmt: skip
    one = replace(table.certificate, limits=limits)
    other = replace(one, limits=replace(limits, loss=0.6, own="a rule"))
    assert _differences(one, one) == []
    names = {
        "loss of the limits",
        "own of the limits",
    }  # a file holds no rule where there is none
    assert set(_differences(one, other)) == set(_differences(other, one)) == names


def test_a_row_of_limits_is_certified_from_its_integers():
    prior = (0.0, *(1 / (i * (i + 1)) for i in range(1, 40)))
    limits = Limits(priors=(prior,), variance_floor=0.5)
    joint = Joint.of(NoiseSpec(max_noise=2, variance=1.0, limits=limits))
    row = _certify_limited(joint, joint.rows[0], {-1: 2, 0: 4, 1: 2}, 8)
    assert (row.variance, row.requested_variance, row.bias, row.note) == (0.5, 1.0, 0.0, "")
    assert (row.residual, row.variance_drift, row.min_probability) == (0.0, 0.0, 0.0)
    assert row.entropy == row.entropy_bound == pytest.approx(1.5 * math.log(2))
    assert _certify_limited(joint, joint.rows[0], {-2: 1, 0: 6, 2: 1}, 8).residual == math.inf
    narrow = _certify_limited(joint, joint.rows[0], {-1: 1, 0: 6, 1: 1}, 8)
    assert narrow.variance_drift == 0.25  # a quarter below the floor
    wide = _certify_limited(joint, joint.rows[0], {-1: 4, 2: 2, 0: 2}, 8)
    assert wide.variance_drift == 0.5
    assert wide.shape_excess == 0
