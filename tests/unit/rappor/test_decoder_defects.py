"""Defects of other decoders that ours must not have; each name says which."""

import numpy as np
import pytest

from rappor.client.client import bloom_filter, encode
from rappor.client.simulate import simulate_counts
from rappor.counts import Counts
from rappor.decoding.candidates import Candidates
from rappor.decoding.decode import decode
from rappor.decoding.joint import joint, likelihoods
from rappor.decoding.ngrams import discover
from rappor.encoded import Reports
from rappor.parameters import Parameters
from tables.secret import Secret

NAMES = [f"v{i}" for i in range(40)]
HELD = np.array([12_000, 6_000, 3_000, 1_500] + [0] * 36)


def sent(values, parameters, rng):
    cohorts = rng.integers(0, parameters.n_cohorts, len(values))
    is_set = bloom_filter(values, cohorts, parameters=parameters)
    chance = np.where(is_set, parameters.q_star, parameters.p_star)
    return Reports.from_bits(rng.random(is_set.shape) < chance, cohorts, parameters=parameters)


def scores(parameters, *, seed=1):
    rng = np.random.default_rng(seed)
    counts = simulate_counts(NAMES, HELD, parameters=parameters, rng=rng)
    found = decode(counts, Candidates.of(NAMES, parameters=parameters))
    return (found.estimates - HELD) / found.sds


@pytest.mark.parametrize(
    ("f", "p", "q"), [(0.5, 0.0, 1.0), (0.5, 0.3, 1.0), (0.25, 0.0, 0.7), (0.0, 0.0, 0.6)]
)
def test_a_certain_one_or_zero_is_decoded(f, p, q):
    """With q = 1 one client of google sends zeros, and its decoder divides by them."""
    shape = Parameters(n_bits=32, n_hashes=2, n_cohorts=8, f=f, p=p, q=q)
    found = scores(shape)
    assert np.isfinite(found).all()
    assert np.abs(found).max() < 4.5


def test_the_probabilities_that_were_drawn_are_those_that_decode():
    """Reports of our clients, encoded one by one, come back without bias."""
    shape = Parameters(n_bits=32, n_hashes=2, n_cohorts=8, f=0.45, p=0.39, q=0.91)
    values = [
        name for name, held in zip(NAMES, HELD.tolist(), strict=True) for _ in range(held)
    ]
    rng = np.random.default_rng(3)
    reports = encode(
        values,
        list(range(len(values))),
        parameters=shape,
        secret=Secret(bytes(range(16))),
        metric="defects",
        rng=rng,
    )
    found = decode(reports.sum(), Candidates.of(NAMES, parameters=shape))
    assert np.abs((found.estimates - HELD) / found.sds).max() < 4.5
    assert found.diagnostics == ()


def test_basic_rappor_is_decoded_from_a_map_and_freed_of_the_noise(tmp_path):
    """One cohort stops the decoder of google; what would replace it returns raw counts."""
    (tmp_path / "map.csv").write_text(
        "".join(f"{name},{i + 1}\n" for i, name in enumerate("abc"))
    )
    shape = Parameters(n_bits=3, n_hashes=1, n_cohorts=1, f=0.5, p=0.25, q=0.75)
    known = Candidates.read(tmp_path / "map.csv", parameters=shape)
    counts = Counts(n=[8_000], ones=[[5_000, 4_000, 3_000]], parameters=shape)
    found = decode(counts, known)
    assert np.allclose(found.estimates, [8_000, 4_000, 0])
    assert not found.is_screened


def test_other_values_have_the_bits_of_their_cohort():
    """The decoder of google gives them those of another one."""
    shape = Parameters(n_bits=8, n_hashes=1, n_cohorts=4, f=0.0, p=0.1, q=0.9)
    rng = np.random.default_rng(1)
    reports = sent(["unknown"] * 2_000, shape, rng)
    _, table = likelihoods(reports, Candidates.of(["a", "b"], parameters=shape))
    names = Candidates.of(["a", "b"], parameters=shape)
    other = Candidates.of(["unknown"], parameters=shape)
    apart = [c for c in range(4) if not set(names.bits[:, c, 0]) & set(other.bits[:, c, 0])]
    assert apart
    own = np.isin(reports.cohorts, apart)
    assert np.mean(np.log(table[own, 2]) > np.log(table[own, :2]).max(axis=1)) > 0.8


def test_two_strings_with_parameters_of_their_own_have_a_joint_distribution():
    """The association of google takes a string and a Boolean with one set of parameters."""
    one = Parameters(n_bits=16, n_hashes=2, n_cohorts=8, f=0.0, p=0.2, q=0.8)
    two = Parameters(n_bits=32, n_hashes=1, n_cohorts=4, f=0.1, p=0.1, q=0.7)
    rng = np.random.default_rng(2)
    truth = np.array([[0.5, 0.1], [0.1, 0.3]])
    cell = rng.choice(4, 8_000, p=truth.ravel())
    reports = (
        sent([NAMES[i] for i in cell // 2], one, rng),
        sent([NAMES[i] for i in cell % 2], two, rng),
    )
    known = tuple(Candidates.of(NAMES[:2], parameters=shape) for shape in (one, two))
    found = joint(reports, known)
    assert np.abs((found.shares[:2, :2] - truth) / found.sds[:2, :2]).max() < 4
    assert found.independence < 1e-9


def test_unexplained_mass_is_a_number_of_reports():
    """The decoder of google prints a missing variance of minus a thousand million."""
    shape = Parameters(n_bits=16, n_hashes=2, n_cohorts=16, f=0.0, p=0.25, q=0.75)
    counts = simulate_counts(NAMES, HELD, parameters=shape, rng=np.random.default_rng(4))
    found = decode(counts, Candidates.of(NAMES[1:], parameters=shape))
    assert abs(found.unknown.estimate - 12_000) < 4 * found.unknown.sd
    assert found.unknown.sd < 22_500


@pytest.mark.parametrize("size", [1, 3])
def test_pieces_of_any_size_make_strings(size):
    """The discovery of google knows pieces of two characters and a fixed threshold."""
    shape = Parameters(n_bits=64, n_hashes=2, n_cohorts=4, f=0.0, p=0.2, q=0.8)
    rng = np.random.default_rng(5)
    values = [["abcabc", "bbbccc"][i] for i in rng.choice(2, 3_000, p=[0.7, 0.3])]
    cut = [[v[s : s + size] for s in range(0, 2 * size, size)] for v in values]
    reports = tuple(sent([text[place] for text in cut], shape, rng) for place in range(2))
    found = discover({(0, 1): reports}, alphabet="abc", size=size)
    assert set(found.strings) == {v[: 2 * size] for v in ("abcabc", "bbbccc")}


def test_a_boolean_near_none_is_no_surprise():
    """The decoder of google fails near 0; 40 populations, 1 in 20 found by chance at most."""
    coin = Parameters.basic(1, f=0.5, p=0.25, q=0.75)
    known = Candidates.of(["yes"], parameters=coin)
    found = [
        decode(
            Counts(
                n=[2_000],
                ones=[[np.random.default_rng(seed).binomial(2_000, coin.p_star)]],
                parameters=coin,
            ),
            known,
        ).is_detected[0]
        for seed in range(40)
    ]
    assert sum(found) <= 7  # 8 has a chance below 1e-3
