from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import xlogy
from scipy.stats.contingency import association as scipy_association

from risk.errors import RiskError
from risk.utility import association


def values(found):
    return {m.name: m.value for m in found.measures}


def reasons(found):
    return {m.name: m.reason for m in found.measures if m.value is None}


def tables(seed, shape=(4, 5)):
    rng = np.random.default_rng(seed)
    original = rng.integers(1, 60, shape)
    return original, np.maximum(original + rng.integers(-3, 4, shape), 0)


@pytest.mark.parametrize("seed", range(5))
def test_summed_margins_agree_with_scipy(seed):
    original, published = tables(seed)
    found = values(association(original, published))
    for word, cells in (("original", original), ("published", published)):
        chi2 = stats.chi2_contingency(cells, correction=False)
        assert found[f"chi2_{word}"] == pytest.approx(chi2.statistic)
        assert found[f"chi2_p_{word}"] == pytest.approx(chi2.pvalue)
        assert found[f"cramers_v_{word}"] == pytest.approx(scipy_association(cells))
        deviance = stats.chi2_contingency(cells, correction=False, lambda_="log-likelihood")
        assert found[f"deviance_{word}"] == pytest.approx(deviance.statistic)
    before, after = found["cramers_v_original"], found["cramers_v_published"]
    assert found["rcv_pct"] == pytest.approx(100 * (after - before) / before)
    ratio = found["deviance_published"] / found["deviance_original"]
    assert found["deviance_ratio"] == pytest.approx(ratio)


def test_published_margins_are_used_and_named():
    original, published = tables(1)
    rows, columns = published.sum(axis=1) + 1, published.sum(axis=0) - 1
    total = int(published.sum()) + 2
    found = association(
        original, published, row_totals=rows, column_totals=columns, total=total
    )
    expected = np.outer(rows, columns) / total
    chi2 = ((published - expected) ** 2 / expected).sum()
    assert found.margins == "published"
    assert values(found)["chi2_published"] == pytest.approx(chi2)
    assert values(found)["cramers_v_published"] == pytest.approx(np.sqrt(chi2 / (total * 3)))
    assert (
        values(found)["chi2_original"]
        == values(association(original, published))["chi2_original"]
    )
    logs = xlogy(published, published / expected) - published + expected
    assert values(found)["deviance_published"] == pytest.approx(2 * logs.sum())


def test_margins_that_add_up_change_nothing():
    original, published = tables(2)
    given = association(
        original,
        published,
        row_totals=published.sum(axis=1),
        column_totals=published.sum(axis=0),
        total=int(published.sum()),
    )
    assert values(given) == pytest.approx(values(association(original, published)))


def test_empty_rows_and_columns_are_left_out():
    original, published = tables(3)
    wide = np.pad(original, 1)
    found = association(wide, np.pad(published, 1))
    assert values(found) == pytest.approx(values(association(original, published)))
    assert {m.base for m in found.measures} == {original.size}


def test_cells_of_zero_add_their_expected_count_to_the_deviance():
    table = [[0, 5], [5, 5]]
    expected = np.outer([5, 10], [5, 10]) / 15
    logs = [o * np.log(o / e) for o, e in ((5, expected[0, 1]),) * 2]
    wanted = 2 * (sum(logs) + 5 * np.log(5 / expected[1, 1]))
    assert values(association(table, table))["deviance_original"] == pytest.approx(wanted)


def test_decisions_at_5_percent_are_compared():
    found = association([[10, 20], [20, 10]], [[14, 16], [16, 14]])
    assert (found.related_original, found.related_published) == (True, False)
    assert found.same_decision is False
    assert found.n_expected_below_5 == (0, 0)
    assert association([[1, 2], [3, 1]], [[1, 2], [3, 1]]).n_expected_below_5 == (4, 4)


def test_what_is_undefined_says_why():
    one_row = association([[1, 2]], [[1, 2]])
    assert all("fewer than two" in reason for reason in reasons(one_row).values())
    assert len(reasons(one_row)) == 10
    independent = association([[2, 4], [3, 6]], [[2, 5], [3, 6]])
    assert reasons(independent) == {
        "rcv_pct": "the original table has no association",
        "deviance_ratio": "the original deviance is 0",
    }
    lost = association(
        [[1, 2], [3, 1]], [[1, 2], [3, 1]], row_totals=[0, 4], column_totals=[4, 3], total=7
    )
    assert "fewer than two" in reasons(lost)["chi2_published"]
    three = [[1, 2], [3, 1], [5, 1]]
    gone = association(three, three, row_totals=[0, 4, 6], column_totals=[9, 4], total=13)
    assert "margin is 0" in reasons(gone)["chi2_published"]
    none = association(three, three, row_totals=[3, 4, 6], column_totals=[9, 4], total=0)
    assert "total is 0" in reasons(none)["cramers_v_published"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"row_totals": [1, 2]}, "all three"),
        ({"row_totals": [1], "column_totals": [1, 2], "total": 3}, "per row and column"),
        ({"row_totals": [1, -2], "column_totals": [1, 2], "total": -3}, "row_totals.*total"),
    ],
)
def test_margins_that_do_not_fit_are_refused(given, words):
    with pytest.raises(RiskError, match=words):
        association([[1, 2], [3, 4]], [[1, 2], [3, 4]], **given)


@pytest.mark.parametrize(("before", "after"), [([1, 2], [1, 2]), ([[1, 2]], [[1], [2]])])
def test_tables_that_are_not_two_way_are_refused(before, after):
    with pytest.raises(RiskError, match="two-way"):
        association(before, after)
