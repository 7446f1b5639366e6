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
