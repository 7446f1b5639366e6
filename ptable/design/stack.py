"""Several specifications on top of each other: other noise for larger counts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any, Self

from footing.checks import is_integer
from footing.messages import Argument, Message, Shape
from footing.serialisation import plain
from ptable.design.spec import NoiseSpec
from ptable.errors import PTableError
from ptable.solver.row import RowProblem

_MAX_ROWS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StackedSpec:
    """State other noise for larger counts.

    Parameters
    ----------
    parts
        Pairs of the first count and the specification from it on, ascending; the first pair
        starts at 0. Every count follows the specification of the last pair not beyond it.

    Examples
    --------
    >>> small = NoiseSpec(max_noise=2, variance=1.0)
    >>> large = NoiseSpec(max_noise=5, variance=6.0)
    >>> spec = StackedSpec(parts=((0, small), (20, large)))
    >>> spec.last_count, spec.row(19).noise, len(spec.row(20).noise)
    (20, (-2, -1, 0, 1, 2), 11)
    """

    parts: tuple[tuple[int, NoiseSpec], ...]

    def __post_init__(self) -> None:
        try:
            parts: tuple[tuple[Any, Any], ...] = tuple(
                (first, spec) for first, spec in self.parts
            )
        except (TypeError, ValueError):
            raise PTableError(
                Message("parts must be pairs of a first count and a NoiseSpec."),
                hint=Message("for example ((0, NoiseSpec(…)), (100, NoiseSpec(…)))"),
            ) from None
        object.__setattr__(self, "parts", parts)
        firsts = [part[0] for part in parts]
        rises = all(map(is_integer, firsts)) and all(a < b for a, b in pairwise(firsts))
        if not rises or firsts[:1] != [0] or firsts[-1] > _MAX_ROWS:
            raise PTableError(
                Message(
                    "parts must start at counts that rise from 0 to at most {max_rows}, not "
                    "{firsts}.",
                    max_rows=_MAX_ROWS,
                    firsts=Argument(firsts),
                ),
                hint=Message("for example ((0, NoiseSpec(…)), (100, NoiseSpec(…)))"),
            )
        for first, spec in parts:
            self._refuse(first, spec)

    def _refuse(self, first: int, spec: NoiseSpec) -> None:
        if not isinstance(spec, NoiseSpec):
            raise PTableError(
                Message(
                    "Every part must hold a NoiseSpec, not a {name}.", name=Shape(type(spec))
                )
            )
        if spec.anchors is not None or spec.step != 1:
            raise PTableError(
                Message("Tables for magnitudes cannot be stacked: their noise scales.")
            )
        if first and spec.limits is not None:
            raise PTableError(
                Message("limits belong to the first part: they tie all rows together."),
                hint=Message("give the variance of this part, and limits in the first one"),
            )
        if first and spec.zero_bias:
            raise PTableError(
                Message("zero_bias belongs to the first part, which holds count 0.")
            )
        small = self.parts[0][1].small
        if first and spec.small != small and first <= small + max(spec.max_noises):
            raise PTableError(
                Message(
                    "The part from count {first} on blocks 1..{small} and the first part "
                    "1..{small_2}: a count blocked here and published there gives itself away.",
                    first=first,
                    small=spec.small,
                    small_2=small,
                ),
                hint=Message("use the same small in all parts, or start the part later"),
            )

    @property
    def last_count(self) -> int:
        """The count of the last row, which serves every larger count too.

        Examples
        --------
        >>> spec = NoiseSpec(max_noise=2, variance=1.0)
        >>> StackedSpec(parts=((0, spec), (1, spec))).last_count
        2
        """
        first, spec = self.parts[-1]
        return max(first, spec.last_count)

    @property
    def counts(self) -> tuple[int, ...]:
        """The counts whose rows are to be solved.

        Examples
        --------
        >>> spec = NoiseSpec(max_noise=2, variance=1.0)
        >>> StackedSpec(parts=((0, spec), (3, spec))).counts
        (1, 2, 3)
        """
        start = () if not self.parts[0][1].zero_bias else (0,)
        return (*start, *range(1, self.last_count + 1))

    def row(self, count: int) -> RowProblem:
        """Give the constraints on the row of a count between 1 and `last_count`.

        Parameters
        ----------
        count
            The original count.

        Examples
        --------
        >>> spec = NoiseSpec(max_noise=2, variance=1.0)
        >>> StackedSpec(parts=((0, spec), (9, spec))).row(7).count
        7
        """
        if not isinstance(count, Integral) or count < 0:
            raise PTableError(
                Message(
                    "count must lie in 1..{last_count}, not {count}.",
                    last_count=self.last_count,
                    count=Argument(count),
                )
            )
        spec = next(spec for first, spec in reversed(self.parts) if first <= count)
        return replace(spec.row(min(count, spec.last_count)), count=count)

    def rows(self) -> tuple[RowProblem, ...]:
        """Give the constraints on every row.

        Examples
        --------
        >>> spec = NoiseSpec(max_noise=2, variance=1.0)
        >>> [row.count for row in StackedSpec(parts=((0, spec), (3, spec))).rows()]
        [1, 2, 3]
        """
        return tuple(map(self.row, self.counts))

    @property
    def step(self) -> int:
        """How many steps make one unit: always 1.

        Examples
        --------
        >>> StackedSpec(parts=((0, NoiseSpec(max_noise=2, variance=1.0)),)).step
        1
        """
        return 1

    @property
    def anchors(self) -> None:
        """The counts that have a row: all.

        Examples
        --------
        >>> StackedSpec(parts=((0, NoiseSpec(max_noise=2, variance=1.0)),)).anchors
        """
        return

    def _repr_html_(self) -> str:
        parts = (f"<p>From count {n} on:</p>{spec._repr_html_()}" for n, spec in self.parts)
        return f"<div>{''.join(parts)}</div>"

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as plain values, ready for JSON.

        Examples
        --------
        >>> StackedSpec(parts=((0, NoiseSpec(max_noise=2, variance=1.0)),)).to_dict()["kind"]
        'stacked'
        """
        return {
            "kind": "stacked",
            "parts": plain(self.parts),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Build a specification from what `to_dict` gave.

        Parameters
        ----------
        fields
            The fields by name.

        Examples
        --------
        >>> spec = StackedSpec(parts=((0, NoiseSpec(max_noise=2, variance=1.0)),))
        >>> StackedSpec.from_dict(spec.to_dict()) == spec
        True
        """
        return cls(
            parts=tuple((first, NoiseSpec.from_dict(part)) for first, part in fields["parts"])
        )
