"""A vine of numbers with a network of codes given them, all of it noisy or made from it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Floats, Integers
from footing.messages import Message
from synth.copulas.vine import FittedVine
from synth.errors import SynthError
from synth.marginals.drawing import draw_within
from synth.marginals.model import Measured
from synth.marginals.spending import Spend
from synth.methods import CodeModel
from synth.vine.codes import CodeNetwork

_CELLS = 2**23  # of chances held at a time
_Records = tuple[NDArray[np.int32], Floats]
_POOL = 8  # records drawn for one that is kept, at most, where some codes are asked for


@dataclass(frozen=True, eq=False, kw_only=True)
class PrivateVineModel(CodeModel):
    """A distribution over records: numbers from a vine, codes given them from tables.

    Parameters
    ----------
    groups, shares
        The group of each code, one array a column, and its share there.
    heights
        How high the margin of each number is at each of its codes.
    vine
        The pair-copulas of the numbers; None where there is one number, or none.
    tables
        The measured tables of codes, and of a code beside a number, with their factors.
    pairs
        The measured tables of two numbers, by cells of their own, whose potentials are 0.
    records
        How many records there are, from noisy counts unless it is public.
    spends
        Every look at the confidential records.
    rho
        The budget.
    adjacency, rows, unit
        The neighbours.
    noise
        Where the noise came from.
    """

    kind: ClassVar[str] = "private-vine"

    groups: tuple[Integers, ...]
    shares: tuple[Floats, ...]
    heights: Mapping[int, Floats]
    vine: FittedVine | None
    tables: tuple[Measured, ...]
    pairs: tuple[Measured, ...]
    records: float
    spends: tuple[Spend, ...]
    rho: float
    adjacency: str
    rows: int
    unit: str
    noise: str

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [len(group) for group in self.groups]

    @property
    def spent(self) -> float:
        """What was paid in all, in rho; never above the budget."""
        return math.fsum(spend.rho for spend in self.spends)

    @cached_property
    def network(self) -> CodeNetwork:
        """The graph of the codes."""
        sizes = [int(group.max()) + 1 for group in self.groups]
        codes = [column for column in range(len(sizes)) if column not in self.heights]
        return CodeNetwork(sizes, codes, [table.columns for table in self.tables])

    def chances(self, column: int) -> Floats | None:
        """Return how likely each code of a number is; None of other columns.

        Parameters
        ----------
        column
            The column.
        """
        heights = self.heights.get(column)
        return None if heights is None else np.diff(heights, prepend=0.0)

    def sample(
        self,
        number: int,
        *,
        rng: np.random.Generator,
        allowed: Mapping[int, Flags] | None = None,
    ) -> NDArray[np.int32]:
        """Draw records.

        Parameters
        ----------
        number, rng, allowed
            See `sample_with_heights`.
        """
        return self.sample_with_heights(number, rng=rng, allowed=allowed)[0]

    def sample_with_heights(
        self,
        number: int,
        *,
        rng: np.random.Generator,
        allowed: Mapping[int, Flags] | None = None,
    ) -> tuple[NDArray[np.int32], dict[int, Floats]]:
        """Draw records, and the height of each number within its margin.

        Parameters
        ----------
        number
            How many.
        rng
            Randomness; it protects nobody, so it may have a seed.
        allowed
            Which codes some columns may have. Numbers are drawn and kept as often as the codes
            asked for go with them; codes are drawn given both.
        """
        if number < 0:
            raise SynthError(
                Message("The number of records cannot be {number}.", number=number)
            )
        points = EvenPoints(len(self.heights) + max(len(self.network.tree.order), 1), rng)
        conditions = {c: flags for c, flags in (allowed or {}).items() if not flags.all()}
        chunk = max(1, min(2**14, _CELLS // max(self.network.cells, 1)))
        parts: list[_Records] = []
        rest, tries = number, _POOL * (number // chunk + 1)
        while rest > 0:
            if tries == 0:  # whoever asked for what hardly occurs refuses what does not fit
                conditions = {}
            some = self._drawn(
                points.next(chunk if conditions else min(chunk, rest)), rng, conditions
            )
            parts.append((some[0][:rest], some[1][:rest]))
            rest, tries = rest - len(parts[-1][0]), tries - 1
        if not parts:
            parts = [
                (np.empty((0, len(self.groups)), np.int32), np.empty((0, len(self.heights))))
            ]
        order = rng.permutation(number)
        codes, heights = (np.concatenate(one)[order] for one in zip(*parts, strict=True))
        return codes, {c: heights[:, at] for at, c in enumerate(sorted(self.heights))}

    def _drawn(
        self, uniforms: Floats, rng: np.random.Generator, conditions: Mapping[int, Flags]
    ) -> _Records:
        uniforms = uniforms.clip(1e-10, 1 - 1e-10)
        places = sorted(self.heights)
        points = uniforms[:, : len(places)]
        if self.vine is not None:
            points = self.vine.of_uniforms(points)
        codes = {
            column: codes_at(self.heights[column], points[:, at])
            for at, column in enumerate(places)
        }
        keep = np.ones(len(points), bool)
        for column in conditions.keys() & codes.keys():
            keep &= conditions[column][codes[column]]
        flags = {c: one for c, one in conditions.items() if c not in codes}
        groups = {c: self.groups[c][one] for c, one in codes.items()}
        potentials = [table.potential for table in self.tables]
        weights = {
            c: np.bincount(self.groups[c], self._shares(c, one)).astype(np.float64)
            for c, one in flags.items()
        }
        if self.network.codes:
            totals, beliefs = self.network.calibrate(
                potentials, groups, len(points), allowed=weights or None
            )
            if weights:
                usual, _ = self.network.calibrate(potentials, groups, len(points))
                odds = totals - usual
                keep &= rng.random(len(points)) < np.exp(odds - odds.max())
            groups_drawn = self.network.draw(beliefs, uniforms[:, len(places) :])
            for column, group in groups_drawn.items():
                shares = self._shares(column, conditions.get(column))
                codes[column] = draw_within(group, self.groups[column], shares, rng=rng)
        records = np.column_stack([codes[c] for c in range(len(self.groups))]).astype(np.int32)
        return records[keep], points[keep]

    def _shares(self, column: int, flags: Flags | None) -> Floats:
        if flags is None:
            return self.shares[column]
        weights = self.shares[column] * flags
        # Whoever asks for a value that noise left without a share gets it.
        return np.asarray(weights if weights.any() else flags.astype(np.float64))

    def _parts(self) -> dict[str, Any]:
        return {
            "version": 1,
            "groups": self.groups,
            "shares": self.shares,
            "heights": [{"column": c, "heights": one} for c, one in self.heights.items()],
            "vine": None if self.vine is None else self.vine.to_json(),
            "tables": self.tables,
            "pairs": self.pairs,
            "records": self.records,
            "spends": self.spends,
            "rho": self.rho,
            "adjacency": self.adjacency,
            "rows": self.rows,
            "unit": self.unit,
            "noise": self.noise,
        }

    @classmethod
    def _of_parts(cls, content: Mapping[str, Any]) -> Self:
        model = cls(
            groups=tuple(np.asarray(group, np.int64) for group in content["groups"]),
            shares=tuple(np.asarray(share, np.float64) for share in content["shares"]),
            heights={
                int(one["column"]): np.asarray(one["heights"], np.float64)
                for one in content["heights"]
            },
            vine=None if content["vine"] is None else FittedVine.from_json(content["vine"]),
            tables=_measured(content["tables"]),
            pairs=_measured(content["pairs"]),
            records=float(content["records"]),
            spends=tuple(Spend.from_dict(spend) for spend in content["spends"]),
            rho=float(content["rho"]),
            adjacency=str(content["adjacency"]),
            rows=int(content["rows"]),
            unit=str(content["unit"]),
            noise=str(content["noise"]),
        )
        return model.checked()

    def checked(self) -> Self:
        """Return the model itself, or refuse it if its parts do not fit each other."""
        sizes = [int(group.max(initial=-1)) + 1 for group in self.groups]
        fits = len(self.groups) == len(self.shares) and all(
            group.ndim == 1
            and group.size > 0
            and group.min() >= 0
            and share.shape == group.shape
            and bool(np.isfinite(share).all())
            for group, share in zip(self.groups, self.shares, strict=True)
        )
        for column, heights in self.heights.items():
            fits = (
                fits and 0 <= column < len(sizes) and heights.shape == self.groups[column].shape
            )
            fits = fits and bool((np.diff(heights) >= 0).all()) and heights[-1] == 1
        numbers = 0 if self.vine is None else self.vine.n
        fits = fits and numbers == (len(self.heights) if len(self.heights) > 1 else 0)
        for table in self.tables:
            are_inside = all(0 <= column < len(sizes) for column in table.columns)
            fits = fits and are_inside and 1 <= len(table.columns) <= 2
            fits = fits and table.potential.shape == tuple(sizes[c] for c in table.columns)
            fits = fits and bool(np.isfinite(table.potential).all())
            fits = fits and not {*table.columns} <= {*self.heights}
        if not fits:
            raise SynthError(Message("The parts of the model do not fit each other."))
        return self


class EvenPoints:
    """Uniform numbers spread evenly over a cube, as many at a time as asked for."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        from scipy.stats import qmc

        self._source = qmc.Sobol(size, rng=rng)

    def next(self, number: int) -> Floats:
        """Return the next points; the library counts in powers of two."""
        whole = 1 << max(number - 1, 0).bit_length()
        return np.asarray(self._source.random(whole)[:number])


def codes_at(heights: Floats, points: Floats) -> Integers:
    """Return the code at which a margin reaches each height."""
    codes = np.searchsorted(heights, points, side="left")
    return np.asarray(codes.clip(max=len(heights) - 1), np.int64)


def _measured(tables: Sequence[Mapping[str, Any]]) -> tuple[Measured, ...]:
    return tuple(
        Measured(
            columns=tuple(int(column) for column in table["columns"]),
            counts=np.asarray(table["counts"], np.float64),
            scale=float(table["scale"]),
            potential=np.asarray(table["potential"], np.float64),
        )
        for table in tables
    )
