"""Contributors of linked tables, who know what they gave and which groups are empty, attack."""

from __future__ import annotations

import logging

import pytest

from ckm.methods.suppression import original_cells
from tests.unit.ckm.methods.suppression.linked_attack import SHAPES, Attack, drawn, released


def attacked(folder, seed, shape, *, measure="sum:turnover", most=34, holding=False):
    """Release a job, and return its unsafe cells and those that somebody comes too near."""
    data = drawn(seed, most=most)
    rules = ", holding = 'holding'" * holding
    rows = released(folder, data, SHAPES[shape], measures=(measure,), rules=rules)
    attack = Attack(rows, data, measure.replace(":", "_"), holding=holding)
    return attack.failures()


def test_who_stands_in_several_linked_tables_finds_no_unsafe_sum(tmp_path):
    unsafe, failed = attacked(tmp_path, 12, 0)
    assert failed == []
    assert len(unsafe) > 15


def test_where_groups_are_too_many_it_is_said_and_he_is_not_protected_against(
    tmp_path, monkeypatch, caplog
):
    monkeypatch.setattr(original_cells, "_MAX_FINEST", 2)
    with caplog.at_level(logging.WARNING):
        _, failed = attacked(tmp_path, 12, 0)
    assert failed != []
    assert "distinguish more than 2 groups of records" in caplog.text


def test_who_stands_beside_another_in_a_count_of_two_does_not_stop_a_release(tmp_path):
    """He knows the other from a cell that is not empty: his floor is not to be lowered."""
    unsafe, failed = attacked(tmp_path, 21, 0, measure="count", most=90)
    assert failed == []
    assert len(unsafe) > 2


def test_a_holding_that_gives_to_several_cells_finds_no_unsafe_sum(tmp_path):
    unsafe, failed = attacked(tmp_path, 2, 7, holding=True)
    assert failed == []
    assert len(unsafe) > 10


@pytest.mark.slow
def test_nobody_finds_an_unsafe_number_of_many_linked_tables(tmp_path):
    n_unsafe = 0
    for number, (seed, shape) in enumerate([(7, 4), (20, 0), (33, 1), (2, 2)]):
        (folder := tmp_path / str(number)).mkdir()
        unsafe, failed = attacked(folder, seed, shape, holding=number == 3)
        assert failed == []
        n_unsafe += len(unsafe)
    assert n_unsafe > 60
