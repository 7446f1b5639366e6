"""Texts that look alike are told apart by code points, for the terminal alone."""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pytest

from tables import (
    CodeTree,
    DataError,
    DataWarning,
    Hierarchy,
    Request,
    RequestError,
    StoredKeys,
    cube,
    open_source,
)
from tables.lookalikes import appearance, code_points, look_alikes

KEYS = StoredKeys(column="key", key_range=256)
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "é") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(
    ("one", "other", "points"),
    [
        (f"caf{COMPOSED}s", f"caf{DECOMPOSED}s", "U+00E9 / U+0065 U+0301"),
        ("a", "a ", "nothing / U+0020"),
        (" a", "a", "U+0020 / nothing"),
        ("a b", "a\N{NO-BREAK SPACE}b", "U+0020 / U+00A0"),
        ("a b", "a\N{NARROW NO-BREAK SPACE}b", "U+0020 / U+202F"),
        ("a b", "a  b", "nothing / U+0020"),
        ("ab", "a\N{ZERO WIDTH SPACE}b", "nothing / U+200B"),
        ("ab", "a\N{SOFT HYPHEN}b", "nothing / U+00AD"),
        ("12", "1\N{FULLWIDTH DIGIT TWO}", "U+0032 / U+FF12"),
        ("Ω", "\N{OHM SIGN}", "U+03A9 / U+2126"),
        ("가", "\u1100\u1161", "U+AC00 / U+1100 U+1161"),
    ],
)
def test_texts_that_look_alike_are_told_apart_by_what_differs(one, other, points):
    assert appearance(one) == appearance(other)
    assert look_alikes([one, "other", other, one]) == [tuple(sorted([one, other]))]
    assert code_points(one, other) == points


@pytest.mark.parametrize(
    ("one", "other"), [("a", "A"), ("e", "é"), ("1", "l"), ("²", "2"), ("", "a")]
)
def test_texts_that_look_different_are_not_named(one, other):
    assert not look_alikes([one, other])


def records(*values, **more):
    keys = pa.array(range(len(values)), pa.uint8())
    return pa.table({"v": values, **more, "key": keys})


def tabulate(data, **wish):
    with open_source(data) as source:
        return cube(source, KEYS, [Request(**{"dimensions": ["v"], **wish})] * 2)


def test_categories_that_look_alike_are_warned_of_once_by_code_point():
    data = records(COMPOSED, DECOMPOSED, "b", "b ", "c")
    with pytest.warns(DataWarning) as caught:
        tabulate(data)
    (warning,) = (one.message for one in caught)
    assert str(warning).startswith("In column 'v', 2 categories look like another, written")
    assert str(warning.inside) == "nothing / U+0020; U+0065 U+0301 / U+00E9"
    assert "U+" not in repr(vars(warning))
    assert not {COMPOSED, DECOMPOSED, "b "} & {str(warning), repr(warning)}


def test_a_category_that_looks_like_the_total_is_warned_of():
    with pytest.warns(DataWarning, match="In column 'v', 1 category looks like another"):
        tabulate(records("Total ", "b"))


def test_other_columns_and_plain_categories_are_not_warned_of():
    tabulate(records("a", "b", "A"))
    tabulate(records(1.5, 2.5))


@pytest.mark.parametrize("where", ["v = '{}'", "v in ('c', '{}')", "not v <> '{}'"])
def test_a_filter_in_the_other_form_is_refused(where):
    data = records("c", DECOMPOSED, "x")
    with pytest.raises(
        DataError, match="compares 'v' with a text that no category is"
    ) as caught:
        tabulate(data, dimensions=[], where=where.format(COMPOSED))
    assert str(caught.value.inside) == "U+00E9 / U+0065 U+0301"
    assert "U+" not in str(caught.value)
    tabulate(data, dimensions=[], where=where.format(DECOMPOSED))


def test_a_filter_beside_a_look_alike_is_warned_of():
    data = records("c", DECOMPOSED, COMPOSED)
    with pytest.warns(DataWarning, match="compares 'v' with a text that other") as caught:
        tabulate(data, dimensions=[], where=f"v = '{COMPOSED}'")
    assert [str(one.message.inside) for one in caught] == ["U+00E9 / U+0065 U+0301"]


def test_filters_of_texts_that_nothing_looks_like_say_nothing():
    data = records("a", "b", None, w=["x", "y", "z"])
    tabulate(data, dimensions=[], where="v = 'q' or w in ('x', 'r') and v <> 'b'")


def test_of_many_texts_in_one_column_the_others_are_still_looked_at(monkeypatch):
    monkeypatch.setattr("tables.cells.cube._MOST_LOOKED_AT", 5)
    many = records(*map(str, range(9)), w=["a "] * 9)
    tabulate(many, dimensions=[], where="v = '1 '")
    with pytest.raises(DataError, match="compares 'w'"):
        tabulate(many, dimensions=[], where="v = '1' and w = 'a'")


def test_a_declared_category_in_the_other_form_is_named_by_code_point():
    data = records(COMPOSED, "b")
    with pytest.raises(DataError, match="not declared") as caught:
        tabulate(data, categories={"v": [DECOMPOSED, "b"]})
    assert "written otherwise than declared: U+0065 U+0301 / U+00E9" in str(caught.value.inside)
    tree = CodeTree({"all": None, DECOMPOSED: "all", "b": "all"})
    with pytest.raises(DataError, match="leaves of the code tree") as caught:
        tabulate(data, hierarchies={"v": Hierarchy(columns=("v",), tree=tree)})
    assert "U+0065 U+0301 / U+00E9" in str(caught.value.inside)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_name_in_the_other_form_is_told_by_code_point(form):
    name, other = (
        unicodedata.normalize(f, "catégorie")
        for f in (form, {"NFC": "NFD", "NFD": "NFC"}[form])
    )
    points = code_points(other, name)
    for wish in ({"dimensions": [other]}, {"dimensions": [], "where": f"{other} = 'a'"}):
        with pytest.raises(RequestError, match="is not in the data") as caught:
            tabulate(records("a", "b", **{name: ["a", "b"]}), **wish)
        assert (
            f"did you mean {name!r}? It looks alike, and is written otherwise: {points}"
            in str(caught.value)
        )
