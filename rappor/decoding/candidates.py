"""The strings a decoder looks for, and the bits each of them sets in every cohort."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from footing.files import write_whole
from footing.messages import Argument, Message, Name, Shape, said
from rappor.client.bloom import every_bit
from rappor.errors import RapporError, ReportFileError
from rappor.text_files import read_text, whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _typeshed import StrPath
    from scipy.sparse import csc_array

    from footing.arrays import Integers
    from rappor.parameters import Parameters


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Strings and their bits.

    Parameters
    ----------
    names
        The strings, each once.
    bits
        Candidates by cohorts by hashes: the bits each sets; -1 for none.
    parameters
        What the reports were made with.

    Raises
    ------
    RapporError
        If there is no string, one comes twice, or one sets no bit at all.

    Examples
    --------
    >>> from rappor import Parameters
    >>> google = Parameters(
    ...     n_bits=16, n_hashes=2, n_cohorts=4, f=0.5, p=0.5, q=0.75, hash="md5"
    ... )
    >>> fruits = Candidates.of(["apple", "banana"], parameters=google)
    >>> fruits.design.shape, fruits.collisions
    ((64, 2), ())
    """

    names: tuple[str, ...]
    bits: Integers
    parameters: Parameters

    def __post_init__(self) -> None:
        names, shape = tuple(self.names), self.parameters
        bits = np.array(self.bits, np.int64)
        _check_names(names)
        if bits.shape != (len(names), shape.n_cohorts, shape.n_hashes):
            raise RapporError(
                Message(
                    "The bits of {number} candidates must have the shape {value}, not {shape}.",
                    number=len(names),
                    value=Argument((len(names), shape.n_cohorts, shape.n_hashes)),
                    shape=Shape(bits.shape),
                )
            )
        if bits.min() < -1 or bits.max() >= shape.n_bits:
            raise RapporError(
                Message("A bit must be a whole number in 0..{n_bits}.", n_bits=shape.n_bits - 1)
            )
        if (none := np.flatnonzero((bits < 0).all(axis=(1, 2)))).size:
            raise RapporError(
                Message(
                    "The candidate {names!r} sets no bit, so that no report shows it.",
                    names=Name(names[none[0]]),
                ),
                hint=Message("leave it out: its share is what remains"),
            )
        bits.flags.writeable = False
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "bits", bits)

    @classmethod
    def of(cls, values: Sequence[object], *, parameters: Parameters) -> Candidates:
        """Hash candidates as the clients do.

        Parameters
        ----------
        values
            Texts; where values are numbered the names of values 0, 1, …, all of them in basic
            RAPPOR, or the numbers of some of them.
        parameters
            What the reports were made with.

        Examples
        --------
        >>> from rappor import Parameters
        >>> towns = Parameters.basic(3, f=0.5, p=0.25, q=0.75)
        >>> Candidates.of(["Lyon", "Nice", "Brest"], parameters=towns).bits[:, 0, 0].tolist()
        [0, 1, 2]
        """
        items = list(values)
        _check_names(tuple(str(value) for value in items))
        codes = items
        if parameters.is_numbered and any(isinstance(value, str) for value in items):
            if parameters.hash == "index" and len(items) != parameters.n_bits:
                raise RapporError(
                    Message(
                        "Basic RAPPOR needs the names of all {n_bits} values, not {number}.",
                        n_bits=parameters.n_bits,
                        number=len(items),
                    ),
                    hint=Message(
                        "give them in the order of their bits, or give numbers of values"
                    ),
                )
            codes = list(range(len(items)))
        if parameters.is_boolean:
            codes = [bool(code) for code in [True] * len(items)]
        names = tuple(
            value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
            for value in items
        )
        return cls(
            names=names, bits=every_bit(codes, parameters=parameters), parameters=parameters
        )

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The candidates by number; those that set the same bits everywhere are together."""
        own = self.bits.astype(np.int32)
        own.sort(axis=2)
        again = own[:, :, 1:] == own[:, :, :-1]
        own[:, :, 1:][again] = -1  # two hashes of one bit set it once
        own.sort(axis=2)
        groups: dict[bytes, list[int]] = {}
        for number, row in enumerate(own):
            groups.setdefault(row.tobytes(), []).append(number)
        return tuple(tuple(numbers) for numbers in groups.values())

    @property
    def collisions(self) -> tuple[tuple[str, ...], ...]:
        """The names no decoder can tell apart, as they set the same bits in every cohort."""
        return tuple(
            tuple(self.names[number] for number in group)
            for group in self.groups
            if len(group) > 1
        )

    @property
    def design(self) -> csc_array[np.float64]:
        """One column a candidate: 1 at each of its bits, cohort after cohort."""
        from scipy.sparse import csc_array

        n, m, h = self.bits.shape
        rows = self.bits + self.parameters.n_bits * np.arange(m)[None, :, None]
        columns = np.broadcast_to(np.arange(n)[:, None, None], (n, m, h))
        is_set = self.bits >= 0
        matrix = csc_array(
            (np.ones(is_set.sum()), (rows[is_set], columns[is_set])),
            shape=(m * self.parameters.n_bits, n),
        )
        matrix.data[:] = 1.0  # two hashes of one bit set it once
        return matrix

    def write(self, path: StrPath, *, overwrite: bool = False) -> None:
        r"""Write google/rappor's map: a string and the places of its bits, from 1.

        Parameters
        ----------
        path
            The file.
        overwrite
            Whether a file of that name may be replaced.

        Examples
        --------
        >>> from rappor import Parameters
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "map.csv"
        >>> google = Parameters(
        ...     n_bits=16, n_hashes=2, n_cohorts=4, f=0.5, p=0.5, q=0.75, hash="md5"
        ... )
        >>> Candidates.of(["apple"], parameters=google).write(file)
        >>> file.read_text()
        'apple,5,1,26,26,38,34,63,62\n'
        """
        m, k = self.parameters.n_cohorts, self.parameters.n_bits
        if np.any(self.bits < 0):
            raise ReportFileError(
                Message("A map cannot hold a value that sets no bit in a cohort.")
            )
        places = (self.bits + 1 + k * np.arange(m)[None, :, None]).reshape(len(self.names), -1)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows(
            [name, *row] for name, row in zip(self.names, places.tolist(), strict=True)
        )
        write_whole(path, text.getvalue(), error=ReportFileError, overwrite=overwrite)

    @classmethod
    def read(cls, path: StrPath, *, parameters: Parameters) -> Candidates:
        r"""Read google/rappor's map.

        Parameters
        ----------
        path
            The file.
        parameters
            What the reports were made with.

        Raises
        ------
        ReportFileError
            If a line has another number of bits, or a bit outside its cohort.

        Examples
        --------
        >>> from rappor import Parameters
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "map.csv"
        >>> _ = file.write_text("apple,5,1,26,26,38,34,63,62\n")
        >>> google = Parameters(
        ...     n_bits=16, n_hashes=2, n_cohorts=4, f=0.5, p=0.5, q=0.75, hash="md5"
        ... )
        >>> Candidates.read(file, parameters=google).bits[0].tolist()
        [[4, 0], [9, 9], [5, 1], [14, 13]]
        """
        name = Path(path).name
        text = read_text(Path(path))
        try:
            lines = [line for line in csv.reader(io.StringIO(text, newline="")) if line]
        except csv.Error:
            raise ReportFileError(
                Message("The file {name!r} is no CSV.", name=Name(name))
            ) from None
        bits = _places(lines, name, parameters)
        try:
            return cls(names=tuple(line[0] for line in lines), bits=bits, parameters=parameters)
        except RapporError as error:
            raise ReportFileError(
                Message(
                    "The file {name!r}: {problem}", name=Name(name), problem=said(error.problem)
                )
            ) from None


def _places(lines: list[list[str]], name: str, parameters: Parameters) -> Integers:
    m, h, k = parameters.n_cohorts, parameters.n_hashes, parameters.n_bits
    if not lines:
        raise ReportFileError(Message("The file {name!r} names no candidate.", name=Name(name)))
    for number, line in enumerate(lines, 1):
        if len(line) != m * h + 1:
            raise ReportFileError(
                Message(
                    "Line {number} of {name!r} has {number_2} bits, not {m}: {h} in each of "
                    "{m_2} cohorts.",
                    number=number,
                    name=Name(name),
                    number_2=len(line) - 1,
                    m=m * h,
                    h=h,
                    m_2=m,
                ),
                hint=Message("compare the numbers of hashes and cohorts with the parameters"),
            )
    try:
        places = np.array(
            [[whole_number(cell) for cell in line[1:]] for line in lines], np.int64
        )
    except (ValueError, OverflowError):
        raise ReportFileError(
            Message("The bits in {name!r} must be whole numbers.", name=Name(name))
        ) from None
    bits = places.reshape(len(lines), m, h) - 1 - k * np.arange(m)[None, :, None]
    if bits.min() < 0 or bits.max() >= k:
        raise ReportFileError(
            Message("A bit in {name!r} lies outside its cohort.", name=Name(name)),
            hint=Message("cohort c has the places c·{k} + 1 to c·{k} + {k}", k=k),
        )
    return bits


def _check_names(names: tuple[str, ...]) -> None:
    if not names:
        raise RapporError(
            Message("There is no candidate to look for."), hint=Message("give at least one")
        )
    if len(set(names)) < len(names):
        earlier: set[str] = set()
        twice = next(name for name in names if name in earlier or earlier.add(name))  # type: ignore[func-returns-value]
        raise RapporError(
            Message("The candidate {twice!r} comes twice.", twice=Name(twice)),
            hint=Message("name each candidate once"),
        )
