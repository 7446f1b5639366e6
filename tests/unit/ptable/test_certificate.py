import json
from dataclasses import replace

import pytest

from ptable import Certificate, NoiseSpec, PTable, PTableError, solve


@pytest.fixture(scope="module")
def table():
    return solve(NoiseSpec(max_noise=3, variance=1.0, small=1))


def test_a_certificate_is_checked_from_the_integers(table):
    table.certificate.check(table)
    assert table.certificate.largest_gap < 1e-8
    assert set(table.certificate.solver) >= {"cvxpy", "clarabel"}


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
