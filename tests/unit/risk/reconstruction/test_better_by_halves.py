"""Of several ways to guess, each half of the cells has what is better of the other half."""

from __future__ import annotations

import numpy as np

from risk.reconstruction.lattice import Guesses, better_by_halves


def guesses(is_right):
    flags = np.array(is_right, bool)
    names = ("is_small", "is_guessed", "is_right", "is_sure", "is_certain")
    return Guesses(**dict.fromkeys(names, flags))


def test_the_way_that_finds_more_is_taken():
    worse, better = guesses([0, 0, 1, 0] * 25), guesses([1, 1, 0, 1] * 25)
    ways = [worse, better]
    chosen = better_by_halves(ways, [one.is_right for one in ways])
    assert chosen.is_right.tolist() == better.is_right.tolist()


def test_nobody_chooses_by_the_counts_that_are_to_be_found():
    """Of fifty ways that guess by chance, the best by the truth finds more than they do."""
    rng = np.random.default_rng(3)
    ways = [guesses(rng.random(400) < 0.3) for _ in range(50)]
    chosen = better_by_halves(ways, [one.is_right for one in ways])
    assert max(one.is_right.mean() for one in ways) > 0.34
    assert abs(chosen.is_right.mean() - 0.3) < 0.05


def test_parts_are_joined_as_they_were():
    whole = guesses([1, 0, 0, 1, 1])
    again = Guesses.joined([whole.part(slice(0, 2)), whole.part(slice(2, 5))])
    assert again.is_right.tolist() == whole.is_right.tolist()
