from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
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


def test_what_is_undefined_says_why():
    one_row = association([[1, 2]], [[1, 2]])
    assert all("fewer than two" in reason for reason in reasons(one_row).values())
    assert len(reasons(one_row)) == 10
    independent = association([[2, 4], [3, 6]], [[2, 5], [3, 6]])
    assert reasons(independent) == {
        "rcv_pct": "the original table has no association",
        "deviance_ratio": "the original deviance is 0",
    }


@pytest.mark.parametrize(("before", "after"), [([1, 2], [1, 2]), ([[1, 2]], [[1], [2]])])
def test_tables_that_are_not_two_way_are_refused(before, after):
    with pytest.raises(RiskError, match="two-way"):
        association(before, after)
