"""Tables as a job asks for them: which words there are, and what they mean."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

import ckm
from ckm.engine.request import SHARES, column_of, quantile_of, variable_of


@pytest.mark.parametrize(
    ("measure", "variable"),
    [
        ("sum:income", "income"),
        ("mean:income", "income"),
        ("range:income", None),
        ("sum:a:b", "a:b"),
        ("sum: income", " income"),
        ("sum:", None),
        ("sum", None),
        ("total:income", None),
        (":income", None),
        ("count", None),
        (5, None),
    ],
)
def test_the_variable_of_a_measure_stands_after_the_first_colon(measure, variable):
    assert variable_of(measure) == variable


def test_a_variable_of_several_measures_is_named_once():
    wish = ckm.TableRequest(
        dimensions=["sex"], measures=["sum:b", "count", "mean:b", "mean:a", "sum:a"]
    )
    assert wish.variables == ("b", "a")
    assert ckm.TableRequest(dimensions=["sex"]).variables == ()


@pytest.mark.parametrize(
    ("measure", "hint"),
    [
        ("total:income", "of a variable there are"),
        ("summ:income", "did you mean 'sum:income'"),
        ("Mean:income", "did you mean 'mean:income'"),
        ("sum", "did you mean 'sum:…'"),
        ("sum:", "did you mean 'sum:…'"),
        ("counts", "did you mean 'count'"),
        ("Weighted", "did you mean 'weighted'"),
        ("", "for example"),
        (5, "for example"),
        (None, "for example"),
    ],
)
def test_an_unknown_measure_is_refused_with_what_was_meant(measure, hint):
    with pytest.raises(ckm.ConfigError, match=f"each once, not(?s:.*)hint: {hint}"):
        ckm.TableRequest(dimensions=["sex"], measures=["count", measure])


def test_one_measure_twice_is_refused():
    with pytest.raises(ckm.ConfigError, match="each once"):
        ckm.TableRequest(dimensions=["sex"], measures=["sum:income", "sum:income"])


def test_a_range_is_refused_with_the_reason_and_what_to_ask_for_instead():
    with pytest.raises(ckm.ConfigError, match=r'two persons\' amounts(?s:.*)base = "range"'):
        ckm.TableRequest(dimensions=["sex"], measures=["count", "range:income"])


def test_a_mean_of_records_without_values_is_refused_with_the_filter_to_write():
    wish = {"dimensions": ["sex"], "missing_values": "skip"}
    assert ckm.TableRequest(measures=["sum:income"], **wish).missing_values == "skip"
    with pytest.raises(ckm.ConfigError, match='where = "income is not missing"'):
        ckm.TableRequest(measures=["mean:income"], **wish)
    with pytest.raises(ckm.ConfigError, match="'stop' or 'skip', not 'drop'"):
        ckm.TableRequest(dimensions=["sex"], missing_values="drop")


@pytest.mark.parametrize(
    ("measure", "pair"),
    [
        ("median:income", ("income", "0.5")),
        ("quantile:income:0.9", ("income", "0.9")),
        ("quantile:a:b:0.25", ("a:b", "0.25")),
        ("median:a:b", ("a:b", "0.5")),
        ("quantile:income:0.95", None),
        ("quantile:income", None),
        ("quantile::0.9", None),
        ("median:", None),
        ("median", None),
        ("sum:income", None),
        (None, None),
    ],
)
def test_a_quantile_has_a_column_and_one_of_the_shares(measure, pair):
    assert quantile_of(measure) == pair
    if pair is not None:
        assert variable_of(measure) == pair[0]


@pytest.mark.parametrize("share", SHARES)
def test_columns_of_quantiles_say_the_share_in_per_cent(share):
    assert column_of(f"quantile:income:{share}") == f"quantile_income_{float(share) * 100:.0f}"


@pytest.mark.parametrize(
    ("measure", "column"),
    [
        ("count", "count"),
        ("weighted", "weighted"),
        ("sum:income", "sum_income"),
        ("mean:a:b", "mean_a:b"),
        ("median:income", "median_income"),
        ("quantile:a:b:0.5", "quantile_a:b_50"),
        ("quantile:income", "quantile:income"),
        ("range:income", "range:income"),
    ],
)
def test_the_column_of_a_measure_has_no_colon_of_its_own(measure, column):
    assert column_of(measure) == column


def test_what_is_asked_for_is_kept_as_it_was_written_and_cannot_change():
    wish = ckm.TableRequest(dimensions=["sex", "age"], measures=["count", "sum:income"])
    assert (wish.dimensions, wish.measures) == (("sex", "age"), ("count", "sum:income"))
    assert (wish.margins, wish.where) == ("all", None)
    assert (wish.empty_cells, wish.missing_values) == ("auto", "stop")
    assert ckm.TableRequest(dimensions=["sex"], measures="weighted").measures == ("weighted",)
    assert not hasattr(wish, "__dict__")
    with pytest.raises(FrozenInstanceError):
        wish.where = "age > 3"
    with pytest.raises(TypeError):
        ckm.TableRequest(["sex"])


def test_a_single_name_is_one_dimension():
    assert ckm.TableRequest(dimensions="sex").dimensions == ("sex",)


@pytest.mark.parametrize("word", ["auto", "grid", "drop"])
def test_empty_cells_are_listed_dropped_or_listed_where_categories_are_declared(word):
    assert ckm.TableRequest(dimensions=["sex"], empty_cells=word).empty_cells == word
    with pytest.raises(ckm.ConfigError, match="'auto', 'grid' or 'drop', not 'keep'"):
        ckm.TableRequest(dimensions=["sex"], empty_cells="keep")


@pytest.mark.parametrize(
    ("options", "is_needed"),
    [
        ({"dimensions": ["sex"]}, False),
        ({"dimensions": ["sex"], "measures": ["count", "weighted"]}, False),
        ({"dimensions": ["sex"], "empty_cells": "drop"}, False),
        ({"dimensions": []}, True),
        ({"dimensions": ["sex"], "empty_cells": "grid"}, True),
        ({"dimensions": ["sex"], "measures": ["count", "mean:income"]}, True),
        ({"dimensions": ["sex"], "measures": ["median:income"]}, True),
    ],
)
def test_only_counts_of_listed_cells_can_be_written_one_by_one(options, is_needed):
    assert ckm.TableRequest(**options).needs_whole_table is is_needed


def test_variables_are_those_of_sums_and_means_and_quantiles_stand_apart():
    measures = ["median:a", "sum:b", "quantile:a:0.9", "count", "mean:c"]
    wish = ckm.TableRequest(dimensions=[], measures=measures)
    assert wish.variables == ("b", "c")
    assert wish.quantiles == {"median:a": ("a", "0.5"), "quantile:a:0.9": ("a", "0.9")}


@pytest.mark.parametrize("measure", ["mean:a:b", "median:a:b", "quantile:a:b:0.9"])
def test_missing_values_can_be_passed_over_by_sums_alone(measure):
    with pytest.raises(ckm.ConfigError, match="would count records without a value") as caught:
        ckm.TableRequest(dimensions=[], measures=["sum:a", measure], missing_values="skip")
    assert caught.value.hint == 'leave them out: where = "a:b is not missing"'
    counts = ckm.TableRequest(
        dimensions=[], measures=["count", "weighted", "sum:a"], missing_values="skip"
    )
    assert counts.missing_values == "skip"


@pytest.mark.parametrize(
    ("measure", "hint"),
    [
        ("quantile:income:0.95", "for example 'quantile:income:0.9'; the shares are 0.1, "),
        ("quantile:income", "for example 'quantile:income:0.9'"),
        ("quantile", "did you mean 'quantile:…'"),
        ("medan:income", "did you mean 'median:income'"),
        ("sums:a:b", "did you mean 'sum:a:b'"),
        ("counter:income", "of a variable there are 'sum:income', 'mean:income'"),
        ("weightedly", "for example measures"),
        ("cout", "did you mean 'count'"),
        ("summaries:income", "of a variable there are"),
    ],
)
def test_a_slip_is_told_from_another_statistic(measure, hint):
    with pytest.raises(ckm.ConfigError) as caught:
        ckm.TableRequest(dimensions=["sex"], measures=[measure])
    assert caught.value.hint.startswith(hint)


def test_no_measure_and_a_measure_twice_are_refused_with_an_example():
    for measures, shown in (([], "none"), (["count", "count"], "'count', 'count'")):
        with pytest.raises(ckm.ConfigError, match=f"each once, not {shown}") as caught:
            ckm.TableRequest(dimensions=["sex"], measures=measures)
        assert caught.value.hint == 'for example measures = ["count"]'
