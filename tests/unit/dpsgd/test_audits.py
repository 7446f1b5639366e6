"""Attacks find what is there, keep quiet where nothing is, and catch planted faults.

Error rates: audits of transcripts are wrong once in a thousand, of one run once in twenty; the
seeds are fixed, and the counts below leave room for as many.
"""

from __future__ import annotations

import numpy as np
import pytest

from dp import PrivacyLoss
from dp.errors import DPError
from dpsgd.audits import (
    Ceiling,
    attack_rates,
    attribute_inversion,
    audit_transcripts,
    invert_gradient,
    invert_linear,
    lira_scores,
    loss_scores,
    membership_game,
    one_run_audit,
    rmia_scores,
    shadow_scores,
    signals_of,
    transcript_scores,
)
from dpsgd.errors import DPSGDError
from tests.unit.dpsgd.noisy_descent import cross_entropies, logistic_descent, transcripts

STEPS, RATE, SIGMA, DELTA = 8, 0.2, 1.5, 1e-5
CLAIMED = (PrivacyLoss.gaussian(SIGMA, sampling_rate=RATE) * STEPS).epsilon(DELTA)


def audited(seed, **fault):
    generator = np.random.default_rng(seed)
    run = {"steps": STEPS, "rate": RATE, "sigma": SIGMA, "generator": generator, **fault}
    return audit_transcripts(
        lambda number: transcripts(number, with_canary=True, **run),
        lambda number: transcripts(number, with_canary=False, **run),
        sampling_rate=RATE,
        noise_multiplier=SIGMA,
        delta=DELTA,
        runs=200_000,
    )


@pytest.mark.slow
def test_a_correct_training_is_never_refuted_and_the_bound_is_not_empty():
    found = [audited(seed) for seed in range(6)]
    assert not any(audit.refutes(CLAIMED) for audit in found)
    assert min(audit.epsilon for audit in found) > 0.2 * CLAIMED


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [{"noise": 0.5}, {"clips": False}, {"true_rate": 0.8}],
    ids=["noise halved", "no clipping", "wrong sampling rate"],
)
def test_a_planted_fault_is_caught_in_every_run(fault):
    assert all(audited(seed, **fault).refutes(CLAIMED) for seed in range(2))


def one_run(seed, *, noise):
    """Canaries that move one coordinate of a sum each, noise as of epsilon 4."""
    generator = np.random.default_rng(seed)
    coins = generator.random(1000) < 0.5
    sigma = 1.0884  # one Gaussian of epsilon 4 at 1e-5
    scores = coins + generator.normal(0, noise * sigma, 1000)
    # All of 300 guesses right prove 4.5 at most; all of 100 would prove 3.5, below the claim.
    return one_run_audit(scores, is_in=coins, delta=1e-5, shares=[0.3])


@pytest.mark.slow
def test_one_run_with_canaries_never_refutes_a_correct_training():
    assert PrivacyLoss.gaussian(1.0884).epsilon(1e-5) == pytest.approx(3.97, abs=0.05)
    assert sum(one_run(seed, noise=1.0).refutes(4) for seed in range(10)) <= 1


@pytest.mark.slow
def test_one_run_with_canaries_catches_noise_divided_by_four():
    assert sum(one_run(seed, noise=0.25).refutes(4) for seed in range(5)) >= 4


def test_ties_count_as_ties():
    found = attack_rates([1, 1, 1, 0], [1, 1, 1, 0])
    assert found.auc == 0.5
    assert found.advantage == 0
    assert [rate.true_positive_rate for rate in found.rates] == [0, 0, 0]


def test_the_curve_is_that_of_pairs_compared_one_by_one():
    generator = np.random.default_rng(3)
    one, two = generator.integers(0, 5, 60), generator.integers(-1, 4, 50)
    pairs = (one[:, None] > two) + 0.5 * (one[:, None] == two)
    assert attack_rates(one, two).auc == pytest.approx(pairs.mean())


@pytest.mark.slow
def test_scores_beyond_the_ceiling_are_told_and_scores_below_are_not():
    generator = np.random.default_rng(4)
    noise = generator.normal(size=(2, 5000))
    tight = Ceiling(epsilon=0.5, delta=1e-5)
    assert attack_rates(noise[0] + 3, noise[1], ceiling=tight).is_above
    assert not attack_rates(noise[0], noise[1], ceiling=tight).is_above
    gaussian = Ceiling(epsilon=4.3772, delta=1e-5, loss=PrivacyLoss.gaussian(1))
    assert not attack_rates(noise[0] + 1, noise[1], ceiling=gaussian).is_above
    assert gaussian.advantage == pytest.approx(0.3829, abs=1e-4)


def membership_data(generator, size):
    rows = generator.normal(size=(size, 40))
    labels = (rows[:, 0] + generator.normal(0, 1.5, size) > 0).astype(float)
    return rows, labels


def fit_with(sigma, norm, rate=0.5, steps=60, size=4.0):
    generator = np.random.default_rng(7)
    rows, labels = membership_data(generator, 300)

    def fit(chosen):
        weights = logistic_descent(
            rows[chosen], labels[chosen], steps=steps, rate=rate, sigma=sigma, norm=norm,
            size=size, generator=generator,
        )  # fmt: skip
        return lambda asked: cross_entropies(weights, rows[asked], labels[asked])

    return fit


@pytest.mark.slow
def test_an_overfitted_model_leaks_and_a_private_one_stays_below_its_ceiling():
    leaky = membership_game(
        fit_with(0.0, 1e9), np.arange(300), generator=np.random.default_rng(1), shadows=16
    )
    loss = PrivacyLoss.gaussian(6.0, sampling_rate=0.5) * 60
    ceiling = Ceiling(epsilon=loss.epsilon(1e-4), delta=1e-4, loss=loss)
    private = membership_game(
        fit_with(6.0, 1.0), np.arange(300), generator=np.random.default_rng(1), shadows=16,
        ceiling=ceiling,
    )  # fmt: skip
    best = max(rates.auc for rates in leaky.attacks.values())
    assert best > 0.7
    assert leaky.attacks["lira"].auc > 0.65
    assert leaky.attacks["rmia"].auc > 0.6
    assert not private.is_above
    assert max(rates.auc for rates in private.attacks.values()) < best


@pytest.mark.parametrize("is_exact", [False, True])
def test_a_coin_is_thrown_for_each_record_unless_halves_are_to_be_of_one_size(is_exact):
    """With a set size, who is in says something of the others."""
    sizes = []

    def fit(rows):
        sizes.append(len(rows))
        return lambda asked: np.zeros(len(asked))

    membership_game(
        fit, np.arange(100), generator=np.random.default_rng(3), shadows=8,
        is_exact_half=is_exact,
    )  # fmt: skip
    assert (set(sizes) == {40}) == is_exact
    assert all(20 < size < 60 for size in sizes)


def test_a_ceiling_that_is_too_low_is_found_out_by_the_game():
    game = membership_game(
        fit_with(0.0, 1e9, size=8.0), np.arange(300), generator=np.random.default_rng(1),
        ceiling=Ceiling(epsilon=0.01), shadows=16,
    )  # fmt: skip
    assert game.is_above


def test_attacks_on_models_that_know_nothing_are_blind():
    generator = np.random.default_rng(9)
    signals, is_in = generator.normal(size=(65, 2000)), generator.random((65, 2000)) < 0.5
    shadow = {"shadows": signals[1:], "is_in": is_in[1:]}
    for scores in (
        lira_scores(signals[0], **shadow),
        lira_scores(signals[0], mode="offline", **shadow),
        shadow_scores(signals[0], **shadow),
    ):
        auc = attack_rates(scores[is_in[0]], scores[~is_in[0]]).auc
        assert auc == pytest.approx(0.5, abs=0.05)


def test_likelihood_ratios_find_what_one_threshold_for_all_cannot():
    generator = np.random.default_rng(10)
    level = generator.normal(0, 5, 1000)  # records differ far more than membership moves them
    is_in = generator.random((33, 1000)) < 0.5
    signals = level + is_in + generator.normal(0, 0.5, (33, 1000))
    shadow = {"shadows": signals[1:], "is_in": is_in[1:]}
    truth = is_in[0]
    found = lira_scores(signals[0], **shadow)
    assert attack_rates(found[truth], found[~truth]).auc > 0.85
    plain = loss_scores(-signals[0])
    assert attack_rates(plain[truth], plain[~truth]).auc < 0.6


def test_a_gradient_of_one_record_is_the_record():
    generator = np.random.default_rng(11)
    record, slope = generator.normal(size=5), generator.normal(size=3)
    found = invert_linear(np.outer(slope, record), slope)
    assert np.allclose(found, record, atol=1e-12)


@pytest.mark.slow
def test_a_noisy_gradient_hides_the_record_and_a_plain_one_does_not():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.Sigmoid(), torch.nn.Linear(16, 3)
    )
    record, label = torch.randn(1, 8), torch.tensor([2])
    loss = torch.nn.functional.cross_entropy(model(record), label)
    gradients = torch.autograd.grad(loss, list(model.parameters()))
    length = torch.sqrt(sum((g**2).sum() for g in gradients))
    noisy = [g / length + torch.randn_like(g) for g in gradients]

    def miss(given):
        found, _ = invert_gradient(model, given, labels=label, shape=(8,), steps=300)
        return float((found - record).norm() / record.norm())

    assert miss(gradients) < 0.1
    assert miss(noisy) > 0.5


def test_an_attribute_that_only_members_give_away_is_above_the_ceiling():
    generator = np.random.default_rng(12)
    hidden = generator.integers(0, 2, (2, 400))
    known = generator.normal(size=(2, 400))
    learned = set(zip(known[0].tolist(), hidden[0].tolist(), strict=True))

    def loss(rows):  # knows its members by heart
        return np.array([0.0 if (k, int(v)) in learned else 1.0 for v, k in rows])

    put = [
        [np.column_stack((np.full(400, value), known[part])) for value in (0.0, 1.0)]
        for part in (0, 1)
    ]
    found = attribute_inversion(
        loss, put[0], put[1], actual=(hidden[0], hidden[1]), weights=[0.5, 0.5],
        ceiling=Ceiling(epsilon=0.3),
    )  # fmt: skip
    assert found.members == 1.0
    assert found.others == pytest.approx(0.5, abs=0.1)
    assert found.is_above


@pytest.mark.parametrize("bad", [[], [[1.0]], [np.nan], ["x"], None])
def test_scores_that_are_none_are_refused(bad):
    with pytest.raises(DPSGDError):
        attack_rates(bad, [1.0])
    with pytest.raises(DPSGDError):
        loss_scores(bad)


def test_arrays_that_do_not_fit_together_are_refused():
    with pytest.raises(DPSGDError, match="shapes"):
        lira_scores([1.0, 2.0], shadows=[[1.0]], is_in=[[1]])
    with pytest.raises(DPSGDError, match="records in and records out"):
        lira_scores([1.0], shadows=[[1.0]], is_in=[[1]])
    with pytest.raises(DPSGDError, match="0 or more"):
        signals_of([-1.0])
    with pytest.raises(DPSGDError):
        transcript_scores([[np.nan]], sampling_rate=0.5, noise_multiplier=1)
    with pytest.raises(DPError):
        Ceiling(epsilon=-1)
    with pytest.raises(DPSGDError):
        one_run_audit([1.0, np.nan], is_in=[0, 1])
    with pytest.raises(DPSGDError):
        invert_linear([[1.0]], [1.0, 2.0])
    with pytest.raises(DPSGDError):
        rmia_scores(
            [0.0], shadows=[[0.0], [0.0]], is_in=[[0], [1]],
            target_population=[0.0], shadow_population=[[0.0]],
        )  # fmt: skip


def test_a_model_whose_loss_is_no_number_is_refused_without_a_record_in_the_words():
    with pytest.raises(DPSGDError) as caught:
        membership_game(
            lambda _: lambda asked: asked * np.nan, np.full(20, 777.25),
            generator=np.random.default_rng(1), shadows=2,
        )  # fmt: skip
    assert "777" not in str(caught.value)
