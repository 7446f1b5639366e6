"""What a look at the records costs: never less than two neighbours can be told apart by it."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import log_expit, ndtri_exp

from dp import DiscreteGaussian, gaussian_delta, gaussian_epsilon, histogram
from synth import Budget, Certificate
from synth.marginals.measuring import SecureNoise
from synth.marginals.spending import (
    GRAIN,
    Call,
    gaussian_noise,
    gaussian_price,
    range_of,
    range_price,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "synth"


@pytest.mark.parametrize("scale", [2.2, 3.0, 5.0, 9.0])
@pytest.mark.parametrize("moved", [1, 4, 9])
def test_noise_on_the_lattice_hides_as_much_as_its_price_says(scale, moved):
    places = np.arange(-400, 401)
    first, second = (np.exp(-((places - a) ** 2) / (2 * scale**2)) for a in (0, moved))
    first, second = first / first.sum(), second / second.sum()
    mu = np.sqrt(2 * gaussian_price(moved / GRAIN, scale / GRAIN))
    for epsilon in np.linspace(-3, 8, 40):
        delta = np.maximum(first - np.exp(epsilon) * second, 0).sum()
        assert delta <= gaussian_delta(float(epsilon), mu=float(mu)) + 1e-12


def test_the_plain_price_would_promise_too_much_on_a_coarse_lattice():
    places = np.arange(-60, 61)
    first, second = (np.exp(-((places - a) ** 2) / 2) for a in (0, 1))
    first, second = first / first.sum(), second / second.sum()
    found = np.maximum(first - second, 0).sum()
    assert found > gaussian_delta(0.0, mu=1.0) + 0.01


@pytest.mark.parametrize("width", [1e-3, 0.1, 1.0, 4.0, 30.0, 200.0])
def test_no_answer_within_a_range_of_losses_tells_more_than_its_price(width):
    """The worst two answers have the losses t and t - width; Gaussian at even odds of t."""
    t = width * np.linspace(1e-4, 1 - 1e-4, 2001)
    alone = np.log(-np.expm1(t - width)) - t - np.log(-np.expm1(-width))
    other = t - width + np.log(-np.expm1(-t)) - np.log(-np.expm1(-width))
    told_apart = -ndtri_exp(alone) - ndtri_exp(other)
    mu = np.sqrt(2 * range_price(width))
    assert told_apart.max() <= mu * (1 + 1e-9)
    assert told_apart.max() >= mu * (1 - 1e-5)
    assert mu == pytest.approx(-2 * ndtri_exp(log_expit(-width / 2)))


@pytest.mark.parametrize("rho", [1e-9, 0.01, 3.0, 1e6])
def test_noise_and_ranges_cost_what_they_were_made_for(rho):
    assert (1 - 1e-9) * rho <= range_price(range_of(rho)) <= rho * (1 + 1e-11)
    assert (1 - 1e-9) * rho <= gaussian_price(2.0, gaussian_noise(2.0, rho)) <= rho


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-5), (8, 1e-9)])
def test_a_budget_buys_the_whole_gaussian_curve(epsilon, delta):
    rho = Budget(epsilon=epsilon, delta=delta).concentrated()
    assert gaussian_delta(epsilon, mu=np.sqrt(2 * rho)) <= delta * (1 + 1e-9)
    assert gaussian_epsilon(delta, mu=np.sqrt(2 * rho)) == pytest.approx(epsilon)


def test_secure_noise_is_whole_and_of_its_scale():
    noise = DiscreteGaussian(sensitivity=histogram(), scale=5.0)
    drawn = SecureNoise().add(np.full(4000, 7), noise)
    assert drawn.dtype == np.int64
    assert abs(drawn.mean() - 7) < 0.5
    assert 4.6 < drawn.std() < 5.4


def test_a_certificate_of_the_first_version_still_verifies():
    facts = json.loads((GOLDEN / "certificate_version_1.json").read_text())
    assert facts["version"] == 1
    assert [one for one in Certificate(facts).verify() if "simulated" not in one] == []
    # The same calls under the prices of today would be worth less than they state.
    newer = Certificate({**facts, "version": 2}).verify()
    assert any("costs more than it states" in one for one in newer)
    calls = [Call.from_dict(one) for one in facts["calls"]]
    assert all(call.price(is_gaussian=False)[0] <= call.rho * (1 + 1e-9) for call in calls)


def test_a_network_of_the_first_version_had_no_margins_and_verifies():
    facts = json.loads((GOLDEN / "priv_bayes_version_1.json").read_text())
    assert Certificate(facts).verify() == []
    assert {call["what"] for call in facts["calls"]} == {"choice", "table"}
    newer = Certificate({**facts, "version": 2}).verify()
    assert any("No call tells" in one for one in newer)


def test_noise_on_whole_numbers_is_not_priced_as_if_it_were_fine():
    """A model of before, of which only margins were measured, with much noise."""
    one = {"what": "margin", "columns": ("a",), "sensitivity": 1.0, "scale": 100.0, "rho": 5e-5}
    coarse = Call(law="discrete Gaussian", **one).price()[0]
    assert coarse == pytest.approx(1 / (2 * (100**2 - 4)))
    assert coarse > one["rho"] * (1 + 1e-4)
    assert Call(law="fine discrete Gaussian", **one).price()[0] == pytest.approx(5e-5)
