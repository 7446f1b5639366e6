"""The rules against brute force, over small tables drawn at random."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckm.config.reading import Reading
from ckm.config.service.rules import RuleSettings
from ckm.service.answering.messages import LANGUAGES, WORDS
from ckm.service.rules.areas import Slices, commonest, judge_areas
from ckm.service.rules.shape import Finding, Shape, judge_shape

OFF = dict.fromkeys(
    (
        "minimum_population",
        "sparsity_a",
        "sparsity_b",
        "permille_zeros",
        "permille_ones",
        "permille_dominant",
        "mean_cell_size",
        "group_disclosure",
    )
)


@st.composite
def grids(draw):
    """Draw counts by area and two variables, and each area's population."""
    shape = (draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3)))
    small = st.integers(0, 4) | st.integers(0, 60)
    size = int(np.prod(shape))
    counts = np.array(draw(st.lists(small, min_size=size, max_size=size))).reshape(shape)
    population = np.array(
        draw(st.lists(st.integers(0, 90), min_size=shape[0], max_size=shape[0]))
    )
    return counts, population


def slices_of(counts, population):
    area, one, two = np.nonzero(counts)
    return Slices(
        population=population,
        cells=counts[0].size,
        area=area,
        published=counts[area, one, two],
        codes={"one": one, "two": two},
    )


def fails(name, counts, population, limit, share=0.0):  # noqa: PLR0911
    """Judge one area the slow way."""
    cells = counts.ravel().tolist()
    filled = [c for c in cells if c]
    ones, twos = cells.count(1), cells.count(2)
    if name == "minimum_population":
        return population < limit
    if name == "mean_cell_size":
        return population / len(cells) < limit
    if name == "permille_zeros":
        return 1000 * cells.count(0) / len(cells) > limit
    if name == "permille_ones":
        return 1000 * ones / len(cells) > limit
    if name in {"sparsity_a", "sparsity_b"}:
        return (ones + twos * (name == "sparsity_b")) / len(filled) > limit if filled else True
    if name == "permille_dominant":
        total = counts.sum()
        return (
            any(1000 * counts.sum(axis=a).max() > limit * total for a in (0, 1)) and total > 0
        )
    groups = [counts[:, two] for two in range(counts.shape[1])]
    there = [g for g in groups if g.sum() > 0]
    bad = [g for g in there if g.sum() - limit <= g.max()]
    return bool(there) and 1000 * len(bad) / len(there) > share


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("minimum_population", (1, 10, 40)),
        ("mean_cell_size", (0.5, 2.0, 7.0)),
        ("sparsity_a", (0.0, 0.25, 1.0)),
        ("sparsity_b", (0.0, 0.5, 1.0)),
        ("permille_zeros", (0.0, 250.0, 718.0)),
        ("permille_ones", (0.0, 281.0)),
        ("permille_dominant", (300.0, 828.0)),
        ("group_disclosure", (0, 1, 3)),
    ],
)
@given(grid=grids(), place=st.integers(0, 2), share=st.sampled_from([0.0, 45.0, 500.0]))
def test_every_rule_judges_as_it_does_by_hand(name, limits, grid, place, share):
    counts, population = grid
    limit = limits[place % len(limits)]
    settings = RuleSettings(**{**OFF, name: limit, "permille_disclosive": share})
    found = judge_areas(slices_of(counts, population), settings, sensitive=["one"])
    wanted = [
        fails(name, counts[a], int(population[a]), limit, share) for a in range(len(counts))
    ]
    assert [f is not None for f in found] == wanted
    names = {f.rule for f in found if f is not None}
    assert names <= {name, "empty"}


@given(grid=grids())
def test_an_area_is_withheld_for_the_first_rule_it_breaks_and_for_all_of_them(grid):
    counts, population = grid
    slices = slices_of(counts, population)
    every = RuleSettings(permille_zeros=718, permille_ones=281, permille_dominant=828)
    withheld = [f is not None for f in judge_areas(slices, every, sensitive=["one", "two"])]
    single = np.zeros(len(counts), bool)
    for name in OFF:
        only = RuleSettings(**{**OFF, name: getattr(every, name)})
        single |= [f is not None for f in judge_areas(slices, only, sensitive=["one", "two"])]
    assert withheld == single.tolist()


def test_a_table_of_areas_alone_needs_persons_and_no_more():
    slices = Slices(
        population=np.array([9, 10]),
        cells=1,
        area=np.array([0, 1]),
        published=np.array([9, 10]),
        codes={},
    )
    found = judge_areas(slices, RuleSettings(permille_dominant=1.0))
    assert [None if f is None else f.rule for f in found] == ["minimum_population", None]


def test_group_disclosure_is_about_sensitive_variables_alone():
    counts = np.array([[[50, 50], [0, 0]]])
    slices = slices_of(counts, np.array([100]))
    assert judge_areas(slices, RuleSettings(), sensitive=[]) == [None]
    (found,) = judge_areas(slices, RuleSettings(), sensitive=["one"])
    assert (found.rule, found.dimension) == ("group_disclosure", "one")


@given(
    cells=st.integers(0, 12),
    categories=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 6)),
    filtered=st.frozensets(st.sampled_from("abcd")),
    levels=st.sampled_from([("region",), ("commune",), ("commune", "region")]),
)
def test_rules_on_shapes_judge_as_they_do_by_hand(cells, categories, filtered, levels):
    settings = RuleSettings(
        maximum_cells=9,
        maximum_categories=4,
        maximum_variables=3,
        small_areas=("commune",),
        maximum_variables_small_areas=2,
        exclusive=(("b", "c"),),
        mandatory=("a",),
    )
    shape = Shape(
        cells=cells, categories=categories, filtered=filtered, levels={"a": levels}, area="a"
    )
    variables = set(categories) | filtered
    wanted = {
        "mandatory": "a" not in categories,
        "exclusive": {"b", "c"} <= variables,
        "maximum_variables_small_areas": "commune" in levels and len(variables) > 2,
        "maximum_variables": len(variables) > 3,
        "maximum_categories": any(n > 4 for n in categories.values()),
        "maximum_cells": cells > 9,
    }
    found = judge_shape(shape, settings)
    first = next((name for name, is_broken in wanted.items() if is_broken), None)
    assert (found.rule if found else None) == first


def test_the_commonest_finding_is_that_of_most_areas():
    one, two = Finding(rule="one"), Finding(rule="two")
    assert commonest([one, None, two, two]) is two
    assert commonest([None]) is None


def test_every_word_is_there_in_both_languages_with_the_same_blanks():
    for key, (english, french) in WORDS.items():
        assert english.strip(), key
        assert french.strip(), key
        blanks = [
            sorted(part.partition("}")[0].partition("!")[0] for part in text.split("{")[1:])
            for text in (english, french)
        ]
        assert blanks[0] == blanks[1], key
    assert LANGUAGES == ("en", "fr")


def test_false_switches_a_rule_off():
    settings = {"maximum_cells": False, "exclusive": [["a", "b"]]}
    read = RuleSettings.model_validate(settings, context=Reading(Path("service.toml")))
    assert read == RuleSettings(maximum_cells=None, exclusive=(("a", "b"),))
    off = RuleSettings(**OFF)
    empty = slices_of(np.zeros((2, 2, 2), int), np.zeros(2, int))
    assert judge_areas(empty, off, sensitive=["one"]) == [None, None]
    assert None not in judge_areas(empty, RuleSettings())


@pytest.mark.parametrize(
    ("sizes", "is_refused"),
    [
        (((50_000,), (100,), (2,)), False),  # one level of each: persons bound the cells
        (((50_000, 100, 10, 1), (100, 20, 5, 1), (2, 1)), False),
        (((64, 32, 16, 8, 4, 2, 1),) * 3, False),
        (((64, 32, 16, 8, 4, 2, 1),) * 4, True),
        (((50_000, 100, 10, 1), *((64, 32, 16, 8, 4, 2, 1),) * 2), True),
        (((1,) * 10,) * 6, True),
        ((), False),
    ],
)
def test_levels_that_multiply_too_much_are_refused_before_they_are_counted(sizes, is_refused):
    shape = Shape(cells=1, categories={}, sizes=sizes)
    found = judge_shape(shape, RuleSettings())
    assert (found is not None and found.rule == "maximum_levels") == is_refused
