"""What a check of record keys asks of them, counted while they are hashed: no further scan."""

import numpy as np
import pyarrow as pa

from footing.arrays import Words

SLICE = 2**17  # of more records, repetition is judged on one key in 2, 4, 8 …
BIN_BITS = 8


def slice_of(records: int) -> int:
    """Return the power of two of which the keys are multiples on which repetition is judged."""
    return 1 << ((max(records, 1) - 1) // SLICE).bit_length()


class KeyTally:
    """Counts 64-bit record keys by their highest bits, and those of one slice.

    Parameters
    ----------
    records
        How many records there are.
    relation
        The SQL name of the records that the keys belong to.
    """

    def __init__(self, records: int, *, relation: str) -> None:
        self.relation = relation
        self.slice = slice_of(records)
        self._counts = np.zeros(2**BIN_BITS, np.int64)
        self._slices: list[Words] = []

    def add(self, keys: pa.Array) -> None:
        """Take in the keys of some records; missing ones are not counted."""
        words = keys.drop_null().to_numpy()
        bins = (words >> np.uint64(64 - BIN_BITS)).astype(np.uint8)
        self._counts += np.bincount(bins, minlength=len(self._counts))
        self._slices.append(words[words & np.uint64(self.slice - 1) == 0])

    def repetition(self) -> tuple[int, int]:
        """Return how many keys are in the slice, and how many distinct ones."""
        keys = np.sort(np.concatenate([*self._slices, np.zeros(0, np.uint64)]))
        return len(keys), int(np.count_nonzero(keys[1:] != keys[:-1])) + bool(len(keys))

    def bins(self) -> dict[int, int]:
        """Return how many keys have each value of the highest bits."""
        return {place: count for place, count in enumerate(self._counts.tolist()) if count}
