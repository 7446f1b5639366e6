"""Sums of amounts that are alike tell how many contribute no more surely than counts do."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.engine.magnitudes import MagnitudeNoise, perturb_magnitudes
from ckm.engine.magnitudes.noise.alike import CountNoise, alike_cells
from ckm.engine.magnitudes.settings import VariableNoises
from ckm.errors import MagnitudeError
from ptable import NoiseSpec, PTable, solve
from tables import HashedKeys, Request, Secret, cube, open_source

SECRET = Secret(bytes(range(16)))
PTABLE = solve(NoiseSpec(max_noise=5, variance=3.0, small=2))
COUNTS = CountNoise(ptable=PTABLE, secret=SECRET)
KEYS = HashedKeys(column="id", secret=SECRET)
#: Cells of 1 to 40 contributors, 60 of each number.
SIZES = np.tile(np.arange(1, 41), 60)
#: A hit rate from 2,400 cells is off by more than this once in a million times.
OFF = 0.05


def frame(values, sizes=SIZES):
    cell = np.repeat(np.arange(len(sizes)), sizes)
    return pd.DataFrame({"id": np.arange(len(cell)), "cell": cell, "x": values(len(cell))})


def magnitudes(data, **request):
    wish = Request(
        dimensions=["cell"], margins="none", sums=["x"], top=2, discrete=["cell"], **request
    )
    with open_source(data) as source:
        (cells,) = cube(source, KEYS, [wish])
    return cells.magnitudes["x"]


def constant(size):
    return np.full(size, 7.0)


def nearly(size):
    return np.random.default_rng(1).choice([30.0, 35.0, 35.0, 35.0, 35.0, 40.0], size)


def ratings(size):
    return np.random.default_rng(2).integers(1, 6, size).astype(float)


def incomes(size):
    return np.round(np.random.default_rng(3).lognormal(7, 1, size), 2)


def hits(published, typical, sizes=SIZES):
    """Return how often the sum over a typical amount gives the number of contributors."""
    return float(np.mean(np.round(published / typical) == sizes))


@pytest.mark.parametrize(
    ("values", "before"),
    [(constant, 0.996), (nearly, 0.79), (ratings, None)],  # these vary as counts' noise does
)
def test_a_sum_over_a_typical_amount_gives_the_count_no_more_often_than_the_count_does(
    values, before
):
    """The attack of the issue, with the rates that the page on magnitudes has."""
    data = frame(values)
    cells, typical = magnitudes(data), data["x"].mean()
    counted = float(np.mean(COUNTS.published(cells) == SIZES))
    noise = MagnitudeNoise.start(decimals=None)
    bare = hits(perturb_magnitudes(cells, noise, secret=SECRET), typical)
    found = hits(perturb_magnitudes(cells, noise, secret=SECRET, counts=COUNTS), typical)
    assert found <= counted + OFF
    if before is not None:
        assert bare == pytest.approx(before, abs=0.01)
        assert found == pytest.approx(0.21, abs=0.01)
        assert counted == pytest.approx(0.22, abs=0.01)


def test_differences_of_large_sums_tell_a_small_count_no_more_often_than_counts_do():
    """Whoever knows a total and its large parts takes them from each other."""
    sizes = np.array([3, 5, 8, 12] * 100)
    data = frame(nearly, sizes)
    more = 150 * 400  # the large part of each total
    cell = np.repeat(np.arange(400), 150)
    large = pd.DataFrame(
        {"id": 10**6 + np.arange(more), "cell": cell, "x": nearly(more), "part": "large"}
    )
    both = pd.concat([data.assign(part="small"), large], ignore_index=True)
    noise, totals, counts = MagnitudeNoise.start(decimals=None), [], []
    for part in (both, large):
        cells = magnitudes(part)
        totals.append(perturb_magnitudes(cells, noise, secret=SECRET, counts=COUNTS))
        counts.append(COUNTS.published(cells))
    counted = float(np.mean(counts[0] - counts[1] == sizes))
    found = hits(totals[0] - totals[1], 35.0, sizes)
    assert found <= counted + 5 * np.sqrt(0.25 / 400)
    assert (found, counted) == pytest.approx((0.15, 0.16), abs=0.01)
    bare = [
        perturb_magnitudes(magnitudes(part), noise, secret=SECRET) for part in (both, large)
    ]
    assert hits(bare[0] - bare[1], 35.0, sizes) == pytest.approx(0.87, abs=0.01)


@pytest.mark.parametrize("values", [constant, nearly])
def test_small_cells_of_amounts_that_are_alike_do_not_tell_their_count_either(values):
    """Cells of one to four contributors; whoever guesses knows the law of the noise of sums."""
    sizes = np.tile([1, 2, 3, 4], 500)
    data = frame(values, sizes)
    cells, noise = magnitudes(data), MagnitudeNoise.start(decimals=None)
    published = perturb_magnitudes(cells, noise, secret=SECRET, counts=COUNTS)
    counts, typical = COUNTS.published(cells), data["x"].mean()
    # The most frequent number behind a published one, learnt from half of the cells.
    rates = []
    for told in (counts, np.round(2 * published / typical)):
        half = np.arange(len(sizes)) % 8 < 4
        best = {
            value: np.bincount(sizes[half & (told == value)]).argmax()
            for value in np.unique(told[half])
        }
        guesses = np.array([best.get(value, 1) for value in told[~half]])
        rates.append(np.mean(guesses == sizes[~half]))
    assert rates[1] <= rates[0] + OFF


def test_a_sum_that_is_alike_is_a_function_of_the_published_count_and_noise_of_its_own():
    cells = magnitudes(frame(constant))
    noise = MagnitudeNoise.start(decimals=None)
    published = perturb_magnitudes(cells, noise, secret=SECRET, counts=COUNTS)
    counts = COUNTS.published(cells)
    assert not published[counts == 0].any()
    few = (counts > 0) & (counts <= 2 + PTABLE.max_noise)
    off = np.abs(published / (7 * np.maximum(counts, 1)) - 1)
    assert off[few].min() > 0.1  # as in sensitive cells
    assert off[counts > 7].max() < 0.56 / 8
    assert published.min() >= 0


@pytest.mark.parametrize("values", [constant, nearly, ratings])
def test_sums_of_amounts_that_are_alike_have_no_bias_and_the_noise_of_counts(values):
    data = frame(values)
    cells, noise = magnitudes(data), MagnitudeNoise.start(decimals=None)
    off = perturb_magnitudes(cells, noise, secret=SECRET, counts=COUNTS) - cells.total
    alike = alike_cells(cells)
    relative = off[alike] / (cells.total / cells.contributors)[alike]
    deviation = relative.std()
    assert abs(relative.mean()) < 5 * deviation / np.sqrt(alike.sum())
    assert deviation > 0.95 * np.sqrt(COUNTS.variance)


def test_amounts_that_vary_have_the_noise_that_they_had():
    cells = magnitudes(frame(incomes))
    noise = MagnitudeNoise.start()
    alike = alike_cells(cells)
    assert alike[SIZES > 9].mean() < 0.01
    assert not alike[SIZES < 3].any()
    assert alike.mean() < 0.03  # by chance, of three to nine contributors
    bare = perturb_magnitudes(cells, noise, secret=SECRET)
    made = perturb_magnitudes(cells, noise, secret=SECRET, counts=COUNTS)
    assert np.array_equal(bare[~alike], made[~alike])


def test_zeros_are_no_contributors_and_the_same_contributors_have_the_same_noise():
    """A flag of 0 and 100 with a third value: its sum counts who has it."""
    data = frame(nearly)
    zeros = data.assign(id=data["id"] + 10**6, x=0.0)
    both = pd.concat([data, zeros], ignore_index=True)
    alone, beside = magnitudes(data), magnitudes(both)
    noise = MagnitudeNoise.start()
    found = [
        perturb_magnitudes(cells, noise, secret=SECRET, counts=COUNTS)
        for cells in (alone, beside)
    ]
    assert np.array_equal(*found)
    filtered = magnitudes(both, where="x > 0")
    assert np.array_equal(
        found[0], perturb_magnitudes(filtered, noise, secret=SECRET, counts=COUNTS)
    )


def test_a_p_table_without_noise_and_other_tools_change_nothing():
    cells = magnitudes(frame(constant))
    exact = PTable(noise=[[0], [0]], upper=[[8], [8]], key_range=8)
    noise = MagnitudeNoise.start()
    bare = perturb_magnitudes(cells, noise, secret=SECRET)
    none = CountNoise(ptable=exact, secret=None)
    assert np.array_equal(bare, perturb_magnitudes(cells, noise, secret=SECRET, counts=none))


def test_negative_amounts_that_are_alike_are_signed():
    cells = magnitudes(frame(lambda n: -nearly(n)))
    noise = MagnitudeNoise.start(signed=True, decimals=None)
    published = perturb_magnitudes(cells, noise, secret=SECRET, counts=COUNTS)
    counted = float(np.mean(COUNTS.published(cells) == SIZES))
    assert hits(-published, 35.0) <= counted + OFF


def engine(data, **options):
    given = {"id": "id", "secret": SECRET, "ptable": PTABLE} | options
    return ckm.Engine(data, **given)


def people(x):
    size = len(x)
    sex = np.resize(["F", "M"], size)
    return pd.DataFrame(
        {"id": np.arange(size), "sex": sex, "age": np.arange(size) % 90, "x": x}
    )


@pytest.mark.parametrize(
    "values",
    [[7], [0, 100], [1, 2], [0.0, 12.5], [True, True], [-3, -3], [None, 7], [None, 0, 5]],
    ids=str,
)
@pytest.mark.parametrize("measure", ["sum:x", "mean:x"])
def test_variables_of_one_value_or_two_are_refused(values, measure):
    data = people(pd.array((values * 400)[:400]))
    skips = None in values and measure == "sum:x"
    options = {"missing_values": "skip"} if skips else {}
    if None in values and not skips:
        options = {"where": "x is not missing"}
    with (
        engine(data, magnitudes=MagnitudeNoise.start(signed=True)) as opened,
        pytest.raises(
            MagnitudeError, match=r"'x' (has one value or two|holds 0 and 1)"
        ) as caught,
    ):
        opened.tabulate(["sex"], measures=["count", measure], **options)
    assert "where" in caught.value.hint
    assert not any(
        str(v) in str(caught.value) for v in values if v not in (None, 0, 1, 2, True)
    )


def test_a_filter_that_leaves_two_values_is_refused_and_three_are_not():
    data = people(np.resize([5.0, 6.0, 90.0], 400))
    with engine(data) as opened:
        with pytest.raises(MagnitudeError, match="'x' has one value or two"):
            opened.tabulate(["sex"], measures=["sum:x"], where="x < 50")
        assert opened.tabulate(["sex"], measures=["sum:x"]).n_rows == 3
        assert opened.tabulate(["sex"], measures=["sum:x"], where="age < 45").n_rows == 3


def test_the_last_record_decides_whether_there_are_two_values():
    data = people(np.append(np.resize([5.0, 6.0], 399), 7.0))
    with engine(data) as opened:
        assert opened.tabulate(["sex"], measures=["sum:x"]).n_rows == 3


def test_the_published_sums_of_an_engine_are_as_uncertain_as_its_counts():
    data = frame(nearly).rename(columns={"cell": "area"})
    declared = {"area": sorted(set(data["area"]))}
    with engine(data, categories=declared) as opened:
        table = opened.tabulate(["area"], margins="none", measures=["count", "sum:x", "mean:x"])
    shown = table.to_pandas()
    counted = float(np.mean(shown["count"].to_numpy() == SIZES))
    assert hits(shown["sum_x"].to_numpy(float), 35.0) <= counted + OFF
    product = shown["mean_x"].fillna(0).to_numpy(float) * shown["count"].to_numpy()
    assert hits(product, 35.0) <= counted + OFF


def test_replays_of_other_tools_are_left_alone():
    data = people(np.resize([5.0, 6.0], 400))
    noise = replace(MagnitudeNoise.start(), rules="cellkey", sensitive=())
    with engine(data, magnitudes=noise) as opened:
        assert opened.tabulate(["sex"], measures=["sum:x"]).n_rows == 3
    assert VariableNoises(noise)["x"].rules == "cellkey"


def two_of(size=4000, seed=5):
    rng = np.random.default_rng(seed)
    return rng, np.round(rng.lognormal(7, 1, size), 2)


@pytest.mark.parametrize(
    "second",
    [
        lambda _, x: x + 1800,  # a constant difference
        lambda _, x: 2 * x + 2500,
        lambda rng, x: x + rng.choice([1790, 1800, 1810], len(x)),  # nearly
    ],
    ids=["difference", "multiple", "nearly"],
)
@pytest.mark.parametrize("apart", [False, True])
def test_variables_of_which_a_combination_is_the_same_for_all_are_refused(second, apart):
    rng, x = two_of()
    data = people(x).assign(y=second(rng, x))
    measures = ["sum:x", "sum:y"]
    wishes = {"t": ckm.TableRequest(dimensions=["sex"], measures=measures)}
    if apart:
        wishes = {m[4:]: ckm.TableRequest(dimensions=["sex"], measures=[m]) for m in measures}
    with (
        engine(data) as opened,
        pytest.raises(MagnitudeError, match="combination of the variables 'x', 'y'"),
    ):
        opened.tabulate_all(wishes)


def test_two_parts_of_a_whole_that_is_the_same_for_all_are_refused():
    """Days worked and not worked: neither is alike, both add up to a week."""
    days = np.random.default_rng(7).integers(0, 8, 4000)
    with (
        engine(people(days).assign(y=7 - days)) as opened,
        pytest.raises(MagnitudeError, match="combination of the variables 'x', 'y'"),
    ):
        opened.tabulate(["sex"], measures=["sum:x", "mean:y"])


def test_minutes_of_a_day_by_activity_are_refused_together_and_not_without_one():
    rng = np.random.default_rng(6)
    minutes = np.round(rng.dirichlet(np.ones(6), 4000) * 1440)
    data = people(minutes[:, 0]).assign(**{f"a{n}": minutes[:, n] for n in range(6)})
    every = [f"sum:a{n}" for n in range(6)]
    with engine(data) as opened:
        with pytest.raises(MagnitudeError, match="combination"):
            opened.tabulate(["sex"], measures=every)
        assert opened.tabulate(["sex"], measures=every[1:]).n_rows == 3


@pytest.mark.parametrize(
    "second",
    [
        lambda rng, x: rng.lognormal(0, 1, len(x)),
        lambda _, x: 3 * x,  # a multiple tells nothing more
        lambda rng, x: x * rng.uniform(0.5, 0.9, len(x)),  # net of gross
        lambda rng, x: rng.uniform(30, 40, len(x)),  # alike by itself
    ],
    ids=["other", "multiple", "net", "alike"],
)
def test_other_variables_may_stand_beside_each_other(second):
    rng, x = two_of()
    with engine(people(x).assign(y=second(rng, x))) as opened:
        assert opened.tabulate(["sex"], measures=["sum:x", "sum:y"]).n_rows == 3


def test_ten_amounts_beside_each_other_are_no_count():
    rng = np.random.default_rng(8)
    amounts = rng.lognormal(7, 0.6, (4000, 10))
    data = people(amounts[:, 0]).assign(**{f"a{n}": amounts[:, n] for n in range(10)})
    with engine(data) as opened:
        assert opened.tabulate(["sex"], measures=[f"sum:a{n}" for n in range(10)]).n_rows == 3
