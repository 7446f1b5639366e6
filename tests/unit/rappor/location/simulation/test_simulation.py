"""Simulated people: attacks find what they should, and ways to share places differ."""

import numpy as np
import pytest

from rappor.accounting import epsilon_after
from rappor.errors import RapporError
from rappor.location.areas import Grid
from rappor.location.collect import Collection
from rappor.location.simulation.attacks import averaging_attack, linkage_attack, linked
from rappor.location.simulation.experiment import compare, experiment
from rappor.location.simulation.people import moving_people, traces_of
from rappor.parameters import Parameters
from tables.secret import Secret

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
    assert len(found) == 7
    assert (found["names"].homes_found, found["names"].linked) == (1, 1)
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
    assert len(found["ways"]) == 7
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


def test_real_people_are_where_they_were_last_and_sleep_at_home():
    box = Grid(west=0, south=0, east=4, north=4, levels=(2,))
    people, hours = np.array([0, 0, 0, 1]), np.array([5, 9, 30, 20])
    x, y = np.array([0.5, 3.5, 1.5, 9.0]), np.array([0.5, 0.5, 3.5, 2.5])
    traces = traces_of(people, hours, x, y, grid=box)
    assert (traces.n_people, traces.n_days) == (2, 2)
    assert traces.cells[0, [0, 8, 9, 29, 30, 47]].tolist() == [0, 0, 3, 3, 13, 13]
    assert set(traces.cells[1]) == {11}  # a point outside lies at the edge
    assert traces.homes.tolist() == [3, 11]  # nights from 22 to 6 of both days
    with pytest.raises(RapporError):
        traces_of(people[:0], hours[:0], x[:0], y[:0], grid=box)
