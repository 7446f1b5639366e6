"""Sums and means through the engine: consistent, and from protected parts alone."""

from __future__ import annotations

import itertools
import logging
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.engine.magnitudes import Flex, MagnitudeError, MagnitudeNoise, perturb_magnitudes
from ckm.ledger import Ledger
from ckm.ledger.watch import Watch
from ptable import PTable
from tables import DataError, KeyQualityWarning, RequestError, Secret
from tests.strategies import worked_ptable

SECRET = Secret(bytes(range(16)))
PTABLE = worked_ptable()
KEPT = PTable(noise=((0,), (0,)), upper=((256,), (256,)), key_range=256)
ALL = ("count", "weighted", "sum:income", "mean:income")


def people(size=400, *, seed=5):
    rng = np.random.default_rng(seed)
    income = np.round(rng.lognormal(8, 1, size), 2)
    return pd.DataFrame(
        {
            "id": np.arange(size),
            "sex": rng.choice(["F", "M"], size),
            "area": rng.choice(list("abcdef"), size, p=[0.5, 0.4, 0.07, 0.01, 0.01, 0.01]),
            "income": np.where(rng.random(size) < 0.2, 0.0, income),
            "w": rng.integers(1, 90, size) / 4,
        }
    )


def engine(data, *, ptable=PTABLE, **options):
    options = {"id": "id", "secret": SECRET, "ptable": ptable} | options
    return ckm.Engine(data, **options)


def tabulate(data, dimensions, *, measures=("count", "sum:income"), where=None, **options):
    with engine(data, **options) as opened:
        return opened.tabulate(dimensions, measures=measures, where=where, empty_cells="grid")


def cells_of(table):
    """Write a table as categories → measure → number, None where there is none."""
    lines = table.to_arrow().to_pylist()
    return {
        tuple(line[name] for name in table.dimensions): {n: line[n] for n in table.measures}
        for line in lines
    }


def observed(data, dimensions, measures, **options):
    """Return the cells, their published counts, and the table."""
    wish = {"t": ckm.TableRequest(dimensions=dimensions, measures=measures, empty_cells="grid")}
    with engine(data, **options) as opened:
        (protected,) = opened.protect_tables(wish)
    cells, published, table = protected.cells, protected.counts, protected.table
    labels = [axis.labels[0][r] for axis, r in zip(cells.axes, cells.ranks, strict=True)]
    return list(zip(*labels, strict=True)), cells, published, cells_of(table)


# --- what is published --------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("settings", [{}, {"decimals": -2, "factors": (1.0, 0.6, 0.3)}])
def test_sums_are_those_of_the_noise_by_hand_whatever_the_count_is(weight, settings):
    noise = MagnitudeNoise.start(**settings)
    places, cells, published, shown = observed(
        people(), ["sex", "area"], ["count", "sum:income"], weight=weight, magnitudes=noise
    )
    name = "income" if weight is None else "income weighted by w"
    amounts = replace(cells.magnitudes["income"], variable=name)
    totals = perturb_magnitudes(amounts, noise, secret=SECRET)
    assert not np.array_equal(totals, cells.magnitudes["income"].total)
    for place, count, total in zip(places, published.tolist(), totals.tolist(), strict=True):
        assert shown[place] == {"count": count, "sum_income": total}
    assert (published > 0).sum() > 12


@pytest.mark.parametrize("weight", [None, "w"])
def test_a_mean_is_the_published_sum_over_the_published_count(weight):
    measures = ALL if weight else ("count", "sum:income", "mean:income")
    shown = cells_of(tabulate(people(), ["sex", "area"], measures=measures, weight=weight))
    divided, none = 0, 0
    for numbers in shown.values():
        below = numbers["weighted" if weight else "count"]
        if numbers["count"] >= 3:  # as `mean_from` has it, of weighted records, too
            mean = numbers["sum_income"] / below
            assert numbers["mean_income"] == pytest.approx(mean, abs=0.005001)
            assert numbers["mean_income"] == round(numbers["mean_income"], 2)
            divided += 1
        else:
            assert numbers["mean_income"] is None
            none += 1
    assert divided > 12


def test_a_weight_does_not_bring_means_of_one_or_two_records_back():
    data = people(60)
    data["w"] = 200.0
    kept = {"ptable": KEPT, "weight": "w"}
    shown = cells_of(tabulate(data, ["sex", "area"], measures=ALL, **kept))
    few = [numbers for numbers in shown.values() if numbers["count"] in {1, 2}]
    assert len(few) >= 2, "cells of one or two records stand in the table"
    assert all(numbers["weighted"] >= 200 for numbers in few)
    assert {numbers["mean_income"] for numbers in few} == {None}
    alone = cells_of(
        tabulate(data, ["sex", "area"], measures=("weighted", "mean:income"), **kept)
    )
    assert {place: numbers["mean_income"] for place, numbers in shown.items()} == {
        place: numbers["mean_income"] for place, numbers in alone.items()
    }, "the count of records decides, whether or not it is published"


def test_a_mean_alone_is_that_of_the_whole_table():
    alone = cells_of(tabulate(people(), ["area"], measures=["mean:income"]))
    beside = cells_of(tabulate(people(), ["area"], measures=ALL[:1] + ALL[2:]))
    assert {k: v["mean_income"] for k, v in alone.items()} == {
        k: v["mean_income"] for k, v in beside.items()
    }


def test_means_differ_from_the_original_ones():
    data = people()
    shown = cells_of(tabulate(data, ["area"], measures=["mean:income"]))
    originals = data.groupby("area")["income"].mean()
    same = [abs(shown[(a,)]["mean_income"] - m) < 0.005 for a, m in originals.items()]
    assert not any(same)


def test_several_variables_have_noise_of_their_own():
    data = people()
    data["copy"] = data["income"]
    shown = cells_of(tabulate(data, ["area"], measures=["sum:income", "sum:copy"]))
    differ = [numbers["sum_income"] != numbers["sum_copy"] for numbers in shown.values()]
    assert all(differ)
    noises = {"copy": MagnitudeNoise.start(decimals=-3)}
    shown = cells_of(
        tabulate(data, ["area"], measures=["sum:income", "sum:copy"], magnitudes=noises)
    )
    assert all(numbers["sum_copy"] % 1000 == 0 for numbers in shown.values())
    assert any(numbers["sum_income"] % 1000 for numbers in shown.values())


# --- zeros --------------------------------------------------------------------------------


def single_persons(*, zero_with_count):
    """Tabulate 200 cells of one person each and 20 declared empty ones, listed and dropped."""
    data = pd.DataFrame(
        {
            "id": np.arange(200),
            "x": [f"c{n:03}" for n in range(200)],
            "income": np.round(1000.0 * 1.03 ** np.arange(200)),  # unlike each other
        }
    )
    options = {
        "categories": {"x": [f"c{n:03}" for n in range(220)]},
        "magnitudes": MagnitudeNoise.start(zero_with_count=zero_with_count),
    }
    with engine(data, **options) as opened:
        table = opened.tabulate(["x"], measures=["count", "sum:income", "mean:income"])
        dropped = opened.tabulate(["x"], measures=["sum:income"], empty_cells="drop")
    return cells_of(table), set(cells_of(dropped))


def test_a_sum_stands_beside_a_published_count_of_zero_and_tells_that_somebody_is_there():
    shown, dropped = single_persons(zero_with_count=False)
    zero = {k: v for k, v in shown.items() if v["count"] == 0}
    unseen = {(f"c{n:03}",) for n in range(200, 220)}
    assert unseen < set(zero), "some cells of one person are published as 0"
    assert {k for k, v in zero.items() if v["sum_income"] == 0} == unseen
    assert {v["mean_income"] for v in zero.values()} == {None}
    assert dropped == set(shown) - unseen


def test_with_zero_with_count_no_sum_tells_a_cell_of_count_zero_from_an_empty_one():
    shown, dropped = single_persons(zero_with_count=True)
    zero = {k: v for k, v in shown.items() if v["count"] == 0}
    assert len(zero) > 20
    assert {tuple(v.values()) for v in zero.values()} == {(0, 0.0, None)}
    assert dropped == set(shown) - set(zero)


def test_a_category_that_only_a_sum_shows_stands_in_the_grid():
    """No row is dropped or hidden with a sum in it: totals of rows would be too low."""
    income = 1000.0 + np.arange(60) ** 3  # unlike each other
    data = pd.DataFrame({"id": range(60), "x": [f"c{n}" for n in range(60)], "income": income})
    with engine(data) as opened:
        grid = opened.tabulate(["x"], measures=["sum:income"], empty_cells="grid")
        plain = opened.tabulate(["x"], measures=["count"], empty_cells="grid")
    assert grid.n_rows == 61 > plain.n_rows


def test_people_who_contribute_nothing_change_no_sum():
    data = people()
    more = people(300, seed=9).assign(income=0.0)
    more["id"] += 10_000
    one = cells_of(tabulate(data, ["sex", "area"], ptable=KEPT))
    two = cells_of(
        tabulate(pd.concat([data, more], ignore_index=True), ["sex", "area"], ptable=KEPT)
    )
    assert {k: v["sum_income"] for k, v in one.items()} == {
        k: v["sum_income"] for k, v in two.items()
    }
    assert all(two[k]["count"] > one[k]["count"] for k in one if one[k]["count"] > 30)


# --- the same cell, the same numbers ------------------------------------------------------


def test_the_same_cell_has_the_same_sum_by_every_route():
    data = people()
    whole = cells_of(tabulate(data, ["sex", "area"], measures=ALL, weight="w"))
    for sex in ("F", "M"):
        asked = {"measures": ALL, "where": f"sex = '{sex}'", "weight": "w"}
        by_filter = cells_of(tabulate(data, ["area"], **asked))
        for (area,), numbers in by_filter.items():
            assert numbers == whole[sex, area]
        (total,) = cells_of(tabulate(data, [], **asked)).values()
        assert total == whole[sex, "Total"]
    other_way = cells_of(tabulate(data, ["area", "sex"], measures=ALL, weight="w"))
    assert {(b, a): numbers for (a, b), numbers in other_way.items()} == whole


@pytest.mark.parametrize("threads", [1, 3])
def test_order_of_records_and_threads_do_not_matter(threads):
    data = people(3000)
    shuffled = data.sample(frac=1, random_state=3).reset_index(drop=True)
    asked = {"measures": ALL, "weight": "w"}
    one = cells_of(tabulate(data, ["sex", "area"], **asked))
    two = cells_of(tabulate(shuffled, ["sex", "area"], threads=threads, **asked))
    assert one == two


@pytest.mark.slow
def test_another_period_and_another_secret_are_another_noise():
    data = people()
    tables = [
        cells_of(tabulate(data, ["area"], **options))["a",]["sum_income"]
        for options in (
            {},
            {"magnitudes": MagnitudeNoise.start(period="2027")},
            {"secret": Secret(bytes(16))},
            {"weight": "w"},
        )
    ]
    assert len(set(tables)) == 4


@pytest.mark.slow
def test_a_weighted_sum_beside_an_unweighted_one_does_not_tell_the_weight():
    """Under one noise the ratio of both sums of one person would be the weight, exactly."""
    incomes = [123_457.0, 9.0, 4e6]  # of three people, for one alone is no variable
    one = pd.DataFrame({"id": [3, 4, 5], "x": [*"abc"], "income": incomes, "w": [17.0] * 3})
    exact = 0
    for n in range(12):
        secret = Secret(bytes([n] * 16))
        options = {"ptable": KEPT, "secret": secret}
        plain = cells_of(tabulate(one, ["x"], **options))["a",]
        heavy = cells_of(tabulate(one, ["x"], weight="w", **options))["a",]
        exact += abs(heavy["sum_income"] / plain["sum_income"] - 17) < 1e-3
    assert exact <= 1


def test_several_tables_of_one_scan_agree_with_each_alone():
    data = people()
    wishes = {
        str(number): ckm.TableRequest(dimensions=dimensions, measures=measures)
        for number, (dimensions, measures) in enumerate(
            itertools.product((["sex"], ["sex", "area"]), (["count"], ["sum:income"], ALL))
        )
    }
    with engine(data, weight="w") as opened:
        together = opened.tabulate_all(wishes)
        for name, wish in wishes.items():
            alone = opened.tabulate_all({name: wish})[name]
            assert cells_of(alone) == cells_of(together[name])


# --- what is refused ----------------------------------------------------------------------


def test_negative_amounts_are_refused_unless_the_noise_is_for_them():
    data = people()
    data.loc[3, "income"] = -5.0
    with pytest.raises(MagnitudeError, match="'income' has negative values"):
        tabulate(data, ["sex"])
    signed = MagnitudeNoise.start(signed=True)
    assert cells_of(tabulate(data, ["sex"], magnitudes=signed))["F",]["sum_income"]


def test_missing_values_are_refused_or_passed_over():
    data = people()
    data.loc[:20, "income"] = None
    with pytest.raises(DataError, match="no value in 'income'"):
        tabulate(data, ["sex"])
    with engine(data) as opened:
        wish = {"measures": ["count", "sum:income"], "missing_values": "skip"}
        skipped = cells_of(opened.tabulate(["sex"], **wish))
        zeros = data.assign(income=data["income"].fillna(0.0))
    assert skipped == cells_of(tabulate(zeros, ["sex"]))


def test_the_noise_of_sums_needs_the_secret_even_where_counts_do_not(monkeypatch, tmp_path):
    monkeypatch.delenv("CKM_SECRET", raising=False)
    data = people().assign(key=np.arange(400, dtype=np.uint64) * 7 % 256)
    options = {"ptable": KEPT, "record_key": "key", "key_range": 256, "mix": False}
    with ckm.Engine(data, **options) as opened:
        assert opened.tabulate(["sex"]).n_rows == 3
        with pytest.raises(ckm.ConfigError, match="A secret is needed"):
            opened.tabulate(["sex"], measures=["sum:income"])
    with ckm.Engine(data, secret=SECRET, **options) as opened:
        assert opened.tabulate(["sex"], measures=["sum:income"]).n_rows == 3


@pytest.mark.parametrize("values", [[True, False], [0, 1], [1.0, 0.0], [-1, 1]])
def test_sums_that_are_counts_are_refused(values):
    """Noise of 0.15 persons would hide nobody."""
    data = people().assign(here=values * 200)
    with pytest.raises(MagnitudeError, match="'here' holds 0 and 1 alone: its sum is a count"):
        tabulate(data, ["sex"], measures=["sum:here"])
    two = people().assign(here=[5, 7] * 200)
    with pytest.raises(MagnitudeError, match="'here' has one value or two among the records"):
        tabulate(two, ["sex"], measures=["mean:here"])
    some = people().assign(here=0.0)
    assert cells_of(tabulate(some, ["sex"], measures=["sum:here"]))["F",] == {"sum_here": 0.0}


def test_the_sum_of_a_dimension_is_refused_as_it_would_tell_the_count():
    data = people().assign(age=np.arange(400) % 7)
    with pytest.raises(RequestError, match="'age' is a dimension of the table"):
        tabulate(data, ["age"], measures=["count", "mean:age"])
    assert tabulate(data, ["sex"], measures=["count", "mean:age"]).n_rows == 3


@pytest.mark.parametrize("given", [5, {"income": 5}, {3: MagnitudeNoise.start()}, "income"])
def test_what_is_no_noise_is_refused(given):
    with pytest.raises(ckm.ConfigError, match="must be a MagnitudeNoise, or map variables"):
        engine(people(), magnitudes=given)


def test_noise_of_a_column_that_is_not_there_is_refused():
    with pytest.raises(RequestError, match="did you mean 'income'"):
        engine(people(), magnitudes={"incme": MagnitudeNoise.start()})


@pytest.mark.slow
def test_noise_beyond_the_flex_point_is_smaller_through_the_engine_too():
    data = people(3000)
    wide = MagnitudeNoise.start()
    narrow = MagnitudeNoise.start(scale=Flex(point=100.0, small=0.1, large=0.001, power=3))
    totals = data.groupby("area")["income"].sum()
    gaps = [
        [
            abs(
                cells_of(tabulate(data, ["area"], magnitudes=noise))[(a,)]["sum_income"] - total
            )
            for a, total in totals.items()
        ]
        for noise in (narrow, wide)
    ]
    assert np.mean(gaps[0]) < np.mean(gaps[1]) / 5


# --- the ledger, and what stays inside ----------------------------------------------------


@pytest.mark.parametrize("weight", [None, "w"])
def test_tables_with_sums_enter_a_ledger_as_those_of_counts(tmp_path, weight):
    data = people(1000).assign(n=np.arange(1000))
    wishes = [
        {"counts": ckm.TableRequest(dimensions=["sex"])},
        {"sums": ckm.TableRequest(dimensions=["sex"], measures=["count", "sum:income"])},
        {"thin": ckm.TableRequest(dimensions=["sex"], measures=["sum:income"], where="n >= 1")},
    ]
    with (
        engine(data, weight=weight) as opened,
        Ledger.open(
            tmp_path / "l.db", secret=SECRET, threshold=2, noise="n", create=True
        ) as ledger,
    ):
        for wish in wishes[:2]:
            watch = Watch(ledger)
            opened.tabulate_all(wish, watch=watch)
            assert watch.publish(policy="refuse") == ()
        watch = Watch(ledger)
        opened.tabulate_all(wishes[2], watch=watch)
        assert watch.check(), "a sum over all but one person"


def test_no_original_amount_is_shown_by_a_log_an_object_or_a_table(caplog):
    caplog.set_level(logging.DEBUG)
    marked = 987_654_321.0
    data = people()
    data.loc[7, ["area", "income"]] = ["lonely", marked]
    wish = {"t": ckm.TableRequest(dimensions=["area"], measures=["count", "sum:income"])}
    with engine(data) as opened:
        (protected,) = opened.protect_tables(wish)
        cells, table = protected.cells, protected.table
        texts = [
            repr(opened),
            repr(table),
            repr(protected),
            repr(cells),
            str(cells.magnitudes),
            repr(caplog.text),
        ]
        texts += [repr(vars(record)) for record in caplog.records]
        texts.append(table.to_pandas().to_csv())
    totals = data.groupby("area")["income"].sum()
    numbers = [str(int(marked)), *(str(int(n)) for n in totals), *(f"{n:.2f}" for n in totals)]
    assert not [n for n in numbers for text in texts if n in text]


def test_records_without_a_key_may_be_counted_but_not_summed():
    data = people()
    data["id"] = data["id"].astype("Int64").mask(data["id"] == 3)
    with engine(data, checks="warn") as opened:
        with pytest.warns(KeyQualityWarning):
            opened.check_keys()
        assert len(opened.tabulate(["sex"]).to_pandas()) == 3
        with pytest.raises(MagnitudeError, match="Some records have no key") as caught:
            opened.tabulate(["sex"], measures=["mean:income"])
    assert "hint: give every record a key" in str(caught.value)


@pytest.mark.parametrize("weight", [-1.0, float("inf"), float("nan"), None])
def test_weights_that_are_none_are_refused_by_the_name_of_their_column(weight):
    data = people()
    data["w"] = data["w"].astype(object)
    data.loc[7, "w"] = weight
    data["w"] = data["w"].astype("float64")
    with engine(data, weight="w") as opened, pytest.raises(DataError, match="'w'") as caught:
        opened.tabulate(["sex"], measures=["sum:income"])
    assert "hint: repair them" in str(caught.value)


@pytest.mark.parametrize("amount", [float("inf"), float("-inf"), float("nan"), 1e300])
@pytest.mark.parametrize("missing_values", ["stop", "skip"])
def test_amounts_that_have_no_sum_are_refused_or_passed_over(amount, missing_values):
    data = people()
    data.loc[7, "income"] = amount
    request = {"measures": ["sum:income"], "missing_values": missing_values}
    with engine(data) as opened:
        if np.isnan(amount) and missing_values == "skip":
            rest = data.assign(income=data["income"].fillna(0.0))
            with engine(rest) as other:
                left = opened.tabulate(["sex"], **request).to_pandas()
                right = other.tabulate(["sex"], measures=["sum:income"]).to_pandas()
            pd.testing.assert_frame_equal(left, right)
        else:
            with pytest.raises(DataError, match="'income'"):
                opened.tabulate(["sex"], **request)
