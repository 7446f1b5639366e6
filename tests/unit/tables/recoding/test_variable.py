"""Derived variables: what they may say, and what they say of themselves."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from tables import DerivedVariable, RequestError
from tables.recoding.variable import as_variables, words_of


def made(**settings):
    return DerivedVariable(name="new", of="old", **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "needs one of bands, width and recode."),
        ({"bands": [0, 5], "width": 5}, "needs one of bands, width and recode, not bands and"),
        ({"bands": []}, "needs two bands at least"),
        ({"bands": [0]}, "needs two bands at least"),
        ({"bands": [0, 5], "open": "none"}, "needs two bands at least"),
        ({"bands": [0, 10, 5]}, "must rise: 5 comes after 10"),
        ({"bands": [0, 5, 5]}, "must rise: 5 comes after 5"),
        ({"bands": [0, float("nan")]}, "must be a number or a date, and finite"),
        ({"bands": [0, float("inf")]}, "must be a number or a date, and finite"),
        ({"bands": ["0", "5"]}, "must be a number or a date"),
        ({"bands": "0,5"}, "is a list of numbers or dates"),
        ({"bands": 5}, "is a list of numbers or dates"),
        ({"bands": [0, dt.date(2000, 1, 1)]}, "mixes numbers and dates"),
        ({"bands": list(range(1100))}, "more than 1,000 bands"),
        ({"bands": [0, 5], "start": 0}, "start of 'new' does not go with bands"),
        ({"bands": [0, 5], "keep": True}, "keep of 'new' does not go with bands"),
        ({"bands": [0, 5], "open": "up"}, "open of 'new' is one of"),
        ({"bands": {"a": {"end": 5}}}, "needs two bands at least"),
        ({"bands": {"a": {"end": 5}, "b": {"start": 6}}}, "overlap or leave a gap"),
        (
            {"bands": {"a": {"end": 5}, "b": {"start": 5}}, "open": "both"},
            "does not go with bands that have labels",
        ),
        ({"bands": {"a": {"end": 5}, " ": {"start": 5}}}, "texts that can be printed"),
        ({"bands": {"a": {"end": 5}, "b\n": {"start": 5}}}, "texts that can be printed"),
        ({"width": 0}, "must be greater than 0"),
        ({"width": -5}, "must be greater than 0"),
        ({"width": True}, "must be a number or a date, and finite"),
        ({"width": 5, "start": 0, "end": 0}, "must be above its start"),
        ({"width": 5, "start": 0, "end": 12}, "Bands of 5 do not reach from 0 to 12"),
        ({"width": 5, "start": 0, "end": 10**9}, "would be more than 1,000"),
        ({"width": 5, "start": 0, "end": 5, "open": "none"}, "needs two bands at least"),
        ({"width": 5, "open": "start"}, "is beyond its start, and there is none"),
        ({"width": 5, "start": 0, "open": "both"}, "is beyond its end, and there is none"),
        ({"width": 5, "start": dt.date(2000, 1, 1)}, "of numbers, and 'new' names a date"),
        ({"width": "year", "start": 2000}, "start of 'new' does not go with width = 'year'"),
        ({"recode": {}}, "names no code"),
        ({"recode": ["a"]}, "is a mapping of codes, or a CSV file"),
        ({"recode": {"1": "a"}, "open": "end"}, "open of 'new' does not go with recode"),
        ({"recode": {"1": "a"}, "keep": True, "other": "b"}, "has both keep and other"),
        ({"recode": {"1": ""}}, "texts that can be printed"),
        ({"recode": {"1": "a"}, "other": " "}, "texts that can be printed"),
        ({"recode": {"1": "a"}, "absent": "maybe"}, "absent of 'new' is one of"),
        ({"bands": [0, 5], "other": "5+"}, "is the label of one of its bands"),
    ],
)
def test_what_a_variable_contradicts_itself_in_is_said(settings, said):
    with pytest.raises(RequestError) as caught:
        made(**settings)
    assert said in str(caught.value)


def test_a_variable_has_a_name_of_its_own():
    with pytest.raises(RequestError, match="called like what it is made of"):
        DerivedVariable(name="age", of="age", width=5)
    with pytest.raises(RequestError, match="name of a derived variable is a text"):
        DerivedVariable(name="", of="age", width=5)


def test_bands_of_a_width_reach_as_far_as_the_values():
    def labels(least, largest, **settings):
        extremes = Decimal(least), Decimal(largest)
        return made(width=5, **settings).labels(is_whole=True, extremes=extremes)

    assert labels(3, 11) == ("0–4", "5–9", "10–14")
    assert labels(-1, -1) == ("-5 – -1",)
    assert labels(3, 11, start=0) == ("0–4", "5–9", "10–14")
    assert labels(3, 90, end=15) == ("0–4", "5–9", "10–14", "15+")
    assert labels(90, 99, end=15) == ("10–14", "15+")
    assert labels(3, 90, end=15, open="none") == ("0–4", "5–9", "10–14")
    assert made(width=5, start=0, end=15).labels(is_whole=True) == (
        *("0–4", "5–9", "10–14"),
        "15+",
    )


def test_numbers_of_numpy_are_numbers():
    assert made(bands=np.arange(0, 20, 5)).bands == (0, 5, 10, 15)
    assert made(bands=[np.float64(0.1), np.int8(2)]).bands == (Decimal("0.1"), 2)


def test_labels_are_those_of_codes_in_their_order_and_the_other_comes_last():
    variable = made(recode={"3": "b", "1": "a", "2": "b"}, other="c")
    assert variable.labels() == ("b", "a", "c")
    assert made(recode={"3": "b"}, other="b").labels() == ("b",)
    assert made(width="year").labels() == ()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"bands": [0, 5]},
            "new: old in bands that begin from 0 to 5; values below are refused, ",
        ),
        ({"bands": [0, 5]}, "values above have a band; missing stays missing"),
        ({"bands": [0, 5], "missing": "?"}, "values above have a band; missing is '?'"),
        ({"bands": [0, 5, 9], "open": "none"}, "below are refused, values above are refused"),
        ({"bands": [0, 5], "other": "?"}, "; others are '?'; missing stays missing"),
        ({"width": 5}, "old in bands of 5, from … to …; bands reach as far as the values; "),
        ({"width": 0.5, "end": 4}, "bands of 0.5, from … to 4; values above have a band; "),
        ({"width": 5, "start": 0}, "from 0 to …; values below are refused; missing"),
        ({"width": "month"}, "old by month; values outside are refused"),
        ({"bands": {"a": {"end": 5}, "b": {"start": 5}}}, "old in 2 bands"),
        (
            {"recode": {"1": "a", "2": "a"}},
            "2 codes of old become 1 categories; other codes are",
        ),
        ({"recode": {"1": "a"}, "keep": True}, "other codes stay as they are"),
    ],
)
def test_a_variable_says_how_it_is_made_and_where_the_rest_goes(settings, said):
    assert said in words_of(made(**settings))


def test_variables_come_as_they_are_or_as_settings():
    age5 = DerivedVariable(name="age5", of="age", width=5)
    for given in (
        [age5],
        (age5,),
        [{"name": "age5", "of": "age", "width": 5}],
        {"age5": {"of": "age", "width": 5}},
        {"age5": age5},
    ):
        assert as_variables(given) == (age5,)
    assert as_variables(()) == ()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("age5", "is a list of derived variables"),
        (5, "is a list of derived variables"),
        ([{"of": "age", "width": 5}], "has a name, and of"),
        ({"age5": 5}, "The settings of the variable 'age5' are a mapping"),
        ([{"name": "a", "of": "b", "wide": 5}], "has no setting 'wide'"),
    ],
)
def test_other_things_are_no_variables(given, said):
    with pytest.raises(RequestError) as caught:
        as_variables(given)
    assert said in str(caught.value)
