"""Target record swapping."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from tables import DataError, RequestError, Secret, SourceError, open_source
from tables.swapping import swap_records
from tables.swapping.plan import SwapPlan

GEOGRAPHY = ["region", "town"]
GIVEN = {"household": "home", "geography": GEOGRAPHY, "risk": ["age", "sex"], "seed": 5}


def register(*, homes=400, regions=3, towns=4, seed=1):
    """Households of one to four people in towns of uneven size."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, homes)
    region = rng.integers(0, regions, homes)
    town = region * towns + np.minimum(rng.integers(0, 2 * towns, homes), towns - 1)
    home = np.repeat(np.arange(homes), size)
    people = len(home)
    return pd.DataFrame(
        {
            "person": np.arange(people),
            "home": home,
            "region": [f"R{r}" for r in region[home]],
            "town": [f"T{t}" for t in town[home]],
            "kind": rng.integers(0, 2, homes)[home],
            "age": rng.integers(0, 8, people),
            "sex": rng.choice(["F", "M"], people),
        }
    )


def swapped(frame, folder, *, name="swapped.parquet", threads=None, **changes):
    file = folder / name
    with open_source(frame, threads=threads) as source:
        report = swap_records(source, path=file, **(GIVEN | changes))
    return pd.read_parquet(file), report


def test_a_plan_reads_the_columns_that_households_are_to_share():
    plan = SwapPlan(
        household="home",
        geography=("region",),
        risk=("age",),
        similar=(("kind",), ()),
        k=3,
        rate=0.05,
    )
    assert plan.columns == ("home", "region", "age", "kind")


def by_person(frame):
    return frame.sort_values("person").reset_index(drop=True)


def rarest(frame, *, level, risk=("age", "sex")):
    """Per household, the fewest records of an area that look like a member."""
    columns = [*GEOGRAPHY[: level + 1], *risk]
    sizes = frame.groupby(columns)["person"].transform("size")
    return sizes.groupby(frame["home"]).min()


def homes_of(frame):
    return frame.groupby("home").agg(
        region=("region", "first"), town=("town", "first"), size=("person", "size")
    )


def test_a_record_keeps_everything_but_its_geography(tmp_path):
    before = register()
    after, report = swapped(before, tmp_path, rate=0.2)
    assert report.moved_households >= 0.2 * 400 - 2
    kept = [column for column in before if column not in GEOGRAPHY]
    pd.testing.assert_frame_equal(by_person(after)[kept], by_person(before)[kept])
    assert list(after.columns) == list(before.columns)


def test_households_stay_together_and_come_to_places_that_exist(tmp_path):
    before = register()
    after, _ = swapped(before, tmp_path, rate=0.5)
    assert after.groupby("home")["town"].nunique().max() == 1
    places = set(map(tuple, before[GEOGRAPHY].to_numpy()))
    assert set(map(tuple, after[GEOGRAPHY].to_numpy())) == places


def test_every_area_keeps_its_households_of_every_size(tmp_path):
    before = register()
    after, report = swapped(before, tmp_path, k=4, rate=0.3)
    assert report.moved_households > 100
    for level in ("region", "town"):
        was, now = (
            Counter(zip(h[level], h["size"], strict=True))
            for h in (homes_of(before), homes_of(after))
        )
        assert was == now


def test_every_household_at_risk_moves_as_far_as_needed_or_is_reported(tmp_path):
    before = register(homes=900)
    after, report = swapped(before, tmp_path, k=40, rate=0)
    was, now = homes_of(before), homes_of(after)
    for level, column in enumerate(GEOGRAPHY):
        is_risky = rarest(before, level=level) < 40
        if level:
            is_risky &= rarest(before, level=0) >= 40
        n_moved = int((was.loc[is_risky, column] != now.loc[is_risky, column]).sum())
        assert report.needed[level] == is_risky.sum()
        assert report.moved_as_needed[level] >= n_moved > 0
        assert (
            report.moved_as_needed[level]
            + report.moved_less_far[level]
            + report.not_moved[level]
            == report.needed[level]
        )
    moved = (was["town"] != now["town"]) | (was["region"] != now["region"])
    assert report.moved_households == moved.sum()
    assert report.distance == (
        (was["region"] != now["region"]).sum(),
        ((was["region"] == now["region"]) & moved).sum(),
    )


def test_households_that_are_no_risk_above_stay_in_their_area_above(tmp_path):
    before = register(homes=900)
    after, report = swapped(before, tmp_path, risk=["sex"], k=0, rate=0.3)
    assert report.needed == (0, 0)
    assert report.distance == (0, 270)
    assert (homes_of(before)["region"] == homes_of(after)["region"]).all()


def test_partners_agree_in_the_profile(tmp_path):
    before = register(homes=900)
    _, report = swapped(before, tmp_path, similar=[["kind"], []], k=3, rate=0.1)
    after, only = swapped(before, tmp_path, name="b.parquet", similar=[["kind"]], k=3, rate=0.1)
    assert report.by_profile[0] > 0
    assert only.by_profile == (only.moved_households,)
    for frame in (before, after):
        frame["key"] = frame["kind"].astype(str)
    was = Counter(zip(before["town"], before["key"], strict=True))
    assert Counter(zip(after["town"], after["key"], strict=True)) == was


def test_what_is_carried_along_changes_places_with_the_household(tmp_path):
    before = register()
    before["grid"] = before["town"] + "-" + (before["home"] % 5).astype(str)
    before.loc[before["home"] % 7 == 0, "grid"] = None
    after, report = swapped(before, tmp_path, rate=0.5, carry_along=["grid"])
    alone, _ = swapped(before, tmp_path, name="b.parquet", rate=0.5)
    assert report.moved_households > 100
    pd.testing.assert_series_equal(by_person(after)["town"], by_person(alone)["town"])
    was, now = (f.groupby("home")["grid"].first() for f in (before, after))
    towns = homes_of(after)["town"]
    moved = homes_of(before)["town"] != towns
    assert (was[~moved].dropna() == now[~moved].dropna()).all()
    assert (now[moved].dropna().str.split("-").str[0] == towns[moved & now.notna()]).all()
    assert Counter(was.dropna()) == Counter(now.dropna())
    before["own"] = before["person"]
    with pytest.raises(DataError, match="what is carried along differs"):
        swapped(before, tmp_path, name="c.parquet", carry_along=["grid", "own"])
    before["own"] = before["home"].where(before["person"] % 2 == 0)
    with pytest.raises(DataError, match="what is carried along differs"):
        swapped(before, tmp_path, name="c.parquet", carry_along=["own"])


def test_risks_that_were_computed_elsewhere_decide_who_moves(tmp_path):
    before = register(homes=900)
    rng = np.random.default_rng(2)
    before["far"], before["near"] = rng.random((2, len(before))) ** 6
    before.loc[0, "far"] = 0.0
    given = {"risk": [], "risk_values": ["far", "near"], "risk_threshold": 0.8}
    after, report = swapped(before, tmp_path, rate=0, **given)
    most = before.groupby("home")[["far", "near"]].max()
    far = most["far"] >= 0.8
    near = (most["near"] >= 0.8) & ~far
    assert report.needed == (far.sum(), near.sum())
    assert report.moved_as_needed == report.needed
    was, now = homes_of(before), homes_of(after)
    assert (was["region"] != now["region"])[far].all()
    assert (was["town"] != now["town"])[near].all()
    # a risk of one over the number of records alike is what is looked for by default
    alike = before.groupby([*GEOGRAPHY, "age", "sex"])["person"].transform("size")
    wider = before.groupby(["region", "age", "sex"])["person"].transform("size")
    before["far"], before["near"] = 1 / wider, 1 / alike
    given["risk_threshold"] = 1 / 2
    own, _ = swapped(before, tmp_path, name="own.parquet", **given)
    usual, _ = swapped(before, tmp_path, name="usual.parquet", k=3)
    pd.testing.assert_frame_equal(by_person(own), by_person(usual))
    before.loc[3, "near"] = np.inf
    with pytest.raises(DataError, match="Some risks 'near' are negative or not finite"):
        swapped(before, tmp_path, name="c.parquet", **given)


def test_members_must_agree_in_any_order(tmp_path):
    before = register(homes=900)
    after, _ = swapped(before, tmp_path, similar=[["sex"]], risk=["age"], k=2, rate=0.2)
    was, now = (
        Counter(
            zip(
                homes_of(f)["town"],
                f.sort_values("sex").groupby("home")["sex"].sum(),
                strict=True,
            )
        )
        for f in (before, after)
    )
    assert was == now


def test_the_fallback_profile_serves_who_found_nobody(tmp_path):
    before = register(homes=300)
    before["odd"] = before["home"]  # nobody is like another
    _, strict = swapped(before, tmp_path, similar=[["odd"]], rate=0.1)
    _, loose = swapped(before, tmp_path, name="b.parquet", similar=[["odd"], []], rate=0.1)
    assert strict.moved_households == 0
    assert sum(strict.not_moved) == sum(strict.needed) > 0
    assert loose.by_profile == (0, loose.moved_households)
    assert loose.moved_households > 0


def test_any_size_is_a_last_resort(tmp_path):
    before = pd.DataFrame(
        {
            "person": range(3),
            "home": [0, 0, 1],
            "region": ["R"] * 3,
            "town": ["a", "a", "b"],
            "age": [1, 2, 3],
            "sex": ["F", "M", "F"],
        }
    )
    _, strict = swapped(before, tmp_path)
    after, loose = swapped(before, tmp_path, name="b.parquet", any_size=True)
    assert strict.moved_households == 0
    assert loose.by_profile == (0, 2)
    assert by_person(after)["town"].tolist() == ["b", "b", "a"]


@pytest.mark.parametrize("threads", [1, 4])
def test_the_order_of_records_and_the_threads_do_not_matter(tmp_path, threads):
    before = register()
    after, report = swapped(before, tmp_path, rate=0.2)
    shuffled = before.sample(frac=1, random_state=3).reset_index(drop=True)
    again, same = swapped(shuffled, tmp_path, name="b.parquet", rate=0.2, threads=threads)
    pd.testing.assert_frame_equal(by_person(after), by_person(again))
    assert report == same


@pytest.mark.slow
def test_the_seed_or_the_secret_decides_who_moves(tmp_path):
    before = register()
    seeds = [{"seed": 5}, {"seed": 6}, {"seed": None, "secret": Secret(bytes(16))}]
    found = [
        by_person(swapped(before, tmp_path, name=f"{n}.parquet", rate=0.2, **seed)[0])["town"]
        for n, seed in enumerate([*seeds, *seeds])
    ]
    assert not found[0].equals(found[1])
    assert not found[0].equals(found[2])
    for first, second in zip(found[:3], found[3:], strict=True):
        assert first.equals(second)


def test_each_household_moves_at_most_once_up_to_the_rate(tmp_path):
    before = register(homes=401)
    assert swapped(before, tmp_path, k=0, rate=0)[1].moved_households == 0
    _, most = swapped(before, tmp_path, name="b.parquet", k=0, rate=1)
    assert 380 <= most.moved_households <= 400
    _, risky = swapped(before, tmp_path, name="c.parquet", k=10**9, rate=0)
    assert risky.needed == (401, 0)
    assert risky.moved_households + sum(risky.not_moved) == 401


def test_the_rate_is_met_from_every_area_in_proportion(tmp_path):
    before = register(homes=4000)
    before["town"] = before["region"] + "T" + (before["home"] % 4).astype(str)
    after, report = swapped(before, tmp_path, k=0, rate=0.2)
    assert report.moved_households == 800
    was, now = homes_of(before), homes_of(after)
    shares = (was["town"] != now["town"]).groupby(was["town"]).mean()
    assert 0.15 < shares.min() <= shares.max() < 0.25


def test_rare_households_are_called_before_common_ones(tmp_path):
    before = register(homes=4000)
    rare = before["home"].isin(before.loc[before["person"] % 97 == 0, "home"])
    before["age"] = np.where(rare, before["age"], 99)
    before["sex"] = "F"
    after, _ = swapped(before, tmp_path, k=0, rate=0.1)
    was, now = homes_of(before), homes_of(after)
    moved = was["town"] != now["town"]
    is_rare = rare.groupby(before["home"]).first()
    assert moved[is_rare].mean() > 5 * moved[~is_rare].mean()


def test_missing_risk_values_are_a_category_and_missing_places_are_refused(tmp_path):
    before = register()
    before.loc[::7, "age"] = None
    _, report = swapped(before, tmp_path, rate=0.1)
    assert report.moved_households >= 38
    for column in ("home", "town"):
        lacking = before.astype({"home": "Int64"})
        lacking.loc[3, column] = None
        with pytest.raises(DataError, match=f"Some records have no '{column}'"):
            swapped(lacking, tmp_path, name=f"{column}.parquet")
        assert not (tmp_path / f"{column}.parquet").exists()


def test_towns_of_one_name_in_two_regions_are_two_towns(tmp_path):
    before = register()
    before["town"] = "T" + (before["town"].str[1:].astype(int) % 4).astype(str)
    after, _ = swapped(before, tmp_path, k=4, rate=0.3)
    was, now = (
        Counter(zip(h["region"], h["town"], h["size"], strict=True))
        for h in (homes_of(before), homes_of(after))
    )
    assert was == now
    assert len({key[:2] for key in was}) == 12


def test_bad_data_are_refused_with_a_reason(tmp_path):
    before = register(homes=20)
    one = before.assign(region="R", town="T")
    split = before.assign(town=[f"T{n % 2}" for n in range(len(before))])
    for frame, words in (
        (one, "in one area"),
        (split, "live in several areas"),
        (before[:0], "no record"),
    ):
        with pytest.raises(DataError, match=words):
            swapped(frame, tmp_path)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rate": -0.1}, "rate must be"),
        ({"rate": float("nan")}, "rate must be"),
        ({"rate": True}, "rate must be"),
        ({"k": 2.5}, "k must be"),
        ({"geography": []}, "geography must name"),
        ({"geography": "town"}, "must be a list"),
        ({"risk": []}, "risk must name"),
        ({"risk": ["town"]}, "cannot say what is alike"),
        ({"similar": []}, "at least one profile"),
        ({"similar": None}, "similar must be a list"),
        ({"similar": ["kind"]}, "a profile of similar must be a list"),
        ({"risk": [3]}, "risk must be a list"),
        ({"similar": [["age", "sex"]]}, "double"),
        ({"geography": ["town", "town"]}, "each column once"),
        ({"household": "hom"}, "did you mean 'home'"),
        ({"seed": None}, "a seed or a secret"),
        ({"seed": -1}, "integer of at least 0"),
        ({"secret": Secret(bytes(16))}, "not both"),
        ({"carry_along": ["kind"], "similar": [["kind"]]}, "cannot be carried along"),
        ({"carry_along": ["town"]}, "cannot be carried along"),
        ({"risk_values": ["age"]}, "risk_threshold"),
        ({"risk_values": ["age"], "risk_threshold": 0.5}, "cannot both say who is at risk"),
        (
            {"risk": [], "risk_values": ["age"] * 3, "risk_threshold": 1.0},
            "or one for each geo",
        ),
        ({"risk": [], "risk_values": ["sex"], "risk_threshold": 1.0}, "must hold numbers"),
        ({"risk": [], "risk_threshold": 1.0}, "risk must name at least one column"),
    ],
)
def test_a_wrong_plan_is_refused_before_anything_is_read(tmp_path, changes, words):
    with pytest.raises(RequestError, match=words):
        swapped(register(homes=10), tmp_path, **changes)


def test_a_file_that_exists_is_not_replaced_unasked(tmp_path):
    before = register(homes=50)
    swapped(before, tmp_path)
    with pytest.raises(SourceError, match="exists"):
        swapped(before, tmp_path)
    swapped(before, tmp_path, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["swapped.parquet"]


def test_hostile_names_are_only_names(tmp_path):
    before = register(homes=60)
    names = {"home": 'a"; drop', "region": "n", "town": "area", "age": "draw", "sex": "g0"}
    after, report = swapped(
        before.rename(columns=names),
        tmp_path,
        household='a"; drop',
        geography=["n", "area"],
        risk=["draw", "g0"],
    )
    plain, same = swapped(before, tmp_path, name="b.parquet")
    assert list(after.columns) == [names.get(column, column) for column in before]
    renamed = after.rename(columns={new: old for old, new in names.items()})
    pd.testing.assert_frame_equal(by_person(renamed), by_person(plain))
    assert report.distance == same.distance


def test_progress_rises_to_one_and_nothing_is_left_behind(tmp_path):
    shares = []
    with open_source(register(homes=100)) as source:
        swap_records(source, path=tmp_path / "a.parquet", progress=shares.append, **GIVEN)
        own = "SELECT count(*) FROM duckdb_tables() WHERE table_name NOT LIKE 'ckm_added_%'"
        assert source.fetch(own)[0][0] == 0  # the keys of households stay with the source
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_report_and_the_errors_show_no_count(tmp_path):
    _, report = swapped(register(homes=347), tmp_path)
    assert repr(report) == "SwapReport(2 levels)"
    assert report.to_frame()["needed"].tolist() == list(report.needed)
    assert 0 < report.share_of_records < 1


def test_waiting_times_are_exponential():
    from tables.swapping.homes import Homes
    from tables.swapping.match import _Pairing

    draw = np.random.default_rng(4).integers(0, 2**64, 200_000, dtype=np.uint64)
    none = np.zeros(len(draw), np.int64)
    homes = Homes(
        draw=draw,
        area=none,
        paths=none[:1, None],
        size=none,
        rarest=none[None],
        profiles=none[None],
    )
    pairing = _Pairing(homes, k=3, any_size=False)
    first, second = pairing.waits(0), pairing.waits(1)
    assert min(first.min(), second.min()) >= 0
    for t in (0.1, 0.5, 1.0, 2.5, 6.0):
        for wait in (first, second):
            assert abs((wait > t).mean() - 2**-t) < 0.008
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.01
