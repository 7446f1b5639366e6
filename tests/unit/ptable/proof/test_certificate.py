import json
from dataclasses import replace

import pytest

from ptable import Certificate, NoiseSpec, PTable, PTableError, solve
from ptable.proof.certificate import breaches, certify


@pytest.fixture(scope="module")
def table():
    return solve(NoiseSpec(max_noise=3, variance=1.0, small=1))


def test_a_certificate_is_checked_from_the_integers(table):
    table.certificate.check(table)
    assert table.certificate.largest_gap < 1e-8
    assert set(table.certificate.solver) == {"numpy"}


def test_a_certificate_is_plain_json(table):
    text = json.dumps(table.certificate.to_dict())
    assert Certificate.from_dict(json.loads(text)) == table.certificate


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
