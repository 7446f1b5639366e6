"""Every check fails when it should, and sound releases pass them all.

The checks of the noise err once in a million releases; the seeds here are fixed.
"""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from ckm.assessment.noise.agreement import (
    FAMILY,
    SHARE,
    _class_ends,
    mean_test,
    share_fit,
    share_p_value,
    variance_test,
)
from ckm.assessment.noise.applied import Design, applied_table
from ckm.assessment.observed import ObservedCells, independent, repeats
from ckm.config.job.report import Allowance, JobLimits
from ckm.errors import CheckFailedError
from ckm.release.verdict import judge
from ptable import NoiseSpec, PTable, solve
from ptable.design.mechanisms import Mechanism
from reports.catalogues.release import CHECKS
from reports.i18n.languages import words_of
from tables.quality import KeyQuality
from tests.unit.ckm.assessment.support import (
    cells_of,
    check,
    found_in,
    job_of,
    observed,
    outcomes,
    people,
)

NOISY = solve(NoiseSpec(max_noise=3, variance=1.5, small=1))


@pytest.fixture(scope="module")
def tables():
    records = people(9000, sex=2, area=150, age=30)
    return {
        "areas": cells_of(records, ["area", "sex"]),
        "ages": cells_of(records, ["area", "age", "sex"]),
    }


def spoilt(tables, change, **options):
    return found_in(observed(tables, NOISY, change=change), **options)


def failing(found):
    return {name for name, outcome in outcomes(found).items() if outcome == "failed"}


def test_the_bound_on_squared_noise_is_that_of_bernstein():
    # noise of -3, 0 and 3: a square is off by at most 9 - 9/4, and its variance is 243/16
    rows = [[0], [0], [0], [-3, 0, 3]]
    ends = [[8], [8], [8], [1, 7, 8]]
    design = Design.of(PTable(noise=rows, upper=ends, key_range=8))
    found = variance_test(ObservedCells.of([4] * 100, noise=[0] * 100), design)
    total = 100 * 243 / 16
    log = math.log(2 / SHARE)
    bound = found.allowed * math.sqrt(total)
    assert bound**2 == pytest.approx(2 * log * (total + (9 - 9 / 4) * bound / 3))


def test_every_class_of_counts_holds_as_many_expected_cells():
    assert _class_ends(np.array([5.0, 5.0, 5.0])) == [1, 2, 3]
    assert _class_ends(np.array([4.0, 4.0, 4.0, 4.0, 4.0])) == [2, 5]


def test_a_sound_release_passes_everything_that_is_computed(tables):
    found = found_in(observed(tables, NOISY))
    assert failing(found) == set()
    done = {name for name, outcome in outcomes(found).items() if outcome == "passed"}
    assert {"noise-mean", "noise-variance", "noise-distribution", "same-records"} <= done
    assert check(found, "same-records").found["repeats"] > 0


def test_noise_beyond_its_bound_fails_and_names_the_table(tables):
    def change(name, _cells, published):
        published = published.copy()
        published[0] += 9 * (name == "ages")
        return published

    found = spoilt(tables, change)
    assert "noise-bound" in failing(found)
    assert check(found, "noise-bound").where == "ages"
    assert check(found, "noise-bound").found["most"] >= 6


@pytest.mark.slow
def test_noise_within_the_bounds_of_the_table_but_not_of_its_row_fails(tables):
    # Counts of 1 lose one at most; a loss of 3 is noise of larger counts alone.
    coarse = PTable.from_units([{0: 8}, {-1: 4, 1: 4}, {-2: 4, 2: 4}], key_range=8)

    def change(_name, cells, published):
        published = published.copy()
        published[np.flatnonzero(cells.count > 9)[0]] += -1
        return published

    found = found_in(observed(tables, coarse, change=change))
    bound = check(found, "noise-bound")
    assert bound.outcome == "failed"
    assert bound.found["least"] >= -3


def test_a_small_published_count_fails(tables):
    def change(name, cells, published):
        published = published.copy()
        if name == "ages":
            published[np.flatnonzero(cells.count == 2)[0]] = 1
        return published

    found = spoilt(tables, change)
    assert check(found, "small-counts").allowed == {"small": 1}
    assert check(found, "small-counts").found == {"cells": 1}
    assert check(found, "small-counts").outcome == "failed"


def test_a_published_number_from_nowhere_fails(tables):
    def add(name, table):
        if name == "ages":
            zero = np.flatnonzero(table.measures["count"] == 0)
            table.measures["count"][zero[:3]] = 4
        return table

    found = found_in(observed(tables, NOISY, spoil=add, empty_cells="grid"))
    assert failing(found) == {"zeros-kept"}
    assert check(found, "zeros-kept").where == "ages"
    assert check(found, "zeros-kept").found == {"cells": 3}


@pytest.mark.slow
def test_the_same_records_published_differently_fail(tables):
    def change(name, cells, published):
        if name == "ages":
            return published
        shifted = published.copy()
        place = np.flatnonzero((published == cells.count) & (cells.count > 20))[0]
        shifted[place] += 1
        return shifted

    found = spoilt(tables, change)
    assert failing(found) == {"same-records"}
    assert check(found, "same-records").found["differing"] == 1


def test_biased_noise_fails(tables):
    def change(_name, cells, published):
        up = (cells.cell_key % np.uint64(4) == 0) & (published - cells.count < 3)
        return np.where((cells.count > 1) & up, published + 1, published)

    assert {"noise-mean", "noise-distribution"} <= failing(spoilt(tables, change))


def test_noise_that_is_too_small_fails(tables):
    def change(_name, cells, published):
        still = (cells.cell_key % np.uint64(3) == 0) & (cells.count > 2)
        return np.where(still, cells.count, published)

    assert {"noise-variance", "noise-distribution"} <= failing(spoilt(tables, change))


def test_noise_of_another_shape_with_the_same_moments_fails():
    rng = np.random.default_rng(5)
    table = PTable.from_units(
        [{0: 16}, *({0: 16} for _ in range(3)), {-2: 2, -1: 4, 0: 4, 1: 4, 2: 2}], key_range=16
    )
    design = Design.of(table)
    variance = float(design.variance[4])
    other = {-2: variance / 8, 0: 1 - variance / 4, 2: variance / 8}
    n = 40_000
    cells = ObservedCells(
        count=np.full(n, 30),
        noise=rng.choice(list(other), n, p=list(other.values())),
        key=np.arange(n, dtype=np.uint64),
        is_finest=np.ones(n, bool),
    )
    assert mean_test(cells, design).is_passed
    assert share_p_value(cells, design) < FAMILY / 3


def test_a_single_unsound_row_is_found_among_many():
    """Row 30 of sixty has its ends and its middle exchanged; mean and size hide it."""
    law = {-3: 1, -2: 2, -1: 5, 0: 16, 1: 5, 2: 2, 3: 1}
    table = PTable.from_units([{0: 32}] + [{0: 32}] * 2 + [law] * 57, key_range=32)
    other = law | {-3: 2, 3: 2, -2: 1, 2: 1}
    rng = np.random.default_rng(8)
    counts = np.repeat(np.arange(3, 60), 1200)
    noise = np.empty(len(counts), np.int64)
    for shares, some in ((law, counts != 30), (other, counts == 30)):
        chances = np.array(list(shares.values())) / 32
        noise[some] = rng.choice(list(shares), int(some.sum()), p=chances)
    cells, design = ObservedCells.of(counts, noise=noise), Design.of(table)
    assert mean_test(cells, design).is_passed
    assert share_p_value(cells, design) < FAMILY / 3
    sound = cells.take(counts != 30)
    assert share_p_value(sound, design) == 1


def test_sound_noise_is_seldom_called_unsound_at_a_laxer_level():
    """Bounds are no smaller than the rate: at 5 % fewer than 25 of 300, error rate 0.01."""
    design, rng, rejected = Design.of(NOISY), np.random.default_rng(4), 0
    for _ in range(300):
        counts = rng.geometric(0.2, 400)
        keys = rng.integers(0, 2**32, len(counts), dtype=np.uint64)
        cells = ObservedCells.of(counts, noise=NOISY.lookup(counts, keys))
        rejected += share_p_value(cells, design) < 0.05
    assert rejected < 25


def test_the_p_value_that_is_shown_is_uniform_for_sound_noise():
    """Of 400 releases; each share within 4.5 standard errors, error rate below 1 in 10,000."""
    design, rng, found = Design.of(NOISY), np.random.default_rng(20261122), []
    for _ in range(400):
        counts = rng.geometric(0.2, 600)
        keys = rng.integers(0, 2**32, len(counts), dtype=np.uint64)
        cells = ObservedCells.of(counts, noise=NOISY.lookup(counts, keys))
        found.append(share_fit(cells, design))
    assert {fit["rows"] > 3 for fit in found} == {True}
    for level in (0.1, 0.3, 0.5, 0.7, 0.9):
        share = np.mean([fit["p"] <= level for fit in found])
        assert abs(share - level) < 4.5 * math.sqrt(level * (1 - level) / len(found))
    mean = np.mean([fit["chi2"] - fit["df"] for fit in found])
    assert abs(mean) < 4.5 * math.sqrt(2 * found[0]["df"] / len(found)) * 1.2


@pytest.mark.slow
def test_the_report_shows_statistic_degrees_and_plain_p_value_and_no_capped_one(tables):
    found = check(found_in(observed(tables, NOISY)), "noise-distribution").found
    assert found["bound"] == 1  # twice the least of several bounds, cut at 1: not shown
    assert 0 < found["least"] < found["p"] < 1
    assert found["p"] == pytest.approx(chi2.sf(found["chi2"], found["df"]))
    text = CHECKS["noise-distribution"].found.say(words_of("en"), found, of="it")
    assert "1.000" not in text
    assert f"with {found['df']:.0f} degrees of freedom" in text


def test_a_chi_squared_test_of_few_cells_is_not_shown():
    design = Design.of(NOISY)
    assert share_fit(ObservedCells.of([4, 4, 4], noise=[0, 1, -1]), design) == {}
    assert share_fit(ObservedCells.of([4] * 200, noise=[9] * 200), design) == {}


@pytest.mark.parametrize("n", [1, 7, 300, 20_000])
@pytest.mark.parametrize("seed", range(25))
def test_sound_noise_passes_for_any_number_of_cells(n, seed):
    # 100 releases at an error rate of one in a million each.
    rng = np.random.default_rng([seed, n])
    counts = rng.integers(1, 12, n)
    keys = rng.integers(0, 2**32, n, dtype=np.uint64)
    cells = ObservedCells(
        count=counts, noise=NOISY.lookup(counts, keys), key=keys, is_finest=np.ones(n, bool)
    )
    design = Design.of(NOISY)
    assert mean_test(cells, design).is_passed
    assert variance_test(cells, design).is_passed
    assert share_p_value(cells, design) >= FAMILY / 3


def test_the_bound_on_shares_is_no_smaller_than_the_exact_chance():
    # Of all outcomes of 12 draws of three kinds, by enumeration.
    table = PTable.from_units([{0: 8}, {-1: 1, 0: 4, 1: 3}], key_range=8)
    design = Design.of(table)
    p, n, outcomes_ = (1 / 8, 1 / 2, 3 / 8), 12, []
    for low in range(n + 1):
        for mid in range(n + 1 - low):
            high = n - low - mid
            ways = math.factorial(n) / math.prod(map(math.factorial, (low, mid, high)))
            noise = np.repeat([-1, 0, 1], [low, mid, high])
            cells = ObservedCells(
                count=np.full(n, 5),
                noise=noise,
                key=np.arange(n, dtype=np.uint64),
                is_finest=np.ones(n, bool),
            )
            chance = ways * p[0] ** low * p[1] ** mid * p[2] ** high
            outcomes_.append((share_p_value(cells, design), chance))
    assert math.isclose(sum(chance for _, chance in outcomes_), 1.0)
    for level in (0.5, 0.1, 0.01, 1e-3):
        assert sum(chance for bound, chance in outcomes_ if bound <= level) <= level


@pytest.mark.slow
@pytest.mark.parametrize(
    "ptable",
    [
        Mechanism.random_rounding(3).build(),
        Mechanism.rounding(5).build(),
        PTable.from_units([{0: 9}], key_range=9),
        solve(NoiseSpec(max_noise=4, variance=2.0)).quantise(256),
        Mechanism.discrete_laplace(0.7, max_noise=6).build(),
    ],
    ids=["random rounding", "rounding", "no noise", "256 keys", "Laplace"],
)
@pytest.mark.parametrize("is_mixed", [True, False])
@pytest.mark.filterwarnings("ignore::ptable.PTableWarning")
def test_every_kind_of_ptable_passes_what_can_be_computed(tables, ptable, is_mixed):
    assert failing(found_in(observed(tables, ptable, is_mixed=is_mixed))) == set()


@pytest.mark.slow
@pytest.mark.parametrize("is_mixed", [True, False])
def test_few_stored_keys_do_not_fail_wrongly(is_mixed):
    records = people(5000, sex=2, area=60)
    keys = np.random.default_rng(2).integers(0, 256, records.num_rows)
    import pyarrow as pa

    records = records.append_column("rkey", pa.array(keys, pa.uint8()))
    tables = {"areas": cells_of(records, ["area", "sex"], key="rkey")}
    table = solve(NoiseSpec(max_noise=4, variance=2.0))
    found = found_in(observed(tables, table, is_mixed=is_mixed))
    assert failing(found) == set()
    # With a mix there is one draw per key; without one, cells without a common record.
    cells = check(found, "noise-mean").found["cells"]
    assert cells <= 256 if is_mixed else cells == 120


def test_the_design_is_that_of_the_keys_in_use():
    # 2 of 3 keys become 171 of 256: the probability that a release draws with is not 2/3.
    table = PTable.from_units([{0: 3}, {-1: 1, 1: 2}], key_range=3)
    assert applied_table(table, key_range=256).units(1) == {-1: 86, 1: 170}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quality", "outcome"),
    [
        (
            KeyQuality(
                problems=("Bad.",),
                missing_share=0.1,
                repeated_share=0.0,
                uniformity_p=None,
                slice=1,
            ),
            "failed",
        ),
        (None, "not computed"),
    ],
)
def test_poor_keys_are_told_and_draw_nothing_without_a_mix(tables, quality, outcome):
    found = found_in(observed(tables, NOISY, is_mixed=False), quality=quality)
    assert check(found, "keys").outcome == outcome
    for name in ("noise-mean", "noise-variance", "noise-distribution"):
        assert check(found, name).outcome == "not computed"
    mixed = found_in(observed(tables, NOISY), quality=quality)
    assert check(mixed, "noise-mean").outcome == "passed"


def test_a_certificate_of_another_table_fails(tables):
    other = solve(NoiseSpec(max_noise=3, variance=1.2, small=1))
    forged = NOISY.with_proof(NOISY.spec, other.certificate)
    found = found_in(observed(tables, forged))
    assert failing(found) == {"certificate"}


@pytest.fixture(scope="module")
def unlimited(tables):
    """Give what saw a sound release, and how checks end without limits and with wide ones."""
    assessor = observed(tables, NOISY)
    wide = {"posterior": 1.0, "posterior_set": 1.0, "aad": 1000.0}
    wide |= {"known_small": 1.0, "changed_cells": 1.0, "false_zeros": 1.0}
    limits = JobLimits(attacks={"differencing": 1.0}, **wide)
    return assessor, outcomes(found_in(assessor)), outcomes(found_in(assessor, limits=limits))


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"posterior": 0.01}, "posterior"),
        ({"posterior_set": 0.01}, "posterior-set"),
        ({"attacks": {"differencing": 0.01}}, "attacks"),
        ({"aad": 0.01}, "utility"),
        ({"known_small": 0.0}, "known-small"),
        ({"changed_cells": 0.01}, "changed"),
        ({"false_zeros": 0.0}, "false-zeros"),
    ],
)
def test_a_limit_that_is_exceeded_fails_and_a_wide_one_passes(unlimited, limits, name):
    assessor, without, wide = unlimited
    assert without.get(name, "no limit") == "no limit"
    assert wide[name] == "passed"
    assert failing(found_in(assessor, limits=JobLimits(**limits))) == {name}


def test_limits_on_cells_are_held_to_the_counts_of_all_tables(unlimited):
    assessor, *_ = unlimited
    cells = assessor.distinct
    changed = np.count_nonzero(cells.noise) / len(cells)
    zeros = np.count_nonzero(cells.published == 0) / len(cells)
    for key, name, share in (
        ("changed_cells", "changed", changed),
        ("false_zeros", "false-zeros", zeros),
    ):
        exactly = found_in(assessor, limits=JobLimits(**{key: share}))
        assert check(exactly, name).found["share"] == pytest.approx(share, abs=1e-12)
        assert failing(exactly) == set()
        assert failing(found_in(assessor, limits=JobLimits(**{key: share - 1e-6}))) == {name}


@pytest.mark.slow
def test_a_check_of_attacks_says_how_many_of_them_have_a_limit(unlimited):
    assessor, *_ = unlimited
    found = found_in(assessor, limits=JobLimits(attacks={"differencing": 1.0}))
    seen = check(found, "attacks")
    tried = len(found.risk.attacks)
    assert tried > 1
    assert seen.found == {"over": 0.0, "limited": 1.0, "tried": float(tried)}
    words = CHECKS["attacks"]
    assert words.found.message % {"limited": 1, "tried": tried, "over": 0} == (
        f"Attacks with a limit: 1 of {tried}; above it: 0."
    )
    assert "for which a limit was set" in words.public


@pytest.mark.slow
def test_a_failed_check_stops_and_names_itself_and_a_way_out(tables):
    found = found_in(observed(tables, NOISY), limits=JobLimits(posterior=0.01))
    with pytest.raises(CheckFailedError) as caught:
        judge(found.checks, job_of(tables))
    assert "The release check 'posterior' failed in '" in caught.value.problem
    assert "every sensitive i. Largest probability: 0." in caught.value.problem
    assert caught.value.problem.endswith("Nothing was published.")
    assert 'check = "posterior"' in caught.value.hint


def test_a_failed_check_does_not_tell_a_share_of_few_small_counts(tables):
    found = found_in(observed(tables, NOISY), limits=JobLimits(known_small=0.0))
    with pytest.raises(CheckFailedError) as caught:
        judge(found.checks, job_of(tables))
    assert caught.value.problem.endswith(
        "with more than 75\N{NO-BREAK SPACE}%. Nothing was published."
    )


def test_a_failed_check_warns_where_the_job_says_so_or_somebody_allowed_it(tables):
    found = found_in(observed(tables, NOISY), limits=JobLimits(posterior=0.01))
    (words,) = judge(found.checks, job_of(tables, checks="warn"))
    assert words.endswith('Published because [keys] checks = "warn".')
    granted = Allowance(what="w", who="x", when="2027-01-01", why="y", check="posterior")
    (words,) = judge(found.checks, job_of(tables, exceptions=(granted,)))
    assert words.endswith("Published because an exception allows it.")
    other = Allowance(what="w", who="x", when="2027-01-01", why="y", check="utility")
    with pytest.raises(CheckFailedError):
        judge(found.checks, job_of(tables, exceptions=(other,)))


def test_repeats_of_no_cell_and_of_one_are_none():
    nothing = ObservedCells.together([])
    assert repeats(nothing) == (0, 0)
    assert len(independent([], is_mixed=False)) == 0
    one = ObservedCells(
        count=np.array([3]),
        noise=np.array([0]),
        key=np.array([5], np.uint64),
        is_finest=np.ones(1, bool),
    )
    assert repeats(one) == (0, 0)


def test_few_keys_with_different_counts_are_no_repeats():
    cells = ObservedCells(
        count=np.array([3, 9, 3, 9]),
        noise=np.array([0, 1, 0, 1]),
        key=np.array([5, 5, 5, 5], np.uint64),
        is_finest=np.ones(4, bool),
    )
    assert repeats(cells) == (2, 0)
