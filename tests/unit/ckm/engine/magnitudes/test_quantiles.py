"""Medians and other quantiles: by hand, withheld where few, and what attacks find in them."""

from __future__ import annotations

import functools
from dataclasses import FrozenInstanceError
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.engine.key_mixing import siphash
from ckm.engine.magnitudes import MagnitudeNoise
from ckm.engine.magnitudes.quantiles import (
    QuantileNoise,
    published_quantiles,
    quantile_noise,
    rounded_means,
)
from ckm.engine.magnitudes.settings import VariableNoises
from ckm.engine.request import SHARES
from ckm.errors import InternalError
from ptable import NoiseSpec, PTable, solve
from tables import DataError, KeyQualityWarning, RequestError, Secret

SECRET = Secret(bytes(range(16)))
MEASURES = ["count", "median:income", "quantile:income:0.9"]


@functools.cache
def ptable():
    return solve(NoiseSpec(max_noise=5, variance=3.0))


def people(size=3000, *, seed=1):
    rng = np.random.default_rng(seed)
    area = rng.choice(list("abcd"), size, p=[0.6, 0.3, 0.08, 0.02])
    return pd.DataFrame(
        {
            "id": np.arange(size),
            "sex": rng.choice(["F", "M"], size),
            "area": area,
            "region": np.where(np.isin(area, ["a", "b"]), "north", "south"),
            "income": np.round(rng.lognormal(8, 1, size), 2),
            "w": 1.5,
        }
    )


def engine(data, **options):
    return ckm.Engine(data, **{"id": "id", "secret": SECRET, "ptable": ptable()} | options)


def noise_of(share, **changes):
    fields = {"variable": "income", "share": share, "ptable": ptable()} | changes
    return QuantileNoise(**fields)


def window_mean(values, rank):
    """Write the published number down by hand: five neighbours, rounded by their range."""
    window = sorted(values)[rank - 3 : rank + 2]
    spread = window[-1] - window[0]
    if spread == 0:
        return window[0]
    unit = next(
        Fraction(step) * Fraction(10) ** power
        for power in range(-9, 9)
        for step in (1, 2, 5)
        if step * 10.0**power >= spread / 5 * (1 - 1e-12)
    )
    return float(round(Fraction(sum(window)) / 5 / unit) * unit)


# --- what is published --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dimensions", "where", "options"),
    [
        (["sex", "area"], None, {}),
        (["geo", "sex"], "income > 900", {"hierarchies": {"geo": ["region", "area"]}}),
        ([], None, {}),
    ],
)
def test_quantiles_are_window_means_at_a_rank_with_noise_in_every_margin(
    dimensions, where, options
):
    data = people()
    wish = ckm.TableRequest(dimensions=dimensions, measures=MEASURES, where=where)
    with engine(data, **options) as opened:
        (protected,) = opened.protect_tables({"t": wish})
    cells, published, table = protected.cells, protected.counts, protected.table
    kept = data if where is None else data[data.income > 900]
    columns = [column for axis in cells.axes for column in axis.columns]
    labels = [
        texts[rank]
        for axis, rank in zip(cells.axes, cells.ranks, strict=True)
        for texts in axis.labels
    ]
    shown = {tuple(line[c] for c in columns): line for line in table.to_arrow().to_pylist()}
    checked = 0
    for column, share in (("median_income", "0.5"), ("quantile_income_90", "0.9")):
        noise = noise_of(share)
        ranks = noise.ranks(cells) + noise.noise(cells.cell_key, secret=SECRET)
        for place in np.flatnonzero(published):
            names = tuple(text[place] for text in labels)
            mine = kept
            for name, label in zip(columns, names, strict=True):
                mine = mine if label == "Total" else mine[mine[name] == label]
            if published[place] < noise.least_count:
                assert shown[names][column] is None
                continue
            by_hand = window_mean(mine.income.tolist(), int(ranks[place]))
            assert shown[names][column] == pytest.approx(by_hand, rel=1e-12)
            checked += 1
    assert checked > 1


def test_neither_order_nor_threads_nor_other_cells_change_a_quantile():
    data = people()
    mixed = data.sample(frac=1, random_state=3).reset_index(drop=True)
    with engine(data) as one, engine(mixed, threads=1) as other:
        first = one.tabulate(["sex", "area"], measures=MEASURES).to_pandas()
        again = other.tabulate(["sex", "area"], measures=MEASURES).to_pandas()
        alone = other.tabulate(["sex"], measures=["median:income"]).to_pandas()
    pd.testing.assert_frame_equal(first, again)
    margins = first[first.area == "Total"].median_income.tolist()
    assert alone.median_income.tolist() == margins


def test_the_noise_of_ranks_is_the_last_row_and_another_for_each_share():
    keys = np.arange(200_000, dtype=np.uint64)
    drawn = [noise_of(share).noise(keys, secret=SECRET) for share in ("0.5", "0.9")]
    law = ptable().units(int(ptable().counts[-1]))
    for found in drawn:
        for value, units in law.items():
            assert np.mean(found == value) == pytest.approx(
                units / ptable().key_range, abs=0.005
            )
    assert abs(np.corrcoef(*drawn)[0, 1]) < 0.01
    other = noise_of("0.5", period="2027").noise(keys, secret=SECRET)
    assert abs(np.corrcoef(drawn[0], other)[0, 1]) < 0.01


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("most", [2, 5])
def test_five_records_lie_beyond_every_window_that_may_be_published(share, most):
    table = solve(NoiseSpec(max_noise=most, variance=1.0))
    noise = noise_of(share, ptable=table)
    margins = []
    for published in range(noise.least_count, noise.least_count + 200):
        for true in range(published - most, published + most + 1):
            (rank,) = noise.ranks(SimpleNamespace(count=np.array([true])))
            margins.append(min(rank - most - 2 - 1, true - rank - most - 2))
    assert min(margins) == 5


# --- what is refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "options", "problem"),
    [
        ("quantile:income:0.95", {}, "the shares are 0.1"),
        ("quantile:income:0.50", {}, "the shares are 0.1"),
        ("quantile:income", {}, "quantile:income:0.9"),
        ("median:sex", {}, "neither sum nor quantiles"),
        ("median:id", {}, "tells persons apart"),
        ("median:incme", {}, "did you mean 'income'"),
        ("median:income", {"weight": "w"}, "no weighted quantiles"),
        (
            "median:income",
            {"ptable": PTable(noise=((0,), (0,)), upper=((256,), (256,)), key_range=256)},
            "without noise",
        ),
    ],
)
def test_a_quantile_that_would_tell_too_much_or_does_not_exist_is_refused(
    measure, options, problem
):
    with engine(people(90), **options) as opened, pytest.raises(Exception, match=problem):
        opened.tabulate(["sex"], measures=[measure])


@pytest.mark.parametrize("gap", [None, float("inf")])
def test_records_without_a_value_are_refused_and_can_be_left_out(gap):
    data = people(200)
    data.loc[3, "income"] = gap
    with engine(data) as opened:
        with pytest.raises(DataError, match="no value in 'income'"):
            opened.tabulate(["sex"], measures=["median:income"])
        filtered = opened.tabulate(["sex"], measures=["median:income"], where="income < 1e9")
    assert filtered.n_rows == 3
    with pytest.raises(ckm.ConfigError, match="missing_values = 'stop'"):
        ckm.TableRequest(dimensions=[], measures=["median:income"], missing_values="skip")


def test_records_without_a_key_have_no_quantiles():
    data = people(200).assign(key=np.arange(200) % 97).astype({"key": "Int64"})
    data.loc[3, "key"] = None
    with (
        engine(data, id=None, record_key="key", key_range=97, checks="warn") as opened,
        pytest.warns(KeyQualityWarning),
        pytest.raises(ckm.MagnitudeError, match="have no key"),
    ):
        opened.tabulate(["sex"], measures=["median:income"])


def test_too_many_combinations_are_refused_before_numbers_overflow():
    data = people(60).assign(**{f"c{n}": np.arange(60) for n in range(11)})
    names = [f"c{n}" for n in range(11)]
    with engine(data) as opened, pytest.raises((DataError, RequestError), match="combinations"):
        opened.tabulate(names, margins="none", measures=["median:income"])


# --- attacks ------------------------------------------------------------------------------


@functools.cache
def places_of(size, shares, noises):
    """Give the places of what is published of sorted values, by share and noise of the rank."""
    rank = [[-(-size * Fraction(share) // 1) + noise for noise in noises] for share in shares]
    ranks = np.array(rank, dtype=np.int64)[:, :, np.newaxis] + np.arange(-2, 3)
    return np.clip(ranks, 1, size) - 1


def published(values, shares, noises):
    """Give what is published of lines of sorted values: by line, share and noise."""
    windows = values[:, places_of(values.shape[1], tuple(shares), tuple(noises.tolist()))]
    return rounded_means(windows.reshape(-1, 5)).reshape(windows.shape[:3])


def law_of_ranks():
    units = ptable().units(int(ptable().counts[-1]))
    values = np.array(sorted(units))
    return values, np.array([units[v] for v in values]) / ptable().key_range


def hits(shares, *, runs, size, draws="own", seed=3):
    """Count how often who knows all others of a cell guesses an income within 10 %.

    The guess is the best one under the exact likelihood of all published quantiles, and a
    prior of 200 incomes of the same distribution; with no quantile it is that of the prior.
    """
    rng = np.random.default_rng(seed)
    noises, chances = law_of_ranks()
    found = 0
    for _ in range(runs):
        true = np.round(rng.lognormal(10, 0.8, size), -2)
        values, weights = np.unique(
            np.append(np.round(rng.lognormal(10, 0.8, 200), -2), true[0]), return_counts=True
        )
        at = [rng.choice(len(noises), p=chances) for _ in shares]
        if draws == "common":
            at = [rng.choice(len(noises), p=chances)] * len(shares)
        likely = np.ones(len(values))
        if shares:
            seen = published(np.sort(true)[np.newaxis], shares, noises)[0, range(len(at)), at]
            others = np.broadcast_to(true[1:], (len(values), size - 1))
            own = np.sort(np.column_stack([others, values]), axis=1)
            fits = published(own, shares, noises) == seen[:, np.newaxis]
            joint = fits.prod(axis=1) @ chances
            likely = joint if draws == "common" else (fits @ chances).prod(axis=1)
        mass = weights * likely
        near = np.abs(values[:, np.newaxis] / values - 1) <= 0.1
        guess = values[np.argmax(near.T @ mass)]
        found += abs(guess / true[0] - 1) <= 0.1
    return found / runs


@pytest.mark.slow
def test_who_knows_all_others_finds_an_income_more_often_if_quantiles_share_one_noise():
    prior = hits([], runs=100, size=200)
    one = hits(["0.5"], runs=100, size=200)
    own = hits(SHARES, runs=60, size=200)
    common = hits(SHARES, runs=60, size=200, draws="common")
    assert prior < 0.2, prior
    assert one < 0.3, one
    assert own < 0.4, own
    assert common > 0.5, common


def read_off(shares, *, size=150, seed=1):
    """Share of the five-neighbour means of a cell that its published quantiles give."""
    rng = np.random.default_rng(seed)
    noises, chances = law_of_ranks()
    values = np.sort(np.round(rng.lognormal(10, 0.8, size), -2))
    drawn = rng.choice(noises, p=chances, size=len(shares))
    every = published(values[np.newaxis], shares, noises)[0]
    seen = set(every[range(len(shares)), np.searchsorted(noises, drawn)])
    windows = rounded_means(values[np.arange(11, size - 12)[:, np.newaxis] + np.arange(-2, 3)])
    return float(np.isin(windows, list(seen)).mean())


def test_with_undeclared_shares_all_means_of_neighbours_in_a_cell_could_be_read():
    assert read_off([f"{n / 2000:.4f}" for n in range(120, 1880)]) > 0.99
    assert read_off(SHARES) < 0.2


# --- by hand, without an engine -----------------------------------------------------------


def cells_of(counts):
    keys = np.random.default_rng(9).integers(0, 2**64, len(counts), np.uint64)
    return SimpleNamespace(count=np.array(counts), cell_key=keys)


@pytest.mark.parametrize("share", SHARES)
def test_the_rank_is_the_least_that_has_the_share_of_records_at_or_below_it(share):
    counts = [*range(1, 45), 100, 12_345]
    part = Fraction(share)
    wanted = [next(r for r in range(1, n + 1) if Fraction(r, n) >= part) for n in counts]
    assert noise_of(share).ranks(cells_of(counts)).tolist() == wanted


def test_noise_is_looked_up_in_the_last_row_at_a_keyed_number_of_the_cell():
    """SipHash of the cell key, under a key for this variable, period and share."""
    cells = cells_of([500] * 300)
    noise = noise_of("0.25", period="2027")
    text = '["ckm quantile v1","income","2027","0.25"]'
    key = np.frombuffer(SECRET.derive(text)[:16], "<u8")
    numbers = (siphash(cells.cell_key, key) >> np.uint64(32)).astype(np.uint32)
    last = np.full(300, ptable().counts[-1])
    wanted = ptable().lookup(last, numbers)
    assert noise.noise(cells.cell_key, secret=SECRET).tolist() == wanted.tolist()
    windows = noise.windows(cells, secret=SECRET)
    assert windows.tolist() == [[125 + v + n for n in (-2, -1, 0, 1, 2)] for v in wanted]


def test_the_least_count_leaves_five_records_beyond_the_farthest_window():
    """5 + 2 + 5 of them on the shorter side of a rank, and the noise of the count."""
    found = {share: noise_of(share).least_count for share in ("0.5", "0.1", "0.9", "0.75")}
    wanted = {}
    for share in found:
        part = Fraction(share)
        wanted[share] = next(
            n
            for n in range(1, 500)
            if all(
                min(-(-part * m // 1) - 1, m - -(-part * m // 1)) >= 5 + 2 + 5
                for m in range(n, n + 200)
            )
        )
    assert found == {share: n + 5 for share, n in wanted.items()}


def test_noise_in_the_last_row_is_needed():
    exact = PTable(noise=((0,), (0,)), upper=((8,), (8,)), key_range=8)
    with pytest.raises(ckm.ConfigError, match="without noise"):
        noise_of("0.5", ptable=exact)


@pytest.mark.parametrize(
    ("window", "mean"),
    [
        ([10.0, 11.0, 12.0, 13.0, 15.0], 12.0),  # range 5, unit 1
        ([10.0, 11.0, 12.0, 13.0, 16.0], 12.0),  # unit 2
        ([10.0, 10.0, 10.0, 10.0, 35.0], 15.0),  # unit 5
        ([0.0, 0.0, 0.0, 0.0, 26.0], 10.0),  # unit 10, of 5.2
        ([7.25] * 5, 7.25),
        ([-0.0] * 5, 0.0),
        ([-0.01, 0.0, 0.0, 0.0, 0.0], -0.002),
        ([-9.0, 0.0, 0.0, 0.0, 9.0], 0.0),
    ],
)
def test_means_of_neighbours_are_rounded_by_their_range(window, mean):
    (found,) = rounded_means(np.array([window])).tolist()
    assert found == pytest.approx(mean)
    assert found == window_mean(window, 3)
    assert not np.signbit(found) or mean < 0


def test_a_measure_names_variable_share_and_period():
    noises = VariableNoises(MagnitudeNoise.start(period="2027"))
    found = quantile_noise("quantile:a:b:0.9", ptable=ptable(), noises=noises)
    assert (found.variable, found.share, found.period) == ("a:b", "0.9", "2027")
    assert quantile_noise("median:x", ptable=ptable(), noises=VariableNoises(None)) == (
        noise_of("0.5", variable="x")
    )
    with pytest.raises(InternalError, match="and is none"):
        quantile_noise("sum:x", ptable=ptable(), noises=noises)


def test_quantiles_of_one_variable_are_read_at_once_and_masked_where_counts_are_small():
    cells, asked = cells_of([900, 40, 1]), []

    def values(column, ranks):
        asked.append((column, ranks.shape))
        return {"x": 1.0, "y": 3.0}[column] * ranks

    measures = ["median:x", "median:y", "quantile:x:0.9"]
    least = noise_of("0.5").least_count
    counts = np.array([900, least, least - 1])
    given = {"ptable": ptable(), "noises": VariableNoises(None), "secret": SECRET}
    found = published_quantiles(measures, cells, counts, values, **given)
    assert list(found) == measures
    assert asked == [("x", (3, 10)), ("y", (3, 5))]
    for measure, factor in (("median:x", 1.0), ("median:y", 3.0), ("quantile:x:0.9", 1.0)):
        noise = quantile_noise(measure, ptable=ptable(), noises=VariableNoises(None))
        wanted = rounded_means(factor * noise.windows(cells, secret=SECRET))
        mask = (counts < noise.least_count).tolist()
        assert found[measure].mask.tolist() == mask
        assert found[measure].compressed().tolist() == wanted[~np.array(mask)].tolist()
        assert found[measure].data[mask].tolist() == [0.0] * sum(mask), "nothing lies below"
    assert found["median:x"].mask.tolist() == [False, False, True]


def test_the_noise_of_a_quantile_is_given_by_name_and_does_not_change():
    noise = noise_of("0.5")
    assert noise.period == ""
    assert noise == noise_of("0.5")
    assert not hasattr(noise, "__dict__")
    with pytest.raises(TypeError):
        QuantileNoise("income", "0.5", ptable())
    with pytest.raises(FrozenInstanceError):
        noise.share = "0.9"
