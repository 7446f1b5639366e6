"""The only door to the confidential records: counts with noise, and noisy choices.

Whatever else the engine does, it does with what comes out of here. The proof has one paragraph
for each public method of `Measurer` (`docs/explanation/privacy/synth-proof.md`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any, ClassVar, Protocol

import numpy as np

from dp import Adjacency, DiscreteGaussian, Exponential, Sensitivity, histogram
from footing.arrays import AnyIntegers, Floats, Integers
from footing.messages import Argument, Message
from synth.errors import SynthError
from synth.marginals.spending import (
    GRAIN,
    PrivacyAccountant,
    Spend,
    gaussian_noise,
    range_of,
)

# Weights are multiples of 1/1024, at most 1, and what they weigh is whole and at most 2**42, so
# that scores are exact in doubles.
_GRAIN = 1024.0
_FAR = 2.0**41
#: The largest score of a rank, in whole numbers: products are exact.
SCORE = 1024
_UP = 1 + 1e-12  # above what rounding takes from a root


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """Which data sets must look alike.

    Parameters
    ----------
    adjacency
        ``ADD_REMOVE``: the number of records is confidential. ``REPLACE``: it is public.
    rows
        The most records of one unit.
    unit
        Who is protected.

    Examples
    --------
    >>> Neighbours(rows=4, unit="household").reach
    4
    """

    adjacency: Adjacency = Adjacency.ADD_REMOVE
    rows: int = 1
    unit: str = "record"

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        if self.adjacency not in {Adjacency.ADD_REMOVE, Adjacency.REPLACE}:
            raise SynthError(
                Message(
                    "Neighbours are add-remove or replace, not {adjacency}.",
                    adjacency=self.adjacency,
                )
            )
        if self.rows < 1:
            raise SynthError(
                Message("A unit has at least 1 record, not {rows}.", rows=Argument(self.rows))
            )

    @property
    def reach(self) -> int:
        """How far one unit moves the sum of absolute differences of a table."""
        return self.rows * (1 if self.adjacency is Adjacency.ADD_REMOVE else 2)

    def counting(self, rho: float, *, most: int = 1) -> DiscreteGaussian:
        """Return the noise of a table, or of a sum, that costs rho.

        Parameters
        ----------
        rho
            What the table may cost.
        most
            What a record counts as at most.

        Examples
        --------
        >>> round(Neighbours().counting(0.02).scale, 3)
        5.0
        """
        return _counting(self, rho, most)

    def correlating(self, rho: float, *, pairs: int) -> DiscreteGaussian:
        """Return the noise of sums of products of scores, all pairs together.

        Parameters
        ----------
        rho
            What they may cost.
        pairs
            How many sums there are.

        Examples
        --------
        >>> Neighbours(rows=2).correlating(0.02, pairs=1).sensitivity.l2 / SCORE**2
        2.0
        """
        most = float(self.reach * SCORE**2)
        reach = Sensitivity(
            l1=most * pairs,
            l2=most * math.sqrt(pairs) * (1 if pairs == 1 else _UP),
            adjacency=self.adjacency,
            unit=self.unit,
        )
        return DiscreteGaussian(sensitivity=reach, scale=gaussian_noise(reach.l2, rho))

    def choosing(self, rho: float) -> Exponential:
        """Return the choice that costs rho, among misfits with weights of 1 at most.

        Parameters
        ----------
        rho
            What the choice may cost.

        Examples
        --------
        >>> Neighbours(rows=2).choosing(0.02).sensitivity
        2.0
        """
        return Exponential(
            epsilon=range_of(rho),
            sensitivity=float(self.reach),
            adjacency=self.adjacency,
            unit=self.unit,
        )


class Measurer:
    """Who counts the records, adds the noise and notes the price.

    Parameters
    ----------
    codes
        One row a record, one column a variable, integers from 0.
    sizes
        How many codes each column has.
    neighbours
        Which data sets must look alike.
    accountant
        What may be spent.
    noise
        Where the noise comes from.

    Examples
    --------
    >>> from synth import SimulatedNoise
    >>> from synth.marginals.spending import PrivacyAccountant
    >>> codes = np.array([[0, 1], [1, 1]])
    >>> measurer = Measurer(
    ...     codes, (2, 2), Neighbours(), PrivacyAccountant(1e6), SimulatedNoise(seed=1)
    ... )
    >>> measurer.margin(1, rho=1e5)[0]
    array([0, 2])
    """

    def __init__(
        self,
        codes: AnyIntegers,
        sizes: Sequence[int],
        neighbours: Neighbours,
        accountant: PrivacyAccountant,
        noise: NoiseSource,
    ) -> None:
        self._columns = [codes[:, column] for column in range(len(sizes))]
        self._sizes = list(sizes)
        self._records = len(codes)
        self._tables: dict[tuple[int, ...], Integers] = {}
        self._misfits: dict[tuple[int, ...], tuple[Floats, float]] = {}
        self._neighbours, self._accountant, self._noise = neighbours, accountant, noise

    def public_records(self) -> int | None:
        """Return the number of records where neighbours have as many, otherwise none."""
        public = self._neighbours.adjacency is Adjacency.REPLACE
        return self._records if public else None

    @property
    def noise(self) -> str:
        """Where the noise comes from."""
        return self._noise.label

    @property
    def left(self) -> float:
        """What is left of the budget."""
        return self._accountant.rho - self._accountant.spent

    def scale_of(self, rho: float) -> float:
        """Return the scale of the noise of a table that costs rho.

        Parameters
        ----------
        rho
            The price.
        """
        return self._neighbours.counting(rho).scale

    def margin(self, column: int, *, rho: float) -> tuple[Integers, float]:
        """Count the codes of a column; return noisy counts and the scale of their noise.

        Parameters
        ----------
        column
            Which one.
        rho
            The price.
        """
        return self._noisy("margin", (column,), rho)

    def regroup(self, groups: Sequence[Integers]) -> None:
        """Replace codes by those of coarser groups, for every table from here on.

        Parameters
        ----------
        groups
            The group of each code, one array a column; made without a look at the records.
        """
        for column, group in enumerate(groups):
            self._sizes[column] = int(group.max()) + 1
            small: Any = np.uint8 if self._sizes[column] <= 256 else np.int32
            self._columns[column] = group.astype(small)[self._columns[column]]
        self._tables.clear()
        self._misfits.clear()

    def table(self, columns: tuple[int, ...], *, rho: float) -> tuple[Integers, float]:
        """Count the combinations of some columns; return noisy counts and their scale.

        Parameters
        ----------
        columns
            Which ones, in ascending order.
        rho
            The price.
        """
        return self._noisy("table", columns, rho)

    def ranks(
        self, scores: Mapping[int, Integers], *, rho: float
    ) -> tuple[dict[tuple[int, int], int], float]:
        """Add up the products of two scores of each record, for all pairs of some columns.

        Return noisy sums, in units of `SCORE` squared, and the scale of their noise.

        Parameters
        ----------
        scores
            The score of each code of a column, whole, from -`SCORE` to `SCORE`; made without a
            look at the records.
        rho
            The price.

        Notes
        -----
        A record adds at most `SCORE` squared in size to each of m sums, so that a unit moves
        them by its records times the root of m in l2; replaced records, by twice as much.
        """
        pairs = list(combinations(sorted(scores), 2))
        bounded = {
            c: np.clip(np.asarray(one, np.int64), -SCORE, SCORE) for c, one in scores.items()
        }
        how = self._neighbours.correlating(rho, pairs=len(pairs))
        self._accountant.pay(Spend.of("ranks", how, columns=tuple(sorted(scores))))
        values = {c: one[self._columns[c]] for c, one in bounded.items()}
        sums = np.array([values[a] @ values[b] for a, b in pairs], np.int64)
        noisy = self._noise.add(sums, how)
        return dict(zip(pairs, noisy.tolist(), strict=True)), how.scale

    def choose(
        self,
        expected: Mapping[tuple[int, ...], Floats],
        *,
        weights: Mapping[tuple[int, ...], float] | Floats,
        handicaps: Mapping[tuple[int, ...], float] | Floats,
        rho: float,
    ) -> tuple[int, ...]:
        """Choose the columns whose table the model gets wrong most, with noise.

        Parameters
        ----------
        expected
            The model's table of each candidate, in counts.
        weights
            The weight of each misfit, by candidate or in their order; only their ratios matter.
        handicaps
            What is taken off each misfit, likewise, from noisy numbers alone.
        rho
            The price.
        """
        candidates = list(expected)
        weight = _in_order(weights, candidates)
        weight = np.ceil(weight / weight.max() * _GRAIN) / _GRAIN
        how = self._neighbours.choosing(rho)
        self._accountant.pay(Spend.of("choice", how))
        misfits = np.array([self._misfit(one, table) for one, table in expected.items()])
        least = np.clip(_in_order(handicaps, candidates), -_FAR, _FAR)
        scores = weight * (misfits - np.rint(least))
        return candidates[self._noise.choose(scores.astype(np.float64), how)]

    def forget(self) -> None:
        """Let go of the records. Nothing can be measured from here on."""
        self._columns.clear()
        self._tables.clear()
        self._misfits.clear()

    def _misfit(self, columns: tuple[int, ...], expected: Floats) -> float:
        """Return the sum of absolute differences, an exact integer, or a limit above it."""
        misfit = self._misfits.get(columns)
        if (
            misfit is None or misfit[0] is not expected
        ):  # a round asks again for the same tables
            whole = np.rint(np.clip(expected, 0, 2.0**40)).astype(np.int64)
            size = min(float(np.abs(self._count(columns) - whole).sum()), _FAR)
            misfit = self._misfits[columns] = (expected, size)
        return misfit[1]

    def _noisy(self, what: str, columns: tuple[int, ...], rho: float) -> tuple[Integers, float]:
        how = self._neighbours.counting(rho)
        self._accountant.pay(Spend.of(what, how, columns=columns))
        return self._noise.add(self._count(columns), how), how.scale

    def _count(self, columns: tuple[int, ...]) -> Integers:
        if columns not in self._tables:
            shape = tuple(self._sizes[column] for column in columns)
            cells = self._columns[columns[0]].astype(np.int64)
            for column in columns[1:]:
                cells *= self._sizes[column]
                cells += self._columns[column]
            counts = np.bincount(cells, minlength=int(np.prod(shape)))
            self._tables[columns] = counts.astype(np.int64).reshape(shape)
        return self._tables[columns]


def _in_order(
    values: Mapping[tuple[int, ...], float] | Floats, candidates: Sequence[tuple[int, ...]]
) -> Floats:
    """Return a number for each candidate."""
    if isinstance(values, Mapping):
        values = np.array([values[one] for one in candidates], np.float64)
    return values


@lru_cache(maxsize=256)
def _counting(neighbours: Neighbours, rho: float, most: int) -> DiscreteGaussian:
    """Calibrate once for each price: many tables have the same."""
    one = histogram(neighbours.adjacency).for_units(neighbours.rows, unit=neighbours.unit)
    one = replace(one, l1=one.l1 * most, l2=one.l2 * most)
    return DiscreteGaussian(sensitivity=one, scale=gaussian_noise(one.l2, rho))


class NoiseSource(Protocol):
    """What runs the two mechanisms of the engine.

    Examples
    --------
    >>> isinstance(SimulatedNoise(seed=1).label, str)
    True
    """

    label: ClassVar[str]

    def add(self, counts: Integers, mechanism: DiscreteGaussian) -> Integers:
        """Return counts with noise."""

    def choose(self, scores: Floats, mechanism: Exponential) -> int:
        """Return the index of a candidate, likelier the better its score."""


class SecureNoise:
    """Exact noise from the randomness of the operating system. It has no seed.

    Examples
    --------
    >>> from dp import DiscreteGaussian, histogram
    >>> exact = DiscreteGaussian(sensitivity=histogram(), scale=1e-3)
    >>> SecureNoise().add(np.array([3, 4]), exact)
    array([3, 4])
    """

    label: ClassVar[str] = "secure"

    def add(self, counts: Integers, mechanism: DiscreteGaussian) -> Integers:
        """Return counts with noise, drawn by OpenDP on a fine lattice and rounded.

        Parameters
        ----------
        counts
            The true counts.
        mechanism
            The noise.
        """
        if not isinstance(mechanism, DiscreteGaussian):
            return np.asarray(mechanism.release(counts), np.int64)
        fine = replace(mechanism, scale=mechanism.scale * GRAIN)
        noisy = fine.release(np.asarray(counts, np.int64) * GRAIN)
        return np.asarray(np.rint(np.asarray(noisy) / GRAIN), np.int64)

    def choose(self, scores: Floats, mechanism: Exponential) -> int:
        """Return the index of a candidate, drawn by OpenDP.

        Parameters
        ----------
        scores
            One per candidate.
        mechanism
            The choice.
        """
        return mechanism.choose(scores)


class SimulatedNoise:
    """Noise that whoever knows the seed can subtract: for tests and benchmarks alone.

    Parameters
    ----------
    seed
        The seed.

    Examples
    --------
    >>> from dp import DiscreteGaussian, histogram
    >>> noise = DiscreteGaussian(sensitivity=histogram(), scale=2.0)
    >>> once = SimulatedNoise(seed=1).add(np.zeros(3, np.int64), noise)
    >>> (once == SimulatedNoise(seed=1).add(np.zeros(3, np.int64), noise)).all().item()
    True
    """

    label: ClassVar[str] = "simulated, NOT PRIVATE"

    def __init__(self, *, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    @property
    def rng(self) -> np.random.Generator:
        """The generator, for methods that draw by themselves.

        Examples
        --------
        >>> bool(SimulatedNoise(seed=1).rng.random() < 1)
        True
        """
        return self._rng

    def add(self, counts: Integers, mechanism: DiscreteGaussian) -> Integers:
        """Return counts with rounded Gaussian noise.

        Parameters
        ----------
        counts
            The true counts.
        mechanism
            The noise.
        """
        noise = self._rng.normal(0.0, mechanism.scale, counts.shape)
        return counts + np.rint(noise).astype(np.int64)

    def choose(self, scores: Floats, mechanism: Exponential) -> int:
        """Return the index of a candidate.

        Parameters
        ----------
        scores
            One per candidate.
        mechanism
            The choice.
        """
        noisy = scores / mechanism.scale + self._rng.gumbel(size=len(scores))
        return int(np.argmax(noisy))
