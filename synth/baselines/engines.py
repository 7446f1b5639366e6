"""Baselines as engines of `Synthesizer`: the same ledger, certificate and files as the default.

The margins are those of the default, with discrete Gaussian noise; the dependence is none, or a
Gaussian copula from noisy Kendall's taus.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np

from dp import Adjacency, DiscreteGaussian, Sensitivity
from footing.arrays import AnyIntegers, Floats
from footing.messages import Message
from synth.baselines.noise import kendall
from synth.baselines.published import (
    JointModel,
    margins_of_codes,
    refuse_add_remove,
    refuse_others,
)
from synth.copulas.gaussian import correlation_of_taus
from synth.copulas.margins import Margin
from synth.errors import SynthError
from synth.marginals.measuring import Measurer, Neighbours, NoiseSource
from synth.marginals.spending import PrivacyAccountant, Spend, gaussian_noise


@dataclass(frozen=True, eq=False, kw_only=True)
class CopulaModel(JointModel):
    """Margins of codes, and a Gaussian copula between them.

    Parameters
    ----------
    margins
        One per column.
    correlation
        Of the copula.
    spends
        Every look at the confidential records.
    records
        How many records there are, from noisy counts.
    """

    kind: ClassVar[str] = "copula"

    margins: tuple[Margin, ...]
    correlation: Floats
    spends: tuple[Spend, ...]
    records: float = 0.0

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [len(margin.values) for margin in self.margins]

    def chances(self, column: int) -> Floats:
        """Return how likely each code of a column is."""
        return np.diff(np.append(0.0, self.margins[column].cumulative))

    def _drawn(self, number: int, rng: np.random.Generator) -> list[Floats]:
        from scipy.special import ndtr

        values, vectors = np.linalg.eigh(self.correlation)
        root = vectors * np.sqrt(values.clip(min=0))
        u = ndtr(rng.standard_normal((number, len(self.margins))) @ root.T)
        return [margin.inverse(u[:, at]) for at, margin in enumerate(self.margins)]

    def _parts(self) -> dict[str, Any]:
        return {
            "margins": [margin.cumulative for margin in self.margins],
            "correlation": self.correlation,
            "spends": self.spends,
            "records": self.records,
        }

    @classmethod
    def _of_parts(cls, content: Mapping[str, Any]) -> Self:
        margins = margins_of_codes(content["margins"])
        correlation = np.array(content["correlation"], np.float64)
        if correlation.shape != (len(margins),) * 2 or not np.isfinite(correlation).all():
            raise SynthError(Message("The correlation does not fit the margins."))
        spends = tuple(Spend.from_dict(spend) for spend in content["spends"])
        records = float(content.get("records", 0.0))
        return cls(margins=margins, correlation=correlation, spends=spends, records=records)


class _RankMeasurer(Measurer):
    """A measurer that also counts concordant pairs of records."""

    def taus(self, columns: Sequence[int], *, rho: float) -> Floats:
        """Return noisy Kendall's taus of all pairs of some columns.

        Concordant less discordant pairs are a whole number; a record that is replaced moves it
        by ``2 (n - 1)`` at most.
        """
        pairs = list(combinations(columns, 2))
        others = max(self._records - 1, 1)
        sensitivity = 2.0 * others * self._neighbours.rows
        reach = Sensitivity(
            l1=sensitivity * len(pairs),
            l2=sensitivity * math.sqrt(len(pairs)),
            adjacency=Adjacency.REPLACE,
            unit=self._neighbours.unit,
        )
        how = DiscreteGaussian(sensitivity=reach, scale=gaussian_noise(reach.l2, rho))
        self._accountant.pay(Spend.of("ranks", how, columns=tuple(columns)))
        all_pairs = max(self._records * (self._records - 1) / 2, 1.0)
        exact = [kendall(self._columns[a], self._columns[b]) * all_pairs for a, b in pairs]
        whole = np.rint(np.array(exact)).astype(np.int64)
        return np.asarray((self._noise.add(whole, how) / all_pairs).clip(-1, 1))


def fit_histogram(codes: AnyIntegers, **terms: Any) -> CopulaModel:
    """Fit noisy margins alone; columns are drawn independently."""
    return _fit(codes, has_ranks=False, **terms)


def fit_copula(codes: AnyIntegers, **terms: Any) -> CopulaModel:
    """Fit a Gaussian copula: half of rho for the margins, half for Kendall's taus.

    References
    ----------
    Li, Xiong, Jiang 2014.
    """
    return _fit(codes, has_ranks=True, **terms)


def _fit(
    codes: AnyIntegers,
    *,
    has_ranks: bool,
    sizes: Sequence[int],
    rho: float,
    noise: NoiseSource,
    neighbours: Neighbours,
    **others: Any,
) -> CopulaModel:
    refuse_others(others)
    if has_ranks:
        refuse_add_remove(neighbours, Message("The noise on Kendall's tau"))
    accountant = PrivacyAccountant(float(rho))
    measurer = _RankMeasurer(codes, sizes, neighbours, accountant, noise)
    varying = [place for place, size in enumerate(sizes) if size > 1] or [0]
    has_pairs = has_ranks and len(varying) > 1
    price = accountant.rho * (0.5 if has_pairs else 1.0) * (1 - 1e-9) / len(varying)
    margins = [Margin.of_counts(np.arange(size), counts=np.ones(size)) for size in sizes]
    sums, precisions = [], []
    for place in varying:
        counts = measurer.margin(place, rho=price)[0]
        sums.append(float(counts.sum()))
        precisions.append(1 / counts.size)
        margins[place] = Margin.of_counts(margins[place].values, counts=counts)
    correlation = np.eye(len(sizes))
    if has_pairs:
        taus = measurer.taus(varying, rho=(1 - 1e-9) * measurer.left)
        correlation[np.ix_(varying, varying)] = correlation_of_taus(taus, len(varying))
    measurer.forget()
    public = measurer.public_records()
    return CopulaModel(
        margins=tuple(margins),
        correlation=correlation,
        spends=tuple(accountant.spends),
        records=max(float(np.average(sums, weights=precisions)), 1.0)
        if public is None
        else public,
    )
