"""The cell key method: cells in, published counts out."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ckm
from ckm.engine.key_mixing import mix_key
from ckm.engine.perturbation import perturb_counts
from ptable import NoiseSpec, PTable, PTableWarning, solve
from tables import Request, Secret, StoredKeys, cube, open_source
from tests.strategies import worked_ptable

SECRET = Secret(bytes(range(16)))


def cells_of(keys, groups=None, **options):
    table = pa.table({"x": groups or [0] * len(keys), "key": pa.array(keys, pa.uint8())})
    with open_source(table) as source:
        wish = Request(dimensions=["x"], margins="none", discrete=["x"])
        return cube(source, StoredKeys(column="key", **options), [wish])[0]


def test_without_the_mix_the_key_is_looked_up_as_it_is():
    table = PTable(noise=[[0], [-1, 0, 1]], upper=[[256], [64, 192, 256]], key_range=256)
    groups = list(range(6))
    cells = cells_of([0, 63, 64, 191, 192, 255], groups)
    assert ckm.perturb(cells, ptable=table, secret=None).tolist() == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]


def test_with_the_mix_the_noise_is_that_of_the_mixed_key():
    cells = cells_of(list(range(200)), list(range(200)))
    mixed = ckm.mix_keys(cells.cell_key, secret=SECRET)
    noise = worked_ptable().lookup(cells.count, mixed)
    found = ckm.perturb(cells, ptable=worked_ptable(), secret=SECRET)
    assert found.dtype == np.int64
    assert np.array_equal(found, cells.count + noise)


def test_published_counts_follow_the_transition_probabilities():
    """Chi-squared on 50,000 ones; one false alarm in a million secrets, this one is fixed."""
    size = 50_000
    keys = np.random.default_rng(11).integers(0, 2**64 - 1, size, dtype=np.uint64)
    ones = perturb_counts(
        np.ones(size, np.int64), keys, key_range=2**64, ptable=worked_ptable(), secret=SECRET
    )
    expected = size * np.array([0.37, 0.36, 0.17, 0.10])
    off = np.bincount(ones, minlength=4) - expected
    assert (off**2 / expected).sum() < 30.66  # three degrees of freedom


def test_counts_of_zero_are_published_as_zero_even_by_a_table_that_moves_zeros():
    table = PTable(noise=[[0, 3], [0]], upper=[[1, 256], [256]], key_range=256)
    with pytest.warns(PTableWarning, match="noise for counts of 0"):
        engine = ckm.Engine(
            pa.table({"x": ["a"], "key": pa.array([200], pa.uint8())}),
            record_key="key",
            ptable=table,
            mix=False,
            categories={"x": ["a", "b"]},
        )
    with engine:
        found = engine.tabulate(["x"]).to_pandas()
    assert found["count"].tolist() == [1, 1, 0]


def test_a_table_that_would_publish_negative_counts_is_no_table():
    with pytest.raises(ValueError, match="count 1 would be published as -1"):
        PTable(noise=[[0], [-2, 0]], upper=[[256], [9, 256]], key_range=256)


def _people():
    return pa.table({"id": range(50), "sex": ["F", "M"] * 25})


def test_a_p_table_for_magnitudes_is_refused_for_counts():
    table = solve(NoiseSpec(max_noise=2, variance=0.8, step=2, anchors=(1, 2)))
    with pytest.raises(ckm.ConfigError, match="one for magnitudes"):
        ckm.Engine(_people(), id="id", secret=ckm.Secret(bytes(16)), ptable=table)


def test_noise_on_zeros_that_is_left_out_is_said():
    table = solve(NoiseSpec(max_noise=2, variance=1.0, zero_bias=0.1))
    with pytest.warns(PTableWarning, match="noise for counts of 0"):
        engine = ckm.Engine(_people(), id="id", secret=ckm.Secret(bytes(16)), ptable=table)
    engine.close()


def test_no_record_is_no_count_whatever_its_key_says():
    table = PTable(noise=[[0, 3], [0]], upper=[[1, 256], [256]], key_range=256)
    found = perturb_counts(
        np.array([0, 0, 1]),
        np.array([0, 200, 200], np.uint64),
        key_range=256,
        ptable=table,
        secret=None,
    )
    assert found.tolist() == [0, 0, 1]
    assert found.dtype == np.int64


def test_half_steps_read_as_counts_are_refused_before_they_are_published():
    """A p-table for magnitudes takes one unit, two of its steps, from a count of one."""
    table = solve(NoiseSpec(max_noise=2, variance=0.8, step=2, anchors=(1, 2)))
    assert min(table.units(1)) == -2
    keys = np.array([0, 2**32 - 1], np.uint64)
    with pytest.raises(ckm.ConfigError, match="would publish negative counts"):
        perturb_counts(np.array([1, 1]), keys, key_range=2**32, ptable=table, secret=None)
    (most,) = perturb_counts(
        np.array([1]), keys[1:], key_range=2**32, ptable=table, secret=None
    )
    assert most == 1 + max(table.units(1)), "upwards nothing is wrong"


def test_the_key_of_the_mix_serves_as_well_as_the_secret_it_is_made_of():
    counts, keys = np.full(300, 5), np.arange(300, dtype=np.uint64)
    one, other = (
        perturb_counts(counts, keys, key_range=256, ptable=worked_ptable(), secret=secret)
        for secret in (SECRET, mix_key(SECRET))
    )
    assert one.tolist() == other.tolist()
    assert len(set(one.tolist())) == 5
