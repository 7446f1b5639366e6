"""Methods that publish tables of coded records, for the criteria by which offices choose."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from risk.errors import RiskError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptable import PTable
    from risk.criteria.coded import CodedRecords, CubeRequest

    Numbers = NDArray[np.float64]


class CountingMethod(Protocol):
    """Anything that publishes tables of the same records.

    It returns numbers in the shape of `CodedRecords.shape`, NaN for what is not shown. It
    refuses a whole table by returning None, or by raising a ValueError or a PermissionError.
    """

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Publish a table with all its margins, or refuse."""


class RecordMethod:
    """Count records that were protected before: swapped or synthetic ones, or none at all.

    Parameters
    ----------
    records
        The records that are counted; where they are swapped, a record keeps its place.
    """

    def __init__(self, records: CodedRecords) -> None:
        self._records = records

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Count the records."""
        return self._records.counts(request).astype(np.float64)


class LookedUpMethod:
    """Look the noise of every count up in a p-table.

    Parameters
    ----------
    records
        The records.
    ptable
        The p-table: noise of maximum entropy, rounding, random rounding, discrete Laplace.
    secret
        What offices share; record keys and the mix of cell keys come from it.
    keys
        ``"cell"``: a cell's key is made of its records, the cell key method; ``"fresh"``: every
        answer takes a new one, as these mechanisms are used without record keys.
    rng
        Where fresh keys come from.

    Examples
    --------
    >>> from ptable import Mechanism
    >>> from risk.criteria.coded import CodedRecords, CubeRequest
    >>> records = CodedRecords([[0]] * 7 + [[1]] * 4)
    >>> method = LookedUpMethod(records, Mechanism.rounding(5).build())
    >>> method.publish(CubeRequest(dimensions=(0,)))
    array([ 5.,  5., 10.])
    """

    def __init__(
        self,
        records: CodedRecords,
        ptable: PTable,
        *,
        secret: bytes = b"",
        keys: Literal["cell", "fresh"] = "cell",
        rng: np.random.Generator | None = None,
    ) -> None:
        if keys not in {"cell", "fresh"}:
            raise RiskError(f"keys must be 'cell' or 'fresh', not {keys!r}.")
        if (keys == "fresh") != (rng is not None):
            raise RiskError(
                "Fresh keys need a generator, and keys of cells none.",
                hint='give keys="fresh" and rng=np.random.default_rng(…)',
            )
        self._records, self._ptable, self._rng = records, ptable, rng
        self._secret = hashlib.blake2b(secret, digest_size=32).digest()
        drawn = [self._hash(place) for place in range(len(records))]
        self._record_keys = np.array(drawn, np.uint64)

    def publish(self, request: CubeRequest, /) -> Numbers | None:
        """Publish the counts with their noise; empty cells stay empty."""
        counts = self._records.counts(request)
        if self._rng is not None:
            cell_keys = self._rng.integers(0, 2**64, counts.shape, dtype=np.uint64)
        else:
            sums = self._records.sums(request, self._record_keys)
            mixed = [self._hash(int(key), b"cell") for key in sums.ravel()]
            cell_keys = np.array(mixed, np.uint64).reshape(counts.shape)
        noise = self._ptable.lookup(counts.ravel(), cell_keys.ravel(), key_range=2**64)
        published: Numbers = np.where(counts > 0, counts + noise.reshape(counts.shape), 0.0)
        return published

    def _hash(self, number: int, purpose: bytes = b"record") -> int:
        digest = hashlib.blake2b(
            number.to_bytes(8, "little"), digest_size=8, key=self._secret, person=purpose
        )
        return int.from_bytes(digest.digest(), "little")
