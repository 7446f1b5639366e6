"""Checks of record keys. Each calls sound keys defective with probability 1e-9 at most."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

from tables import (
    HashedKeys,
    KeyQualityError,
    KeyQualityWarning,
    RequestError,
    Secret,
    StoredKeys,
    check_keys,
    open_source,
)
from tables.quality import KeyQuality

SECRET = Secret(bytes(range(16)))


def check(column, keys=None, **options):
    with open_source(pa.table({"key": column})) as source:
        return check_keys(source, keys or StoredKeys(column="key"), **options)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("key_range", [2, 256, 4096, 1_000_003, 2**32, 2**63, 2**64])
def test_uniform_keys_pass_whatever_their_range(seed, key_range):
    """35 sets of sound keys, two tests each: one false alarm with probability below 1e-7."""
    rng = np.random.default_rng([20270301, seed])
    keys = rng.integers(0, key_range - 1, 20_000, dtype=np.uint64, endpoint=True)
    quality = check(keys, StoredKeys(column="key", key_range=key_range))
    assert quality.is_sound
    assert quality.uniformity_p > 1e-9
    assert quality.repeated_share == 0


def test_uniform_decimal_keys_pass():
    rng = np.random.default_rng(1)
    assert check(rng.random(20_000).round(9)).is_sound


def test_a_few_records_pass():
    for size in (0, 1, 2, 9):
        assert check(pa.array(range(size), pa.uint64())).is_sound
    quality = check(pa.array([1, 2, 3], pa.int64()), HashedKeys(column="key", secret=SECRET))
    assert quality.is_sound
    assert quality.uniformity_p is None


def constant(_rng):
    return np.full(1000, 7, np.uint64)


def squeezed(rng):
    return rng.integers(0, 2**62, 1000, dtype=np.uint64)


def duplicated(rng):
    return np.repeat(rng.integers(0, 2**63, 500, dtype=np.uint64) * np.uint64(2), 2)


def counting(_rng):
    return np.arange(1000, dtype=np.uint64)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (constant, "repeat another, more than chance explains"),
        (constant, "not uniform"),
        (duplicated, "About 50 % of the record keys repeat another"),
        (squeezed, "not uniform over their range"),
        (counting, "not uniform over their range"),
    ],
)
def test_keys_with_a_defect_stop_or_warn(make, problem):
    keys = make(np.random.default_rng(3))
    with pytest.raises(KeyQualityError, match=problem) as caught:
        check(keys)
    assert 'checks = "warn"' in str(caught.value)
    with pytest.warns(KeyQualityWarning) as warned:
        assert not check(keys, action="warn").is_sound
    assert any(problem in str(w.message) for w in warned)
    assert check(keys, action="skip").is_sound


def test_repeated_identifiers_are_a_defect_however_few():
    keys = HashedKeys(column="key", secret=SECRET)
    with pytest.raises(KeyQualityError, match="Fewer than 1 % of the identifiers repeat"):
        check([*range(1000), 5], keys)
    with pytest.warns(KeyQualityWarning, match="identifiers repeat another"):
        check(["a", "b", "a"], keys, action="warn")


@pytest.mark.parametrize(("share", "words"), [(0.4, "About 40 %"), (0.6, "About 60 %")])
def test_missing_keys_stop_or_warn_whatever_their_share(share, words):
    rng = np.random.default_rng(4)
    keys = rng.integers(0, 256, 1000)
    column = pa.array(keys, pa.int64(), mask=np.arange(1000) < 1000 * share)
    stored = StoredKeys(column="key", key_range=256)
    with pytest.raises(KeyQualityError, match="Some records have no 'key'"):
        check(column, stored)
    with pytest.raises(KeyQualityError, match="Some records have no 'key'"):
        check(column, stored, action="skip")
    with pytest.warns(KeyQualityWarning, match=f"{words} of the records have no key"):
        quality = check(column, stored, action="warn")
    assert quality.missing_share == pytest.approx(share)


@pytest.mark.parametrize("action", ["stop", "warn", "skip"])
def test_keys_out_of_range_stop_whatever_the_action(action):
    with pytest.raises(KeyQualityError, match=r"outside \[0, 256\)"):
        check([3, 4095], StoredKeys(column="key", key_range=256), action=action)


def test_an_unknown_action_is_refused():
    with pytest.raises(RequestError, match="'stop', 'warn' or 'skip'"):
        check([1], action="ignore")


def test_a_sound_check_does_not_warn():
    rng = np.random.default_rng(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(rng.integers(0, 2**64 - 1, 5000, dtype=np.uint64), action="warn")


def test_what_was_found_is_said_in_one_line_without_counts():
    rng = np.random.default_rng(6)
    quality = check(rng.integers(0, 2**64 - 1, 5000, dtype=np.uint64))
    assert quality.summary().startswith("record keys: none missing, none repeated")
    assert "5000" not in repr(quality) + quality.summary()


def test_the_repr_of_a_check_tells_no_exact_share():
    quality = KeyQuality(
        problems=(), missing_share=1 / 7, repeated_share=2 / 7, uniformity_p=0.5, slice=1
    )
    assert "0.142" not in repr(quality)
    assert "0.285" not in repr(quality)


@pytest.mark.parametrize(
    "column",
    [
        lambda n, _: np.full(n, 12345),
        lambda n, _: 2 * np.arange(n) + 1,
        lambda n, rng: 2 * rng.integers(0, 10, n) + 1,
        lambda n, rng: np.where(np.arange(n) % 2, 7777777, 2 * rng.integers(0, 2**31, n)),
        lambda n, rng: rng.integers(0, 256, n) << 24 | 1,
        lambda n, rng: 2 * rng.integers(0, 2**31, n) + 1,
    ],
    ids=["constant", "ascending", "ten", "half repeated", "256 values", "odd"],
)
def test_a_bad_column_of_many_records_does_not_hide_from_the_slice(column):
    """None of these has a key in the slice that is judged, or none that repeats there."""
    keys = column(300_000, np.random.default_rng(1))
    with pytest.raises(KeyQualityError, match="not uniform over their range"):
        check(pa.array(keys, pa.uint64()), StoredKeys(column="key", key_range=2**32))


@pytest.mark.parametrize("distinct", [1, 2, 5])
def test_few_identifiers_of_many_records_are_told_whatever_the_secret(distinct):
    for first in range(6):
        keys = HashedKeys(column="key", secret=Secret(bytes([first]) * 16))
        with pytest.raises(KeyQualityError, match="identifiers repeat another"):
            check(pa.array(np.arange(300_000) % distinct), keys)


@pytest.mark.parametrize(("n", "key_range"), [(1_000_000, 70_001), (300_000, 100_000)])
def test_sound_keys_of_any_range_are_sound(n, key_range):
    keys = np.random.default_rng(2).integers(0, key_range, n).astype(np.uint32)
    assert check(pa.array(keys), StoredKeys(column="key", key_range=key_range)).is_sound


@pytest.mark.parametrize("repeats", [0, 3])
@pytest.mark.parametrize("size", [0, 1, 3000])
def test_keys_are_judged_while_they_are_hashed_as_by_a_scan(size, repeats, monkeypatch):
    """A slice of one key in 4 of 3,000 records; some repeat, which the slice may show."""
    monkeypatch.setattr("tables.key_tally.SLICE", 1000)
    identifiers = [f"p{n}" for n in range(size)] + [f"p{n}" for n in range(size)] * repeats
    keys = HashedKeys(column="key", secret=SECRET)
    table = pa.table({"key": pa.array(identifiers, pa.string())})
    with open_source(table) as source, open_source(table) as scanned:
        monkeypatch.setattr(scanned, "key_tally", lambda _words: None)
        with warnings.catch_warnings(record=True) as texts:
            warnings.simplefilter("always", KeyQualityWarning)
            counted = check_keys(source, keys, action="warn")
            expected = check_keys(scanned, keys, action="warn")
        assert len(texts) == 2 * len(counted.problems)
        assert bool(counted.problems) == bool(size and repeats)
        assert source.key_tally(keys.sql(source, {})) is not None
    assert counted == expected
    assert counted.slice == (1 if size < 1000 else 4 if not repeats else 16)
