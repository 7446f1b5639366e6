"""Cells that an office names are sensitive in every table, and other cells keep their noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import ckm
from ckm.engine.magnitudes import (
    MagnitudeError,
    MagnitudeNoise,
    perturb_magnitudes,
    plan_noise,
    sensitive_cells,
)
from tables import RequestError
from tests.amounts import amounts
from tests.strategies import worked_ptable

SECRET = ckm.Secret(bytes(32))
N = 1200
PEOPLE = pa.table(
    {
        "id": range(N),
        "region": [("North", "South", "West")[n % 3] for n in range(N)],
        "branch": [("steel", "wood", "glass", "law")[n // 7 % 4] for n in range(N)],
        "size": [n % 5 for n in range(N)],
        "income": [1000.0 + 7 * (n % 91) for n in range(N)],
        "hours": [0.0 if n % 3 else 30.0 + n % 11 for n in range(N)],
        "w": [1.0 + n % 4 for n in range(N)],
    }
)
CELL = {"region": "North", "branch": "steel"}


def engine(named=(), **options):
    settings = {"decimals": None, "named_cells": named} | options.pop("settings", {})
    noise = MagnitudeNoise.start(**settings)
    given = {"data": PEOPLE, "id": "id", "secret": SECRET, "ptable": worked_ptable()}
    return ckm.Engine(**{**given, "magnitudes": {"income": noise}, **options})


def sums(engine, dimensions, *, where=None, margins="all"):
    table = engine.tabulate(dimensions, where=where, measures=["sum:income"], margins=margins)
    frame = table.to_pandas()
    return frame.set_index(list(dimensions))["sum_income"] if dimensions else frame


def true_sum(**cell):
    frame = PEOPLE.to_pandas()
    for name, category in cell.items():
        frame = frame[frame[name] == category]
    return frame["income"].sum(), frame["income"].max()


def test_the_named_cell_alone_changes_and_moves_by_the_least_noise():
    with engine() as before, engine([CELL]) as after:
        old, new = (sums(e, ["region", "branch"]) for e in (before, after))
    changed = old.index[old != new].tolist()
    assert changed == [("North", "steel")]
    total, largest = true_sum(**CELL)
    assert abs(new["North", "steel"] - total) >= 0.132 * largest


def test_the_same_people_are_named_in_every_table():
    with engine([CELL]) as named:
        one = sums(named, ["region", "branch"])["North", "steel"]
        two = sums(named, ["branch"], where="region = 'North'")["steel"]
        three = sums(named, [], where="region = 'North' and branch = 'steel'")
    assert one == two == three["sum_income"].item()


def test_a_margin_can_be_named_and_other_margins_are_not():
    with engine() as before, engine([{"branch": "wood"}]) as after:
        old, new = (sums(e, ["region", "branch"]) for e in (before, after))
    assert old.index[old != new].tolist() == [("Total", "wood")]


def test_the_noise_of_a_named_cell_is_drawn_anew_unless_rules_find_it_too():
    cells = amounts([[50.0, 40.0, 30.0, 20.0]] * 400 + [[50.0, 40.0]] * 400)
    noise = MagnitudeNoise.start(decimals=None)
    named = replace(cells, named=np.ones(800, np.bool_))
    plain, other = (perturb_magnitudes(c, noise, secret=SECRET) for c in (cells, named))
    moves = np.stack([plain, other])[:, :400] - 140.0
    assert abs(np.corrcoef(moves)[0, 1]) < 0.2  # 0.9 and more from the same random numbers
    np.testing.assert_array_equal(plain[400:], other[400:])
    assert abs(moves[1].mean()) < 3 * 0.257 * 71 / 20


@pytest.mark.parametrize("rules", ["ckm", "cellkey", "tauargus"])
def test_named_cells_are_sensitive_under_all_rules(rules):
    cells = amounts([[50.0, 40.0, 30.0, 20.0]] * 200)
    noise = MagnitudeNoise.start(
        decimals=None, rules=rules, sensitive=(), least_noise=40.0, jitter=rules == "ckm"
    )
    assert not sensitive_cells(cells, noise.sensitive).any()
    named = replace(cells, named=np.arange(200) < 100)
    moved = np.abs(perturb_magnitudes(named, noise, secret=SECRET) - 140.0)
    plain = np.abs(perturb_magnitudes(cells, noise, secret=SECRET) - 140.0)
    assert np.mean(moved[:100] > plain[:100]) > 0.9
    np.testing.assert_array_equal(moved[100:], plain[100:])


def test_a_named_cell_without_contributors_stays_zero():
    cells = replace(amounts([[], [0.0], [5.0]]), named=np.ones(3, np.bool_))
    noise = MagnitudeNoise.start()
    assert plan_noise(cells, noise).sensitive.tolist() == [False, False, True]
    assert perturb_magnitudes(cells, noise, secret=SECRET)[:2].tolist() == [0.0, 0.0]


def test_an_empty_cell_of_known_categories_may_be_named():
    with engine([{"region": "North", "size": "0"}]) as named:
        assert len(sums(named, ["region"])) == 4


@pytest.mark.slow
def test_weighted_sums_variables_and_several_shapes_go_together():
    names = [CELL, {"region": "West"}, {"size": "3"}]
    with engine() as before, engine(names) as after:
        for dimensions in (["region", "branch"], ["size", "region"]):
            old, new = (sums(e, dimensions) for e in (before, after))
            assert 1 <= (old != new).sum() <= 3
    with engine(weight="w") as before, engine(names, weight="w") as after:
        old, new = (sums(e, ["region", "branch"]) for e in (before, after))
        assert set(old.index[old != new]) == {("North", "steel"), ("West", "Total")}


def test_naming_cells_does_not_change_what_the_noise_is_called():
    one, two = MagnitudeNoise.start(), MagnitudeNoise.start(named_cells=(CELL,))
    assert one.fingerprint == two.fingerprint
    assert hash(two) != hash(one) or one != two


@pytest.mark.parametrize(
    ("named", "error", "words"),
    [
        ([{"region": "Nort", "branch": "steel"}], MagnitudeError, "'Nort'"),
        ([{"regio": "North"}], RequestError, "regio"),
        ([{"id": "3"}], RequestError, "tells persons apart"),
        ([{"income": "1000.0"}], RequestError, "is a dimension"),
    ],
)
def test_a_cell_that_does_not_exist_is_refused(named, error, words):
    with engine(named) as wrong, pytest.raises(error, match=words) as caught:
        wrong.tabulate(["region"], measures=["sum:income"])
    assert "named cell" in str(caught.value)


def test_a_cell_of_a_hierarchy_of_columns_is_named_by_its_columns():
    places = {"place": ["region", "branch"]}
    wrong = engine([{"place": "North"}], hierarchies=places)
    with wrong, pytest.raises(MagnitudeError, match="has the columns region, branch"):
        wrong.tabulate(["place"], measures=["sum:income"])
    with engine([CELL], hierarchies=places) as right, engine(hierarchies=places) as before:
        old, new = (
            e.tabulate(["place"], measures=["sum:income"]).to_pandas()["sum_income"]
            for e in (before, right)
        )
        assert (old != new).sum() == 1
