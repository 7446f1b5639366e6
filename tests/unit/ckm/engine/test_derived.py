"""Shares of a table, changes between two, and what a change tells of who came."""

import functools
import itertools

import numpy as np
import pandas as pd
import pytest

import ckm
from ckm.engine.published_table import PublishedTable
from ckm.formats import read_table
from ptable import NoiseSpec, solve
from risk import count_intervals, difference_law
from tables import Secret

SECRET = Secret(bytes(range(16)))


@functools.cache
def ptable():
    return solve(NoiseSpec(max_noise=5, variance=3.0))


def people(size=600, *, seed=2):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": np.arange(size),
            "sex": rng.choice(["F", "M"], size),
            "age": rng.choice(["young", "middle", "old"], size),
            "area": rng.choice(list("abcdefgh"), size),
        }
    )


def tabulate(data, dimensions=("sex", "area"), *, secret=SECRET):
    with ckm.Engine(data, id="id", secret=secret, ptable=ptable()) as opened:
        return opened.tabulate(dimensions, empty_cells="grid")


def lines(table):
    return {
        tuple(line[name] for name in table.dimensions): {n: line[n] for n in table.measures}
        for line in table.to_arrow().to_pylist()
    }


@pytest.mark.parametrize("name", ["count", "COUNT", "share", "share_low", "change", "Total"])
def test_columns_called_like_figures_of_ours_stand_beside_them(name):
    plain, named = people(), people().rename(columns={"sex": name})
    for figure in (
        lambda table, of: ckm.shares(table, of, ptable=ptable()),
        lambda table, _: ckm.changes(table, table, ptable=ptable()),
    ):
        expected = lines(figure(tabulate(plain), "sex"))
        table = figure(tabulate(named, (name, "area")), name)
        assert list(table.dimensions) == [name, "area"]
        assert len({column.lower() for column in table.columns}) == len(table.columns)
        assert [list(line.values()) for line in lines(table).values()] == [
            list(line.values()) for line in expected.values()
        ]


def test_a_share_is_the_published_count_over_that_of_the_total_with_its_interval():
    table = tabulate(people())
    counts, found = lines(table), lines(ckm.shares(table, "sex", ptable=ptable()))
    assert len(found) == len(counts) * 2 / 3
    for (sex, area), line in found.items():
        part, whole = counts[sex, area]["count"], counts["Total", area]["count"]
        ends = count_intervals((ptable(), ptable()), [part], [whole], part=True)
        assert line["share"] == pytest.approx(100 * part / whole)
        assert line["share_low"] == pytest.approx(100 * ends.lower[0])
        assert line["share_high"] == pytest.approx(100 * ends.upper[0])


def test_there_is_no_share_of_a_total_that_is_published_as_0_or_is_hidden():
    counts = np.ma.array([0, 0, 40, 12, 30, 9], mask=[0, 0, 1, 0, 0, 1])
    table = PublishedTable(
        dimensions={
            "area": (np.repeat(np.arange(3, dtype=np.int32), 2), ["a", "b", "c"]),
            "sex": (np.tile(np.arange(2, dtype=np.int32), 3), ["Total", "F"]),
        },
        measures={"count": counts},
    )
    found = ckm.shares(table, "sex", ptable=ptable())
    assert np.ma.getmaskarray(found.measures["share"]).all()
    with pytest.raises(ckm.ConfigError, match="no column 'age' with totals"):
        ckm.shares(table, "age", ptable=ptable())


def test_a_change_is_found_by_the_categories_whatever_their_order():
    data = people()
    table = tabulate(data)
    order = np.random.default_rng(1).permutation(table.n_rows)
    again = PublishedTable(
        dimensions={n: (codes[order], texts) for n, (codes, texts) in table.dimensions.items()},
        measures={name: numbers[order] for name, numbers in table.measures.items()},
    )
    assert set(lines(ckm.changes(table, again, ptable=ptable()))) == set(lines(table))
    later = tabulate(
        pd.concat([data, people(80, seed=3).assign(id=range(600, 680))], ignore_index=True)
    )
    found, before = lines(ckm.changes(later, again, ptable=ptable())), lines(again)
    for place, line in lines(later).items():
        assert found[place]["change"] == line["count"] - before[place]["count"]
        assert (
            found[place]["change_low"] <= found[place]["change"] <= found[place]["change_high"]
        )
    with pytest.raises(ckm.ConfigError, match="other columns"):
        ckm.changes(table, tabulate(data, ["sex"]), ptable=ptable())


def test_a_table_comes_back_from_its_parquet_file_with_what_is_hidden(tmp_path):
    table = tabulate(people(), ["sex"])
    hidden = PublishedTable(
        dimensions=table.dimensions,
        measures={"count": np.ma.array(table.measures["count"], mask=[True, False, False])},
    )
    hidden.write(tmp_path / "t.parquet")
    back = read_table(tmp_path / "t.parquet")
    assert lines(back) == lines(hidden)


# --- an attack ----------------------------------------------------------------------------


def newcomer_found(*, same_secret, runs=20):
    """Share of cases where the place of the one person who came is told exactly.

    The reader has both tables with all margins, and knows the p-table and that one person came.
    """
    law = {d: difference_law(ptable(), (50, 50)).at(d) for d in range(-10, 11)}
    dimensions, hits = ["sex", "age", "area"], 0
    rng = np.random.default_rng(4)
    for run in range(runs):
        data = people(2400, seed=run)
        new = data.iloc[[rng.integers(len(data))]].assign(id=9999)
        secret = SECRET if same_secret else Secret(bytes([run] * 16))
        before = lines(tabulate(data, dimensions))
        after = lines(
            tabulate(pd.concat([data, new], ignore_index=True), dimensions, secret=secret)
        )
        moved = {place: after[place]["count"] - before[place]["count"] for place in before}
        scores = {}
        for guess in itertools.product(*(sorted(data[name].unique()) for name in dimensions)):
            score = 0.0
            for place, change in moved.items():
                inside = all(p in (g, "Total") for p, g in zip(place, guess, strict=True))
                if inside:
                    chance = law.get(change - 1, 0)
                else:
                    chance = float(change == 0) if same_secret else law.get(change, 0)
                score += np.log(max(chance, 1e-12))
            scores[guess] = score
        hits += max(scores, key=scores.get) == tuple(new.iloc[0][dimensions])
    return hits / runs


@pytest.mark.slow
def test_one_newcomer_between_two_releases_under_one_secret_is_told_and_under_two_hardly():
    assert newcomer_found(same_secret=True) > 0.9
    assert newcomer_found(same_secret=False) < 0.3


def test_one_cell_tells_whether_somebody_came_or_left_as_often_as_stated():
    """Who came, who left and nobody, equally likely: a third is told by guessing."""
    came, left, nobody = (difference_law(ptable(), (50 + n, 50)) for n in (1, -1, 0))
    one, two = 0.0, 0.0
    for d in range(-11, 12):
        one += max(came.at(d), left.at(d), float(d == 0)) / 3
        two += max(came.at(d), left.at(d), nobody.at(d)) / 3
    assert (one, two) == (pytest.approx(0.721, abs=0.001), pytest.approx(0.441, abs=0.001))


def test_shares_over_a_list_of_columns_are_refused_with_the_way_out():
    with pytest.raises(ckm.ConfigError, match="over one column, not"):
        ckm.shares(tabulate(people()), ["sex"], ptable=ptable())


# --- by hand ------------------------------------------------------------------------------


def table_of(lines_, counts, *, names=("area", "sex")):
    """Make a table of lines of categories and their counts; None is hidden."""
    dimensions = {}
    for place, name in enumerate(names):
        texts = sorted({line[place] for line in lines_})
        codes = np.array([texts.index(line[place]) for line in lines_], np.int32)
        dimensions[name] = (codes, texts)
    hidden = [count is None for count in counts]
    values = np.ma.array([77 if c is None else c for c in counts], mask=hidden)
    return PublishedTable(
        dimensions=dimensions, measures={"count": values if any(hidden) else values.data}
    )


AREAS = [(area, sex) for area in ("a", "b", "Total") for sex in ("Total", "F", "M")]


@pytest.mark.parametrize(
    "options", [{}, {"level": 0.8}, {"independent": False}], ids=["default", "level", "any"]
)
@pytest.mark.parametrize("of", ["area", "sex"])
def test_shares_and_changes_have_the_intervals_of_parts_and_differences(options, of):
    later = table_of(AREAS, [30, 12, 17, 9, 3, 7, 40, 15, 24])
    earlier = table_of(AREAS, [24, 11, 14, 12, 8, 3, 36, 18, 17])
    asked = {"level": 0.95, "independent": True} | options
    found = lines(ckm.shares(later, of, ptable=ptable(), **options))
    counts = {place: line["count"] for place, line in lines(later).items()}
    place = ("area", "sex").index(of)
    assert len(found) == 6
    assert all(line[place] != "Total" for line in found)
    for cell, line in found.items():
        whole = tuple("Total" if n == place else text for n, text in enumerate(cell))
        ends = count_intervals(
            (ptable(), ptable()), [counts[cell]], [counts[whole]], part=True, **asked
        )
        assert list(line.values()) == pytest.approx(
            [100 * ends.figure[0], 100 * ends.lower[0], 100 * ends.upper[0]]
        )
    changed = lines(ckm.changes(later, earlier, ptable=ptable(), **options))
    before = {cell: line["count"] for cell, line in lines(earlier).items()}
    for cell, line in changed.items():
        ends = count_intervals(
            (ptable(), ptable()), [counts[cell]], [before[cell]], figure="difference", **asked
        )
        assert list(line.values()) == [ends.figure[0], ends.lower[0], ends.upper[0]]


def test_each_table_of_a_change_may_have_its_own_p_table():
    narrow = solve(NoiseSpec(max_noise=2, variance=1.0))
    later, earlier = (
        table_of([("a",)], [60], names=("x",)),
        table_of([("a",)], [50], names=("x",)),
    )
    both = lines(ckm.changes(later, earlier, ptable=ptable(), earlier_ptable=narrow))["a",]
    ends = count_intervals((ptable(), narrow), [60], [50], figure="difference")
    assert list(both.values()) == [10.0, ends.lower[0], ends.upper[0]]
    same = lines(ckm.changes(later, earlier, ptable=ptable()))["a",]
    assert same["change_low"] < both["change_low"]


def test_a_figure_is_hidden_where_either_of_its_counts_is():
    cells = [("Total",), ("F",), ("M",)]
    one = table_of(cells, [30, None, 17], names=("sex",))
    other = table_of(cells, [25, 11, None], names=("sex",))
    shared = ckm.shares(one, "sex", ptable=ptable())
    assert lines(shared)["F",] == {"share": None, "share_low": None, "share_high": None}
    assert lines(shared)["M",]["share"] == pytest.approx(100 * 17 / 30)
    no_total = table_of(cells, [None, 11, 17], names=("sex",))
    for values in lines(ckm.shares(no_total, "sex", ptable=ptable())).values():
        assert set(values.values()) == {None}
    changed = ckm.changes(one, other, ptable=ptable())
    assert np.ma.getmaskarray(changed.measures["change"]).tolist() == [False, True, True]
    assert changed.measures["change"].data.tolist() == [5.0, 0.0, 0.0], "nothing lies below"


def test_cells_that_a_table_lacks_have_no_change_and_parts_without_a_total_no_share():
    later = table_of([("a",), ("b",), ("c",)], [30, 20, 10], names=("x",))
    earlier = table_of([("c",), ("a",), ("d",)], [4, 25, 9], names=("x",))
    found = lines(ckm.changes(later, earlier, ptable=ptable()))
    assert {cell: line["change"] for cell, line in found.items()} == {("a",): 5, ("c",): 6}
    some = table_of([("a", "F"), ("b", "Total"), ("b", "F")], [12, 30, 15])
    assert list(lines(ckm.shares(some, "sex", ptable=ptable()))) == [("b", "F")]


def test_a_total_of_nobody_has_no_shares():
    none = table_of([("Total",), ("F",)], [0, 0], names=("sex",))
    found = ckm.shares(none, "sex", ptable=ptable())
    assert found.measures["share"].mask.tolist() == [True]


def test_totals_may_have_another_name():
    table = table_of([("Ensemble",), ("F",)], [30, 12], names=("sex",))
    found = lines(ckm.shares(table, "sex", ptable=ptable(), total_label="Ensemble"))
    assert list(found) == [("F",)]
    with pytest.raises(ckm.ConfigError, match="called 'Total'") as caught:
        ckm.shares(table, "sex", ptable=ptable())
    assert caught.value.hint == "columns are sex; ask for margins"


def test_figures_of_counts_need_counts():
    sums = PublishedTable(
        dimensions={"sex": (np.array([0, 1], np.int32), ["Total", "F"])},
        measures={"sum_x": np.array([3.0, 1.0])},
    )
    with pytest.raises(ckm.ConfigError, match="shows no counts"):
        ckm.shares(sums, "sex", ptable=ptable())
    with pytest.raises(ckm.ConfigError, match="shows no counts"):
        ckm.changes(sums, sums, ptable=ptable())


def test_a_part_is_no_larger_than_its_whole():
    table = table_of([("Total",), ("F",)], [9, 9], names=("sex",))
    ((share, low, high),) = (
        line.values() for line in lines(ckm.shares(table, "sex", ptable=ptable())).values()
    )
    assert (share, high) == (100.0, 100.0)
    assert 50 < low < 60
