"""The words of the ledger: what is looked up is found, and digests keep apart what differs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckm.ledger.record_sets.index import Runs
from ckm.ledger.storage.seal import Seal
from tables import Secret
from tests.strategies import examples

WORDS = st.integers(0, 30).map(lambda n: n * (2**64 // 31))


@given(
    st.lists(st.lists(WORDS, max_size=12), max_size=8),
    st.lists(WORDS, max_size=12),
)
@settings(max_examples=examples(200))
def test_runs_find_what_a_list_finds(parts, wanted):
    runs, known = Runs(), []
    for part in parts:
        places = np.arange(len(known), len(known) + len(part), dtype=np.uint32)
        runs.add(np.array(part, np.uint64), places)
        known += part
    words = np.array(wanted, np.uint64)
    query, place = runs.find(words)
    assert sorted(zip(query.tolist(), place.tolist(), strict=True)) == [
        (q, p)
        for q, word in enumerate(wanted)
        for p, other in enumerate(known)
        if other == word
    ]
    assert runs.has(words).tolist() == [word in known for word in wanted]


def test_whoever_looks_while_words_are_added_sees_all_that_was_there():
    """A merge takes runs away and puts a longer one in their place, at once."""
    runs = Runs()
    runs.add(np.arange(4, dtype=np.uint64), np.arange(4, dtype=np.uint32))
    before = runs._runs
    runs.add(np.arange(4, 8, dtype=np.uint64), np.arange(4, 8, dtype=np.uint32))
    assert [words.tolist() for words, _ in before] == [[0, 1, 2, 3]]
    assert [words.tolist() for words, _ in runs._runs] == [list(range(8))]


def test_equal_rows_and_no_others_fold_to_equal_words():
    seal = Seal(Secret(bytes(16)))
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 3, 2000, dtype=np.uint64) for _ in range(10)]
    rows = np.stack(columns, axis=1)
    folded = seal.folded(columns)
    assert len(np.unique(folded)) == len(np.unique(rows, axis=0)) > 1000
    other = Seal(Secret(bytes(15) + b"1")).folded(columns)
    assert not (folded == other)[rows.any(axis=1)].any()


@pytest.mark.slow
def test_digests_of_other_purposes_and_secrets_differ():
    words = np.arange(20_000, dtype=np.uint64)  # more than one piece
    seal = Seal(Secret(bytes(16)))
    found = [seal.digests(words, purpose) for purpose in range(16)]
    found.append(Seal(Secret(bytes(15) + b"1")).digests(words, 0))
    assert len(np.unique(np.concatenate(found))) == 17 * len(words)
    mixed = seal.digests(words, words % 16)
    assert mixed.tolist() == [int(found[n % 16][n]) for n in range(len(words))]
