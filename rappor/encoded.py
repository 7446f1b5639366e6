"""Reports as they leave the clients: a cohort and bits, nothing else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Integers
from footing.messages import Message
from rappor.counts import Counts, EqualByContent
from rappor.errors import RapporError
from rappor.parameters import Parameters


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reports(EqualByContent):
    """Reports made with one set of parameters.

    Parameters
    ----------
    cohorts
        The cohort of each report.
    packed
        One row a report: its bits in bytes, bit 0 first and lowest.
    parameters
        What they were made with.

    Raises
    ------
    RapporError
        If a cohort is out of range or the rows have another width.

    Examples
    --------
    >>> from rappor import Parameters
    >>> coin = Parameters.basic(3, f=0.5, p=0.25, q=0.75)
    >>> reports = Reports.from_texts(["110", "001"], [0, 0], parameters=coin)
    >>> reports.sum().ones.tolist(), reports.texts()
    ([[1, 1, 1]], ['110', '001'])
    """

    cohorts: Integers
    packed: NDArray[np.uint8]
    parameters: Parameters

    def __post_init__(self) -> None:
        cohorts, packed = np.asarray(self.cohorts), np.asarray(self.packed)
        width = -(-self.parameters.n_bits // 8)
        if cohorts.ndim != 1 or packed.shape != (cohorts.size, width):
            raise RapporError(
                Message(
                    "Each report must have a cohort and {width} bytes of bits.", width=width
                )
            )
        if packed.dtype != np.uint8 or cohorts.dtype.kind not in "iu":
            raise RapporError(Message("Cohorts must be whole numbers, and bits come in bytes."))
        spare = 8 * width - self.parameters.n_bits
        if spare and packed.size and packed[:, -1].max() >= 1 << (8 - spare):
            raise RapporError(
                Message("A report has more than {n_bits} bits.", n_bits=self.parameters.n_bits)
            )
        is_symbol = self.parameters.response == "symbol"
        if is_symbol and (np.bitwise_count(packed).sum(axis=1) != 1).any():
            raise RapporError(Message("Each report of one symbol must have exactly one bit."))
        if cohorts.size and not 0 <= cohorts.min() <= cohorts.max() < self.parameters.n_cohorts:
            raise RapporError(
                Message(
                    "A cohort must be a whole number in 0..{n_cohorts}.",
                    n_cohorts=self.parameters.n_cohorts - 1,
                ),
                hint=Message("compare the number of cohorts with the parameters"),
            )
        object.__setattr__(self, "cohorts", cohorts.astype(np.int64))
        object.__setattr__(self, "packed", packed)

    @classmethod
    def from_bits(cls, bits: Flags, cohorts: Integers, *, parameters: Parameters) -> Self:
        """Pack rows of bits.

        Parameters
        ----------
        bits
            Reports by bits; bit 0 first.
        cohorts
            The cohort of each report.
        parameters
            What they were made with.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(3, f=0.5, p=0.25, q=0.75)
        >>> bits = np.array([[True, False, False]])
        >>> Reports.from_bits(bits, np.array([0]), parameters=coin).texts()
        ['001']
        """
        packed = np.packbits(bits, axis=1, bitorder="little")
        if bits.shape[1] != parameters.n_bits:
            raise RapporError(
                Message(
                    "A report has {n_bits} bits, not {shape}.",
                    n_bits=parameters.n_bits,
                    shape=bits.shape[1],
                ),
                hint=Message("compare the number of bits with the parameters"),
            )
        return cls(cohorts=cohorts, packed=packed, parameters=parameters)

    @classmethod
    def from_texts(cls, texts: Sequence[str], cohorts: Any, *, parameters: Parameters) -> Self:
        """Read bits written as google/rappor does, bit 0 at the right.

        Parameters
        ----------
        texts
            Zeros and ones.
        cohorts
            The cohort of each.
        parameters
            What they were made with.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(4, f=0.5, p=0.25, q=0.75)
        >>> Reports.from_texts(["0011"], [0], parameters=coin).packed.tolist()
        [[3]]
        """
        n_bits = parameters.n_bits
        try:
            digits = np.frombuffer("".join(texts).encode("ascii"), np.uint8) - np.uint8(48)
        except UnicodeEncodeError:
            digits = np.array([2], np.uint8)
        if any(len(text) != n_bits for text in texts) or np.any(digits > 1):
            raise RapporError(
                Message("A report must be written as {n_bits} zeros and ones.", n_bits=n_bits),
                hint=Message("compare the number of bits with the parameters"),
            )
        rows = digits.reshape(len(texts), n_bits)[:, ::-1]
        places = np.asarray(cohorts) if len(texts) else np.empty(0, np.int64)
        return cls.from_bits(rows.astype(bool), places, parameters=parameters)

    def __len__(self) -> int:
        return len(self.cohorts)

    def bits(self) -> Flags:
        """Give reports by bits, bit 0 first.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(3, f=0.5, p=0.25, q=0.75)
        >>> Reports.from_texts(["001"], [0], parameters=coin).bits().tolist()
        [[True, False, False]]
        """
        n_bits = self.parameters.n_bits
        return np.unpackbits(self.packed, axis=1, count=n_bits, bitorder="little").astype(bool)

    def texts(self) -> list[str]:
        """Write each report as google/rappor does: zeros and ones, bit 0 at the right.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(3, f=0.5, p=0.25, q=0.75)
        >>> Reports.from_texts(["001"], [0], parameters=coin).texts()
        ['001']
        """
        n_bits = self.parameters.n_bits
        digits = (self.bits()[:, ::-1] + np.uint8(48)).astype(np.uint8).tobytes().decode()
        return [digits[start : start + n_bits] for start in range(0, len(digits), n_bits)]

    def sum(self) -> Counts:
        """Count the reports and their ones by cohort.

        Notes
        -----
        Bytes are counted, not bits: a histogram of each byte by cohort, turned into bits at
        the end.

        Examples
        --------
        >>> from rappor import Parameters
        >>> coin = Parameters.basic(3, f=0.5, p=0.25, q=0.75)
        >>> Reports.from_texts(["001", "011"], [0, 0], parameters=coin).sum().ones.tolist()
        [[2, 1, 0]]
        """
        m, n_bits = self.parameters.n_cohorts, self.parameters.n_bits
        present, places = np.unique(self.cohorts, return_inverse=True)
        ones = np.zeros((m, self.packed.shape[1] * 8), np.int64)
        values = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], 1, bitorder="little")
        for byte in range(self.packed.shape[1]):
            cells = places * 256 + self.packed[:, byte]
            histogram = np.bincount(cells, minlength=256 * present.size).reshape(-1, 256)
            ones[present, 8 * byte : 8 * byte + 8] = histogram @ values.astype(np.int64)
        return Counts(
            n=np.bincount(self.cohorts, minlength=m),
            ones=ones[:, :n_bits],
            parameters=self.parameters,
        )


def joined_reports(pieces: Iterable[Reports]) -> Reports:
    """Put pieces of reports into one, in their order.

    Parameters
    ----------
    pieces
        At least one.

    Examples
    --------
    >>> from rappor import Parameters
    >>> coin = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> piece = Reports.from_texts(["01"], [0], parameters=coin)
    >>> joined_reports([piece, piece]).texts()
    ['01', '01']
    """
    parts = list(pieces)
    if not parts:
        raise RapporError(Message("There is no report."))
    return Reports(
        cohorts=np.concatenate([part.cohorts for part in parts]),
        packed=np.concatenate([part.packed for part in parts]),
        parameters=parts[0].parameters,
    )
