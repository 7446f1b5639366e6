"""In how many published counts a record is, from what a ledger has of its tables."""

from __future__ import annotations

import itertools
import json

import pytest

from ckm.ledger.appearances import Appearance
from ckm.ledger.appearances import n_counts_with_a_record as n_counts
from ckm.ledger.definition import Definition
from ckm.ledger.protection import CellProtection
from tables import Hierarchy, Request


def n_counts_with_a_record(definitions):
    return n_counts(Appearance(definition=one) for one in definitions)


GEO = Hierarchy(columns=("region", "department", "commune"))


def table(name, dimensions, margins="all", **more):
    request = Request(dimensions=dimensions, margins=margins, **more)
    return Definition.of(request, name=name)


def test_every_combination_of_levels_is_a_count_of_the_record():
    place = {"geo": GEO}
    assert n_counts_with_a_record([]) == 0
    assert n_counts_with_a_record([table("t", ["sex", "age"])]) == 4
    assert n_counts_with_a_record([table("t", ["geo", "sex"], hierarchies=place)]) == 8
    assert n_counts_with_a_record([table("t", ["sex", "age"], "none")]) == 1
    assert n_counts_with_a_record([table("t", ["sex", "age"], [["sex"]])]) == 2


def test_what_several_tables_show_counts_once_unless_filter_or_method_differ():
    both = [table("t", ["sex", "age"]), table("u", ["sex", "race"])]
    assert n_counts_with_a_record(both) == 6  # total and sex are the same numbers
    filtered = Definition(name="v", dimensions=("sex",), where="age > 17")
    assert n_counts_with_a_record([*both, filtered]) == 8
    rounded = both[0].protected_by(CellProtection(method="rounding", settings="base 5"))
    assert n_counts_with_a_record([*both, rounded]) == 10


@pytest.mark.parametrize("shape", ["{", "[]", json.dumps(["", 3]), json.dumps(["", [["a"]]])])
def test_a_table_that_cannot_be_read_counts_for_one(shape):
    assert n_counts_with_a_record([Definition(name="t", shape=shape)]) == 1


def test_eight_hundred_bands_of_income_are_eight_hundred_counts():
    bands = (
        Definition(name=f"t{n}", dimensions=(), where=f"income > {n}", margins="none")
        for n in itertools.islice(itertools.count(), 800)
    )
    assert n_counts_with_a_record(bands) == 800


def test_tables_that_callers_of_a_service_chose_count_with_their_totals():
    shape = json.dumps([None, {"sex": ["F", "M"], "age": ["1", "2"]}, {}])
    chosen = Definition(name="s", dimensions=("sex", "age"), margins="chosen", shape=shape)
    assert n_counts_with_a_record([chosen]) == 4
    levels = Definition(
        name="s", dimensions=("sex", "age"), margins="[[0, 0], [0, 1]]", shape=shape
    )
    assert n_counts_with_a_record([levels]) == 2
    unread = Definition(name="s", dimensions=("sex", "age"), margins="some", shape=shape)
    assert n_counts_with_a_record([unread]) == 4
