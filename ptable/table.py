"""The p-table: which noise a cell gets, from its count and its cell key.

A table stores integers only: per row the noise values in key order and the cumulative number of
keys up to and including each. Probabilities are these integers divided by the key range.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from footing.checks import is_integer, problems_of, require_integer
from footing.messages import Argument, Message, Name, Shape, joined
from footing.serialisation import digest_of
from footing.svg import html_table
from ptable.errors import PTableError, PTableWarning
from ptable.lookup import KeyIndex, cycle_length, intervals, look_up

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from ptable.design.design import Design
    from ptable.proof.certificate import Certificate

_FORMAT = "ptable/1"
#: Up to here 64-bit integers and floats hold every published value.
_LARGEST = 2**53
#: How far the probabilities of a row may be from one together.
_OFF_ONE = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PTable:
    """Hold a perturbation table in integers.

    Two tables are equal when they give the same noise to every count and key.

    Parameters
    ----------
    noise
        Per count 0, 1, ... the noise values, in key order.
    upper
        Per count the cumulative number of keys, ending at `key_range`; a key falls to the first
        noise value whose upper threshold exceeds it.
    key_range
        How many keys there are; thresholds are integers out of so many.
    large_counts
        Which row serves counts beyond the last: ``"last"``, or ``"cycle:N"`` for the last N
        rows in turn.
    step
        How many steps of noise make one unit: noise values are multiples of ``1 / step``, and
        ``noise`` holds the multipliers. Tables for magnitudes have more than one.
    anchors
        The counts that have a row, ascending from 0; None for 0, 1, 2, ... Tables for
        magnitudes have a few anchor rows, between which their user interpolates.
    spec, certificate
        What the table was built from and its proof; None for tables from elsewhere.
    label
        A name for people; no part of the table's identity.

    Examples
    --------
    >>> table = PTable(noise=[[0], [-1, 0, 1]], upper=[[8], [2, 6, 8]], key_range=8)
    >>> table
    PTable(n_rows=2, max_noise=1, key_range=8)
    >>> table.lookup([1, 7], [1, 2], key_range=8)
    array([-1,  0])
    """

    noise: tuple[tuple[int, ...], ...]
    upper: tuple[tuple[int, ...], ...]
    key_range: int = 2**32
    large_counts: str = "last"
    step: int = 1
    anchors: tuple[int, ...] | None = None
    spec: Design | None = None
    certificate: Certificate | None = None
    label: str = ""
    _indexes: dict[int, KeyIndex] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        keys = require_integer(
            self.key_range, "key_range", error=PTableError, minimum=2, maximum=2**64
        )
        object.__setattr__(self, "key_range", keys)
        problems = self._layout_problems()
        if not isinstance(self.label, str):
            problems.append(
                Message("label must be text, not a {name}", name=Shape(type(self.label)))
            )
        if not problems:
            problems = _row_problems(
                self.noise, self.upper, self.key_range, (self._counts(), self.step)
            )
        if problems:
            more = (
                Message(" (and {number} more)", number=len(problems) - 5)
                if len(problems) > 5
                else Message()
            )
            raise PTableError(
                Message(
                    "This is no p-table: {problems}{more}.",
                    problems=joined("; ", problems[:5]),
                    more=more,
                )
            )
        rows = [
            _canonical(noise, upper)
            for noise, upper in zip(self.noise, self.upper, strict=True)
        ]
        object.__setattr__(self, "noise", tuple(noise for noise, _ in rows))
        object.__setattr__(self, "upper", tuple(upper for _, upper in rows))
        cycle_length(self.large_counts, n_rows=len(self.noise))

    def _layout_problems(self) -> list[str]:
        if problems := problems_of(self.step, "step", is_whole=True, minimum=1):
            return problems
        object.__setattr__(self, "step", int(self.step))
        if self.anchors is None:
            return []
        anchors = tuple(self.anchors)
        rises = all(map(is_integer, anchors)) and all(a < b for a, b in pairwise(anchors))
        if not rises or anchors[:1] != (0,) or len(anchors) != len(self.noise):
            return [Message("anchors must be one rising count per row, from 0 on")]
        is_plain = anchors == tuple(range(len(anchors)))
        if not is_plain and self.large_counts != "last":
            return [Message("large_counts must be 'last' where there are anchors")]
        object.__setattr__(self, "anchors", None if is_plain else tuple(map(int, anchors)))
        return []

    def _counts(self) -> Sequence[int]:
        return range(len(self.noise)) if self.anchors is None else self.anchors

    def _place(self, count: int) -> int:
        is_count = is_integer(count)
        if is_count and self.anchors is None and 0 <= count < len(self.noise):
            return count
        if is_count and self.anchors is not None and count in self.anchors:
            return self.anchors.index(count)
        raise PTableError(
            Message("Count {count} has no row of its own.", count=Argument(count))
        )

    @property
    def n_rows(self) -> int:
        """How many counts have a row of their own, count 0 included.

        Examples
        --------
        >>> PTable(noise=[[0]], upper=[[256]], key_range=256).n_rows
        1
        """
        return len(self.noise)

    @property
    def max_noise(self) -> int:
        """The largest noise in either direction, in steps.

        Examples
        --------
        >>> PTable(noise=[[0], [-1, 2]], upper=[[9], [6, 9]], key_range=9).max_noise
        2
        """
        return max(abs(v) for row in self.noise for v in row)

    @cached_property
    def id(self) -> str:
        """A hash of what the table does; keep it inside, as it gives the parameters away.

        Examples
        --------
        >>> table = PTable(noise=[[0]], upper=[[256]], key_range=256)
        >>> table.id == PTable(noise=[[0]], upper=[[256]], key_range=256, label="none").id
        True
        """
        content: list[object]
        content = [_FORMAT, self.key_range, self.large_counts, self.noise, self.upper]
        if self.step != 1 or self.anchors is not None:
            content += [self.step, self.anchors]
        return digest_of(content, is_compact=True)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The original counts, the rows of `transition`.

        Examples
        --------
        >>> PTable(noise=[[0], [-1, 2]], upper=[[9], [6, 9]], key_range=9).counts
        array([0, 1])
        """
        return np.array(self._counts(), dtype=np.int64)

    @property
    def targets(self) -> NDArray[np.float64] | NDArray[np.int64]:
        """The published values, the columns of `transition`; whole unless `step` is above 1.

        Examples
        --------
        >>> PTable(noise=[[0], [-1, 2]], upper=[[9], [6, 9]], key_range=9).targets
        array([0, 1, 2, 3])
        """
        largest = max(
            count * self.step + max(row)
            for count, row in zip(self._counts(), self.noise, strict=True)
        )
        steps = np.arange(largest + 1, dtype=np.int64)
        return steps if self.step == 1 else steps / self.step

    @cached_property
    def transition(self) -> NDArray[np.float64]:
        """The transition probabilities, P(published column | count row), read-only.

        Examples
        --------
        >>> PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8).transition
        array([[1. , 0. , 0. ],
               [0.5, 0. , 0.5]])
        """
        matrix = np.zeros((self.n_rows, len(self.targets)))
        for row, count in enumerate(self._counts()):
            for v, n in self.units(count).items():
                matrix[row, count * self.step + v] = n / self.key_range
        matrix.setflags(write=False)
        return matrix

    def units(self, count: int) -> dict[int, int]:
        """Give the number of keys per noise value of a row.

        Parameters
        ----------
        count
            An original count that has a row of its own.

        Examples
        --------
        >>> PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8).units(1)
        {-1: 4, 1: 4}
        """
        units: dict[int, int] = {}
        row = self._place(count)
        for v, lower, upper in intervals(self.noise[row], self.upper[row]):
            units[v] = units.get(v, 0) + upper - lower
        return units

    def lookup(
        self, counts: ArrayLike, cell_keys: ArrayLike, *, key_range: int = 2**32
    ) -> NDArray[np.int64]:
        """Find the noise of each cell, in steps.

        Key ``k`` out of ``K`` falls below threshold ``u`` out of ``T`` when ``k T < u K``, in
        whole numbers: intervals include their lower end and exclude their upper one.

        Parameters
        ----------
        counts
            The original counts; where the table has anchors, anchors or larger counts only.
        cell_keys
            The cell keys, integers from 0 to ``key_range - 1``.
        key_range
            How many different cell keys there are; need not be the table's own.

        Examples
        --------
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> table.lookup([0, 1, 1, 5], [7, 2**31 - 1, 2**31, 0])
        array([ 0, -1,  1, -1])
        """
        index = self._indexes.get(key_range)
        if index is None:
            index = KeyIndex.build(self, key_range)
            self._indexes[key_range] = index
        return look_up(index, counts, cell_keys)

    def to_frame(self) -> pd.DataFrame:
        """Give one line per interval: count, published, noise, probability and thresholds.

        Examples
        --------
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> print(table.to_frame().to_string(index=False))
         i  j  v   p  lower  upper
         0  0  0 1.0      0      8
         1  0 -1 0.5      0      4
         1  2  1 0.5      4      8
        """
        import pandas as pd

        def whole(number: float) -> float:
            return number if self.step == 1 else number / self.step

        lines = [
            (
                count,
                whole(count * self.step + v),
                whole(v),
                (upper - lower) / self.key_range,
                lower,
                upper,
            )
            for count, noise, uppers in zip(self._counts(), self.noise, self.upper, strict=True)
            for v, lower, upper in intervals(noise, uppers)
        ]
        return pd.DataFrame(lines, columns=["i", "j", "v", "p", "lower", "upper"])

    @classmethod
    def from_units(
        cls,
        rows: Sequence[Mapping[int, int]],
        *,
        key_range: int = 2**32,
        large_counts: str = "last",
        step: int = 1,
        anchors: Sequence[int] | None = None,
        label: str = "",
    ) -> PTable:
        """Build a table from the number of keys per noise value, in the order given.

        Parameters
        ----------
        rows
            Per count 0, 1, ... the number of keys of each noise value.
        key_range, large_counts, step, anchors, label
            As for the class.

        Examples
        --------
        >>> PTable.from_units([{0: 8}, {-1: 4, 1: 4}], key_range=8).upper
        ((8,), (4, 8))
        """
        return cls(
            noise=tuple(map(tuple, rows)),
            upper=tuple(tuple(accumulate(row.values())) for row in rows),
            key_range=key_range,
            large_counts=large_counts,
            step=step,
            anchors=None if anchors is None else tuple(anchors),
            label=label,
        )

    @classmethod
    def from_probabilities(
        cls,
        transition: ArrayLike,
        *,
        digits: int | None = None,
        key_range: int = 2**32,
        label: str = "",
    ) -> PTable:
        """Build a table from transition probabilities, as slides and papers print them.

        Cumulative sums are rounded to whole keys.

        Parameters
        ----------
        transition
            P(published column | count row), from count 0 and published 0 on. Rows sum to one
            within 1e-9, or within what rounding to `digits` may have cost.
        digits
            To how many decimals the probabilities were rounded; rows are then scaled to one.
        key_range, label
            As for the class.

        Examples
        --------
        >>> PTable.from_probabilities([[1, 0, 0], [0.5, 0, 0.5]]).units(1)
        {-1: 2147483648, 1: 2147483648}
        >>> printed = [[1, 0, 0, 0], [0.33, 0.33, 0.33, 0]]
        >>> PTable.from_probabilities(printed, digits=2, key_range=300).units(1)
        {-1: 100, 0: 100, 1: 100}
        """
        try:
            matrix = np.asarray(transition, dtype=np.float64)
        except (TypeError, ValueError):
            matrix = np.zeros(0)
        if matrix.ndim != 2 or not np.isfinite(matrix).all() or (matrix < 0).any():
            raise PTableError(
                Message(
                    "transition must be a matrix of probabilities, without gaps or negatives."
                )
            )
        if digits is not None:
            require_integer(digits, "digits", error=PTableError, minimum=1, maximum=15)
        for count, row in enumerate(matrix):
            rounding = 0.5 * 10.0**-digits * np.count_nonzero(row) if digits else 0.0
            if abs(row.sum() - 1) > _OFF_ONE + rounding:
                raise PTableError(
                    Message(
                        "Every row of transition must sum to 1; that of count {count} sums to "
                        "{total:.10g}.",
                        count=count,
                        total=float(row.sum()),
                    ),
                    hint=Message("digits says to how many decimals they were rounded"),
                )
        noise, upper = [], []
        for count, row in enumerate(matrix.tolist()):
            *_, total = ends = list(accumulate(map(Fraction, row)))
            upper.append(tuple(round(end / total * key_range) for end in ends))
            noise.append(tuple(range(-count, len(row) - count)))
        return cls(noise=tuple(noise), upper=tuple(upper), key_range=key_range, label=label)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        key_range: int | None = None,
        digits: int | None = None,
        label: str = "",
    ) -> PTable:
        """Build a table from a long frame of intervals, such as R ptable's.

        Parameters
        ----------
        frame
            A data frame with columns ``i``, one of ``j`` and ``v``, and one of ``upper``
            (integers out of `key_range`) and ``p_int_ub`` (decimals, taken as printed).
        key_range
            What `upper` counts out of; for decimals it follows from their digits.
        digits
            Round decimals to so many digits instead of taking all of them.
        label
            A name for people.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"i": [1, 1], "v": [-1, 1], "p_int_ub": [0.5, 1]})
        >>> PTable.from_frame(frame).key_range
        10
        """
        from ptable.dialects.intervals import table_from_frame

        return table_from_frame(frame, key_range=key_range, digits=digits, label=label)

    @classmethod
    def from_key_table(
        cls, frame: Any, *, large_counts: str = "last", label: str = ""
    ) -> PTable:
        """Build a table from one line per count and key: ``pcv``, ``ckey``, ``pvalue``.

        Parameters
        ----------
        frame
            The lines; every count has every key once.
        large_counts
            As for the class; the ONS reuses its last 250 rows, ``"cycle:250"``.
        label
            A name for people.

        Examples
        --------
        >>> import pandas as pd
        >>> lines = {"pcv": [1, 1], "ckey": [0, 1], "pvalue": [1, -1]}
        >>> PTable.from_key_table(pd.DataFrame(lines)).lookup([1, 1], [0, 1], key_range=2)
        array([ 1, -1])
        """
        from ptable.dialects.keylists import table_from_key_frame

        return table_from_key_frame(frame, large_counts=large_counts, label=label)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        dialect: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the table: with its specification and certificate, or for another tool.

        Warns with what the layout of another tool does not hold.

        Parameters
        ----------
        path
            A name ending in ``.parquet`` or ``.json``; with a dialect, any other.
        dialect
            The layout of another tool, see `ptable.dialects`.
        overwrite
            Whether a file of that name may be replaced.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table.write(pathlib.Path(folder) / "pt.json")
        ...     PTable.read(pathlib.Path(folder) / "pt.json") == table
        True
        """
        from ptable.dialects import write_tables

        losses = write_tables(self, path, dialect=dialect, overwrite=overwrite)
        if losses:
            warnings.warn(
                Message(
                    "The file '{file}' does not hold the whole p-table: {losses}.",
                    file=Name(Path(path).name),
                    losses=joined("; ", losses),
                ),
                PTableWarning,
                stacklevel=2,
            )

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        dialect: str | None = None,
        boundary: Literal["[)", "(]"] = "[)",
        key_range: int | None = None,
        digits: int | None = None,
        large_counts: str | None = None,
    ) -> PTable:
        """Read a table, ours with its certificate or another tool's, and check it anew.

        Parameters
        ----------
        path
            The file.
        dialect, boundary, key_range, digits, large_counts
            As for `ptable.dialects.read_tables`.

        Examples
        --------
        >>> try:
        ...     PTable.read("missing.parquet")
        ... except PTableError as error:
        ...     print(error)
        There is no file 'missing.parquet'.
        """
        from ptable.dialects import read_tables

        tables = read_tables(
            path,
            dialect=dialect,
            boundary=boundary,
            key_range=key_range,
            digits=digits,
            large_counts=large_counts,
        )
        if len(tables) > 1:
            raise PTableError(
                Message(
                    "The file '{path}' holds several p-tables, of types {tables}.",
                    path=Name(Path(path).name),
                    tables=Name.each(tables),
                ),
                hint=Message("read them with ptable.dialects.read_tables"),
            )
        return next(iter(tables.values()))

    def with_proof(self, spec: Design | None, certificate: Certificate | None) -> PTable:
        """Give the same table with another specification and certificate.

        Parameters
        ----------
        spec, certificate
            As for the class.

        Examples
        --------
        >>> table = PTable(noise=[[0]], upper=[[256]], key_range=256)
        >>> table.with_proof(None, None) == table
        True
        """
        return replace(self, spec=spec, certificate=certificate)

    def quantise(self, key_range: int, *, keep_symmetry: bool = True) -> PTable:
        """Put the table into few keys, keeping means and variances wherever integers can.

        `ptable.quantisation.quantise.quantise` does the same and reports every row.

        Parameters
        ----------
        key_range
            How many keys: 256 for SuperSTAR and Cantabular, 4096 for the ONS.
        keep_symmetry
            Whether rows whose law is its own mirror image stay so where they can.

        Warns
        -----
        PTableWarning
            Naming the rows whose mean or variance cannot be held.

        Examples
        --------
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> table.quantise(256).units(1)
        {-1: 128, 1: 128}
        """
        from ptable.quantisation.quantise import quantise, warning_of

        answer = quantise(self, key_range, keep_symmetry=keep_symmetry)
        if text := warning_of(answer):
            warnings.warn(text, PTableWarning, stacklevel=2)
        return answer.table

    def shuffle(
        self, rng: np.random.Generator, *, piece: float | Literal["key"] = 0.2
    ) -> PTable:
        """Cut every interval into pieces and put the pieces of every row in random order.

        Parameters
        ----------
        rng
            Where the order comes from.
        piece
            The largest probability of a piece, or ``"key"`` for single keys.

        Examples
        --------
        >>> table = PTable(noise=[[0], [-1, 1]], upper=[[8], [4, 8]], key_range=8)
        >>> new = table.shuffle(np.random.default_rng(1), piece="key")
        >>> new.units(1) == table.units(1), new == table
        (True, False)
        """
        from ptable.quantisation.shuffle import shuffle

        return shuffle(self, rng, piece=piece)

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, PTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        label = f", label={self.label!r}" if self.label else ""
        step = f", step={self.step}" if self.step != 1 else ""
        return (
            f"PTable(n_rows={self.n_rows}, max_noise={self.max_noise}, "
            f"key_range={_power(self.key_range)}{step}{label})"
        )

    def _repr_html_(self) -> str:
        from ptable.pictures import heatmap

        facts = {
            "label": self.label or "none",
            "counts with a row of their own": (
                f"0 to {self.n_rows - 1}"
                if self.anchors is None
                else ", ".join(map(str, self.anchors))
            ),
            "largest noise": f"{self.max_noise / self.step:g}",
            "keys": _power(self.key_range),
            "certified": "yes" if self.certificate else "no",
        }
        table = html_table("p-table", (), facts.items())
        return f"<div>{table}{heatmap(self)._repr_html_()}</div>"


def _row_problems(
    noise: object, upper: object, key_range: int, layout: tuple[Sequence[int], int]
) -> list[str]:
    """Name what is wrong with the rows, given the counts they belong to and the step."""
    counts, step = layout
    rows, uppers = list(noise), list(upper)  # type: ignore[call-overload]
    if not rows or len(rows) != len(uppers):
        return [Message("noise and upper must have one row per count, from count 0 on")]
    problems: list[str] = []
    for count, values, ends in zip(counts, rows, uppers, strict=True):
        if not len(values) or len(values) != len(ends):
            problems.append(
                Message(
                    "the row of count {count} needs one threshold per noise value", count=count
                )
            )
            continue
        both = (*values, *ends)
        if not set(map(type, both)) <= {int} and not all(map(is_integer, both)):
            problems.append(
                Message("the row of count {count} must hold integers only", count=count)
            )
            continue
        if ends[-1] != key_range:
            problems.append(
                Message(
                    "the thresholds of count {count} must end at {key_range}, not {ends}",
                    count=count,
                    key_range=key_range,
                    ends=ends[-1],
                )
            )
        if any(low > high for low, high in pairwise((0, *ends))):
            problems.append(
                Message("the thresholds of count {count} must not fall", count=count)
            )
        if count * step + max(map(abs, values)) >= _LARGEST:
            problems.append(
                Message("count {count} would be published beyond 2**53 steps", count=count)
            )
        if count * step + min(values) < 0:
            lowest = count + Fraction(int(min(values)), step)
            problems.append(
                Message(
                    "count {count} would be published as {lowest:g}",
                    count=count,
                    lowest=float(lowest),
                )
            )
    return problems


def _canonical(
    noise: Sequence[int], upper: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Drop empty intervals and join equal neighbours: same behaviour, same content."""
    values: list[int] = []
    ends: list[int] = []
    lower = 0
    for v, end in zip(noise, upper, strict=True):
        if end == lower:
            continue
        if values and values[-1] == v:
            ends[-1] = int(end)
        else:
            values.append(int(v))
            ends.append(int(end))
        lower = end
    return tuple(values), tuple(ends)


def _power(number: int) -> str:
    is_power = number & (number - 1) == 0 and number > 2**10
    return f"2**{number.bit_length() - 1}" if is_power else str(number)
