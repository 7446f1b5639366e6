"""Domains that nobody declared, found at a price that is on the bill."""

from __future__ import annotations

import bisect
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dp import Geometric, Sensitivity
from synth.errors import DomainError, SynthError
from synth.marginals.spending import Call, gaussian_price, range_of, range_price
from synth.schema.coding import distinct_values, grid_numbers
from synth.schema.columns import Category, Date, Numeric, key_of

if TYPE_CHECKING:
    import pandas as pd

    from footing.arrays import Integers
    from synth.marginals.measuring import Neighbours, NoiseSource
    from synth.schema.schema import Schema

_FOUND = "found in the records, at a price"
_CHANCE = 0.01
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

    Examples
    --------
    >>> Discovery(share=0.05).share
    0.05
    """

    share: float = 0.1
    delta_share: float = 0.5

    def __post_init__(self) -> None:
        if not (0 < self.share < 1 and 0 < self.delta_share < 1):
            raise SynthError("share and delta_share lie between 0 and 1.")


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
    but for a chance of delta; see `docs/synth-proof.md` for its price.

    Examples
    --------
    >>> import pandas as pd
    >>> from synth import Neighbours, Schema, SimulatedNoise, Whole
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
            "Categories are found with a small chance of failure: a delta is needed.",
            hint="give the budget as epsilon and delta, or declare the categories",
        )
    search = _Search(neighbours, noise)
    calls = []
    for name in names:
        if name not in records.columns:
            raise DomainError(f"Column {name!r} is not in the records.")
        column, price = schema.column(name), rho / len(names) * (1 - 1e-9)
        if isinstance(column, Category):
            slip = delta / len(categories)
            column, call = search.values(records[name], column, rho=price, delta=slip)
        elif isinstance(column, Numeric):
            column, call = search.bounds(records[name], column, rho=price)
        schema = schema.with_column(column)
        calls.append(call)
    return schema, calls


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
        moved = Sensitivity(l1=reach, adjacency=neighbours.adjacency, unit=neighbours.unit)
        how = Geometric.calibrated(moved, epsilon=range_of(rho) / 2)
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
        coded = {key_of(written) for written in column.missing.values()}
        counted = {
            key: count
            for key, count in _counted(values, column.name).items()
            if key not in coded and key[0] != "null"
        }
        keys = sorted(counted, key=lambda key: (key[0], str(key[1])))
        noisy = self.noise.add(np.array([counted[key] for key in keys], np.int64), how)  # type: ignore[arg-type]
        kept: list[Any] = [
            key[1] for key, count in zip(keys, noisy, strict=True) if count >= threshold
        ]
        other = "other" if column.other is None else column.other
        if key_of(other) not in {key_of(value) for value in kept}:
            kept.append(other)
        found = replace(column, values=tuple(kept), other=other, declared_by=_FOUND)
        return found, call

    def bounds(self, values: pd.Series, column: Numeric, *, rho: float) -> tuple[Numeric, Call]:
        """Find the bounds of a column of numbers."""
        how = self.neighbours.counting(rho)
        call = Call(
            what="bounds",
            columns=(column.name,),
            law="fine discrete Gaussian",
            sensitivity=how.sensitivity.l2,
            scale=how.scale,
            rho=gaussian_price(how.sensitivity.l2, how.scale),
        )
        starts = _round_numbers(column)
        numbers = np.clip(grid_numbers(values, column), starts[0], starts[-1] - 1)
        cells = np.searchsorted(np.array(starts), numbers, side="right") - 1
        counts: Integers = np.bincount(cells, minlength=len(starts) - 1).astype(np.int64)
        noisy = self.noise.add(counts, how)
        threshold = how.scale * math.sqrt(2 * math.log(len(counts) / _CHANCE))
        kept = np.flatnonzero(noisy > threshold)
        if not kept.size:
            raise SynthError(
                f"No bounds of column {column.name!r} stand out from the noise.",
                hint="declare them, or give discovery a larger share of the budget",
            )
        low, high = (column.shown(n) for n in (starts[kept[0]], starts[kept[-1] + 1] - 1))
        ends: dict[str, Any] = {"low": low, "high": high}
        if not isinstance(column, Date):
            kind = int if column.kind == "whole" else float
            ends = {name: kind(value) for name, value in ends.items()}
        return replace(column, **ends, outside="clip", declared_by=_FOUND), call


def _counted(values: pd.Series, name: str) -> dict[tuple[str, object], int]:
    """Count the records of each value, alike values of different types together."""
    found: dict[tuple[str, object], int] = {}
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
                f"Column {name!r}: values that are no text, whole numbers or truth values.",
                hint="declare it as Real; numbers of 16 digits or more are given as texts",
            )
        found[key] = found.get(key, 0) + int(count)
    return found


def _round_numbers(column: Numeric) -> list[int]:
    """Return public places where bounds may lie: 1, 2, 5, 10, 20 …, or years."""
    if isinstance(column, Date):
        return [column.number(f"{year}-01-01") for year in range(1800, 2201)]
    steps = [digit * 10**power for power in range(13) for digit in (1, 2, 5)]
    sizes = [step * column.factor for step in steps if step * column.factor <= _LARGEST]
    starts = sorted({0, *sizes, *(-size for size in sizes)})
    # Codes for missing, -8 say, must not lie within.
    return starts[bisect.bisect_left(starts, -_LARGEST) :]
