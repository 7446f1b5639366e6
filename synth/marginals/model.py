"""The fitted model: noisy tables, what they cost, and records drawn from them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Columns, Flags, Floats, Integers
from footing.messages import Argument, Message
from footing.serialisation import plain_fields
from synth.errors import SynthError
from synth.marginals.belief import Network
from synth.marginals.drawing import draw_codes, draw_within
from synth.marginals.spending import Spend
from synth.methods import CodeModel
from synth.schema.nesting import Nest, narrowed_below
from synth.schema.public import coarse_table

_STEEPEST = 50.0  # of a tilt, from the least to the largest value of a column
_CHUNK = 2**17  # rows drawn at a time: as much as stays in the cache
_FEW = 2**17  # records that chance does not even out
_WIDER, _SMALL = 2, 200_000  # how much larger the graph may become by a total by category


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Measured:
    """A noisy table and the factor that makes the model agree with it.

    Parameters
    ----------
    columns
        Its columns.
    counts
        Noisy counts, by groups of codes.
    scale
        Scale of the noise; 0 for a table that was public.
    potential
        The logarithm of the factor.

    Examples
    --------
    >>> zero = np.zeros(2)
    >>> Measured(columns=(0,), counts=zero, scale=3.0, potential=zero).columns
    (0,)
    """

    columns: Columns
    counts: Floats
    scale: float
    potential: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class TableModel(CodeModel):
    """A distribution over records, made from noisy tables alone.

    Parameters
    ----------
    groups
        The group of each code, one array a column.
    shares
        The share of each code in its group, one array a column.
    tables
        The measured tables.
    masks
        Combinations of groups that the rules allow (1) or not (0).
    nests
        Codes that lie in codes of other columns, coarser columns first. The finest code that
        is drawn tells the others.
    records
        How many records there are, from noisy counts unless it is public.
    spends
        Every look at the confidential records.
    rho
        The budget.
    adjacency, rows, unit
        The neighbours: what they are, the most records of a unit, who is protected.
    noise
        Where the noise came from.

    Examples
    --------
    >>> from synth import SimulatedNoise, fit_codes
    >>> codes = np.random.default_rng(1).integers(0, 3, (500, 2))
    >>> model = fit_codes(codes, sizes=[3, 3], rho=0.5, noise=SimulatedNoise(seed=1))
    >>> TableModel.from_json(model.to_json()).sample(4, rng=np.random.default_rng(1)).shape
    (4, 2)
    """

    kind: ClassVar[str] = "model"

    groups: tuple[Integers, ...]
    shares: tuple[Floats, ...]
    tables: tuple[Measured, ...]
    masks: tuple[tuple[Columns, Floats], ...] = ()
    nests: tuple[Nest, ...] = ()
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
    def network(self) -> Network:
        """The graph of the model."""
        sizes = [int(group.max()) + 1 for group in self.groups]
        return Network(sizes, [table.columns for table in self.tables], self.masks)

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
        number
            How many.
        rng
            Randomness; what it draws protects nobody, so it may have a seed.
        allowed
            Which codes some columns may have. Others are drawn given these, none rejected.

        Returns
        -------
        numpy.ndarray
            One row a record, the codes of each column.
        """
        if number < 0:
            raise SynthError(
                Message("The number of records cannot be {number}.", number=number)
            )
        shares = dict(enumerate(self.shares))
        allowed = narrowed_below(allowed or {}, self.nests)
        for column, flags in allowed.items():
            weights = shares[column] * flags
            # Whoever asks for a value that noise left without a share gets it.
            shares[column] = weights if weights.any() else flags.astype(np.float64)
        evidence = {c: np.bincount(self.groups[c], shares[c]).astype(float) for c in allowed}
        for one in self.nests:  # the codes that lie in it say how likely a parent is
            if one.parent in evidence:
                evidence[one.parent] = (evidence[one.parent] > 0).astype(float)
        _, beliefs = self.network.calibrate(
            [table.potential for table in self.tables], evidence=evidence
        )
        codes = np.empty((number, len(self.groups)), np.int32)
        for start in range(0, number, _CHUNK):
            part = codes[start : start + _CHUNK]
            coarse = draw_codes(
                self.network, beliefs, number=len(part), rng=rng, is_even=number <= _FEW
            )
            for column, group in enumerate(self.groups):
                part[:, column] = draw_within(coarse[column], group, shares[column], rng=rng)
            for one in reversed(self.nests):  # finest first
                wrong = one.contradictions(part)
                part[wrong, one.parent] = one.above[part[wrong, one.child]]
        return codes

    def expected(self, first: int, second: int) -> Floats:
        """Return the counts that the model expects of two columns.

        Parameters
        ----------
        first, second
            The columns, ascending.
        """
        if not 0 <= first < second < len(self.groups):
            raise SynthError(
                Message(
                    "Columns must be ascending, not {first} and {second}.",
                    first=Argument(first),
                    second=second,
                )
            )
        _, beliefs = self.network.calibrate([table.potential for table in self.tables])
        coarse = dict(self.network.pairs_of(first, beliefs))[second]
        fine = coarse[np.ix_(self.groups[first], self.groups[second])]
        return np.asarray(
            self.records * fine * self.shares[first][:, None] * self.shares[second][None, :]
        )

    def chances(self, column: int) -> Floats:
        """Return how likely each code of a column is.

        Parameters
        ----------
        column
            The column.
        """
        coarse = self._margins[(column,)]
        return np.asarray(coarse[self.groups[column]] * self.shares[column])

    @cached_property
    def _margins(self) -> dict[Columns, Floats]:
        """The chances of the groups of each column, for one calibration of the network."""
        _, beliefs = self.network.calibrate([table.potential for table in self.tables])
        tables = zip(self.tables, self.network.marginals(beliefs), strict=True)
        return {table.columns: one for table, one in tables if len(table.columns) == 1}

    def tilted(self, column: int, values: Floats, *, mean: float) -> Self:
        """Return the model nearest to this one in which a column has a mean.

        Nearest in relative entropy: each code is likelier by a factor of exp(its value times a
        constant), and all else is as it was given the code.

        Parameters
        ----------
        column
            The column.
        values
            The value of each of its codes.
        mean
            The mean, between the least and the largest value.
        """
        chances, groups = self.chances(column), self.groups[column]
        weights = self.shares[column] * np.exp(_tilt(chances, values, mean))
        factors = np.bincount(groups, weights)
        shares, tables = list(self.shares), list(self.tables)
        shares[column] = weights / factors[groups]
        place = [table.columns for table in tables].index((column,))
        potential = tables[place].potential + np.log(factors)
        tables[place] = replace(tables[place], potential=potential)
        model = replace(self, shares=tuple(shares), tables=tuple(tables))
        model.__dict__["network"] = self.network  # the graph is the same
        return model

    def tilted_by(self, column: int, by: int, values: Floats, *, totals: Floats) -> Self:
        """Return a model in which a column has a total in each category of another.

        Groups of codes are tilted as `tilted` does, in each group of categories apart; how many
        records each of these has stays. Where the graph of the model would become too large by
        it, the model stays as it is.

        Parameters
        ----------
        column, by
            The column, and that of the categories.
        values
            The value of each code of the column.
        totals
            The total of each category.
        """
        first, second = sorted((column, by))
        network = self.network
        if network.tree.home((first, second), sizes=network.sizes) is None:
            wider = Network(network.sizes, [*network.sets, (first, second)], self.masks)
            if wider.cells > max(_WIDER * network.cells, _SMALL):
                return self
            network = wider
        joint = self.coarse((first, second), self.expected(first, second))
        joint = joint if column == second else joint.T  # a row a group of categories
        levels = np.asarray(
            np.bincount(self.groups[column], self.shares[column] * values), np.float64
        )
        goals = np.bincount(self.groups[by], totals)
        factors = np.zeros_like(joint)
        for row, (counts, goal) in enumerate(zip(joint, goals, strict=True)):
            if counts.sum() > 0 and np.ptp(levels) > 0:
                factors[row] = _tilt(counts / counts.sum(), levels, goal / counts.sum())
        potential = factors if column == second else factors.T
        table = Measured(
            columns=(first, second),
            counts=np.zeros(potential.shape),
            scale=0.0,
            potential=potential,
        )
        return replace(self, tables=(*self.tables, table))

    def coarse(self, columns: Columns, table: Floats) -> Floats:
        """Sum a table of codes over the groups of the model.

        Parameters
        ----------
        columns
            The columns of the table.
        table
            The table.
        """
        return coarse_table(table, [self.groups[column] for column in columns])

    def _parts(self) -> dict[str, Any]:
        return {
            "version": 1,
            "groups": self.groups,
            "shares": self.shares,
            "tables": self.tables,
            "masks": [
                {"columns": columns, "allowed": mask.astype(int)}
                for columns, mask in self.masks
            ],
            **({"nests": [plain_fields(one) for one in self.nests]} if self.nests else {}),
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
            tables=tuple(
                Measured(
                    columns=tuple(int(column) for column in table["columns"]),
                    counts=np.asarray(table["counts"], np.float64),
                    scale=float(table["scale"]),
                    potential=np.asarray(table["potential"], np.float64),
                )
                for table in content["tables"]
            ),
            masks=tuple(
                (tuple(int(c) for c in mask["columns"]), np.asarray(mask["allowed"], float))
                for mask in content["masks"]
            ),
            nests=tuple(
                Nest(
                    child=int(one["child"]),
                    parent=int(one["parent"]),
                    above=np.asarray(one["above"], np.int64),
                    values=int(one["values"]),
                )
                for one in content.get("nests", ())
            ),
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
            for group, share in zip(self.groups, self.shares, strict=True)
        )
        parts = [(table.columns, table.potential) for table in self.tables]
        for columns, values in [*parts, *self.masks]:
            are_inside = all(0 <= column < len(sizes) for column in columns)
            fits = fits and are_inside and values.shape == tuple(sizes[c] for c in columns)
            fits = fits and bool(np.isfinite(values).all())
        for one in self.nests:
            are_inside = {one.child, one.parent} <= {*range(len(sizes))}
            fits = fits and are_inside and one.above.shape == self.groups[one.child].shape
            fits = fits and one.values <= len(self.groups[one.parent])
            fits = fits and -1 <= one.above.min(initial=0) <= one.above.max(initial=-1)
            fits = fits and bool(one.above.max(initial=-1) < one.values)
        if not fits:
            raise SynthError(Message("The parts of the model do not fit each other."))
        return self


def _tilt(chances: Floats, values: Floats, mean: float) -> Floats:
    """Return the logarithms of factors with which values have a mean, or come nearest to it.

    The chances still add up to 1.
    """
    from scipy.optimize import brentq

    scaled = (values - mean) / np.ptp(values)

    def miss(tilt: float) -> float:
        weights = chances * np.exp(tilt * scaled)
        return float(weights @ scaled / weights.sum())

    ends = -_STEEPEST, _STEEPEST
    if miss(ends[0]) >= 0:
        tilt = ends[0]
    elif miss(ends[1]) <= 0:
        tilt = ends[1]
    else:
        tilt = brentq(miss, *ends)
    return np.asarray(tilt * scaled - np.log(float(chances @ np.exp(tilt * scaled))))
