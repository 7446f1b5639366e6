"""Records as codes, and the tables that can be asked of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from footing.checks import is_integer
from risk.errors import RiskError
from risk.wellformed import read_array

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

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
            raise RiskError("A request names attributes and records by places from 0 on.")
        if len(set(self.dimensions)) < len(self.dimensions):
            raise RiskError("A request must name each dimension once.")


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
                "Records must be whole numbers, a row per record and a column per attribute.",
                hint="code the categories of every attribute from 0 on",
            )
        top = tuple(int(most) + 1 for most in array.max(axis=0))
        self.sizes = top if sizes is None else tuple(sizes)
        fits = len(self.sizes) == len(top) and all(map(int.__ge__, self.sizes, top))
        if int(array.min()) < 0 or not fits:
            raise RiskError(
                "Codes must lie from 0 to the number of categories of their attribute."
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
            raise RiskError(f"The records have {n_attributes} attributes, not more.")
        kept = np.ones(len(self), np.bool_)
        for place, categories in request.within.items():
            kept &= np.isin(self.codes[:, place], categories)
        kept[[place for place in request.without if place < len(self)]] = False
        return np.flatnonzero(kept)

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
