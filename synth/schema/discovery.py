"""Domains that nobody declared, found at a price that is on the bill."""

from __future__ import annotations

import bisect
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dp import Geometric, Sensitivity
from footing.messages import Message, Name
from synth.errors import DomainError, SynthError
from synth.marginals.coarse import group_codes
from synth.marginals.spending import Call, Spend, calls_of, range_of, range_price
from synth.schema.coding import distinct_values, grid_numbers
from synth.schema.columns import BINS_FOUND, FOUND, Category, Column, Date, Numeric, key_of
from synth.schema.rules.constraints import identities_of
from synth.schema.schema import with_starts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from dp import DiscreteGaussian
    from footing.arrays import Integers
    from synth.marginals.measuring import Neighbours, NoiseSource
    from synth.schema.columns import Column
    from synth.schema.schema import Schema

_CHANCE = 0.01
_STANDS_OUT = 3.0  # in scales of the noise
_MOST_BINS = 64
_MOST_SPLIT = 1000
_LARGEST = 2**53
_WHOLE = re.compile("0|-?[1-9][0-9]{0,14}")
_READ: dict[Any, tuple[str, Any]] = {str(truth): ("truth", truth) for truth in (True, False)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Discovery:
    """How much finding undeclared domains may cost.

    Parameters
    ----------
    share
        Share of the budget, for all of them together.
    delta_share
        Share of delta, for categories: what only a few have is shown with this chance at most.
    bins_share
        Share of what is left for bins, if all columns are wide and have none; each of these
        costs its part.

    Examples
    --------
    >>> Discovery(share=0.05).share
    0.05
    """

    share: float = 0.1
    delta_share: float = 0.5
    bins_share: float = 0.5

    def __post_init__(self) -> None:
        if not all(0 < one < 1 for one in (self.share, self.delta_share, self.bins_share)):
            raise SynthError(Message("share, delta_share and bins_share lie between 0 and 1."))


def discover(
    records: pd.DataFrame,
    schema: Schema,
    *,
    rho: float,
    delta: float,
    neighbours: Neighbours,
    noise: NoiseSource,
) -> tuple[Schema, list[Call]]:
    """Return the schema with every domain declared, and what finding them cost.

    Parameters
    ----------
    records
        The records, within the bound on records of a unit.
    schema
        Their declaration.
    rho, delta
        What may be spent; delta only on categories.
    neighbours
        Which data sets must look alike.
    noise
        Where the noise comes from.

    Notes
    -----
    Categories: the values that occur are counted, noise of scale ``s = reach / epsilon`` is
    added, and those from ``k + s ln(k / delta)`` on are kept, ``k`` being the most records of
    a unit: one that only one unit has shows through with chance ``delta`` at most. For
    ``k = 1`` this is ``1 + ln(1 / delta) / epsilon``. Bounds: a table of the numbers between
    round numbers gets noise, and the outermost cells that stand out from it are the bounds.

    References
    ----------
    Korolova et al. 2009; Bun, Steinke 2016, lemma 8.8: (epsilon, delta) is pure privacy
    but for a chance of delta; see `docs/explanation/privacy/synth-proof.md` for its price.

    Examples
    --------
    >>> import pandas as pd
    >>> from synth import Schema, SimulatedNoise, Whole
    >>> from synth.marginals.measuring import Neighbours
    >>> records = pd.DataFrame({"age": np.arange(1000) % 90})
    >>> found, calls = discover(
    ...     records,
    ...     Schema(columns=[Whole(name="age")]),
    ...     rho=0.1,
    ...     delta=0,
    ...     neighbours=Neighbours(),
    ...     noise=SimulatedNoise(seed=1),
    ... )
    >>> found.column("age").low, found.column("age").high
    (0, 99)
    """
    names = schema.undeclared
    categories = [name for name in names if isinstance(schema.column(name), Category)]
    if categories and not delta > 0:
        raise SynthError(
            Message("Categories are found with a small chance of failure: a delta is needed."),
            hint=Message("give the budget as epsilon and delta, or declare the categories"),
        )
    search = _Search(neighbours, noise)
    calls = []
    for name in names:
        column, price = schema.column(name), rho / len(names) * (1 - 1e-9)
        if isinstance(column, Category):
            slip = delta / len(categories)
            column, call = search.values(records[name], column, rho=price, delta=slip)
        elif isinstance(column, Numeric):
            column, call = search.bounds(records[name], column, rho=price)
        schema = schema.with_column(column)
        calls.append(call)
    return schema, calls


def find_bins(
    records: pd.DataFrame,
    schema: Schema,
    *,
    rho: float,
    neighbours: Neighbours,
    noise: NoiseSource,
) -> tuple[Schema, list[Call]]:
    """Return the schema with bins where a wide range has none, and what they cost.

    Numbers are counted by their leading digits, with noise; what many share is looked at again,
    one digit further, down to single numbers. Cells of few records are then put together.

    References
    ----------
    Cormode, Kulkarni, Srivastava 2019 (hierarchical histograms); Zhang, Xiao, Xie 2016 (cells
    are split where noisy counts are large).
    """
    search, calls = _Search(neighbours, noise), list[Call]()
    for column in wide_columns(schema):
        new_column, more = search.bins(
            records[column.name], column, rho=rho / len(schema.columns)
        )
        schema = schema.with_column(new_column)
        calls += more
    return schema, calls


def wide_columns(schema: Schema) -> list[Numeric]:
    """Return the columns whose range is wide and has no bins, which `find_bins` finds."""
    derived = identities_of(schema)
    wide = (one for one in schema.columns if isinstance(one, Numeric) and one.is_uncut)
    return [one for one in wide if one.name not in derived]


@dataclass(frozen=True, slots=True)
class _Search:
    """What finds domains with noise."""

    neighbours: Neighbours
    noise: NoiseSource

    def values(
        self, values: pd.Series, column: Category, *, rho: float, delta: float
    ) -> tuple[Category, Call]:
        """Find the values of a column of categories."""
        neighbours = self.neighbours
        most, reach = neighbours.rows, neighbours.reach
        sensitivity = Sensitivity(
            l1=reach, adjacency=neighbours.adjacency, unit=neighbours.unit
        )
        how = Geometric.calibrated(sensitivity, epsilon=range_of(rho) / 2)
        threshold = most + how.scale * math.log(most / delta) * (1 + 1e-9)
        call = Call(
            what="categories",
            columns=(column.name,),
            law="geometric above a threshold",
            sensitivity=reach,
            scale=how.scale,
            rho=range_price(2 * reach / how.scale),
            delta=delta,
            threshold=threshold,
            keys=most,
        )
        coded = {key_of(mark) for mark in column.missing.values()}
        counts = {
            key: count
            for key, count in _counted(values, column.name).items()
            if key not in coded and key[0] != "null"
        }
        keys = sorted(counts, key=lambda key: (key[0], str(key[1])))
        noisy = self.noise.add(np.array([counts[key] for key in keys], np.int64), how)  # type: ignore[arg-type]
        categories: list[Any] = [
            key[1] for key, count in zip(keys, noisy, strict=True) if count >= threshold
        ]
        other = "other" if column.other is None else column.other
        if key_of(other) not in {key_of(value) for value in categories}:
            categories.append(other)
        new_column = replace(column, values=tuple(categories), other=other, declared_by=FOUND)
        return new_column, call

    def bounds(self, values: pd.Series, column: Numeric, *, rho: float) -> tuple[Numeric, Call]:
        """Find the bounds of a column of numbers."""
        how = self.neighbours.counting(rho)
        (call,) = calls_of([Spend.of("bounds", how, columns=(0,))], [column.name])
        starts = _round_numbers(column)
        numbers = np.clip(grid_numbers(values, column), starts[0], starts[-1] - 1)
        cells = np.searchsorted(np.array(starts), numbers, side="right") - 1
        counts: Integers = np.bincount(cells, minlength=len(starts) - 1).astype(np.int64)
        noisy = self.noise.add(counts, how)
        threshold = how.scale * math.sqrt(2 * math.log(len(counts) / _CHANCE))
        full_cells = np.flatnonzero(noisy > threshold)
        if not full_cells.size:
            raise SynthError(
                Message(
                    "No bounds of column {column!r} stand out from the noise.",
                    column=Name(column.name),
                ),
                hint=Message("declare them, or give discovery a larger share of the budget"),
            )
        low, high = (
            column.shown(n) for n in (starts[full_cells[0]], starts[full_cells[-1] + 1] - 1)
        )
        ends: dict[str, Any] = {"low": low, "high": high}
        if not isinstance(column, Date):
            kind = int if column.kind == "whole" else float
            ends = {name: kind(value) for name, value in ends.items()}
        return replace(column, **ends, outside="clip", declared_by=FOUND), call

    def bins(
        self, values: pd.Series, column: Numeric, *, rho: float
    ) -> tuple[Numeric, list[Call]]:
        """Cut a column of numbers where they are many."""
        low, high = column.bounds
        digits = _digits(column)
        how = self.neighbours.counting(rho / (digits + 1) * (1 - 1e-9))
        calls = calls_of([Spend.of("bins", how, columns=(0,))] * (digits + 1), [column.name])
        counts, heaps = self._counts(grid_numbers(values, column), (low, high), digits, how)
        starts, least = np.array(sorted(counts)), _STANDS_OUT * how.scale
        masses = np.maximum([counts[start] for start in starts.tolist()], 0.0)
        alone = np.where(np.isin(starts, heaps), np.arange(len(starts)), -1)
        groups = group_codes(
            masses, is_ordered=True, most=_MOST_BINS, least=least, patterns=alone
        )
        firsts = np.maximum(starts[np.unique(groups, return_index=True)[1]], low).tolist()
        by = "; ".join(filter(None, (column.declared_by, BINS_FOUND)))
        return replace(with_starts(column, firsts), declared_by=by), calls

    def _counts(
        self, numbers: Integers, bounds: tuple[int, int], digits: int, how: DiscreteGaussian
    ) -> tuple[dict[int, float], list[int]]:
        """Count numbers in cells that begin at round ones, and return those that many share."""
        low, high = bounds
        numbers = np.clip(numbers, low, high)
        starts = np.arange(low // 10**digits, high // 10**digits + 1) * 10**digits
        by_start, least = dict[int, float](), 0.0
        for width in (10**place for place in range(digits, -1, -1)):
            if not starts.size:
                break
            noisy = self.noise.add(_within(numbers, starts, width), how)
            least = least or max(_STANDS_OUT * how.scale, float(noisy.sum()) / _MOST_SPLIT)
            is_many = noisy > least
            few = np.ones(len(starts), bool) if width == 1 else ~is_many
            by_start |= dict(zip(starts[few].tolist(), noisy[few].tolist(), strict=True))
            many = starts[is_many]
            starts = (many[:, None] + width // 10 * np.arange(10)).ravel()
            starts = starts[(starts <= high) & (starts + width // 10 > low)]
        return by_start, many.tolist()


def is_unpaid(column: Column, paid: Sequence[str]) -> bool:
    """Tell whether something of a column was found that no call of these kinds pays for."""
    parts = column.declared_by.split("; ")
    if FOUND in parts and not {*paid} & {"categories", "bounds"}:
        return True
    return (
        BINS_FOUND in parts
        and isinstance(column, Numeric)
        and paid.count("bins") <= _digits(column)
    )


def _digits(column: Numeric) -> int:
    """Return how many digits of a number are looked at after the first two, one by one."""
    low, high = column.bounds
    return max(len(str(high - low)) - 2, 0)


def _within(numbers: Integers, starts: Integers, width: int) -> Integers:
    """Count the numbers in cells of one width, of which none overlap."""
    cells = np.searchsorted(starts, numbers, side="right") - 1
    inside = (cells >= 0) & (numbers < starts[cells] + width)
    return np.bincount(cells[inside], minlength=len(starts)).astype(np.int64)


def stood_in(records: pd.DataFrame, schema: Schema) -> tuple[pd.DataFrame, Schema]:
    """Give every column without a domain one value, to try what comes after finding domains.

    Refuses values whose domain could not be found.
    """
    unknown = [schema.column(name) for name in schema.undeclared if name in records.columns]
    for column in unknown:
        if isinstance(column, Numeric):
            grid_numbers(records[column.name], column)
            whole = next(one for one in range(99) if one not in column.missing.values())
            value: Any = "1970-01-01" if isinstance(column, Date) else whole
            stand_in: Column = replace(column, low=value, high=value, edges=(), points=())
        else:
            _counted(records[column.name], column.name)
            value = "any"
            stand_in = replace(column, values=(value,), other=value)  # type: ignore[call-arg]
        records = records.assign(**{column.name: value})
        schema = schema.with_column(stand_in)
    names = {column.name for column in unknown}
    rules = tuple(rule for rule in schema.rules if not names & {*rule.columns})
    return records, replace(schema, rules=rules)


def _counted(values: pd.Series, name: str) -> dict[tuple[str, object], int]:
    """Count the records of each value, alike values of different types together."""
    by_value: dict[tuple[str, object], int] = {}
    places, unlike = distinct_values(values, name)
    counts = np.bincount(places[places >= 0], minlength=len(unlike)).tolist()
    for value, count in zip(unlike, counts, strict=True):
        if not count:  # a type may know values that none has
            continue
        key: tuple[str, Any] = key_of(value)
        if key[0] == "text":  # one record decides whether a file is read as texts
            key = _READ.get(key[1], key)
            if _WHOLE.fullmatch(str(key[1])):
                key = ("number", int(key[1]))
        if key[0] == "number" and abs(key[1]) < _LARGEST and key[1] == int(key[1]):
            key = ("number", int(key[1]))
        elif key[0] in ("number", "unknown"):
            raise DomainError(
                Message(
                    "Column {name!r}: values that are no text, whole numbers or truth values.",
                    name=Name(name),
                ),
                hint=Message(
                    "declare it as Real; numbers of 16 digits or more are given as texts"
                ),
            )
        by_value[key] = by_value.get(key, 0) + int(count)
    return by_value


def _round_numbers(column: Numeric) -> list[int]:
    """Return public places where bounds may lie: 1, 2, 5, 10, 20 …, or years."""
    if isinstance(column, Date):
        return [column.number(f"{year}-01-01") for year in range(1800, 2201)]
    steps = [digit * 10**power for power in range(13) for digit in (1, 2, 5)]
    sizes = [step * column.factor for step in steps if step * column.factor <= _LARGEST]
    starts = sorted({0, *sizes, *(-size for size in sizes)})
    # Codes for missing, -8 say, must not lie within.
    return starts[bisect.bisect_left(starts, -_LARGEST) :]
