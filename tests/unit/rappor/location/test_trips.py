"""Places as reports: one level a person, a cap over all that a ledger holds, sums by period."""

import json

import numpy as np
import pytest

from rappor.accounting import epsilon_after
from rappor.client.ledger import ClientLedger
from rappor.errors import MismatchError, RapporError, ReportFileError
from rappor.location.collect import Collection
from rappor.location.trips import PlaceCounts, Points, collect_points
from rappor.location.zones import Zones
from tables.secret import Secret

SECRET = Secret(b"a secret for the tests of places")
TOWNS = Zones.of_rows(["region", "town"], [["N", "a"], ["N", "b"], ["S", "c"]])


def rng(seed=1):
    return np.random.default_rng(seed)


def design(f=0.5, p=0.25, q=0.75):
    return Collection(areas=TOWNS.areas, f=f, p=p, q=q)


def points(n_people=200, n_periods=3, seed=1):
    who = [f"person {n}" for n in range(n_people)] * n_periods
    periods = np.repeat(np.arange(n_periods) + 500, n_people)
    return Points(persons=who, periods=periods, cells=rng(seed).integers(0, 3, len(who)))


def places(sums, collection=None):
    return PlaceCounts(
        collection=collection or design(),
        zones=TOWNS,
        metric="location",
        periods=tuple(map(str, sums)),
        counts=tuple(sums.values()),
    )


def collected(pieces, *, cap=99.0, ledger=None, **settings):
    collection = design(**settings)
    with ClientLedger(ledger, secret=SECRET) as clients:
        sums, numbers = collect_points(
            pieces, collection=collection, secret=SECRET, ledger=clients, cap=cap, rng=rng()
        )
        clients.commit()
        return sums, numbers, clients.most


def test_everybody_reports_one_level_once_a_period_and_pieces_do_not_matter():
    whole = points()
    sums, numbers, _ = collected([whole])
    assert numbers == {"sent": 600, "outside": 0, "beyond the cap": 0}
    assert [sum(counts.total for counts in levels) for levels in sums.values()] == [200] * 3
    totals = [[counts.total for counts in levels] for levels in sums.values()]
    assert totals[0] == totals[1] == totals[2]  # the same people at each level
    cut = [
        Points(persons=whole.persons[a:b], periods=whole.periods[a:b], cells=whole.cells[a:b])
        for a, b in ((0, 250), (250, 600))
    ]
    again, _, _ = collected(cut)
    assert [[c.total for c in levels] for levels in again.values()] == totals


def test_reports_without_noise_count_people_in_their_cells():
    who = Points(
        persons=["x", "y", "z"], periods=np.array([1, 1, 1]), cells=np.array([0, 2, -1])
    )
    sums, numbers, _ = collected([who], cap=float("inf"), f=0.0, p=0.0, q=1.0)
    assert numbers["outside"] == 1
    told = sum(int(counts.ones.sum()) for counts in sums[1])
    assert told == numbers["sent"] == 2


def test_a_cap_holds_over_the_life_of_a_collection(tmp_path):
    cap = design().parameters[-1].epsilon_permanent
    ledger = tmp_path / "clients.db"
    first, _, most = collected([points(60, 4, seed=1)], cap=cap, ledger=ledger)
    again, numbers, most_of_both = collected([points(60, 40, seed=2)], cap=cap, ledger=ledger)
    assert most <= cap * (1 + 1e-9)
    assert most_of_both <= cap * (1 + 1e-9)
    assert numbers["beyond the cap"] > numbers["sent"] / 4  # who moves falls silent
    assert numbers["sent"] + numbers["beyond the cap"] == 60 * 40
    free, numbers, _ = collected([points(60, 4, seed=1)])
    assert numbers["beyond the cap"] == 0
    assert epsilon_after(design().parameters[-1], reports=4) < cap
    del first, again, free


def test_sums_survive_a_file_add_up_and_are_refused_when_changed(tmp_path):
    one, two = (collected([points(seed=seed)])[0] for seed in (1, 2))
    file = tmp_path / "places.json"
    places(one).write(file)
    back = PlaceCounts.read(file)
    assert back.periods == ("500", "501", "502")
    assert back.counts == places(one).counts
    both = back + places(two)
    assert both.counts[0][1].total == one[500][1].total + two[500][1].total
    assert both.chosen(["501"]).periods == ("501",)
    with pytest.raises(RapporError, match="no period"):
        both.chosen(["777"])
    with pytest.raises(MismatchError):
        _ = back + places(one, design(f=0.25))
    content = json.loads(file.read_text())
    content["periods"]["500"][0][0] += 1
    for text in (json.dumps(content), "{}", "no", file.read_text()[:-40]):
        file.write_text(text)
        with pytest.raises(ReportFileError):
            PlaceCounts.read(file)
