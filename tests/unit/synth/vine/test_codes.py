"""Codes given numbers: exact chances, record by record."""

import itertools

import numpy as np
import pytest

from synth.vine.codes import CodeNetwork

SIZES = [4, 3, 2, 3]  # the first is a number
SETS = [(1,), (1, 2), (2, 3), (0, 1), (0, 3)]


def potentials(seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=[SIZES[c] for c in columns]) for columns in SETS]


def enumerated(factors, group):
    """Return the chances of a record's codes by adding up, and the logarithm of their total."""
    weights = np.zeros(SIZES[1:])
    for codes in itertools.product(*map(range, SIZES[1:])):
        record = (group, *codes)
        weights[codes] = sum(
            factor[tuple(record[c] for c in columns)]
            for columns, factor in zip(SETS, factors, strict=True)
        )
    total = np.exp(weights).sum()
    return np.exp(weights) / total, np.log(total)


def test_chances_are_those_of_adding_up_all_codes_of_each_record():
    network, factors = CodeNetwork(SIZES, [1, 2, 3], SETS), potentials()
    groups = np.array([0, 3, 1])
    totals, beliefs = network.calibrate(factors, {0: groups}, 3)
    expected = [enumerated(factors, group) for group in groups.tolist()]
    assert totals == pytest.approx([total for _, total in expected])
    tables = network.tables(beliefs, [(1, 2), (0, 3)], {0: np.eye(4)[groups]})
    assert tables[0] == pytest.approx(np.mean([p.sum(axis=2) for p, _ in expected], axis=0))
    for (chances, _), group in zip(expected, groups.tolist(), strict=True):
        assert tables[1][group] == pytest.approx(chances.sum(axis=(0, 1)) / 3)


def test_codes_are_drawn_as_often_as_they_are_likely():
    network, factors = CodeNetwork(SIZES, [1, 2, 3], SETS), potentials(1)
    groups = np.full(20_000, 2)
    _, beliefs = network.calibrate(factors, {0: groups}, len(groups))
    uniforms = np.random.default_rng(2).random((len(groups), 3))
    drawn = network.draw(beliefs, uniforms)
    counts = np.zeros(SIZES[1:])
    np.add.at(counts, tuple(drawn[c] for c in (1, 2, 3)), 1 / len(groups))
    assert counts == pytest.approx(enumerated(factors, 2)[0], abs=0.012)


def test_only_codes_that_are_allowed_are_drawn_and_their_total_is_less():
    network, factors = CodeNetwork(SIZES, [1, 2, 3], SETS), potentials(2)
    groups = np.zeros(50, np.int64)
    usual, _ = network.calibrate(factors, {0: groups}, 50)
    few, beliefs = network.calibrate(factors, {0: groups}, 50, allowed={1: np.array([0, 1, 0])})
    assert np.exp(few - usual) == pytest.approx(enumerated(factors, 0)[0][1].sum())
    drawn = network.draw(beliefs, np.random.default_rng(1).random((50, 3)))
    assert set(drawn[1].tolist()) == {1}
