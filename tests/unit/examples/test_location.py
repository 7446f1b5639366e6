"""Simulated people: attacks find what they should, and ways to share places differ."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from rappor.accounting import epsilon_after
from rappor.errors import RapporError
from rappor.location.areas import Grid
from rappor.location.collect import Collection
from rappor.parameters import Parameters
from tables.secret import Secret

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples" / "location"))
from attacks import averaging_attack, linkage_attack, linked
from experiment import compare, experiment
from people import moving_people
from run import main

SECRET = Secret(b"a secret for the tests of places")
GRID = Grid(west=0, south=0, east=16, north=16, levels=(1, 2, 4))
CELLS = Parameters.basic(64, f=0.5, p=0.25, q=0.75)


def rng(seed=1):
    return np.random.default_rng(seed)


def test_people_repeat_by_their_seed_and_sleep_at_home():
    one, two = (moving_people(30, n_days=14, grid=GRID, rng=rng(3)) for _ in range(2))
    assert np.array_equal(one.x, two.x)
    assert (one.cells[:, one.is_night] == one.homes[:, None]).all()
    assert (one.n_people, one.n_days) == (30, 14)
    distinct = [len(set(row)) for row in one.cells.tolist()]
    assert min(distinct) > 2  # they do move
    with pytest.raises(RapporError):
        moving_people(0, n_days=1, grid=GRID, rng=rng())


def test_averaging_defeats_the_instantaneous_noise_and_not_the_memo():
    attack = {"reports": [1, 30, 400], "n_people": 200}
    fresh = averaging_attack(CELLS, **attack, rng=rng(), is_memoised=False)
    kept = averaging_attack(CELLS, **attack, rng=rng())
    assert fresh[400] == 1.0  # a permanent answer that is drawn again protects nobody
    assert kept[400] < 0.15
    once = Parameters.basic(64, f=0.0, p=0.25, q=0.75)
    assert averaging_attack(once, **attack, rng=rng())[400] == 1.0
    mirror = Parameters.basic(64, f=0.0, p=0.75, q=0.25)
    assert averaging_attack(mirror, **attack, rng=rng())[400] == 1.0
    for reports in ([], [0], [3, 2]):
        with pytest.raises(RapporError):
            averaging_attack(CELLS, reports=reports, n_people=3, rng=rng())


def test_permanent_noise_is_a_name():
    assert linkage_attack(CELLS, reports=20, n_people=100, rng=rng()) > 0.95
    assert linkage_attack(CELLS, reports=1, n_people=100, rng=rng()) < 0.5
    few = Parameters.basic(4, f=0.5, p=0.25, q=0.75)
    assert linkage_attack(few, reports=20, n_people=100, rng=rng()) < 0.3


def test_halves_that_say_nothing_link_by_chance():
    assert linked(np.zeros((200, 5)), np.zeros((200, 5)), rng=rng()) < 0.05


@pytest.mark.slow
def test_ways_to_share_places_differ_as_they_should():
    grid = Grid(west=0, south=0, east=16, north=16, levels=(2, 4))
    people = moving_people(150, n_days=14, grid=grid, rng=rng())
    design = Collection(areas=grid.areas(), f=0.5, p=0.25, q=0.75)
    found = {
        outcome.name: outcome
        for outcome in compare(people, grid=grid, collection=design, secret=SECRET, rng=rng())
    }
    assert len(found) == 6
    homes = {name: outcome.homes_found for name, outcome in found.items()}
    assert homes["pseudonyms"] == 1
    assert homes["5 dummies"] > 0.95
    assert homes["RAPPOR"] < 0.1
    assert homes["geo-indistinguishability"] < 0.3
    assert found["pseudonyms"].map_error < 1e-12
    assert found["pseudonyms"].linked > 0.9
    assert found["RAPPOR"].linked > 0.5  # and here is its price
    assert found["RAPPOR"].loss <= 14 * epsilon_after(design.parameters[-1], reports=1) + 1e-9
    assert all(0 <= outcome.map_error <= 1 for outcome in found.values())
    with pytest.raises(RapporError):
        compare(people, grid=grid, collection=design, secret=SECRET, rng=rng(), k=151)
    with pytest.raises(RapporError):
        compare(people, grid=grid, collection=design, secret=SECRET, rng=rng(), epsilon=0)


def an_experiment(**changes):
    grid = Grid(west=0, south=0, east=16, north=16, levels=(1, 3))
    sizes = {"n_people": 40, "population": 3_000, "n_days": 3, "cap": None} | changes
    design = Collection(areas=grid.areas(), f=0.25, p=0.2, q=0.8, cap=sizes.pop("cap"))
    return experiment(grid, collection=design, secret=SECRET, rng=rng(), **sizes)


@pytest.mark.slow
def test_an_experiment_withholds_cells_and_repeats_by_its_seed():
    found = an_experiment().to_dict()
    small = {"n_people": 10, "population": 300, "k": 5}
    assert an_experiment(**small).to_dict() == an_experiment(**small).to_dict()
    assert len(found["ways"]) == 6
    for level in found["map"]:
        shown = [cell for cell in level["estimates"] if cell is not None]
        assert len(shown) == level["shown"]
        assert all(cell["low"] < cell["share"] < cell["high"] for cell in shown)
    assert 0 < found["map"][1]["shown"] < found["map"][1]["cells"] == 64
    assert found["averaging"][-1]["drawn_anew"] > found["averaging"][-1]["kept"]
    assert found["silenced"] == 0
    assert an_experiment(cap=4).silenced > 0


@pytest.mark.parametrize(
    "changes",
    [{"n_people": 0}, {"n_people": 5_001}, {"population": 10**9}, {"n_days": 10**7}, {"k": 41}],
)
def test_experiments_that_are_too_large_or_empty_are_refused(changes):
    with pytest.raises(RapporError):
        an_experiment(**changes)


@pytest.mark.slow
def test_the_program_compares_ways_to_share_places(capsys, tmp_path):
    sizes = ["--people", "30", "--population", "2000", "--days", "2", "--levels", "1,3"]
    main(["--seed", "1", *sizes, "--cap", "3", "-o", str(tmp_path / "places.json")])
    assert "withheld" in capsys.readouterr().out
    found = json.loads((tmp_path / "places.json").read_text())
    assert [level["cells"] for level in found["map"]] == [4, 64]
    assert found["ways"][-1]["name"] == "RAPPOR"
    assert found["ways"][-1]["loss"] <= 3
