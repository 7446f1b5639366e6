"""Costs of training runs by other programs: Opacus, dp-accounting, the accountant of 2016."""

from __future__ import annotations

import csv
import math

import pytest

from dp import Adjacency, PrivacyLoss, gaussian_epsilon
from dp.accounting.rdp import CLASSIC_ORDERS, RenyiCurve

LIBRARY_ORDERS = sorted(
    [1 + x / 10 for x in range(1, 100)]
    + [float(x) for x in range(11, 64)]
    + [128, 256, 512, 1024]
)
WHOLE_ORDERS = [float(x) for x in range(2, 34)]
RATES = ("0.0001", "0.001", "0.01", "0.1")
LOOSE = 0.15
SLOW = 0.3  # seconds that the reference took; longer rows run among the slow tests


@pytest.fixture(scope="module")
def rows(shared):
    with (shared / "reference" / "accounting.csv").open(encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert len(found) >= 20
    return found


def curve(row, orders):
    step = RenyiCurve.subsampled_gaussian(
        sampling_rate=float(row["q"]), noise_multiplier=float(row["sigma"]), orders=orders
    )
    return step * int(row["steps"])


def loss(row, adjacency=Adjacency.ADD_REMOVE):
    step = PrivacyLoss.gaussian(
        float(row["sigma"]), sampling_rate=float(row["q"]), adjacency=adjacency
    )
    return step * int(row["steps"])


@pytest.mark.slow
def test_renyi_accounting_equals_opacus_at_equal_orders(rows):
    for row in rows:
        found = curve(row, CLASSIC_ORDERS).epsilon(float(row["delta"]))
        assert found.epsilon == pytest.approx(float(row["opacus_rdp"]), rel=1e-6), row["id"]


@pytest.mark.slow
def test_renyi_accounting_is_not_above_dp_accounting_at_equal_orders(rows):
    """dp-accounting bounds a fractional order by its whole neighbours, up to 0.3 % higher."""
    for row in rows:
        found = curve(row, LIBRARY_ORDERS).epsilon(float(row["delta"])).epsilon
        other = float(row["dpa_rdp"])
        assert found <= other * (1 + 1e-6), row["id"]
        assert found == pytest.approx(other, rel=3e-3), row["id"]


def test_classic_conversion_at_whole_orders_is_the_moments_accountant(rows):
    for row in rows:
        if not row["moments_accountant_2016"]:
            continue
        found = curve(row, WHOLE_ORDERS).epsilon(float(row["delta"]), conversion="classic")
        other = float(row["moments_accountant_2016"])
        assert found.epsilon == pytest.approx(other, rel=1e-6), row["id"]
        assert found.order == int(row["ma_lambda"]) + 1


@pytest.mark.slow
def test_wide_orders_never_cost_more(rows):
    for row in rows:
        wide = curve(row, RenyiCurve.concentrated(1, adjacency="replace").orders)
        epsilon = wide.epsilon(float(row["delta"])).epsilon
        assert epsilon <= float(row["opacus_rdp"]) * (1 + 1e-7)
        if epsilon > 0.01:  # below, the grid of the distribution shows
            assert epsilon >= float(row["dpa_pld"]) * (1 - 1e-3), row["id"]


def _is_slow(row):
    return float(row["dpa_pld_s"]) > SLOW


@pytest.mark.parametrize(
    "is_slow", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_loss_distributions_equal_dp_accounting(rows, is_slow):
    """Rates of an attacker: the reference's are looser, by up to 12 % after many steps."""
    chosen = [row for row in rows if _is_slow(row) == is_slow]
    assert len(chosen) > 4
    for row in chosen[:: 2 if is_slow else 1]:
        whole, delta = loss(row), float(row["delta"])
        assert whole.epsilon(delta) == pytest.approx(float(row["dpa_pld"]), rel=1e-6), row["id"]
        bound = float(row["max_advantage_bound"])
        assert whole.advantage <= bound * (1 + 1e-6), row["id"]
        assert whole.advantage == pytest.approx(bound, rel=LOOSE), row["id"]
        for rate in RATES[2:3] if is_slow else RATES:
            expected = float(row[f"tpr_bound_fpr_{rate}"])
            ours = whole.true_positive_rate(float(rate))
            assert ours <= expected * (1 + 1e-6), (row["id"], rate)
            assert ours == pytest.approx(expected, rel=LOOSE), (row["id"], rate)


@pytest.mark.slow
def test_other_neighbours_cost_what_dp_accounting_says(rows):
    chosen = [row for row in rows if float(row["dpa_pld_s"]) < 0.3]
    assert len(chosen) > 3
    for row in chosen:
        delta = float(row["delta"])
        blank = loss(row, Adjacency.ZERO_OUT).epsilon(delta)
        assert blank == pytest.approx(float(row["dpa_pld_replace_special"]), rel=1e-6)
        replaced = loss(row, Adjacency.REPLACE).epsilon(delta)
        assert replaced == pytest.approx(float(row["dpa_pld_replace_one"]), rel=1e-6)


def test_without_amplification_the_closed_form_holds(rows):
    """As many full passes as epochs: Gaussian noise, sqrt(epochs) over its multiplier."""
    for row in rows:
        mu = math.sqrt(int(row["no_amplification_epochs"])) / float(row["sigma"])
        found = gaussian_epsilon(float(row["delta"]), mu=mu)
        other = float(row["dpa_pld_no_amplification"])
        assert found <= other * (1 + 1e-6), row["id"]
        assert found == pytest.approx(other, rel=1e-3), row["id"]


def test_estimates_of_a_third_program_lie_around_ours(rows):
    for row in rows:
        low, high = float(row["ms_prv_low"]), float(row["ms_prv_up"])
        assert low <= float(row["dpa_pld"]) <= high
