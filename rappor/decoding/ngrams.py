"""Find strings nobody thought of, from reports of pairs of their pieces."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from operator import add
from typing import TYPE_CHECKING

import numpy as np

from footing.arrays import Integers
from footing.messages import Message, Name
from rappor.client.client import identifiers
from rappor.decoding.candidates import Candidates
from rappor.decoding.decode import decode
from rappor.decoding.joint import joint
from rappor.encoded import Reports
from rappor.errors import RapporError

if TYPE_CHECKING:
    from rappor.client.permanent import SecretKey

#: What fills strings that are too short; no string may hold it.
_FILLER = "\N{SYMBOL FOR SPACE}"
_MAX_PIECES = 200_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Discovery:
    """Strings put together from pieces.

    Parameters
    ----------
    strings
        Candidates for `rappor.decoding.decode` on reports of whole strings, which tests them.
    pieces
        The pieces found at each place.
    pairs
        Of two places, the pieces found together.
    """

    strings: tuple[str, ...]
    pieces: tuple[tuple[str, ...], ...]
    pairs: Mapping[tuple[int, int], frozenset[tuple[str, str]]]


def pieces(values: Sequence[str], *, size: int, length: int) -> list[tuple[str, ...]]:
    """Cut strings into pieces of one size; short strings are filled up, long ones cut.

    Parameters
    ----------
    values
        The strings.
    size
        Characters of a piece.
    length
        Characters of a string that count, a multiple of `size`.

    Examples
    --------
    >>> pieces(["abcd"], size=2, length=4)
    [('ab', 'cd')]
    """
    if size < 1 or length < 2 * size or length % size:
        raise RapporError(
            Message(
                "A string of {length} characters cannot be cut into pieces of {size}.",
                length=length,
                size=size,
            ),
            hint=Message(
                "take a length that is a multiple of the size, twice the size at least"
            ),
        )
    if any(_FILLER in value for value in values):
        raise RapporError(
            Message(
                "A string holds the character {filler!r}, which fills short ones.",
                filler=Name(_FILLER),
            )
        )
    filled = (value[:length].ljust(length, _FILLER) for value in values)
    return [
        tuple(text[start : start + size] for start in range(0, length, size)) for text in filled
    ]


def draw_pairs(n: int, *, n_places: int, generator: np.random.Generator) -> Integers:
    """Draw the two places of which each client reports the pieces, in order.

    Parameters
    ----------
    n
        How many clients.
    n_places
        How many pieces a string has.
    generator
        Of random numbers.

    Examples
    --------
    >>> draw_pairs(2, n_places=2, generator=np.random.default_rng(1)).tolist()
    [[0, 1], [0, 1]]
    """
    every = np.array(list(combinations(range(n_places), 2)), np.int64).reshape(-1, 2)
    if not len(every):
        raise RapporError(Message("A string needs two pieces at least."))
    return every[generator.integers(0, len(every), n)]


def places_of(
    names: Sequence[str], *, secret: SecretKey, metric: str, n_pairs: int
) -> list[int]:
    """Draw for each client which two places it reports, by the secret: the same for ever.

    Parameters
    ----------
    names
        The clients.
    secret, metric
        Of the collection.
    n_pairs
        How many pairs of places there are.

    Examples
    --------
    >>> from tables import Secret
    >>> places_of(["ann"] * 2, secret=Secret(bytes(16)), metric="m", n_pairs=1)
    [0, 0]
    """
    key = secret.derive(f"rappor pieces:{metric}")
    digests = (
        hashlib.blake2b(name, key=key, digest_size=8).digest() for name in identifiers(names)
    )
    return [int.from_bytes(digest, "little") % n_pairs for digest in digests]


def discover(
    reports: Mapping[tuple[int, int], tuple[Reports, Reports]],
    *,
    alphabet: str,
    size: int,
    alpha: float = 0.05,
    most: int = 10_000,
) -> Discovery:
    """Put strings together from reports of two of their pieces each.

    Parameters
    ----------
    reports
        Of the places i < j, the reports of the pieces there; the n-th of both are of one
        client. Every two places need reports.
    alphabet
        The characters of strings.
    size
        Characters of a piece.
    alpha
        The level of the tests of pieces, and of pairs, at each place and each two places.
    most
        No more strings than this are put together.

    Raises
    ------
    RapporError
        If two places have no reports, there are too many pieces to try, or too many strings.

    Notes
    -----
    Pieces are decoded place by place. Two of them are an edge when their joint share is
    significantly above 0, Bonferroni over all pairs of the two places. A string is a choice
    of one piece per place with an edge between every two: a clique. Each client spends the
    privacy of two reports, on top of that of a whole string.

    References
    ----------
    Fanti, Pihur, Erlingsson (2016), "Building a RAPPOR with the unknown", §4.

    Examples
    --------
    >>> from rappor import Parameters, Reports
    >>> sure = Parameters(n_bits=64, n_hashes=2, n_cohorts=1, f=0.0, p=0.01, q=0.99)
    >>> from rappor.client.client import bloom_filter
    >>> place = np.zeros(400, np.int64)
    >>> def sent(piece):
    ...     bits = bloom_filter([piece] * 400, place, parameters=sure)
    ...     return Reports.from_bits(bits, place, parameters=sure)
    >>> discover({(0, 1): (sent("a"), sent("b"))}, alphabet="abc", size=1).strings
    ('ab',)
    """
    n_places = 1 + max((second for _, second in reports), default=0)
    pairs = set(combinations(range(n_places), 2))
    if n_places < 2 or set(reports) != pairs:
        raise RapporError(
            Message("Every two places need reports of their pieces."),
            hint=Message("let each client draw its two places by draw_pairs"),
        )
    every = _every_piece(alphabet, size)
    pieces = tuple(_pieces_at(place, reports, every, alpha) for place in range(n_places))
    edges = {
        pair: _edges(reports[pair], pieces[pair[0]], pieces[pair[1]], alpha) for pair in pairs
    }
    strings = tuple("".join(string).rstrip(_FILLER) for string in _cliques(pieces, edges, most))
    return Discovery(strings=tuple(dict.fromkeys(strings)), pieces=pieces, pairs=edges)


def _every_piece(alphabet: str, size: int) -> list[str]:
    characters = list(dict.fromkeys(alphabet + _FILLER))
    if size < 1 or len(characters) ** size > _MAX_PIECES:
        raise RapporError(
            Message(
                "There are {number}^{size} pieces to try; {max_pieces:,} are the most.",
                number=len(characters),
                size=size,
                max_pieces=_MAX_PIECES,
            ),
            hint=Message("take smaller pieces or a smaller alphabet"),
        )
    texts = ("".join(letters) for letters in product(characters, repeat=size))
    # A filler has only fillers after it.
    return [text for text in texts if _FILLER not in text.rstrip(_FILLER)]


def _pieces_at(
    place: int,
    reports: Mapping[tuple[int, int], tuple[Reports, Reports]],
    every: list[str],
    alpha: float,
) -> tuple[str, ...]:
    counts = reduce(
        add,
        (own[pair.index(place)].sum() for pair, own in reports.items() if place in pair),
    )
    candidates = Candidates.of(every, parameters=counts.parameters)
    result = decode(counts, candidates, alpha=alpha)
    return tuple(
        name
        for group, is_detected in zip(result.groups, result.is_detected, strict=True)
        if is_detected
        for name in group
    )


def _edges(
    reports: tuple[Reports, Reports],
    first: tuple[str, ...],
    second: tuple[str, ...],
    alpha: float,
) -> frozenset[tuple[str, str]]:
    from scipy.special import ndtri

    if not first or not second:
        return frozenset()
    candidates = (
        Candidates.of(first, parameters=reports[0].parameters),
        Candidates.of(second, parameters=reports[1].parameters),
    )
    result = joint(reports, candidates, tolerance=1e-5)
    block = result.shares[: len(result.first), : len(result.second)]
    if result.sds is None:
        raise RapporError(
            Message("{size} pairs of pieces are too many to test.", size=block.size),
            hint=Message("lower alpha, so that fewer pieces are found"),
        )
    limit = float(ndtri(1 - alpha / block.size))
    rows, columns = np.nonzero(block > limit * np.maximum(result.sds, 1e-12))
    pairs = (
        (result.first[row], result.second[column])
        for row, column in zip(rows, columns, strict=True)
    )
    return frozenset((a, b) for a, b in pairs if a is not None and b is not None)


def _cliques(
    pieces: tuple[tuple[str, ...], ...],
    edges: Mapping[tuple[int, int], frozenset[tuple[str, str]]],
    most: int,
) -> list[tuple[str, ...]]:
    strings: list[tuple[str, ...]] = [(piece,) for piece in pieces[0]]
    for place in range(1, len(pieces)):
        strings = [
            (*string, piece)
            for string in strings
            for piece in pieces[place]
            if all((own, piece) in edges[at, place] for at, own in enumerate(string))
        ]
        if len(strings) > most:
            raise RapporError(
                Message("More than {most} strings fit the pieces.", most=most),
                hint=Message("lower alpha, or take longer pieces"),
            )
    return strings
