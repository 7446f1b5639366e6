"""The decoder: unbiased, calibrated, and right or refused on bad input."""

import numpy as np
import pytest

from rappor.client.simulate import simulate_counts
from rappor.counts import Counts
from rappor.decoding.candidates import Candidates
from rappor.decoding.decode import decode, project_to_simplex
from rappor.decoding.diagnostics import diagnostics
from rappor.decoding.regression import Normal, fit, observe
from rappor.decoding.screening import lasso, needs_screening, strong
from rappor.errors import MismatchError, RapporError
from rappor.parameters import Parameters

PAPER = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
SMALL = Parameters(n_bits=16, n_hashes=2, n_cohorts=8, f=0.0, p=0.25, q=0.75)
SURE = Parameters(n_bits=64, n_hashes=2, n_cohorts=8, f=0.0, p=0.0, q=1.0)
NAMES = [f"v{i}" for i in range(200)]


def drawn(held, parameters, *, seed=1, names=None):
    names = NAMES[: len(held)] if names is None else names
    rng = np.random.default_rng(seed)
    return simulate_counts(names, np.array(held), parameters=parameters, rng=rng)


def paper_population(rng, n=10**6):
    weights = np.exp(-10 * np.linspace(0, 0.5, 100))
    return np.pad(rng.multinomial(n, weights / weights.sum()), (0, 100))


def test_a_fit_of_all_candidates_is_weighted_least_squares():
    counts = drawn([5_000, 3_000, 1_000, 0], SMALL)
    known = Candidates.of(NAMES[:4], parameters=SMALL)
    seen = observe(counts)
    normal = Normal.of(known.design.tocsc(), seen, 0.1)
    found = fit(normal, np.arange(4))
    root = np.sqrt(normal.weights)
    columns = normal.columns.toarray()
    expected, squares, _, _ = np.linalg.lstsq(
        columns * root[:, None], seen.share * root, rcond=None
    )
    assert np.allclose([*found.estimates, found.rest[0]], expected, rtol=1e-9, atol=1e-12)
    dispersion = squares[0] / (len(root) - 5)
    assert found.dispersion == pytest.approx(dispersion)
    covariance = np.linalg.inv((columns * normal.weights[:, None]).T @ columns)
    assert np.allclose(found.variances, np.diag(covariance)[:4] * max(1, dispersion))


def test_a_candidate_outside_the_fit_is_estimated_beside_the_members():
    counts = drawn([5_000, 3_000, 1_000, 500], SMALL)
    known = Candidates.of(NAMES[:4], parameters=SMALL)
    normal = Normal.of(known.design.tocsc(), observe(counts), 0.1)
    alone = fit(normal, np.array([0, 1])).estimates[3]
    assert alone == pytest.approx(fit(normal, np.array([0, 1, 3])).estimates[3], rel=1e-9)


def test_the_lasso_meets_its_optimality_conditions():
    known = Candidates.of(NAMES, parameters=PAPER)
    counts = drawn(paper_population(np.random.default_rng(3)), PAPER, seed=3)
    normal = Normal.of(known.design.tocsc(), observe(counts), 0.01)
    chosen = lasso(normal, penalty=1.0)
    assert 40 < len(chosen) < 140
    kept = np.append(chosen, 200)
    across = normal.products(np.array([200]))[0, :200]
    scale = np.sqrt(normal.squares[:200] - across**2 / normal.squares[200])
    price = np.append(scale, 0.0)
    solved = np.linalg.solve(normal.gram(kept), (normal.projected - price)[kept])
    assert (solved[:-1] > 0).all()
    left = normal.projected - normal.weighted.T @ (normal.columns[:, kept] @ solved)
    excess = (left - price)[:200] / scale
    assert np.abs(excess[chosen]).max() < 1e-6
    assert np.delete(excess, chosen).max() <= 0.02


@pytest.mark.slow
def test_estimates_are_unbiased_and_their_deviations_are_right():
    known = Candidates.of(NAMES[:40], parameters=SMALL)
    held = np.array([4_000, 2_000, 1_000, 500] + [50] * 20 + [0] * 16)
    scores, unknown = [], []
    for seed in range(60):
        found = decode(drawn(held, SMALL, seed=seed), known)
        scores.append((found.estimates - held) / found.sds)
        unknown.append(found.unknown.estimate / found.unknown.sd)
    # 60 x 40 scores: a mean beyond 0.1 or a deviation beyond 8 % has a chance below 1e-4.
    assert abs(np.mean(scores)) < 0.1
    assert np.std(scores) == pytest.approx(1.0, abs=0.08)
    assert abs(np.mean(unknown)) < 4 / np.sqrt(60)
    assert np.mean(np.square(unknown)) < 1.8


@pytest.mark.slow
def test_the_mass_of_strings_that_nobody_named_is_estimated():
    held = np.array([4_000] * 5 + [1_000] * 10 + [0] * 15)
    known = Candidates.of([*NAMES[1:5], *NAMES[6:30]], parameters=SMALL)
    scores = []
    for seed in range(40):
        # Fresh names are fresh hash functions: the mass is right over those.
        names = [f"{seed}-{i}" for i in range(30)]
        known = Candidates.of([*names[1:5], *names[6:]], parameters=SMALL)
        found = decode(drawn(held, SMALL, seed=seed, names=names), known)
        scores.append((found.unknown.estimate - 5_000) / found.unknown.sd)
        assert found.dispersion > 1
    assert abs(np.mean(scores)) < 0.6
    assert np.sqrt(np.mean(np.square(scores))) < 1.4


@pytest.mark.slow
def test_the_experiment_of_the_paper_falls_within_its_bands():
    # Bonferroni 29-39 of 100, Benjamini-Hochberg 38-54; seeds 1 to 5.
    known = Candidates.of(NAMES, parameters=PAPER)
    for seed in range(1, 6):
        held = paper_population(np.random.default_rng(seed))
        counts = drawn(held, PAPER, seed=100 + seed)
        found = decode(counts, known)
        strict = decode(counts, known, correction="bonferroni")
        assert 29 <= strict.is_detected.sum() <= 39
        assert (strict.is_detected & (held == 0)).sum() <= 1
        assert 38 <= found.is_detected.sum() <= 54
        assert (found.is_detected & (held == 0)).sum() <= 6
        # 2,806 by the formula of the paper; 200 candidates and dispersion add some percent.
        assert 2_806 < np.mean(found.sds) < 3_050
        assert np.sqrt(np.mean((found.estimates - held) ** 2)) < 3_300
        assert np.sqrt(np.mean((found.plausible - held) ** 2)) < 2_150


@pytest.mark.parametrize(
    ("clients", "spread"), [(10**4, 0.02), (10**5, 0.0063), (10**6, 0.002)]
)
def test_the_normal_experiment_has_the_deviations_of_basic_rappor(clients, spread):
    basic = Parameters.basic(100, f=0.0, p=0.5, q=0.75)
    rng = np.random.default_rng(clients)
    ages = np.clip(np.rint(rng.normal(50, 10, clients)), 0, 99).astype(int)
    held = np.bincount(ages, minlength=100)
    counts = simulate_counts(np.arange(100), held, parameters=basic, rng=rng)
    found = decode(counts, Candidates.of(list(range(100)), parameters=basic))
    assert np.mean(found.sds) / clients == pytest.approx(spread, rel=0.02)
    scores = (found.estimates - held) / found.sds
    assert np.sqrt(np.mean(scores**2)) == pytest.approx(1, abs=0.3)
    if clients == 10**6:  # the bell is traced
        assert found.is_detected[35:66].all()
        assert np.corrcoef(found.estimates, held)[0, 1] > 0.98


def test_plausible_amounts_are_the_best_of_those_that_can_be():
    """The optimality conditions of a quadratic program on the simplex."""
    rng = np.random.default_rng(5)
    for n in (2, 7, 40):
        root = rng.normal(size=(2 * n, n)) + 0.5
        gram, aim = root.T @ root, rng.dirichlet(np.full(n, 0.3)) + rng.normal(0, 0.1, n)
        found = project_to_simplex(gram, aim)
        assert found.sum() == pytest.approx(1)
        assert (found >= 0).all()
        slope, is_in = gram @ (found - aim), found > 1e-12
        assert np.ptp(slope[is_in]) < 1e-8 * np.abs(slope).max()
        assert (slope[~is_in] >= slope[is_in].mean() - 1e-8).all()


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_plausible_amounts_with_the_unknown_add_up_to_no_more_than_all_reports(n):
    for parameters in (SMALL, PAPER, Parameters.basic(30, f=0.0, p=0.25, q=0.75)):
        values = NAMES[:n] if parameters.hash != "index" else list(range(n))
        rng = np.random.default_rng(n)
        held = np.append([50], np.zeros(n - 1, np.int64)).astype(np.int64)
        counts = simulate_counts(values, held, parameters=parameters, rng=rng)
        found = decode(counts, Candidates.of(values, parameters=parameters))
        assert (found.plausible >= 0).all()
        assert found.plausible.sum() <= 50 * (1 + 1e-9)


def test_basic_rappor_is_freed_of_the_noise():
    basic = Parameters.basic(4, f=0.5, p=0.25, q=0.75)
    counts = Counts(n=[8_000], ones=[[3_000, 3_500, 4_000, 4_500]], parameters=basic)
    found = decode(counts, Candidates.of(list("abcd"), parameters=basic))
    gap = basic.q_star - basic.p_star
    expected = (np.array([3_000, 3_500, 4_000, 4_500]) - 8_000 * basic.p_star) / gap
    assert np.allclose(found.estimates, expected)
    assert found.unknown is None
    assert found.dispersion is None
    assert found.misfit is None


def test_basic_rappor_sums_the_values_without_a_name():
    basic = Parameters.basic(4, f=0.0, p=0.25, q=0.75)
    counts = Counts(n=[8_000], ones=[[4_000, 3_000, 3_000, 2_000]], parameters=basic)
    found = decode(counts, Candidates.of([0, 3], parameters=basic))
    assert found.unknown.estimate == pytest.approx(4_000)
    assert found.mass.estimate == pytest.approx(8_000)
    assert found.mass_misfit > 0.9


def test_a_boolean_question_is_decoded():
    coin = Parameters.basic(1, f=0.5, p=0.25, q=0.75)
    counts = Counts(n=[10_000], ones=[[5_000]], parameters=coin)
    found = decode(counts, Candidates.of(["yes"], parameters=coin))
    assert found.estimates.tolist() == [5_000]
    assert found.sds[0] == pytest.approx(np.sqrt(2_500) / 0.25)
    assert found.mass is None


def test_without_noise_the_counts_come_back():
    held = [6_000, 3_000, 1_000] + [0] * 27
    found = decode(drawn(held, SURE), Candidates.of(NAMES[:30], parameters=SURE))
    assert found.is_detected.tolist() == [True] * 3 + [False] * 27
    assert np.allclose(found.estimates[:3], held[:3], rtol=0.02)
    share = np.array([0.6, 0.3, 0.1])  # no less than the chance of who reports
    assert (found.sds[:3] >= np.sqrt(share * (1 - share) * 10_000) * 0.99).all()


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [PAPER, SURE, SMALL], ids=["paper", "sure", "small"])
def test_one_report_detects_nothing_that_it_does_not_hold(parameters):
    known = Candidates.of(NAMES, parameters=parameters)
    for seed in range(50):
        found = decode(drawn([1] + [0] * 199, parameters, seed=seed), known)
        assert not found.is_detected[1:].any()
        assert np.isfinite(found.p_values).all()


@pytest.mark.slow
def test_few_reports_with_rare_ones_give_no_false_discovery_beyond_the_level():
    rare = Parameters(n_bits=64, n_hashes=2, n_cohorts=8, f=0.0, p=0.01, q=0.9)
    known = Candidates.of(NAMES, parameters=rare)
    false = 0
    for seed in range(24):
        found = decode(drawn([10] + [0] * 199, rare, seed=seed), known, correction="bonferroni")
        false += bool(found.is_detected[1:].any())
    assert false <= 6  # 1.2 of 24 expected at most; 7 has a chance below 1e-3


def test_empty_and_unbalanced_cohorts_change_the_weights_alone():
    held = np.array([20_000, 8_000, 2_000] + [0] * 27)
    counts = drawn(held, SMALL)
    n, ones = counts.n.copy(), counts.ones.copy()
    n[2], ones[2] = 0, 0
    n[3], ones[3] = n[3] // 20, np.minimum(ones[3] // 20, n[3] // 20)
    found = decode(
        Counts(n=n, ones=ones, parameters=SMALL), Candidates.of(NAMES[:30], parameters=SMALL)
    )
    scores = (found.estimates / n.sum() - held / held.sum()) / (found.sds / n.sum())
    assert np.abs(scores).max() < 4.5
    assert {"silent-cohorts"} <= {diagnostic.name for diagnostic in found.diagnostics}


def test_candidates_that_set_the_same_bits_are_decoded_as_one():
    tiny = Parameters(n_bits=2, n_hashes=1, n_cohorts=2, f=0.0, p=0.25, q=0.75)
    known = Candidates.of(NAMES[:9], parameters=tiny)
    assert known.collisions
    found = decode(drawn([4_000, 3_000] + [0] * 7, tiny), known)
    assert len(found.estimates) == len(known.groups) < 9
    assert sorted(name for group in found.groups for name in group) == NAMES[:9]


def test_candidates_that_are_sums_of_others_are_not_told_apart():
    tiny = Parameters(n_bits=2, n_hashes=2, n_cohorts=1, f=0.5, p=0.25, q=0.75)
    bits = np.array([[[0, 0]], [[1, 1]], [[0, 1]]])
    known = Candidates(names=("a", "b", "ab"), bits=bits, parameters=tiny)
    found = decode(Counts(n=[1_000], ones=[[500, 400]], parameters=tiny), known)
    assert np.isfinite(found.p_values).all()
    assert np.isnan(found.estimates).any()
    assert (found.p_values[np.isnan(found.estimates)] == 1).all()


def test_q_below_p_is_decoded_all_the_same():
    turned = Parameters(n_bits=64, n_hashes=2, n_cohorts=8, f=0.0, p=0.65, q=0.35)
    held = np.array([20_000, 8_000] + [0] * 28)
    known = Candidates.of(NAMES[:30], parameters=turned)
    found = decode(drawn(held, turned), known, correction="bonferroni")
    assert found.is_detected.tolist() == [True, True] + [False] * 28
    assert np.abs((found.estimates - held) / found.sds).max() < 4


def test_more_candidates_than_bits_are_screened():
    wide = Parameters(n_bits=16, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)
    names = [f"w{i}" for i in range(1_000)]
    held = np.array([30_000, 20_000, 10_000, 5_000] + [0] * 996)
    known = Candidates.of(names, parameters=wide)
    found = decode(drawn(held, wide, names=names), known)
    assert found.is_screened
    assert found.unknown is None
    assert found.is_detected[:4].all()
    assert found.is_detected[4:].sum() <= 1
    scores = (found.estimates - held) / found.sds
    assert np.mean(np.abs(scores) < 1.96) == pytest.approx(0.95, abs=0.03)


def test_screening_starts_where_candidates_exceed_four_fifths_of_the_bits():
    for n, is_crowded in ((100, False), (110, True)):
        known = Candidates.of(NAMES[:n], parameters=SMALL)
        normal = Normal.of(known.design.tocsc(), observe(drawn([900], SMALL)), 0.1)
        assert needs_screening(normal) is is_crowded


@pytest.mark.slow
def test_noise_alone_makes_no_member_of_the_fit():
    known = Candidates.of([f"n{i}" for i in range(600)], parameters=SMALL)
    members = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        # Strings by the thousand, each once: their bits are evenly spread.
        ones = rng.binomial(1_000, 0.25 + 0.5 * 0.12, (8, 16))
        counts = Counts(n=[1_000] * 8, ones=ones, parameters=SMALL)
        normal = Normal.of(known.design.tocsc(), observe(counts), 0.12)
        members += bool(len(strong(normal)))
    assert members <= 8  # 2 expected; 9 has a chance below 1e-3


def test_the_misfit_tells_of_frequent_strings_that_are_missing():
    # Many reports: a string of a tenth of them that is no candidate shows.
    names = NAMES[:40]
    held = np.array([30_000, 100_000] + [5_000] * 38)
    counts = drawn(held, SMALL)
    complete = decode(counts, Candidates.of(names, parameters=SMALL))
    lacking = decode(counts, Candidates.of(names[:1] + names[2:], parameters=SMALL))
    assert complete.misfit > 1e-3
    assert lacking.misfit < 1e-6
    assert abs(lacking.unknown.estimate - 100_000) < 3 * lacking.unknown.sd


def test_the_mass_tells_of_wrong_parameters():
    counts = drawn([50_000, 30_000] + [0] * 18, SMALL)
    wrong = Parameters(n_bits=16, n_hashes=2, n_cohorts=8, f=0.0, p=0.2, q=0.75)
    other = Counts(n=counts.n, ones=counts.ones, parameters=wrong)
    right = decode(counts, Candidates.of(NAMES[:20], parameters=SMALL))
    found = decode(other, Candidates.of(NAMES[:20], parameters=wrong))
    assert right.mass_misfit > 1e-3
    assert found.mass_misfit < 1e-6


def test_bits_that_no_client_explains_are_named():
    counts = drawn([50_000, 30_000], SMALL)
    assert diagnostics(counts) == ()
    ones = counts.ones.copy()
    ones[1, 3] = 0
    ones[2, 5] = counts.n[2]
    found = diagnostics(Counts(n=counts.n, ones=ones, parameters=SMALL))
    assert [(s.name, s.found, s.example) for s in found] == [
        ("too-few-ones", 1, (1, 3)),
        ("too-many-ones", 1, (2, 5)),
    ]


def test_clients_with_half_the_bits_are_noticed():
    # The server expects 16 bits, the clients send 8: the upper ones are never set.
    half = Parameters(n_bits=8, n_hashes=2, n_cohorts=8, f=0.0, p=0.25, q=0.75)
    sent = drawn([5_000, 3_000], half)
    ones = np.hstack([sent.ones, np.zeros((8, 8), np.int64)])
    found, light = diagnostics(Counts(n=sent.n, ones=ones, parameters=SMALL))
    assert (found.name, light.name) == ("too-few-ones", "light-reports")
    assert found.found == 64


def test_no_report_is_refused():
    known = Candidates.of(["a"], parameters=SMALL)
    with pytest.raises(RapporError, match="no report"):
        decode(Counts.zeros(SMALL), known)


def test_candidates_of_other_parameters_are_refused():
    with pytest.raises(MismatchError, match="hashed with"):
        decode(drawn([10], SMALL), Candidates.of(["a"], parameters=PAPER))


@pytest.mark.parametrize(
    "options",
    [{"alpha": 0.0}, {"alpha": float("nan")}, {"confidence": 1.0}, {"correction": "bonf"}],
)
def test_options_out_of_range_are_refused(options):
    known = Candidates.of(["a"], parameters=SMALL)
    with pytest.raises(RapporError):
        decode(drawn([10], SMALL), known, **options)


def test_the_order_of_candidates_does_not_matter():
    held = [4_000, 2_000, 0, 0, 0, 500]
    counts = drawn(held, SMALL)
    found = decode(counts, Candidates.of(NAMES[:6], parameters=SMALL)).to_frame()
    turned = decode(counts, Candidates.of(NAMES[5::-1], parameters=SMALL)).to_frame()
    assert found["candidate"].tolist() == turned["candidate"].tolist()
    assert np.allclose(found["estimate"], turned["estimate"])
    assert np.allclose(found["low"], turned["low"])


@pytest.mark.slow
def test_correction_and_level_change_what_is_reported():
    counts = drawn(paper_population(np.random.default_rng(8)), PAPER, seed=8)
    known = Candidates.of(NAMES, parameters=PAPER)
    found = {
        correction: decode(counts, known, correction=correction).is_detected.sum()
        for correction in (
            "none",
            "benjamini-hochberg",
            "benjamini-yekutieli",
            "holm",
            "bonferroni",
        )
    }
    assert found["none"] > found["benjamini-hochberg"] > found["holm"] >= found["bonferroni"]
    assert found["benjamini-yekutieli"] <= found["benjamini-hochberg"]
    loose = decode(counts, known, alpha=0.2).is_detected.sum()
    assert loose > found["benjamini-hochberg"]


LOOSE = Parameters(n_bits=8, n_hashes=2, n_cohorts=64, f=0.0, p=0.225, q=0.775)
TYPICAL = Parameters(n_bits=8, n_hashes=2, n_cohorts=64, f=0.45, p=0.39, q=0.61)
DEMO = Parameters(n_bits=32, n_hashes=1, n_cohorts=32, f=0.5, p=0.25, q=0.75)


@pytest.mark.slow
def test_false_discoveries_stay_below_the_level_and_intervals_cover():
    """Three designs, ten fresh populations each; one string in ten is no candidate.

    About 1,000 discoveries, of which 2 % false are expected: more than 5 % has a chance below
    1e-4. About 3,600 intervals cover 94.5 %: less than 93 % has a chance below 1e-4.
    """
    false = found = 0
    covered = []
    for number, parameters in enumerate((LOOSE, TYPICAL, DEMO)):
        for seed in range(10):
            rng = np.random.default_rng([number, seed])
            names = [f"{seed}:{i}" for i in range(140)]
            weights = np.exp(-5 * np.arange(100) / 100)
            held = np.pad(rng.multinomial(10**6, weights / weights.sum()), (0, 40))
            is_known = np.arange(140) % 10 != 8
            is_known[100:] = True
            counts = simulate_counts(names, held, parameters=parameters, rng=rng)
            known = Candidates.of(np.array(names)[is_known].tolist(), parameters=parameters)
            result, truth = decode(counts, known), held[is_known]
            false += (result.is_detected & (truth == 0)).sum()
            found += result.is_detected.sum()
            ends = result.intervals
            covered.append(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())
    assert found > 800
    assert false / found <= 0.05
    assert np.mean(covered) >= 0.93
