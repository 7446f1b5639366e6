"""The keyed mix: SipHash-2-4, uniform, and without the arithmetic of cell keys."""

from __future__ import annotations

import hashlib
import hmac
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import ckm
from ckm.engine.key_mixing import siphash
from ckm.engine.perturbation import perturb
from tables import Request, Secret, StoredKeys, cube, open_source
from tests.strategies import examples, worked_ptable

WORD = 2**64 - 1
SECRET = Secret(bytes(range(32)))


def scalar_siphash(message, key):
    """SipHash-2-4 of any message, one word at a time, from its description."""

    def rotate(x, b):
        return ((x << b) | (x >> (64 - b))) & WORD

    k0, k1 = (int.from_bytes(key[i : i + 8], "little") for i in (0, 8))
    v = [
        k0 ^ int.from_bytes(b"somepseu", "big"),
        k1 ^ int.from_bytes(b"dorandom", "big"),
        k0 ^ int.from_bytes(b"lygenera", "big"),
        k1 ^ int.from_bytes(b"tedbytes", "big"),
    ]

    def round_():
        v[0] = (v[0] + v[1]) & WORD
        v[1] = rotate(v[1], 13) ^ v[0]
        v[0] = rotate(v[0], 32)
        v[2] = (v[2] + v[3]) & WORD
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & WORD
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & WORD
        v[1] = rotate(v[1], 17) ^ v[2]
        v[2] = rotate(v[2], 32)

    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) % 256])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        round_()
        round_()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        round_()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_the_second_implementation_meets_the_published_vectors():
    """Appendix A of Aumasson and Bernstein: 15 bytes; and the vector of the empty message."""
    key = bytes(range(16))
    assert scalar_siphash(bytes(range(15)), key) == 0xA129CA6149BE45E5
    assert scalar_siphash(b"", key) == 0x726FDB47DD0E0E31


@given(
    st.lists(st.integers(0, WORD), min_size=1, max_size=20), st.binary(min_size=16, max_size=16)
)
@settings(max_examples=examples(100))
def test_siphash_is_that_of_a_second_implementation(words, key):
    found = siphash(np.array(words, np.uint64), np.frombuffer(key, "<u8"))
    assert found.tolist() == [scalar_siphash(w.to_bytes(8, "little"), key) for w in words]


@given(
    st.lists(st.integers(0, WORD), min_size=1, max_size=20),
    st.lists(st.binary(min_size=16, max_size=16), min_size=20, max_size=20),
)
@settings(max_examples=examples(50))
def test_every_word_may_have_a_key_of_its_own(words, keys):
    rows = np.array([np.frombuffer(key, "<u8") for key in keys[: len(words)]]).T
    found = siphash(np.array(words, np.uint64), rows)
    pairs = zip(words, keys, strict=False)
    assert found.tolist() == [scalar_siphash(w.to_bytes(8, "little"), key) for w, key in pairs]


@pytest.mark.skipif(sys.hash_info.algorithm != "siphash13", reason="Python has another hash")
def test_fewer_rounds_give_the_hash_of_python_itself():
    """With the seed 0 its key is zero."""
    words = np.random.default_rng(4).integers(0, 2**64, 50, dtype=np.uint64)
    code = "import sys; print(*(hash(bytes.fromhex(text)) for text in sys.argv[1:]))"
    told = subprocess.run(
        [sys.executable, "-c", code, *(int(w).to_bytes(8, "little").hex() for w in words)],
        env={"PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found = siphash(words, np.zeros(2, np.uint64), rounds=(1, 3))
    assert found.astype(np.int64).tolist() == [int(text) for text in told.split()]


@given(st.lists(st.integers(0, WORD), max_size=20), st.binary(min_size=16, max_size=80))
@settings(max_examples=examples(50))
def test_mixed_keys_are_the_upper_half_of_siphash_under_a_derived_key(words, secret):
    key = hmac.new(secret, b"ckm cell key mix v1", hashlib.sha256).digest()[:16]
    found = ckm.mix_keys(np.array(words, np.uint64), secret=Secret(secret))
    assert found.dtype == np.uint32
    assert found.tolist() == [scalar_siphash(w.to_bytes(8, "little"), key) >> 32 for w in words]


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 8193, 30_000])
def test_mixing_many_keys_is_mixing_each(size):
    rng = np.random.default_rng(size)
    keys = rng.integers(0, WORD, size, dtype=np.uint64)
    whole = ckm.mix_keys(keys, secret=SECRET)
    parts = [ckm.mix_keys(part, secret=SECRET) for part in np.array_split(keys, 7)]
    assert np.array_equal(whole, np.concatenate(parts))
    before = keys.copy()
    assert np.array_equal(keys, before), "an argument is never written to"


@pytest.mark.parametrize("make", ["counter", "multiples", "random"])
def test_mixed_keys_are_uniform_whatever_the_cell_keys(make):
    """Chi-squared over 1,024 bins; three tests, one false alarm in a million runs each."""
    size = 200_000
    keys = {
        "counter": np.arange(size, dtype=np.uint64),
        "multiples": np.arange(size, dtype=np.uint64) << np.uint64(40),
        "random": np.random.default_rng(1).integers(0, WORD, size, dtype=np.uint64),
    }[make]
    mixed = ckm.mix_keys(keys, secret=SECRET)
    for bins in (mixed >> np.uint32(22), mixed & np.uint32(1023)):
        observed = np.bincount(bins, minlength=1024)
        assert stats.chisquare(observed).pvalue > 1e-6


def test_another_secret_gives_other_keys():
    keys = np.arange(1000, dtype=np.uint64)
    one, other = (ckm.mix_keys(keys, secret=Secret(bytes([n]) * 16)) for n in (1, 2))
    assert (one == other).sum() <= 1


def noises(*, mixed):
    """Noise of many totals and of their two parts."""
    rng = np.random.default_rng(20270301)
    pairs = 20_000
    group = np.repeat(np.arange(pairs), 20)
    table = pa.table(
        {
            "group": group,
            "part": np.tile(np.arange(2), 10 * pairs),
            "key": rng.integers(0, 2**64 - 1, 20 * pairs, dtype=np.uint64),
        }
    )
    with open_source(table) as source:
        wish = Request(dimensions=["group", "part"], margins=[["group"]])
        (cells,) = cube(source, StoredKeys(column="key"), [wish])
    noise = perturb(cells, ptable=worked_ptable(), secret=SECRET if mixed else None)
    noise -= cells.count
    is_total = cells.ranks[1] == 0
    groups = cells.axes[0].labels[0][cells.ranks[0]].astype(np.int64)
    total = np.zeros(pairs)
    total[groups[is_total]] = noise[is_total]
    parts = np.zeros((pairs, 2))
    first = (cells.ranks[1][~is_total] - 1).astype(np.int64)
    parts[groups[~is_total], first] = noise[~is_total]
    return total, parts


def dependence(total, parts):
    """p-value of: the total's noise does not depend on the pair of its parts' noises."""
    pair = (parts[:, 0] * 5 + parts[:, 1]).astype(int)
    _, rows = np.unique(total, return_inverse=True)
    _, columns = np.unique(pair, return_inverse=True)
    counts = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(counts, (rows, columns), 1)
    return stats.chi2_contingency(counts).pvalue


def test_the_noise_of_a_total_depends_on_its_parts_only_without_the_mix():
    """False alarm for the mixed keys: one in 10,000 seeds; this seed is fixed."""
    assert dependence(*noises(mixed=True)) > 1e-4
    assert dependence(*noises(mixed=False)) < 1e-100
