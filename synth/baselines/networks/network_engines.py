"""PrivBayes as an engine of `Synthesizer`, within a budget."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dp import Exponential
from footing.arrays import AnyIntegers, Floats, Integers
from footing.checks import require_integer, require_number
from footing.messages import Message
from synth.baselines.networks.network import (
    Family,
    NetworkTable,
    conditional,
    draw_network,
    raked,
    sizes_of,
    useful_families,
)
from synth.baselines.published import JointModel, refuse_add_remove, refuse_others
from synth.errors import SynthError
from synth.marginals.coarse import group_codes, onto_simplex, shrink_within
from synth.marginals.drawing import draw_within
from synth.marginals.measuring import Measurer, Neighbours, NoiseSource
from synth.marginals.spending import PrivacyAccountant, Spend, range_of
from synth.schema.public import coarse_table

_MAX_BINS = 24
_EXACT = 1 - 1e-9
_SLACK = 1 + 1e-6  # logarithms are rounded


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """What may be chosen of PrivBayes.

    Parameters
    ----------
    degree
        The most parents of a column.
    usefulness
        How large the mean cell of a table is at least, in scales of its noise.
    margin_share, choice_share
        Shares of the budget for margins, and of the rest for choosing parents.
    """

    degree: int = 3
    usefulness: float = 1.0
    margin_share: float = 0.3
    choice_share: float = 0.2

    def __post_init__(self) -> None:
        require_integer(self.degree, "degree", error=SynthError, minimum=1)
        require_number(self.usefulness, "usefulness", error=SynthError, above=0)
        for name in ("margin_share", "choice_share"):
            require_number(getattr(self, name), name, error=SynthError, above=0, below=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class NetworkModel(JointModel):
    """A network of columns, each with the law given its parents.

    Parameters
    ----------
    bins
        The bin of each code, one array a column.
    shares
        The share of each code in its bin, one array a column.
    tables
        The laws, parents before children.
    spends
        Every look at the confidential records.
    """

    kind: ClassVar[str] = "network"

    bins: tuple[Integers, ...]
    shares: tuple[Floats, ...]
    tables: tuple[NetworkTable, ...]
    spends: tuple[Spend, ...] = ()

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [len(one) for one in self.bins]

    def _drawn(self, number: int, rng: np.random.Generator) -> list[Integers]:
        draws = draw_network(number, self.tables, rng=rng)
        parts = zip(draws.T, self.bins, self.shares, strict=True)
        return [draw_within(bins, bin_of, share, rng=rng) for bins, bin_of, share in parts]

    def _parts(self) -> dict[str, Any]:
        return {
            "bins": self.bins,
            "shares": self.shares,
            "tables": [
                {"child": one.child, "parents": one.parents, "cumulative": one.cumulative}
                for one in self.tables
            ],
            "spends": self.spends,
        }

    @classmethod
    def _of_parts(cls, content: Mapping[str, Any]) -> Self:
        bins = tuple(np.array(one, np.int64) for one in content["bins"])
        sizes = sizes_of(bins)
        tables = tuple(
            NetworkTable(
                child=int(one["child"]),
                parents=tuple(int(parent) for parent in one["parents"]),
                sizes=tuple(sizes[parent] for parent in one["parents"]),
                cumulative=np.array(one["cumulative"], np.float64),
            )
            for one in content["tables"]
        )
        _check_tables(tables, sizes)
        shares = tuple(np.array(one, np.float64) for one in content["shares"])
        if [one.shape for one in shares] != [one.shape for one in bins]:
            raise SynthError(Message("The shares of codes do not fit the bins."))
        spends = tuple(Spend.from_dict(spend) for spend in content["spends"])
        return cls(bins=bins, shares=shares, tables=tables, spends=spends)


def fit_priv_bayes(
    codes: AnyIntegers,
    *,
    sizes: Sequence[int],
    rho: float,
    ordered: Sequence[bool],
    noise: NoiseSource,
    neighbours: Neighbours,
    settings: NetworkSettings | None = None,
    **others: Any,
) -> NetworkModel:
    """Fit PrivBayes: margins, then parents for each column, then its table with them.

    Notes
    -----
    A column has as many parents as the budget can tell from noise: the mean cell of their table
    holds `usefulness` times the scale of the noise at least (theta-usefulness). The published
    method adds Laplace noise and puts numbers into equal bins; here noise is discrete Gaussian,
    so that it costs rho as the default does, and bins follow from noisy margins.

    References
    ----------
    Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017, sections 4.3 (score R) and 4.5.
    """
    refuse_others(others)
    refuse_add_remove(neighbours, Message("The choice of a network"))
    options = settings or NetworkSettings()
    varying = [column for column, size in enumerate(sizes) if size > 1] or [0]
    columns = len(varying)
    accountant = PrivacyAccountant(float(rho))
    measurer = _NetworkMeasurer(codes, sizes, neighbours, accountant, noise)
    share = options.margin_share if columns > 1 else 1.0
    total = float(len(codes))
    margins = [(np.full(1, len(codes), np.int64), 0.0) for _ in sizes]
    for column in varying:
        margins[column] = measurer.margin(column, rho=_EXACT * rho * share / columns)
    rest = _EXACT * rho * (1 - share) / max(columns - 1, 1)
    price = rest * (1 - options.choice_share)
    least = options.usefulness * measurer.scale_of(price) if columns > 1 else 0.0
    masses = [onto_simplex(counts.astype(np.float64), total=total) for counts, _ in margins]
    bins = tuple(
        group_codes(mass, is_ordered=is_ordered, most=_MAX_BINS, least=least)
        for mass, is_ordered in zip(masses, ordered, strict=True)
    )
    measurer.regroup(bins)
    margin_tables = [coarse_table(mass, [one]) for mass, one in zip(masses, bins, strict=True)]
    root = max(varying, key=lambda column: len(margin_tables[column]))
    network: list[Family] = [
        (column, ()) for column in range(len(sizes)) if column == root or column not in varying
    ]
    while len(network) < len(sizes):
        members = [one for one, _ in network]
        limits = {"degree": options.degree, "cells": total / least}
        network.append(measurer.parents(members, **limits, rho=rest * options.choice_share))
    # What columns without parents leave goes to the tables of the others.
    price = _EXACT * measurer.left / max(sum(bool(of) for _, of in network), 1)
    tables = [measurer.law(family, margin_tables, rho=price) for family in network]
    measurer.forget()
    return NetworkModel(
        bins=bins,
        shares=tuple(
            shrink_within(counts.astype(np.float64), one, scale=scale)
            for (counts, scale), one in zip(margins, bins, strict=True)
        ),
        tables=tuple(tables),
        spends=tuple(accountant.spends),
    )


class _NetworkMeasurer(Measurer):
    """A measurer that also chooses parents by how far they are from independence."""

    def parents(
        self, members: Sequence[int], *, degree: float, cells: float, rho: float
    ) -> Family:
        """Choose the next column and its parents, with noise.

        Score R: half the sum of absolute differences between the counts of a table and those
        of independence. A record that is replaced moves it by 3 at most: the counts by 1, and
        by 1 each of the two margins whose product they are compared with, twice.
        """
        how = Exponential(
            epsilon=range_of(rho),
            sensitivity=3.0 * self._neighbours.rows * _SLACK,
            adjacency=self._neighbours.adjacency,
            unit=self._neighbours.unit,
        )
        self._accountant.pay(Spend.of("choice", how))
        families = useful_families(self._sizes, members, degree=int(degree), cells=cells)
        noise = math.sqrt(2 / math.pi) * self._records / cells / 2
        scores = [self._apart(one) - noise * self._cells(one) for one in families]
        return families[self._noise.choose(np.array(scores, np.float64), how)]

    def law(self, family: Family, margins: Sequence[Floats], *, rho: float) -> NetworkTable:
        """Return the law of a column given its parents, from noisy tables and margins."""
        child, parents = family
        order = (*parents, child)
        if not parents:
            return conditional(margins[child], child, parents)
        columns = tuple(sorted(order))
        counts, _ = self.table(columns, rho=rho)
        table = onto_simplex(counts.ravel().astype(np.float64), total=float(self._records))
        turned = np.transpose(
            table.reshape(counts.shape), [columns.index(one) for one in order]
        )
        return conditional(raked(turned, [margins[one] for one in order]), child, parents)

    def _apart(self, family: Family) -> float:
        child, parents = family
        if not parents:
            return 0.0
        columns = tuple(sorted((child, *parents)))
        table = np.moveaxis(self._count(columns), columns.index(child), 0)
        flat = table.reshape(len(table), -1)
        product = np.outer(flat.sum(axis=1), flat.sum(axis=0))
        return float(np.abs(self._records * flat - product).sum()) / (2 * self._records)

    def _cells(self, family: Family) -> int:
        child, parents = family
        return math.prod(self._sizes[one] for one in (child, *parents)) if parents else 0


def _check_tables(tables: Sequence[NetworkTable], sizes: Sequence[int]) -> None:
    """Refuse laws that do not fit each other."""
    earlier: set[int] = set()
    for table in tables:
        rows, is_new = int(np.prod(table.sizes)), table.child not in earlier
        inside = 0 <= table.child < len(sizes) and {*table.parents} <= earlier
        if not (inside and is_new and table.cumulative.shape == (rows, sizes[table.child])):
            raise SynthError(Message("The tables of the network do not fit each other."))
        heights = table.cumulative
        rises = np.isfinite(heights).all() and (np.diff(heights, axis=1) >= 0).all()
        if not (rises and (heights >= 0).all() and np.allclose(heights[:, -1], 1)):
            raise SynthError(Message("A distribution of the network does not rise to 1."))
        earlier.add(table.child)
    if earlier != set(range(len(sizes))):
        raise SynthError(Message("A column has no distribution in the network."))
