"""Unknown strings: found where they are frequent, and tested on whole reports."""

import numpy as np
import pytest

from rappor.client.client import bloom_filter
from rappor.decoding.candidates import Candidates
from rappor.decoding.decode import decode
from rappor.decoding.ngrams import discover, draw_pairs, pieces
from rappor.encoded import Reports
from rappor.errors import RapporError
from rappor.parameters import Parameters

SHAPE = Parameters(n_bits=64, n_hashes=2, n_cohorts=4, f=0.0, p=0.2, q=0.8)
LETTERS = "abcdefghij"
WORDS = ["abcd", "efgh", "ab", "abgh", "jija"]


def sent(values, rng):
    cohorts = rng.integers(0, SHAPE.n_cohorts, len(values))
    is_set = bloom_filter(values, cohorts, parameters=SHAPE)
    chance = np.where(is_set, SHAPE.q_star, SHAPE.p_star)
    return Reports.from_bits(rng.random(is_set.shape) < chance, cohorts, parameters=SHAPE)


def collected(values, rng, *, length=4):
    cut = pieces(values, size=2, length=length)
    drawn = draw_pairs(len(values), n_places=length // 2, generator=rng)
    found = {}
    for pair in {tuple(row) for row in drawn.tolist()}:
        own = [
            text for text, row in zip(cut, drawn.tolist(), strict=True) if tuple(row) == pair
        ]
        found[pair] = tuple(sent([text[at] for text in own], rng) for at in pair)
    return found


def test_frequent_strings_are_found_and_confirmed():
    rng = np.random.default_rng(4)
    values = [WORDS[i] for i in rng.choice(5, 6_000, p=[0.4, 0.3, 0.15, 0.1, 0.05])]
    found = discover(collected(values, rng), alphabet=LETTERS, size=2)
    assert {"abcd", "efgh", "ab", "abgh"} <= set(found.strings)
    assert "efcd" not in found.strings  # both its pieces are frequent, together they never are
    whole = decode(sent(values, rng).sum(), Candidates.of(found.strings, parameters=SHAPE))
    assert {"abcd", "efgh", "ab", "abgh"} <= set(np.array(whole.names)[whole.is_detected])


def test_strings_of_three_pieces_need_every_edge():
    rng = np.random.default_rng(5)
    values = [["abcdef", "abghij"][i] for i in rng.choice(2, 6_000, p=[0.6, 0.4])]
    found = discover(collected(values, rng, length=6), alphabet=LETTERS, size=2)
    assert found.strings == ("abcdef", "abghij")
    assert set(found.pairs) == {(0, 1), (0, 2), (1, 2)}


def test_noise_holds_no_string():
    rng = np.random.default_rng(6)
    values = ["".join(rng.choice(list(LETTERS), 4)) for _ in range(3_000)]
    found = discover(collected(values, rng), alphabet=LETTERS, size=2)
    assert len(found.strings) <= 1


@pytest.mark.slow
def test_too_many_strings_are_refused():
    rng = np.random.default_rng(4)
    values = [WORDS[i] for i in rng.choice(5, 6_000, p=[0.4, 0.3, 0.15, 0.1, 0.05])]
    with pytest.raises(RapporError, match="More than 1 strings"):
        discover(collected(values, rng), alphabet=LETTERS, size=2, most=1)


def test_strings_are_filled_up_and_cut():
    assert pieces(["abcdefg", "a", ""], size=2, length=4) == [
        ("ab", "cd"),
        ("a␠", "␠␠"),
        ("␠␠", "␠␠"),
    ]


@pytest.mark.parametrize(
    "options", [{"size": 2, "length": 5}, {"size": 4, "length": 4}, {"size": 0, "length": 4}]
)
def test_lengths_that_do_not_fit_are_refused(options):
    with pytest.raises(RapporError, match="cannot be cut"):
        pieces(["a"], **options)


def test_a_string_with_the_filler_is_refused():
    with pytest.raises(RapporError, match="fills"):
        pieces(["a␠"], size=1, length=4)


def test_every_two_places_need_reports():
    rng = np.random.default_rng(1)
    one = sent(["ab"], rng)
    for given in ({}, {(0, 2): (one, one)}, {(1, 0): (one, one)}):
        with pytest.raises(RapporError, match="two places"):
            discover(given, alphabet="ab", size=2)


def test_too_many_pieces_are_refused():
    rng = np.random.default_rng(1)
    one = sent(["ab"], rng)
    with pytest.raises(RapporError, match="pieces to try"):
        discover({(0, 1): (one, one)}, alphabet=LETTERS * 2 + "klmnop", size=5)


def test_every_pair_of_places_is_drawn():
    drawn = draw_pairs(300, n_places=3, generator=np.random.default_rng(1))
    assert {tuple(row) for row in drawn.tolist()} == {(0, 1), (0, 2), (1, 2)}
    with pytest.raises(RapporError, match="two pieces"):
        draw_pairs(3, n_places=1, generator=np.random.default_rng(1))
