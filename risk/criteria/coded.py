"""Records as codes, the tables that can be asked of them, and methods that publish these."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from footing.checks import is_integer
from footing.messages import Argument, Message, Name, Shape
from ptable import PTable
from risk.criteria.answers import Answer, Answers, Slice, Sought, identity_of
from risk.errors import RiskError
from risk.wellformed import read_array
from tables.cells.axes import Axis, Level

Numbers = NDArray[np.float64]


_T = TypeVar("_T", np.int64, np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class CubeRequest:
    """Ask for a table with all its margins.

    Parameters
    ----------
    dimensions
        The attributes of the table, by their places; none asks for the total alone.
    within
        Attribute → the categories of which records take part; all records by default.
    without
        Records that are left out, by their places.
    """

    dimensions: tuple[int, ...]
    within: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    without: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        places = [*self.dimensions, *self.within, *self.without]
        if not all(is_integer(place, minimum=0) for place in places):
            raise RiskError(
                Message("A request names attributes and records by places from 0 on.")
            )
        if len(set(self.dimensions)) < len(self.dimensions):
            raise RiskError(Message("A request must name each dimension once."))


class CodedRecords:
    """Hold records as codes of categories; for inside use only.

    Parameters
    ----------
    codes
        One row per record, one column per attribute; codes from 0 on.
    sizes
        The number of categories of every attribute; by default what the codes show.

    Raises
    ------
    RiskError
        If there is no record, or codes are no whole numbers or out of range.

    Examples
    --------
    >>> records = CodedRecords([[0, 1], [0, 0], [1, 1]])
    >>> records.counts(CubeRequest(dimensions=(0,)))
    array([2, 1, 3])
    """

    def __init__(self, codes: ArrayLike, *, sizes: tuple[int, ...] | None = None) -> None:
        array = read_array(codes, name="codes")
        if array.ndim != 2 or not array.size or array.dtype.kind not in "iu":
            raise RiskError(
                Message(
                    "Records must be whole numbers, a row per record and a column per "
                    "attribute."
                ),
                hint=Message("code the categories of every attribute from 0 on"),
            )
        top = tuple(int(most) + 1 for most in array.max(axis=0))
        self.sizes = top if sizes is None else tuple(sizes)
        fits = len(self.sizes) == len(top) and all(map(int.__ge__, self.sizes, top))
        if int(array.min()) < 0 or not fits:
            raise RiskError(
                Message("Codes must lie from 0 to the number of categories of their attribute.")
            )
        self.codes: NDArray[np.int64] = array.astype(np.int64)

    def __len__(self) -> int:
        return len(self.codes)

    def shape(self, request: CubeRequest) -> tuple[int, ...]:
        """Give the shape of an answer: all categories of every dimension, and its total last.

        Parameters
        ----------
        request
            The request.

        Examples
        --------
        >>> CodedRecords([[0, 1], [2, 0]]).shape(CubeRequest(dimensions=(0, 1)))
        (4, 3)
        """
        return tuple(self.sizes[place] + 1 for place in request.dimensions)

    def members(self, request: CubeRequest) -> NDArray[np.int64]:
        """Give the places of the records that take part.

        Parameters
        ----------
        request
            The request.

        Examples
        --------
        >>> records = CodedRecords([[0, 1], [0, 0], [1, 1]])
        >>> records.members(CubeRequest(dimensions=(), within={1: (1,)}, without=(0,)))
        array([2])
        """
        n_attributes = len(self.sizes)
        if any(place >= n_attributes for place in (*request.dimensions, *request.within)):
            raise RiskError(
                Message(
                    "The records have {n_attributes} attributes, not more.",
                    n_attributes=n_attributes,
                )
            )
        mask = np.ones(len(self), np.bool_)
        for place, categories in request.within.items():
            mask &= np.isin(self.codes[:, place], categories)
        mask[[place for place in request.without if place < len(self)]] = False
        return np.flatnonzero(mask)

    def counts(self, request: CubeRequest) -> NDArray[np.int64]:
        """Count the records of every cell and margin.

        Parameters
        ----------
        request
            The request.

        Examples
        --------
        >>> CodedRecords([[0, 1], [0, 0]]).counts(CubeRequest(dimensions=(0, 1)))
        array([[1, 1, 2],
               [1, 1, 2]])
        """
        return self.sums(request, np.ones(len(self), np.int64))

    def sums(self, request: CubeRequest, numbers: NDArray[_T]) -> NDArray[_T]:
        """Add up a number per record in every cell and margin; integers wrap around.

        Parameters
        ----------
        request
            The request.
        numbers
            One per record, such as record keys.

        Examples
        --------
        >>> CodedRecords([[0], [1]]).sums(CubeRequest(dimensions=(0,)), np.array([5, 7]))
        array([ 5,  7, 12])
        """
        members = self.members(request)
        shape = tuple(self.sizes[place] for place in request.dimensions)
        inner = np.zeros(int(np.prod(shape, dtype=np.int64)), numbers.dtype)
        if request.dimensions:
            place = np.ravel_multi_index(
                tuple(self.codes[members, d] for d in request.dimensions), shape
            )
        else:
            place = np.zeros(len(members), np.int64)
        np.add.at(inner, place, numbers[members])
        table = inner.reshape(shape)
        for axis in range(len(shape)):
            total = table.sum(axis=axis, keepdims=True, dtype=numbers.dtype)
            table = np.concatenate([table, total], axis=axis)
        return table

    def __repr__(self) -> str:
        return f"CodedRecords({len(self.sizes)} attributes)"


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
            raise RiskError(
                Message("keys must be 'cell' or 'fresh', not {keys!r}.", keys=Name(keys))
            )
        if (keys == "fresh") != (rng is not None):
            raise RiskError(
                Message("Fresh keys need a generator, and keys of cells none."),
                hint=Message('give keys="fresh" and rng=np.random.default_rng(…)'),
            )
        self._records, self._ptable, self._rng = records, ptable, rng
        self._secret = hashlib.blake2b(secret, digest_size=32).digest()
        draws = [self._hash(place) for place in range(len(records))]
        self._record_keys = np.array(draws, np.uint64)

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


#: Called with an office's number and the tables it plans; gives the method as it has it.
MakeMethod: TypeAlias = Callable[[int, Sequence[CubeRequest]], CountingMethod]


class CodedQuestions:
    """One method asked for tables of coded records, as users would ask.

    Parameters
    ----------
    make
        Gives the method.
    records
        The records.
    requests
        The planned tables.
    """

    def __init__(
        self, make: MakeMethod, records: CodedRecords, requests: Sequence[CubeRequest]
    ) -> None:
        self._make, self._records, self._requests = make, records, requests
        self._axes = [_axis(place, size) for place, size in enumerate(records.sizes)]
        self._method = make(0, requests)
        self.planned = [self._asked(self._method, request) for request in requests]

    def answers(
        self,
        geography: int,
        sensitive: int,
        *,
        rng: np.random.Generator,
        n_persons: int,
        n_unplanned: int,
    ) -> Answers:
        """Ask for all that criteria look at."""
        first, second = (
            [self._asked(self._make(n, [request]), request) for request in self._requests]
            for n in (1, 2)
        )
        return Answers(
            planned=self.planned,
            again=[self._asked(self._method, request) for request in self._requests],
            alone=(first, second),
            slices=list(self._slices()),
            sought=list(self._sought(geography, sensitive, rng, n_persons)),
            unplanned=list(self._unplanned(rng, n_unplanned)),
        )

    def _asked(self, method: CountingMethod, request: CubeRequest) -> Answer:
        """Return what is published of a table, nothing where it was refused."""
        counts = self._records.counts(request)
        try:
            answer = method.publish(request)
        except RiskError:
            raise  # a mistake, not a rule
        except (ValueError, PermissionError):
            answer = None
        if answer is None:
            answer = np.full(counts.shape, np.nan)
        numbers = np.ma.filled(np.ma.asarray(answer, np.float64), np.nan)
        if numbers.shape != counts.shape:
            raise RiskError(
                Message(
                    "The method must answer with a table of shape {shape}, not "
                    "{numbers_shape}.",
                    shape=Argument(counts.shape),
                    numbers_shape=Shape(numbers.shape),
                ),
                hint=Message("totals stand last in every dimension; what is not shown is NaN"),
            )
        places = np.indices(counts.shape).reshape(counts.ndim, counts.size)
        return Answer(
            axes=tuple(self._axes[place] for place in request.dimensions),
            ranks=tuple(
                np.where(code == size, 0, code + 1).astype(np.int32)
                for code, size in zip(
                    places, [self._records.sizes[d] for d in request.dimensions], strict=True
                )
            ),
            level_sets=tuple(product((0, 1), repeat=len(request.dimensions))),
            count=counts.ravel(),
            published=np.asarray(numbers, np.float64).ravel(),
        )

    def _slices(self) -> Iterator[Slice]:
        """Ask for the slices of the first dimension by a filter."""
        for table, request in enumerate(self._requests):
            if not request.dimensions:
                continue
            first, *rest = request.dimensions
            categories = identity_of(self._axes[first])[1:].tolist()
            for code, category in enumerate(categories):
                narrowed = CubeRequest(dimensions=tuple(rest), within={first: (code,)})
                answer = self._asked(self._method, narrowed)
                yield Slice(table=table, category=category, answer=answer)

    def _sought(
        self, geography: int, sensitive: int, rng: np.random.Generator, n_persons: int
    ) -> Iterator[Sought]:
        codes = self._records.codes
        persons = rng.choice(len(codes), min(n_persons, len(codes)), replace=False)
        categories = identity_of(self._axes[sensitive])[1:].tolist()
        for person in persons.tolist():
            area = {geography: (int(codes[person, geography]),)}
            present, absent = (
                self._asked(
                    self._method,
                    CubeRequest(dimensions=(sensitive,), within=area, without=left_out),
                )
                for left_out in ((), (person,))
            )
            category = categories[codes[person, sensitive]]
            yield Sought(category=category, present=present, absent=absent)

    def _unplanned(self, rng: np.random.Generator, n_unplanned: int) -> Iterator[Answer]:
        for _ in range(n_unplanned):
            request = self._requests[int(rng.integers(len(self._requests)))]
            every = range(len(self._records.sizes))
            others = [place for place in every if place not in request.dimensions]
            dimensions = request.dimensions if others else request.dimensions[1:]
            by = int(rng.choice(others or request.dimensions[:1]))
            size = self._records.sizes[by]
            half = rng.choice(size, max(1, size // 2), replace=False)
            query = CubeRequest(dimensions=dimensions, within={by: tuple(half.tolist())})
            yield self._asked(self._method, query)


def _axis(place: int, size: int) -> Axis:
    """Return the axis of an attribute: its categories, and their total."""
    codes = np.arange(size, dtype=np.int32)
    finest = Level(ranks=codes + 1, up=np.zeros(size, np.int32), is_shown=np.ones(size, bool))
    total = Level(ranks=np.zeros(1, np.int32), up=None, is_shown=np.ones(1, bool))
    return Axis(
        columns=(f"attribute {place}",),
        labels=(np.array(["Total", *map(str, range(size))], object),),
        levels=(finest, total),
        is_declared=False,
        is_found=np.arange(size + 1) > 0,
    )
