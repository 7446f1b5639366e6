"""Does the engine keep its word? A lower bound of its epsilon, from thousands of fits.

The auditor has the worst files, an empty one and one of a record or a few that are alike, and
sees more than is ever released: every noisy number as it leaves the mechanism. What he finds
cannot exceed what the ledger says; how near it comes says how tight the ledger is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dp import audit, gaussian_epsilon
from synth.errors import SynthError
from synth.marginals.engine import fit_codes
from synth.marginals.measuring import SCORE, SecureNoise
from synth.marginals.spending import Budget, TableSettings

if TYPE_CHECKING:
    from dp import DiscreteGaussian, Exponential
    from footing.arrays import Floats, Integers
    from synth.marginals.measuring import NoiseSource

_COLUMNS = 2
_APART = 2.0  # standard deviations between the two files: easily told, and often not


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineAudit:
    """What an audit of the engine found.

    Parameters
    ----------
    epsilon, delta
        What the engine promises.
    measured
        The epsilon that the noise on the tables amounts to, from the scales of that noise.
    found
        The epsilon that the attacks prove, at the confidence ``1 - error``: no mechanism of
        smaller mu in Gaussian privacy could have been told apart as well.
    found_directly
        The same without any assumption on the shape of noise; weaker by far for few runs.
    runs
        Fits for each file.
    records
        How many records the second file has; the bounds are of one record.
    error
        The chance that a bound is wrong.
    """

    epsilon: float
    delta: float
    measured: float
    found: float
    found_directly: float
    runs: int
    records: int
    error: float

    @property
    def refutes(self) -> bool:
        """Whether the engine broke its promise."""
        return max(self.found, self.found_directly) > self.epsilon


def audit_engine(
    *,
    epsilon: float = 8.0,
    delta: float = 1e-5,
    runs: int = 4000,
    error: float = 0.05,
    noise: NoiseSource | None = None,
    method: str = "tables",
) -> EngineAudit:
    """Fit an empty file and a file of like records, many times, and try to tell them apart.

    Parameters
    ----------
    epsilon, delta
        The budget of a fit.
    runs
        Fits for each of the two files.
    error
        The chance that a bound may be wrong.
    noise
        The noise under audit; that of the operating system by default.
    method
        ``"tables"`` or ``"vine"``. Of a vine every look is seen, ranks too; the pair-copulas,
        which follow from the looks, are not fitted.

    Returns
    -------
    EngineAudit
        The bounds.

    Notes
    -----
    Each record raises one known cell of every table by 1. The likeliest test adds up these
    cells, each over its variance; the threshold is fixed beforehand. Under Gaussian privacy the
    two error rates of any test add up to ``2 Phi(-m / 2)`` at least, where m is mu times the
    number of records. The Clopper-Pearson bound of their mean, from all fits together, holds
    although the two differ: among sums of trials with one mean, that of equal trials spreads
    most. Where mu is small, several records are told apart in thousands of fits, one is not.

    References
    ----------
    Dong, Roth, Su 2022, theorem 2.14 (groups); Hoeffding 1956 (sums of unequal trials);
    Nasr et al. 2023, section 4 (audits in Gaussian privacy); Annamalai, Ganev, De Cristofaro
    2024 (worst neighbours, seen from inside).

    Examples
    --------
    >>> from synth import SimulatedNoise
    >>> audit_engine(runs=30, noise=SimulatedNoise(seed=1)).refutes
    False
    """
    if runs < 20 or not 0 < error < 1:
        raise SynthError("An audit takes 20 runs or more, and an error between 0 and 1.")
    rho = Budget(epsilon=epsilon, delta=delta).concentrated()
    witness = {"tables": _Witness, "vine": _VineWitness}[method](noise or SecureNoise())
    empty = np.zeros((0, witness.columns), np.int64)
    mu = witness.mu(empty, rho)  # from the scales of the noise, which are public
    records = max(1, round(_APART / mu))
    some = np.zeros((records, witness.columns), np.int64)
    without = np.array([witness.evidence(empty, rho, records) for _ in range(runs)])
    with_them = np.array([witness.evidence(some, rho, records) for _ in range(runs)])
    wrong = int((without > 0).sum() + (with_them <= 0).sum())
    proven = _proven_mu(wrong, 2 * runs, error) / records
    # A group of k has k epsilon and this delta.
    group_delta = delta * records * math.exp(min((records - 1) * epsilon, 700.0))
    direct = 0.0
    if group_delta < 1:
        direct = audit(
            lambda number: with_them[:number],
            lambda number: without[:number],
            runs=runs,
            delta=group_delta,
            error=error,
        ).epsilon
    return EngineAudit(
        epsilon=epsilon,
        delta=delta,
        measured=gaussian_epsilon(delta, mu=mu),
        found=gaussian_epsilon(delta, mu=proven) if proven > 0 else 0.0,
        found_directly=direct / records,
        runs=runs,
        records=records,
        error=error,
    )


class _Witness:
    """A source of noise that remembers what left it."""

    label: ClassVar[str] = "under audit, NOT PRIVATE"
    columns: ClassVar[int] = _COLUMNS
    _settings: ClassVar[TableSettings] = TableSettings(
        tables=_COLUMNS - 1, rounds=1, steps=1, least_group=0.0
    )

    def __init__(self, noise: NoiseSource) -> None:
        self._noise = noise
        self._evidence = self.precision = 0.0

    def mu(self, empty: Integers, rho: float) -> float:
        """Return how far the noise on what one record adds tells files apart."""
        self.evidence(empty, rho, 1)
        return math.sqrt(self.precision)

    def evidence(self, codes: Integers, rho: float, records: int) -> float:
        """Fit the codes; return how far the sum of the record's cells lies past the middle.

        Each cell counts over its variance; the middle is that of a file with so many records
        and of one without any.
        """
        self._evidence = self.precision = 0.0
        self._fit(codes, rho)
        return self._evidence - records * self.precision / 2

    def _fit(self, codes: Integers, rho: float) -> None:
        sizes = [2] * self.columns
        fit_codes(codes, sizes=sizes, rho=rho, noise=self, settings=self._settings)

    def add(self, counts: Integers, mechanism: DiscreteGaussian) -> Integers:
        noisy = self._noise.add(counts, mechanism)
        # Groups are numbered in the order of codes, so that the record is in the first cell.
        self._note(float(noisy.flat[0]), 1.0, mechanism.scale)
        return noisy

    def choose(self, scores: Floats, mechanism: Exponential) -> int:
        return self._noise.choose(scores, mechanism)

    def _note(self, noisy: float, of_a_record: float, scale: float) -> None:
        self._evidence += noisy * of_a_record / scale**2
        self.precision += of_a_record**2 / scale**2


class _VineWitness(_Witness):
    """The same of a vine of three numbers, whose ranks are seen as well."""

    columns: ClassVar[int] = 3

    def mu(self, empty: Integers, rho: float) -> float:
        """Return the mean of some fits: how much ranks tell follows from noisy margins."""
        return float(np.mean([super(_VineWitness, self).mu(empty, rho) for _ in range(20)]))

    def _fit(self, codes: Integers, rho: float) -> None:
        from unittest.mock import patch

        from synth.copulas import FittedVine
        from synth.marginals.measuring import Measurer
        from synth.vine import engine

        ranks = Measurer.ranks

        def seen(measurer: Measurer, scores: Any, *, rho: float) -> Any:
            self._scores = [float(scores[c][0]) for c in sorted(scores)]
            return ranks(measurer, scores, rho=rho)

        with (
            patch.object(Measurer, "ranks", seen),
            patch.object(engine, "fit_numbers", lambda one, *_: FittedVine.of(one, {})),
        ):
            settings = engine.PrivateVineSettings(least_group=0.0)
            terms: dict[str, Any] = {"noise": self, "settings": settings}
            engine.fit_private_vine(codes, sizes=[6] * 3, ordered=[True] * 3, rho=rho, **terms)

    def add(self, counts: Integers, mechanism: DiscreteGaussian) -> Integers:
        if len(counts.shape) > 1 or mechanism.sensitivity.l2 < SCORE:
            return super().add(counts, mechanism)
        noisy = self._noise.add(counts, mechanism)
        products = [a * b for a, b in combinations(self._scores, 2)]
        for one, product in zip(noisy.tolist(), products, strict=True):
            self._note(one, product, mechanism.scale)
        return noisy


def _proven_mu(wrong: int, trials: int, error: float) -> float:
    """Return a lower bound of mu from the number of wrong answers on both files together."""
    from scipy.special import ndtri
    from scipy.stats import beta

    most = float(beta.ppf(1 - error, wrong + 1, trials - wrong)) if wrong < trials else 1.0
    return float(-2 * ndtri(most))
