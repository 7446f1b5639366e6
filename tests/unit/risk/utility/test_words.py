"""A measure without a number says why, in words that every report has."""

import pytest

from ptable import PTable
from risk.errors import RiskError
from risk.utility import (
    NAMES,
    REASONS,
    Measure,
    Pairs,
    additivity,
    assess_utility,
    association,
    deviations,
    distances,
    ranks,
    significance,
    summaries,
    variation,
    zeros,
)


def _pairs(original, published):
    return Pairs(original=original, published=published)


def _table(original, published, **margins):
    return association(original, published, **margins).measures


def _every_case():
    none, zero, one = _pairs([], []), _pairs([0, 0], [0, 0]), _pairs([1], [1])
    still = PTable.from_units([{0: 8}], key_range=8)
    yield from deviations(none)
    yield from deviations(zero)
    yield from deviations(one)
    yield from deviations(one, ptable=still)
    yield from summaries(none)
    yield from summaries(zero)
    yield from distances(none)
    yield from distances(zero)
    yield from distances(_pairs([1, 1], [0, 0]))
    yield from zeros(one)
    yield from significance(one)
    yield from significance(none, ptable=still)
    lopsided = PTable.from_units([{0: 8}, {-1: 6, 3: 2}], key_range=8)
    yield from significance(_pairs([1], [0]), ptable=lopsided)
    yield from ranks(one)
    yield from ranks(_pairs([1, 1], [1, 2]))
    yield from ranks(_pairs([1, 2], [1, 1]))
    yield from variation(one)
    yield from variation(_pairs([1, 1], [1, 2]))
    yield from additivity(_pairs([1], [1]), parent=[-1]).measures
    yield from additivity(_pairs([2, 1, 1], [2, 1, 1]), parent=[-1, 0, 0]).measures
    yield from additivity(_pairs([2, 1, 1], [2, 1, 1]), parent=[-1, 0, 0], noise=still).measures
    yield from _table([[1, 1], [0, 0]], [[1, 1], [0, 0]])
    yield from _table([[1, 1], [1, 1]], [[1, 2], [2, 1]])


def test_every_reason_of_the_catalogue_is_given_for_some_input_and_no_other():
    given = {measure.reason for measure in _every_case() if measure.value is None}
    assert given == set(REASONS)


def test_a_reason_outside_the_catalogue_is_refused():
    with pytest.raises(RiskError, match="is not in the catalogue") as found:
        Measure(name="aad", value=None, base=0, reason="for no reason")
    assert "add it to REASONS" in str(found.value)


def test_every_measure_of_a_table_has_a_name():
    measures = assess_utility([1, 2, 3], [1, 3, 2]).to_frame()["measure"]
    assert set(measures) <= set(NAMES)
    assert all(NAMES[name][0].isprintable() and len(NAMES[name]) <= 60 for name in NAMES)
