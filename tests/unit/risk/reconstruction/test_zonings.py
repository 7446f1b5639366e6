"""Two zonings of the same people and the records between them."""

from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import ckm
from ptable import NoiseSpec, solve
from risk.attacks.reconstruction.geographic import SliverLaw, find_slivers
from risk.distributions.noise_distributions import difference_law
from risk.errors import RiskError
from risk.reconstruction.intervals import intervals
from tables import Secret
from tests.published_counts import all_margins, counts_from_tables


@pytest.mark.parametrize(
    ("noise", "variance", "seen"),
    [(2, 1.0, 0.781), (5, 2.0, 0.824), (5, 3.0, 0.851), (8, 4.0, 0.868)],
)
def test_one_record_more_shows_as_often_as_the_reference_says(noise, variance, seen):
    table = solve(NoiseSpec(max_noise=noise, variance=variance))
    sliver = SliverLaw(difference=1, law=difference_law(table, (60, 59), nested=True))
    assert sliver.p_seen == pytest.approx(seen, abs=0.0005)
    assert 0.89 <= round(sliver.accuracy, 2) <= 0.93


def test_equal_sets_are_published_alike():
    table = solve(NoiseSpec(max_noise=5, variance=3.0))
    assert difference_law(table, (7, 7), nested=True).support.tolist() == [0]
    assert difference_law(table, (7, 7, 0), nested=True).support.tolist() == [0]
    assert difference_law(table, (0, 0, 0), nested=True).support.tolist() == [0]


def test_the_law_of_a_difference_sums_to_one_and_has_the_right_mean():
    table = solve(NoiseSpec(max_noise=3, variance=2.0))
    law = difference_law(table, (30, 10, 17, 2), nested=True)
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-15)
    assert law.mean == pytest.approx(1, abs=1e-6)


def test_the_law_of_a_difference_is_that_of_exact_fractions():
    """Every pair of keys, as whole numbers: tails of 1e-9 are right to 12 digits."""
    table = solve(NoiseSpec(max_noise=5, variance=2.0))
    law = difference_law(table, (30, 17, 2), nested=True)
    rows = [table.units(count) for count in (table.n_rows - 1, table.n_rows - 1, 2)]
    exact: dict[int, Fraction] = {}
    for (u, a), (v, b), (w, c) in product(*(row.items() for row in rows)):
        place, ways = 30 + u - (17 + v) - (2 + w), Fraction(a * b * c, table.key_range**3)
        exact[place] = exact.get(place, Fraction(0)) + ways
    assert law.support.tolist() == sorted(exact)
    found = [float(law.at(place)) for place in sorted(exact)]
    wanted = [float(exact[place]) for place in sorted(exact)]
    assert min(wanted) < 1e-9
    assert found == pytest.approx(wanted, rel=1e-12, abs=0)


def test_a_difference_that_cannot_be_is_refused():
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    with pytest.raises(RiskError, match="below their sum"):
        difference_law(table, (3, 2, 2), nested=True)
    with pytest.raises(RiskError, match="two counts or more, not 1"):
        difference_law(table, (3,))


def test_slivers_agree_with_a_direct_search():
    rng = np.random.default_rng(5)
    old = rng.integers(0, 6, 300)
    new = np.where(rng.random(300) < 0.985, old, rng.integers(0, 6, 300))
    new = np.where((new == 1) & (rng.random(300) < 0.5), 9, new)
    found = find_slivers(old, new, largest=3)
    people = {("old", z): set(np.flatnonzero(old == z).tolist()) for z in set(old.tolist())}
    people |= {("new", z): set(np.flatnonzero(new == z).tolist()) for z in set(new.tolist())}
    pairs = set()
    for (side, a), here in people.items():
        for (other, b), there in people.items():
            rest, beyond = len(here - there), len(there - here)
            is_near = side == "old" and other == "new" and here & there
            if is_near and rest + beyond > 0 and max(rest, beyond) <= 3:
                pairs.add(("new", b, a) if rest == 0 else ("old", a, b))
    assert {(s.zoning, s.zone, s.parts[0]) for s in found if len(s.parts) == 1} == pairs
    for sliver in found:
        other = "new" if sliver.zoning == "old" else "old"
        zone = people[sliver.zoning, sliver.zone]
        parts = set().union(*(people[other, part] for part in sliver.parts))
        assert sliver.n_only_zone == len(zone - parts)
        assert sliver.n_only_parts == len(parts - zone)
        assert sliver.zone_count == len(zone)


def test_zones_that_hold_the_same_people_are_no_sliver():
    assert find_slivers(list("AABB"), list("aabb"), largest=2) == ()


def test_a_zone_less_all_zones_inside_it_is_a_sliver():
    slivers = find_slivers(list("AAAAAAB"), list("aabbbcc"), largest=1)
    assert ("A", ("a", "b")) in [(s.zone, s.parts) for s in slivers]


def test_missing_zones_are_a_zone_and_counts_stay_out_of_the_repr():
    old = ["A"] * 77 + [None]
    slivers = find_slivers(old, ["a"] * 78, largest=1)
    assert [(s.zone, s.parts) for s in slivers] == [("a", ("A",)), ("a", (None,))][:1]
    assert "77" not in repr(slivers)


def test_the_engine_hides_a_sliver_as_often_as_the_law_says():
    """300 zones of 40 people, each losing one: the share unseen is within three errors."""
    table = solve(NoiseSpec(max_noise=5, variance=3.0))
    zones = np.repeat(np.arange(300), 40)
    later = np.where(np.arange(len(zones)) % 40 == 0, 999, zones)
    people = pa.table({"id": np.arange(len(zones)), "old": zones, "new": later})
    engine = ckm.Engine(people, id="id", secret=Secret(bytes(range(16))), ptable=table)
    counts = {
        name: engine.tabulate([name]).to_pandas().set_index(name)["count"]
        for name in ("old", "new")
    }
    names = [str(zone) for zone in range(300)]
    differs = (counts["old"][names].to_numpy() != counts["new"][names].to_numpy()).mean()
    slivers = [s for s in find_slivers(zones, later, largest=1) if s.zone != 999]
    law = slivers[0].law(table)
    assert len(slivers) == 300
    assert abs(differs - law.p_seen) < 3 * (law.p_seen * (1 - law.p_seen) / 300) ** 0.5


def test_intervals_of_what_the_engine_publishes_hold_the_true_counts():
    rng = np.random.default_rng(8)
    table = solve(NoiseSpec(max_noise=2, variance=1.0))
    codes = {"a": rng.integers(0, 4, 90), "b": rng.integers(0, 5, 90)}
    people = pa.table({"id": np.arange(90), **codes})
    engine = ckm.Engine(people, id="id", secret=Secret(bytes(range(16))), ptable=table)
    frame = engine.tabulate(["a", "b"], margins="all").to_pandas()
    published = {}
    for kept in all_margins(2):
        part = frame
        for axis, name in enumerate("ab"):
            part = part[(part[name] != "Total") == (axis in kept)]
        counts = np.zeros(tuple((4, 5)[axis] for axis in kept), dtype=np.int64)
        for line in part.to_dict("records"):
            place = tuple(int(line["ab"[axis]]) for axis in kept)
            counts[place] = line["count"]
        published[kept] = counts
    truth = np.zeros((4, 5), dtype=np.int64)
    np.add.at(truth, (codes["a"], codes["b"]), 1)
    found = intervals(counts_from_tables((4, 5), tables=published, max_noise=2), whole=True)
    assert (found.lower <= truth.ravel()).all()
    assert (truth.ravel() <= found.upper).all()
    assert found.width.max() <= 4
