"""Oracles, simulated ones and refusing ones, and the laws of noise."""

import subprocess
import sys

import numpy as np
import pytest

from ptable import Mechanism, NoiseSpec, solve
from risk.attacks import CountRequest, SimulatedOracle
from risk.attacks.oracle import Analyst
from risk.distributions.distribution import Law
from risk.distributions.noise_distributions import noise_law, p_mean_rounds_to_zero, row_of
from risk.errors import RiskError
from tests.unit.risk.attacks.support import r_table

TABLE = r_table(5, 3)


def oracle_of(counts, seed=1, **options):
    return SimulatedOracle(TABLE, counts, rng=np.random.default_rng(seed), **options)


def test_the_same_records_get_the_same_noise_in_every_request():
    for keys in ("mixed", "additive"):
        oracle = oracle_of([[7, 9, 0, 4]], keys=keys)
        first = oracle(CountRequest(groups=((0, 1), (3,), (0, 1, 3))))
        again = oracle(CountRequest(groups=((3, 1, 0, 2), (1, 0, 2), (2, 3))))
        assert again == [first[2], first[0], first[1]]


def test_additive_keys_of_a_group_are_the_sum_of_those_of_its_parts():
    # A p-table of one interval per key shows the key itself.
    table = Mechanism.random_rounding(1000).build()
    oracle = SimulatedOracle(table, [[1, 1, 1]], rng=np.random.default_rng(3), keys="additive")
    sums = oracle._sums[0]
    total = int(sums.sum(dtype=np.uint64))
    expected = 3 + table.lookup([3], np.array([total], np.uint64), key_range=2**64)
    assert oracle(CountRequest(groups=((0, 1, 2),))) == expected.tolist()


def test_fresh_noise_changes_and_consistent_noise_does_not():
    request = CountRequest(groups=((0,),) * 200)
    assert len(set(oracle_of([40], keys="fresh")(request))) > 5
    assert len(set(oracle_of([40])(request))) == 1


def test_empty_groups_are_published_as_zero_and_nothing_is_negative():
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 3, (2000, 1))
    oracle = SimulatedOracle(TABLE, counts, rng=rng)
    found = [oracle(CountRequest(groups=((0,),), line=n))[0] for n in range(2000)]
    assert min(found) == 0
    assert {found[n] for n in range(2000) if counts[n, 0] == 0} == {0}


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["mixed", "additive", "fresh"])
def test_simulated_noise_follows_the_row_of_its_count(keys):
    # Chi-square with 11 classes: a correct program fails once in 1000.
    n = 6000
    oracle = oracle_of(np.full((n, 1), 33), seed=8, keys=keys)
    law = noise_law(TABLE, count=33)
    noise = [oracle(CountRequest(groups=((0,),), line=i))[0] - 33 for i in range(n)]
    seen = np.array([noise.count(v) for v in law.numbers])
    expected = n * law.probabilities
    assert ((seen - expected) ** 2 / expected).sum() < 29.6


def test_limits_and_small_counts_are_refused_and_counted():
    oracle = oracle_of([[50, 60, 1]], most_queries=4, least_published=10)
    analyst = Analyst("test", oracle)
    answers = analyst.ask(((0,), (1,), (2,)))
    assert answers[2] is None
    later = analyst.ask(((0,), (1,)))
    assert later == [answers[0], None]
    assert (analyst.queries, analyst.refused) == (5, 2)


@pytest.mark.parametrize("error", [ValueError, PermissionError])
def test_an_oracle_that_raises_has_refused_the_whole_request(error):
    def oracle(request):
        raise error

    analyst = Analyst("test", oracle)
    assert analyst.ask(((0,), (1,))) == [None, None]
    assert analyst.refused == 2


def test_mistakes_are_no_refusals():
    with pytest.raises(RiskError, match="1 lines and 1 categories"):
        Analyst("test", oracle_of([5])).ask(((1,),))
    with pytest.raises(RiskError, match="2 counts, one per group, not 1"):
        Analyst("test", lambda _: [1]).ask(((0,), (1,)))
    with pytest.raises(ZeroDivisionError):
        Analyst("test", lambda _: [1 // 0]).ask(((0,),))


@pytest.mark.parametrize("groups", [(), ((),), ((0, 0),), ((-1,),), (("a",),)])
def test_a_request_needs_groups_of_places(groups):
    with pytest.raises(RiskError, match="A request needs groups"):
        CountRequest(groups=groups)


def test_an_oracle_names_all_that_is_wrong_with_it():
    with pytest.raises(RiskError, match=r"counts must be .* keys must be"):
        oracle_of([[-1]], keys="none")
    with pytest.raises(RiskError, match="counts must be"):
        oracle_of([[1.5]])


def test_rows_of_large_counts_are_those_of_the_lookup():
    for mechanism in (
        Mechanism.random_rounding(7),
        Mechanism.rounding(4, ties="even"),
        Mechanism.small_count_rounding(3),
    ):
        table = mechanism.build()
        for count in range(1, 60):
            law = noise_law(table, count=count)
            keys = np.arange(table.key_range) if table.key_range < 99 else np.array([0])
            noise = table.lookup(np.full(len(keys), count), keys, key_range=table.key_range)
            for v in law.numbers:
                assert law.at(v) == pytest.approx((noise == v).mean(), abs=1e-12)


def test_tables_that_have_no_single_row_for_large_counts_ask_for_the_count():
    with pytest.raises(RiskError, match="Large counts take 3 rows"):
        row_of(Mechanism.random_rounding(3).build())
    with pytest.raises(RiskError, match="not one of magnitudes"):
        row_of(solve(NoiseSpec(max_noise=1, variance=0.4, step=2, anchors=(1,))))
    with pytest.raises(RiskError, match="at least 0, not -1"):
        row_of(TABLE, count=-1)


def test_laws_of_sums_are_convolutions():
    law = noise_law(TABLE, count=2)
    twice = Law.weighted_sum([(law, 2, 1), (law, -3, 2)])
    p = law.probabilities
    spread = {2: np.zeros(2 * len(p) - 1), -3: np.zeros(3 * len(p) - 2)}
    spread[2][::2] = p
    spread[-3][::3] = p[::-1]
    expected = np.convolve(np.convolve(spread[2], spread[-3]), spread[-3])
    assert twice.probabilities == pytest.approx(expected, abs=1e-15)
    assert twice.lowest == 2 * law.lowest - 6 * law.highest
    assert Law.weighted_sum([]).probabilities.tolist() == [1.0]


def test_halves_round_up():
    coin = Law(lowest=-1, probabilities=np.array([0.5, 0.0, 0.5]))
    assert p_mean_rounds_to_zero(coin, divisor=2) == 0.5


@pytest.mark.slow
def test_importing_the_attacks_loads_nothing_heavy():
    code = (
        "import sys, risk.attacks; "
        "heavy = {'pandas', 'scipy', 'cvxpy', 'highspy', 'duckdb', 'pyarrow', 'ckm'}; "
        "heavy &= set(sys.modules); "
        "sys.exit(','.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
