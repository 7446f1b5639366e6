"""Which sums of cells a filtered table shows, and whether a project may have them."""

from __future__ import annotations

import pytest

from ckm.service.answering.filtered_sets import FilteredSet, FilteredSets
from ckm.service.answering.query import Selection, query_of_request


@pytest.fixture
def sets(served):
    return made(served)


def made(served, **limits):
    service = served.service.changed(limits=served.service.limits.changed(**limits))
    return FilteredSets(served.answerer.planner, served.answerer.variables, service=service)


def asked(served, sets, dimensions, where, **more):
    more = {"margins": "none"} | more
    query = query_of_request(
        served.answerer.variables, dimensions=dimensions, where=where, **more
    )
    return sets.of(query)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sex = 'F' and category <> 'A'", "category in ('B','C','D','E') and not sex = 'M'"),
        ("category <> 'A' or sex = 'F'", "not (category = 'A' and sex = 'M')"),
        ("age_group < '25' or sex = 'F'", "not (age_group >= '25-34' and sex = 'M')"),
        ("category in ('A','B') and commune >= ''", "category in ('B','A')"),
    ],
)
def test_the_same_sums_by_two_filters_are_one_set(served, sets, one, other):
    first, second = (asked(served, sets, ["geo"], where) for where in (one, other))
    assert first == second
    assert len(first) == 1
    assert FilteredSet.of_text(first[0].to_text()) == first[0]


@pytest.mark.parametrize(
    ("dimensions", "where"),
    [
        (["geo"], "sex = 'F'"),  # a column of the table that shows the variable
        (["geo"], "sex = 'F' and category = 'A'"),
        (["geo"], "age_group in ('15-24', '25-34')"),  # one category, of a coarser level
        (["geo", "category"], "category in ('A', 'B')"),  # some rows of the table
        (["sex"], "region = '11'"),
    ],
)
def test_what_a_table_without_a_filter_shows_is_not_accounted(served, sets, dimensions, where):
    codes = served.answerer.variables["geo"].codes
    where = where.replace("'11'", f"'{codes[1]}'")
    found = asked(served, sets, dimensions, where)
    assert made(served, least_variance=1.0).admissible([], found) == []


def test_categories_that_are_ticked_but_not_shown_are_a_filter(served, sets):
    query = query_of_request(served.answerer.variables, dimensions=["geo"], margins="none")
    ranks = tuple(served.answerer.variables["category"].ranks(0)[:2].tolist())
    ticked = query.__class__(
        selections=query.selections, within=(Selection(variable="category", ranks=ranks),)
    )
    assert sets.of(ticked) == asked(served, sets, ["geo"], "category in ('A', 'B')")
    assert sets.of(query) == []


def test_sums_over_some_areas_are_new_and_those_of_an_area_are_not(served, sets):
    codes = served.answerer.variables["geo"].codes
    regions = [code for code in codes[1:] if "/" not in code][:2]
    cut = f"region in ('{regions[0]}', '{regions[1]}')"
    (some,) = asked(served, sets, ["sex"], cut)
    assert some.areas
    assert asked(served, sets, ["geo", "sex"], cut) == []
    strict = made(served, least_variance=0.9)
    assert strict.admissible([], [some]) is None
    by_area = f"({cut} and category <> 'A') or category <> 'B'"
    (mixed,) = asked(served, sets, ["geo"], by_area)
    assert len(mixed.inside) == 2  # within these regions, and elsewhere
    assert mixed.areas


def test_areas_mixed_with_variables_of_one_size_are_told_apart(served, sets, monkeypatch):
    code = served.answerer.variables["geo"].codes[1]
    monkeypatch.setitem(sets._of, "category", sets._of["sex"])
    wheres = [f"region = '{code}' or {one}" for one in ("sex = 'F'", "category = 'A'")]
    (first,), (second,) = (asked(served, sets, [], where) for where in wheres)
    assert first.inside == second.inside
    assert first.areas != second.areas


def test_what_is_asked_together_is_bounded_whatever_the_order(served, sets):
    """Of two sums that differ in one cell, each leaves enough; together they do not."""
    one = asked(served, sets, ["geo"], "category in ('A','B','C') or sex = 'F'")
    other = asked(
        served, sets, ["geo"], "category in ('A','B') or (sex = 'F' and category <> 'C')"
    )
    bounded = made(served, least_variance=0.82)  # .84 and .91 are left, and .78 of both
    assert bounded.admissible([], one) == one
    assert bounded.admissible([], other) == other
    assert bounded.admissible(one, other) is bounded.admissible(other, one) is None
    assert bounded.admissible(one, one) == []


def test_the_number_of_sets_is_the_limit_where_least_squares_are_too_dear(
    served, sets, monkeypatch
):
    wheres = [f"category <> '{c}' or sex = 'F'" for c in "ABCD"]
    found = [asked(served, sets, ["geo"], where)[0] for where in wheres]
    counted = made(served, least_variance=0.01, project_sets=2)
    assert counted.admissible(found[:3], found[3:]) == found[3:]
    for name in ("_MAX_GRID", "_MAX_NUMBERS"):
        with monkeypatch.context() as small:
            small.setattr(f"ckm.service.answering.filtered_sets.{name}", 1)
            dear = [asked(served, counted, ["geo"], where)[0] for where in wheres]
            assert counted.admissible(dear[:1], dear[1:2]) == dear[1:2]
            assert counted.admissible(dear[:2], dear[2:3]) is None
    old = [FilteredSet.of_text(s.to_text().replace(s.categories, "0" * 64)) for s in found[:2]]
    assert counted.admissible(old[:1], found[2:3]) == found[2:3]
    assert counted.admissible(old, found[2:3]) is None  # of other categories, so not comparable
