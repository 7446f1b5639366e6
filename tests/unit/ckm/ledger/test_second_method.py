"""One ledger for every method: the same records by a second one, or by another rounding."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from ckm.errors import ConfigError
from ckm.ledger import (
    CellProtection,
    Definition,
    Ledger,
    LedgerError,
    SecondMethodError,
    ThinDifferenceError,
    Watch,
    list_published,
)
from tables import Request, cube
from tests.unit.ckm.ledger.test_ledger import KEYS, SECRET, path, source

__all__ = ["path", "source"]


def rounded(ledger, source, dimensions=("region",), *, base=5, name="t", shift=0, where=None):
    request = Request(dimensions=dimensions, where=where)
    (cells,) = cube(source, KEYS, [request], sketch=ledger.width)
    own = CellProtection(
        method="rounding",
        settings=f"base {base}",
        numbers=(cells.count // base + shift) * base,
    )
    return ledger.entry(cells, Definition.of(request, name=name), protection=own)


def noisy(ledger, source, dimensions=("region",), *, name="t", where=None):
    request = Request(dimensions=dimensions, where=where)
    (cells,) = cube(source, KEYS, [request], sketch=ledger.width)
    return ledger.entry(cells, Definition.of(request, name=name, where=where))


def hidden(ledger, source, dimensions, where_hidden, *, name, pattern):
    request = Request(dimensions=dimensions)
    (cells,) = cube(source, KEYS, [request], sketch=ledger.width)
    own = CellProtection(method="suppression", hidden=where_hidden(cells), pattern=pattern)
    return ledger.entry(cells, Definition.of(request, name=name), protection=own)


def methods(path):
    return [(one.definition.name, one.definition.method) for one in list_published(path)]


def told(caught):
    return [str(second) for second in caught.value.second_methods]


@pytest.fixture
def ledger(path):
    with Ledger.open(path, secret=SECRET) as opened:
        yield opened


def test_a_table_that_was_rounded_is_not_published_with_noise(ledger, source, path):
    ledger.publish([rounded(ledger, source, name="rounded")])
    with pytest.raises(SecondMethodError) as caught:
        ledger.publish([noisy(ledger, source, ["sex"], name="sexes")])
    first = "table 'rounded' (rounding, entry 1 of the ledger)"
    assert told(caught) == [f"Table 'sexes' (noise) shows records of {first}."]
    assert 'second_method = "flag"' in caught.value.hint
    assert methods(path) == [("rounded", "rounding")]


def test_a_table_with_noise_is_not_rounded(ledger, source):
    ledger.publish([noisy(ledger, source)])
    with pytest.raises(SecondMethodError):
        ledger.publish([rounded(ledger, source)])


def test_other_records_are_published_by_another_method(ledger, source):
    ledger.publish([noisy(ledger, source, where="region = 'r0'")])
    ledger.publish([rounded(ledger, source, ["sex"], where="region = 'r1'")])


@pytest.mark.parametrize("other", [{"base": 10}, {"shift": 1}])
def test_another_rounding_of_the_same_records_is_refused(ledger, source, other):
    ledger.publish([rounded(ledger, source)])
    with pytest.raises(SecondMethodError):
        ledger.publish([rounded(ledger, source, **other)])


def test_the_same_rounding_passes_again_and_is_recorded_once(ledger, source, path):
    for _ in range(2):
        ledger.publish([rounded(ledger, source)])
    assert methods(path) == [("t", "rounding")]


def test_tables_that_agree_in_what_they_share_stand_beside_each_other(ledger, source):
    ledger.publish([rounded(ledger, source, ["region"])])
    assert not ledger.second_methods([rounded(ledger, source, ["sex"])])  # 240 is 240


def test_whoever_wants_it_publishes_by_two_methods(ledger, source, path):
    ledger.publish([rounded(ledger, source)])
    ledger.publish([noisy(ledger, source)], second_method="flag")
    assert methods(path) == [("t", "rounding"), ("t", "noise")]
    with pytest.raises(ConfigError):
        ledger.publish([noisy(ledger, source)], second_method="perhaps")


def test_what_was_published_in_both_ways_passes_again_in_each(ledger, source):
    ledger.publish([rounded(ledger, source)])
    ledger.publish([noisy(ledger, source)], second_method="flag")
    ledger.publish([rounded(ledger, source)])
    ledger.publish([noisy(ledger, source)])
    ledger.publish([rounded(ledger, source, ["sex"])])
    with pytest.raises(SecondMethodError):
        ledger.publish([noisy(ledger, source, ["sex"])])  # nobody has these with noise yet


def test_a_hidden_cell_is_neither_hidden_anew_nor_shown(ledger, source):
    def first(cells):
        return np.arange(len(cells)) < 2

    def nothing(cells):
        return np.zeros(len(cells), bool)

    ledger.publish([hidden(ledger, source, ["region"], first, name="a", pattern="1")])
    ledger.publish([hidden(ledger, source, ["region"], first, name="a", pattern="1")])
    for another in (
        hidden(ledger, source, ["region"], first, name="b", pattern="2"),
        hidden(ledger, source, ["region"], nothing, name="c", pattern="3"),
    ):
        with pytest.raises(SecondMethodError):
            ledger.publish([another])


def test_two_tables_of_one_release_are_compared_with_each_other(ledger, source):
    both = [rounded(ledger, source, name="a"), rounded(ledger, source, name="b", shift=1)]
    with pytest.raises(SecondMethodError) as caught:
        ledger.publish(both)
    assert told(caught) == ["Table 'b' (rounding) shows records of table 'a' (rounding)."]


def test_rounded_tables_are_compared_with_near_ones_too(ledger, source):
    ledger.publish([rounded(ledger, source)])
    with pytest.raises(ThinDifferenceError):
        ledger.publish([rounded(ledger, source, where="number > 0")])


def test_a_method_of_its_own_account_is_compared_with_methods_alone(ledger, source, path):
    def private(where=None):
        request = Request(dimensions=["region"], where=where)
        (cells,) = cube(source, KEYS, [request], sketch=ledger.width)
        own = CellProtection(method="dp", is_compared=False)
        return ledger.entry(cells, Definition.of(request, name="t"), protection=own)

    ledger.publish([private()])
    ledger.publish([private("number > 0")])
    assert not ledger.check([noisy(ledger, source, where="number > 1")])
    with pytest.raises(SecondMethodError):
        ledger.publish([noisy(ledger, source)])


def test_another_history_may_have_another_method_unless_its_readers_know_both(ledger, source):
    ledger.publish([rounded(ledger, source)])
    ledger.publish([noisy(ledger, source)], history="inside")
    assert ledger.second_methods([noisy(ledger, source)], history="x", also=["public"])


def test_a_ledger_opened_again_remembers_each_method(source, path):
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.publish([rounded(ledger, source)])
    with Ledger.open(path, secret=SECRET) as ledger:
        ledger.require_whole()
        assert ledger.second_methods([noisy(ledger, source)])
        assert not ledger.second_methods([rounded(ledger, source)])


def test_two_programs_see_each_others_methods(ledger, source, path):
    with Ledger.open(path, secret=SECRET) as other:
        assert not other.second_methods([noisy(other, source)])
        ledger.publish([rounded(ledger, source)])
        with pytest.raises(SecondMethodError):
            other.publish([noisy(other, source)])


def test_a_ledger_says_from_its_first_other_method_on_that_it_has_another_form(
    ledger, source, path
):
    def form():
        with sqlite3.connect(path) as opened:
            (row,) = opened.execute("SELECT content FROM ckm_ledger WHERE name = 'schema'")
        return row[0]

    ledger.publish([noisy(ledger, source)])
    assert form() == "3"  # earlier versions read it
    ledger.publish([rounded(ledger, source)], second_method="flag")
    assert form() == "4"


def test_settings_of_a_method_stand_nowhere_open(ledger, source, path):
    ledger.publish([rounded(ledger, source, base=17)])
    ledger.close()
    assert b"base 17" not in path.read_bytes()


def test_an_audit_names_what_was_published_in_two_ways(ledger, source):
    ledger.publish([rounded(ledger, source)])
    ledger.publish([noisy(ledger, source, name="u")], second_method="flag")
    ledger.publish([noisy(ledger, source, name="v")], history="inside")
    (second,) = ledger.audit_methods()
    assert (second.table, second.published, second.entry) == ("u", "t", 1)
    assert not list(ledger.audit_methods(history="inside"))


def test_another_noise_is_refused_and_where_it_is_allowed_told_set_by_set(path, source):
    with Ledger.open(path, secret=SECRET, noise="one") as first:
        first.publish([noisy(first, source, name="before")])
        assert not first.has_second_noise
    with pytest.raises(LedgerError, match="have another noise"):
        Ledger.open(path, secret=SECRET, noise="two")
    with Ledger.open(path, secret=SECRET, noise="two", allows_second_noise=True) as second:
        assert second.has_second_noise
        table = noisy(second, source, ["sex"], name="after")
        (pair,) = second.second_methods([table])
        assert str(pair) == (
            "Table 'after' (another noise) shows records of table 'before' (noise, entry 1 of "
            "the ledger)."
        )
        second.publish([table])  # the pair was allowed by whoever opened the ledger so
        assert not second.second_methods([table])
    assert methods(path) == [("before", "noise"), ("after", "another noise")]


def test_a_third_noise_is_another_one_than_the_second(path, source):
    with Ledger.open(path, secret=SECRET, noise="one") as ledger:
        ledger.publish([noisy(ledger, source, where="region = 'r0'")])
    for noise, n_pairs in (("two", 0), ("three", 1)):
        with Ledger.open(path, secret=SECRET, noise=noise, allows_second_noise=True) as ledger:
            table = noisy(ledger, source, where="region = 'r1'", name=noise)
            assert len(ledger.second_methods([table])) == n_pairs
            ledger.publish([table])


def test_a_table_that_was_recorded_with_the_first_noise_is_looked_at_with_the_second(
    path, source
):
    request = {"t": Request(dimensions=["region"])}
    with Ledger.open(path, secret=SECRET, noise="one") as ledger:
        watch = Watch(ledger, data="2027")
        (cells,) = cube(source, KEYS, list(request.values()), sketch=watch.width(request))
        watch.add_table("t", request["t"], cells, where=None)
        watch.publish()
        assert Watch(ledger, data="2027").width(request) == 0
    with Ledger.open(path, secret=SECRET, noise="two", allows_second_noise=True) as ledger:
        assert Watch(ledger, data="2027").width(request) == ledger.width
