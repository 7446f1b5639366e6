"""A fast oracle: records with keys, a p-table and nothing else."""

import hashlib
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.messages import Message, Name, joined
from ptable import PTable
from risk.attacks.oracle import CountRequest
from risk.distributions.noise_distributions import row_of
from risk.errors import RiskError
from risk.wellformed import read_array

KeyUse = Literal["mixed", "additive", "fresh"]

_KEY_USES = ("mixed", "additive", "fresh")


class SimulatedOracle:
    """Publish counts of simulated records, the way the cell key method does.

    Parameters
    ----------
    ptable
        The p-table.
    counts
        Records per line and category: a matrix, or a vector for a single line.
    rng
        Where record keys and the key of the mix come from.
    keys
        ``"mixed"``: sums of record keys are hashed with a key before the lookup;
        ``"additive"``: they are looked up as they are; ``"fresh"``: every answer takes a new
        key, so that noise is not consistent.
    most_queries
        After so many counts every further one is refused; None for no limit.
    least_published
        Published counts below it are refused.

    Notes
    -----
    A sum of independent uniform keys modulo 2**64 is itself uniform, so that one key is drawn
    for all records of a line and category together; those of larger groups are its sums.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> from risk.attacks.oracle import CountRequest
    >>> rng = np.random.default_rng(1)
    >>> oracle = SimulatedOracle(Mechanism.rounding(5).build(), [8, 11], rng=rng)
    >>> oracle(CountRequest(groups=((0,), (1,), (0, 1))))
    [10, 10, 20]
    """

    def __init__(
        self,
        ptable: PTable,
        counts: ArrayLike,
        *,
        rng: np.random.Generator,
        keys: KeyUse = "mixed",
        most_queries: int | None = None,
        least_published: int = 0,
    ) -> None:
        matrix = np.atleast_2d(read_array(counts, name="counts"))
        problems = []
        is_whole = matrix.ndim == 2 and matrix.dtype.kind in "iu" and matrix.size > 0
        if not is_whole or (matrix < 0).any() or int(matrix.max()) > 2**53:
            problems.append(
                Message("counts must be whole numbers of 0 or more, line by category")
            )
        if keys not in _KEY_USES:
            problems.append(
                Message(
                    "keys must be one of {key_uses}, not {keys!r}",
                    key_uses=Name.each(_KEY_USES),
                    keys=Name(keys),
                )
            )
        if problems:
            raise RiskError(Message("No oracle: {problems}.", problems=joined("; ", problems)))
        row_of(ptable, count=1)
        self._ptable = ptable
        self._counts = matrix.astype(np.int64)
        self._rng = rng
        self._keys = keys
        draws = rng.integers(0, 2**64, matrix.shape, dtype=np.uint64)
        self._sums = np.where(matrix > 0, draws, np.uint64(0))
        self._secret = rng.bytes(16)
        self._left = most_queries
        self._least = least_published

    def __call__(self, request: CountRequest, /) -> list[int | None]:
        """Publish one count per group of the request, None where it is refused."""
        n_lines, n_categories = self._counts.shape
        places = np.array([place for group in request.groups for place in group])
        if not 0 <= request.line < n_lines or places.max() >= n_categories:
            raise RiskError(
                Message(
                    "The simulated records have {n_lines} lines and {n_categories} categories; "
                    "the request asks for others.",
                    n_lines=n_lines,
                    n_categories=n_categories,
                ),
            )
        starts = np.cumsum([0, *map(len, request.groups[:-1])])
        counts = np.add.reduceat(self._counts[request.line, places], starts)
        sums = np.add.reduceat(self._sums[request.line, places], starts)
        noise = self._noise(counts, sums)
        published = np.where(counts > 0, counts + noise, 0)
        answers: list[int | None] = [
            None if value < self._least else value for value in published.tolist()
        ]
        if self._left is not None:
            n_answers = min(self._left, len(answers))
            self._left -= n_answers
            answers[n_answers:] = [None] * (len(answers) - n_answers)
        return answers

    def _noise(self, counts: NDArray[np.int64], sums: NDArray[np.uint64]) -> NDArray[np.int64]:
        if self._keys == "fresh":
            sums = self._rng.integers(0, 2**64, len(counts), dtype=np.uint64)
        elif self._keys == "mixed":
            sums = np.array([self._mix(key) for key in sums.tolist()], np.uint64)
        return self._ptable.lookup(counts, sums, key_range=2**64)

    def _mix(self, key: int) -> int:
        """Hash a cell key, so that keys of different cells are independent draws."""
        digest = hashlib.blake2b(key.to_bytes(8, "little"), digest_size=8, key=self._secret)
        return int.from_bytes(digest.digest(), "little")
