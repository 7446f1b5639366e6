"""An audit says how long it takes, how far it is, and what it left out."""

import importlib
import logging

import numpy as np
import pytest

from ckm.methods.suppression import audit, suppress
from ckm.methods.suppression.method import without_solver_error
from ckm.methods.suppression.secondary.estimate import audit_estimate, search_estimate
from tests.unit.ckm.methods.suppression.test_suppression import random_problem


@pytest.fixture
def problem():
    return random_problem(np.random.default_rng(3), (5, 6), mean=4)


def test_an_audit_out_of_time_leaves_out_intervals_and_nothing_else(problem, caplog):
    hidden = problem.primary.is_primary.copy()  # and nothing for their sake
    hidden[np.flatnonzero(problem.is_open)[:6]] = True
    whole, short = audit(problem, hidden), audit(problem, hidden, limit_s=1e-9)
    assert len(whole.under_protected)
    assert short.under_protected.tolist() == whole.under_protected.tolist()
    assert short.is_exact.tolist() == whole.is_exact.tolist()
    is_left = np.isnan(short.low)
    assert is_left.any()
    assert not np.isnan(whole.low).any()
    assert np.array_equal(short.low[~is_left], whole.low[~is_left])
    assert [r.event for r in caplog.records] == ["intervals left out"]
    assert f"{is_left.sum()} hidden cells" in caplog.text


def test_the_progress_of_an_audit_only_rises(problem):
    told = []
    found = suppress(problem, method="sequential")
    audit(problem, found.hidden, progress=lambda done, total: told.append((done, total)))
    shares = [done / total for done, total in told]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1


def test_what_takes_long_is_estimated_before(problem, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    audit(problem, suppress(problem).hidden)
    assert "audit estimated" not in [getattr(r, "event", "") for r in caplog.records]
    module = importlib.import_module("ckm.methods.suppression.audit")
    monkeypatch.setattr(module, "MUCH_S", 0.0)
    audit(problem, suppress(problem).hidden)
    assert "The audit takes about" in caplog.text
    assert audit_estimate(problem, [5_000], limit_s=600).seconds > 30
    assert audit_estimate(problem, [10**6], limit_s=600).seconds < 700
    whole = search_estimate(problem, method="sequential", limit_s=600)
    assert search_estimate(problem, method="auto", limit_s=600).seconds < whole.seconds
    assert whole.megabytes < 1_000


def test_what_a_solver_leaves_of_a_zero_is_no_end_of_an_interval():
    ends = np.array([[2.16e-11, 580.8], [1e-9, 2e-9], [np.nan, np.nan], [-3e-12, 40.0]])
    cleared = without_solver_error(ends, np.array([29.2, 1e-9, 7.0, 12.0]))
    np.testing.assert_array_equal(
        cleared, [[0, 580.8], [1e-9, 2e-9], [np.nan, np.nan], [0, 40.0]]
    )
