"""Baselines as engines of `Synthesizer`: the same ledger, certificate and files as the default.

The margins are those of the default, with discrete Gaussian noise; the dependence is none, or a
Gaussian copula from noisy Kendall's taus.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dp import Adjacency, DiscreteGaussian, Sensitivity
from synth.baselines.noise import kendall
from synth.baselines.published import (
    refuse_conditions,
    refuse_others,
)
from synth.copulas.gaussian import nearest_correlation
from synth.copulas.margins import Margin
from synth.errors import SynthError
from synth.marginals.measuring import Measurer, Neighbours, SecureNoise
from synth.marginals.spending import PrivacyAccountant, Spend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from synth.marginals.measuring import NoiseSource

_FORMAT = "ckm-synth-copula"


@dataclass(frozen=True, eq=False, kw_only=True)
class CopulaModel:
    """Margins of codes, and a Gaussian copula between them.

    Parameters
    ----------
    margins
        One per column.
    correlation
        Of the copula.
    spends
        Every look at the confidential records.
    """

    margins: tuple[Margin, ...]
    correlation: NDArray[np.float64]
    spends: tuple[Spend, ...]

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [len(margin.values) for margin in self.margins]

    def sample(
        self,
        number: int,
        *,
        rng: np.random.Generator,
        conditions: Mapping[int, int] | None = None,
    ) -> NDArray[np.int32]:
        """Draw records."""
        from scipy.special import ndtr

        refuse_conditions(conditions)
        values, vectors = np.linalg.eigh(self.correlation)
        root = vectors * np.sqrt(values.clip(min=0))
        u = ndtr(rng.standard_normal((number, len(self.margins))) @ root.T)
        drawn = [margin.inverse(u[:, at]) for at, margin in enumerate(self.margins)]
        return np.column_stack(drawn).astype(np.int32)

    def to_json(self) -> str:
        """Return the model as text."""
        return json.dumps(
            {
                "format": _FORMAT,
                "margins": [margin.cumulative.tolist() for margin in self.margins],
                "correlation": self.correlation.tolist(),
                "spends": [spend.record() for spend in self.spends],
            }
        )

    @classmethod
    def from_json(cls, text: str) -> CopulaModel:
        """Read what `to_json` wrote."""
        try:
            found = json.loads(text)
            if found["format"] != _FORMAT:
                raise SynthError("The file is no model of a copula.")
            heights = [np.array(one, np.float64) for one in found["margins"]]
            margins = tuple(
                Margin(values=np.arange(len(one), dtype=np.float64), cumulative=one)
                for one in heights
            )
            correlation = np.array(found["correlation"], np.float64)
            spends = tuple(Spend.from_record(spend) for spend in found["spends"])
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, SynthError):
                raise
            raise SynthError("The model of a copula cannot be read.") from None
        if correlation.shape != (len(margins),) * 2 or not np.isfinite(correlation).all():
            raise SynthError("The correlation does not fit the margins.")
        return cls(margins=margins, correlation=correlation, spends=spends)


class _RankMeasurer(Measurer):
    """A measurer that also counts concordant pairs of records."""

    def taus(self, *, rho: float) -> NDArray[np.float64]:
        """Return noisy Kendall's taus of all pairs of columns.

        Concordant less discordant pairs are a whole number; a record that is replaced moves it
        by ``2 (n - 1)`` at most.
        """
        pairs = list(combinations(range(len(self._columns)), 2))
        others = max(self._records - 1, 1)
        moved = 2.0 * others * self._neighbours.rows
        reach = Sensitivity(
            l1=moved * len(pairs),
            l2=moved * math.sqrt(len(pairs)),
            adjacency=Adjacency.REPLACE,
            unit=self._neighbours.unit,
        )
        how = DiscreteGaussian.calibrated(reach, rho=rho)
        self._accountant.pay(
            Spend(
                what="ranks",
                columns=tuple(range(len(self._columns))),
                sensitivity=reach.l2,
                scale=how.scale,
                rho=how.guarantee.rho,
            )
        )
        all_pairs = max(self._records * (self._records - 1) / 2, 1.0)
        exact = [kendall(self._columns[a], self._columns[b]) * all_pairs for a, b in pairs]
        whole = np.rint(np.array(exact)).astype(np.int64)
        return np.asarray((self._noise.add(whole, how) / all_pairs).clip(-1, 1))


def fit_histogram(
    codes: NDArray[np.integer],
    *,
    sizes: Sequence[int],
    rho: float,
    noise: NoiseSource | None = None,
    neighbours: Neighbours | None = None,
    **others: Any,
) -> CopulaModel:
    """Fit noisy margins alone; columns are drawn independently."""
    refuse_others(others)
    neighbours = neighbours or Neighbours()
    accountant = PrivacyAccountant(float(rho))
    measurer = Measurer(codes, sizes, neighbours, accountant, noise or SecureNoise())
    margins = _margins(measurer, sizes, accountant.rho)
    measurer.forget()
    return CopulaModel(
        margins=margins, correlation=np.eye(len(sizes)), spends=tuple(accountant.spends)
    )


def fit_copula(
    codes: NDArray[np.integer],
    *,
    sizes: Sequence[int],
    rho: float,
    noise: NoiseSource | None = None,
    neighbours: Neighbours | None = None,
    **others: Any,
) -> CopulaModel:
    """Fit a Gaussian copula: half of rho for the margins, half for Kendall's taus.

    References
    ----------
    Li, Xiong, Jiang 2014.
    """
    refuse_others(others)
    neighbours = neighbours or Neighbours()
    if neighbours.adjacency is not Adjacency.REPLACE:
        raise SynthError(
            "The noise on Kendall's tau needs a public number of records.",
            hint="Budget(…, adjacency='replace'), or --adjacency replace",
        )
    accountant = PrivacyAccountant(float(rho))
    measurer = _RankMeasurer(codes, sizes, neighbours, accountant, noise or SecureNoise())
    share = 0.5 if len(sizes) > 1 else 1.0
    margins = _margins(measurer, sizes, accountant.rho * share)
    matrix = np.eye(len(sizes))
    if len(sizes) > 1:
        above = np.triu_indices(len(sizes), 1)
        matrix[above] = np.sin(np.pi / 2 * measurer.taus(rho=(1 - 1e-9) * measurer.left))
        matrix = nearest_correlation(matrix + matrix.T - np.eye(len(sizes)))
    measurer.forget()
    return CopulaModel(margins=margins, correlation=matrix, spends=tuple(accountant.spends))


def _margins(measurer: Measurer, sizes: Sequence[int], rho: float) -> tuple[Margin, ...]:
    price = rho * (1 - 1e-9) / len(sizes)
    return tuple(
        Margin.of_counts(np.arange(size), counts=measurer.margin(place, rho=price)[0])
        for place, size in enumerate(sizes)
    )
