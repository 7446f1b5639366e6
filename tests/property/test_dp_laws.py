"""Laws of differential privacy, over what hypothesis thinks of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dp import (
    Adjacency,
    BudgetSpentError,
    Exponential,
    Guarantee,
    RandomisedResponse,
    advanced,
    basic,
    concentrated,
    epsilon_of_rho,
    exact_epsilon,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_scale,
    parallel,
)
from dp.accounting.rdp import RenyiCurve, renyi_divergence
from dp.accounting.subsampled import subsampled_gaussian_loss
from dp.belief import advantage_bound, belief_bounds, true_positive_bound
from dp.budget.entries import ARITHMETIC, BudgetSettings, amount, exact
from tests.strategies import examples
from tests.unit.dp.support import exact_delta

ADD = Adjacency.ADD_REMOVE
epsilons = st.floats(1e-3, 8)
deltas = st.floats(1e-12, 0.1)
chances = st.floats(0, 1)


@st.composite
def mechanisms(draw, inputs=3, outcomes=4):
    rows = draw(
        st.lists(
            st.lists(st.integers(1, 50), min_size=outcomes, max_size=outcomes),
            min_size=inputs,
            max_size=inputs,
        )
    )
    matrix = np.array(rows, dtype=float)
    return matrix / matrix.sum(axis=1, keepdims=True)


@st.composite
def guarantees(draw):
    kind = draw(st.sampled_from(["pure", "approximate", "gaussian"]))
    if kind == "pure":
        return Guarantee(epsilon=draw(epsilons), adjacency=ADD)
    if kind == "approximate":
        return Guarantee(
            epsilon=draw(epsilons), delta=draw(st.floats(1e-12, 1e-3)), adjacency=ADD
        )
    return Guarantee(rho=draw(st.floats(1e-4, 4)), adjacency=ADD)


@given(mechanisms(), mechanisms(4, 3))
def test_post_processing_costs_nothing(matrix, channel):
    before, after = exact_epsilon(matrix), exact_epsilon(matrix @ channel)
    assert after.epsilon <= before.epsilon + 1e-9
    for order in (1, 2.5, math.inf):
        moved = renyi_divergence(matrix[0] @ channel, matrix[1] @ channel, order=order)
        assert moved <= renyi_divergence(matrix[0], matrix[1], order=order) + 1e-9


@given(mechanisms(), mechanisms())
def test_two_mechanisms_together_never_cost_more_than_the_sum(first, second):
    both = np.array([np.kron(a, b) for a, b in zip(first, second, strict=True)])
    whole = exact_epsilon(both).epsilon
    assert whole <= exact_epsilon(first).epsilon + exact_epsilon(second).epsilon + 1e-9


@given(mechanisms(), st.floats(0, 3))
def test_every_test_of_two_inputs_keeps_the_bounds(matrix, epsilon):
    delta = exact_delta(matrix, epsilon=epsilon, neighbours=[(0, 1)])
    if delta >= 1:
        return
    for chosen in range(1, 2**4 - 1):
        event = [bool(chosen >> k & 1) for k in range(4)]
        wrong, right = matrix[0][event].sum(), matrix[1][event].sum()
        bound = true_positive_bound(min(1, wrong), epsilon=epsilon, delta=delta)
        assert right <= bound + 1e-9
        assert right - wrong <= advantage_bound(epsilon, delta=delta) + 1e-9


@given(mechanisms(inputs=2), chances)
def test_no_outcome_moves_a_belief_beyond_its_bounds(matrix, prior):
    epsilon = exact_epsilon(matrix).epsilon
    low, high = belief_bounds(prior, epsilon=epsilon, about="membership")
    after = prior * matrix[0] / (prior * matrix[0] + (1 - prior) * matrix[1])
    assert (after >= low - 1e-9).all()
    assert (after <= high + 1e-9).all()


@given(chances, epsilons, epsilons)
def test_beliefs_widen_with_epsilon(prior, one, other):
    small, large = sorted((one, other))
    inner, outer = (belief_bounds(prior, epsilon=e) for e in (small, large))
    assert outer[0] <= inner[0] + 1e-15
    assert inner[1] <= outer[1] + 1e-15


@given(st.lists(guarantees(), min_size=1, max_size=6))
def test_the_order_and_grouping_of_releases_do_not_matter(parts):
    whole, backwards = basic(parts), basic(parts[::-1])
    assert whole == backwards
    if len(parts) > 1:
        grouped = basic([basic(parts[:1]), basic(parts[1:])])
        assert grouped.epsilon == pytest.approx(whole.epsilon)
        assert grouped.delta == pytest.approx(whole.delta)


@given(st.lists(guarantees(), min_size=2, max_size=6))
def test_parts_never_cost_more_than_the_whole(parts):
    whole, apart = basic(parts), parallel(parts)
    assert apart.epsilon <= whole.epsilon
    assert apart.rho <= whole.rho
    replaced = parallel(parts, adjacency=Adjacency.REPLACE)
    worst = [one.for_group(2) for one in parts]
    assert replaced.epsilon == max(one.epsilon for one in worst) >= apart.epsilon
    assert replaced.rho >= apart.rho


@given(epsilons, st.integers(1, 200), deltas)
def test_concentrated_composition_never_costs_more_than_the_sum(epsilon, times, delta):
    one = Guarantee(epsilon=epsilon, adjacency=ADD)
    found = basic([one] * times)
    rho = concentrated([one] * times)
    assert rho.rho == pytest.approx(times * epsilon**2 / 2)
    both = Guarantee(epsilon=found.epsilon, rho=rho.rho, adjacency=ADD)
    assert both.at(delta).epsilon <= found.epsilon
    assert advanced(one, times=times, slack=delta).delta == delta


@given(st.floats(1e-6, 100), deltas, deltas)
def test_epsilon_of_rho_falls_with_delta_and_rises_with_rho(rho, one, other):
    small, large = sorted((one, other))
    assert epsilon_of_rho(rho, delta=small) >= epsilon_of_rho(rho, delta=large) - 1e-9
    assert epsilon_of_rho(rho * 1.01, delta=small) >= epsilon_of_rho(rho, delta=small) - 1e-9


@given(st.floats(0.01, 20), st.floats(1e-12, 0.4))
def test_the_gaussian_curve_and_its_inverses_agree(mu, delta):
    epsilon = gaussian_epsilon(delta, mu=mu)
    assert gaussian_delta(epsilon, mu=mu) <= delta
    if epsilon > 1e-3:
        assert gaussian_delta(epsilon * (1 - 1e-6), mu=mu) > delta * (1 - 1e-3)
        scale = gaussian_scale(epsilon, delta=delta, sensitivity=mu)
        assert scale == pytest.approx(1, rel=1e-5)


@given(st.floats(1e-5, 1), st.floats(0.3, 20), st.floats(1.01, 60), st.floats(1.001, 1.5))
def test_the_loss_of_a_step_moves_as_it_should(rate, sigma, order, factor):
    def loss(rate, sigma, order):
        return subsampled_gaussian_loss(
            [order], sampling_rate=min(1.0, rate), noise_multiplier=sigma
        )[0]

    base = loss(rate, sigma, order)
    near = 1 - 1e-8
    assert 0 <= base * near <= order / (2 * sigma**2)
    assert loss(rate * factor, sigma, order) >= base * near
    assert loss(rate, sigma * factor, order) <= base / near
    assert loss(rate, sigma, order * factor) >= base * near


@given(epsilons, st.integers(1, 30), deltas)
def test_renyi_curves_compose_linearly(epsilon, times, delta):
    one = RenyiCurve.pure(epsilon, adjacency=ADD, orders=[1.5, 2, 4, 16, 64])
    total = one
    for _ in range(times - 1):
        total += one
    assert total.losses == pytest.approx((one * times).losses)
    assert total.epsilon(delta).epsilon >= one.epsilon(delta).epsilon - 1e-12


@given(st.integers(2, 12), st.floats(1e-4, 40))
def test_k_ary_response_keeps_its_epsilon_and_can_be_undone(answers, epsilon):
    design = RandomisedResponse.k_ary(answers, epsilon=epsilon)
    assert design.guarantee.epsilon <= epsilon
    shares = np.full(answers, 1 / answers)
    assert shares @ design.transition == pytest.approx(shares)
    if epsilon > 0.05:
        estimate = design.estimate(list(range(answers)) * 3)
        assert estimate.shares == pytest.approx(shares, abs=1e-6)


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=8),
    st.floats(0.01, 5),
    st.integers(0, 2**8 - 1),
)
def test_the_exponential_mechanism_keeps_its_epsilon(scores, epsilon, moves):
    choice = Exponential(epsilon=epsilon, sensitivity=1, adjacency=ADD)
    moved = [s + (1 if moves >> k & 1 else -1) for k, s in enumerate(scores)]
    first, second = choice.probabilities(scores), choice.probabilities(moved)
    possible = (first > 1e-290) & (second > 1e-290)
    ratio = np.log(first[possible] / second[possible])
    assert (np.abs(ratio) <= epsilon + 1e-9).all()


@given(st.lists(st.floats(1e-300, 1e3), min_size=1, max_size=12))
def test_amounts_add_up_exactly_in_any_order(values):
    def total(numbers):
        found = exact("0")
        for number in numbers:
            found = ARITHMETIC.add(found, exact(amount(number)))
        return found

    assert total(values) == total(values[::-1]) == total(sorted(values))


@settings(max_examples=examples(15))
@given(st.lists(st.floats(1e-6, 0.4), min_size=1, max_size=10))
def test_a_ledger_never_holds_more_than_its_budget(tmp_path_factory, costs):
    from dp import BudgetLedger

    path = tmp_path_factory.mktemp("ledger") / "budget.db"
    ledger = BudgetLedger.create(path, epsilon=1, adjacency=ADD)
    charged = exact("0")
    for epsilon in costs:
        after = ARITHMETIC.add(charged, exact(amount(epsilon)))
        cost = Guarantee(epsilon=epsilon, adjacency=ADD)
        if after > 1:
            with pytest.raises(BudgetSpentError):
                ledger.spend(cost, who="a test", what="a number")
        else:
            ledger.spend(cost, who="a test", what="a number")
            charged = after
    whole = BudgetLedger.open(path)
    assert whole.spent.epsilon == pytest.approx(float(charged))
    assert whole.spent.epsilon + whole.left.epsilon == pytest.approx(1)


@given(st.text(max_size=20), st.floats(1e-6, 1e6))
def test_settings_round_trip(words, epsilon):
    about = "".join(sign for sign in words if sign.isprintable()).strip()
    made = BudgetSettings.of(epsilon=epsilon, adjacency=ADD, about=about)
    assert BudgetSettings.from_text(made.text) == made
