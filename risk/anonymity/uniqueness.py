"""Sample and population uniqueness: who is alone in the file, and alone outside too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.checks import require_number
from risk.anonymity.groups import as_pandas, columns_of, group_numbers
from risk.attacks.reconstruction.linkage import link
from risk.errors import RiskError
from risk.wellformed import read_numbers, require_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Uniqueness:
    """Hold how many records of a sample are alone, and how many are so in the population.

    Parameters
    ----------
    n_records
        Records of the sample.
    n_unique, n_pairs
        Groups of one record and of two in the sample.
    n_population_unique
        How many records alone in the sample are alone in the population: counted where the
        population was given, else expected.
    expected_identified
        The expected number of records that a random choice among those alike in the
        population identifies.
    match_risk
        The probability that a link of a person of the population to a record alone in the
        sample is correct; None where the sample has neither groups of one nor of two.
    """

    n_records: int
    n_unique: int
    n_pairs: int
    n_population_unique: float
    expected_identified: float
    match_risk: float | None

    def to_frame(self) -> pd.DataFrame:
        """Give one line per figure; `match_risk` is left out where it does not exist."""
        import pandas as pd

        figures = {name: getattr(self, name) for name in Uniqueness.__dataclass_fields__}
        lines = [(name, float(x)) for name, x in figures.items() if x is not None]
        return pd.DataFrame(lines, columns=["figure", "number"])

    def __repr__(self) -> str:
        return "Uniqueness(…)"


def uniqueness_within(
    sample: Any, population: Any, *, quasi_identifiers: Sequence[str]
) -> Uniqueness:
    """Count uniqueness where the whole population is at hand."""
    links = link(sample, population, quasi_identifiers=quasi_identifiers)
    if links.n_matched < links.n_records:
        raise RiskError("Every record of the sample must be in the population; some are not.")
    sizes, _ = _sizes(as_pandas(sample), quasi_identifiers)
    return Uniqueness(
        n_records=links.n_records,
        n_unique=links.n_unique,
        n_pairs=int((sizes == 2).sum()),
        n_population_unique=float(links.n_unique_in_both),
        expected_identified=links.expected_correct,
        match_risk=links.n_unique / links.n_known_alike if links.n_known_alike else None,
    )


def measure_uniqueness(
    sample: Any,
    *,
    quasi_identifiers: Sequence[str],
    sampling_fraction: float | None = None,
    weight: str | None = None,
) -> Uniqueness:
    """Estimate from a sample alone how many of its records are unique in the population.

    Notes
    -----
    Group by group ``p`` is the sampling fraction, or the records over the sum of their
    weights; the group's size in the population is ``f`` plus a negative binomial number. The
    match risk is ``p n_1 / (p n_1 + 2 (1 - p) n_2)`` with the overall ``p``.

    References
    ----------
    R. Benedetti, L. Franconi (1998), the individual risk of μ-Argus; C. Skinner, M. Elliot
    (2002), A measure of disclosure risk for microdata, JRSS B 64(4).
    """
    if (sampling_fraction is None) == (weight is None):
        raise RiskError("Population uniqueness needs either sampling_fraction or weight.")
    table = as_pandas(sample)
    sizes, numbers = _sizes(table, quasi_identifiers)
    if weight is not None:
        columns_of(table, [weight])
        weights = table[weight].to_numpy(dtype=np.float64, na_value=np.nan)
        if not (weights >= 1).all() or np.isinf(weights).any():
            raise RiskError("Weights must be numbers of at least 1; some are not.")
        p = sizes / np.bincount(numbers, weights)
        overall = len(table) / float(weights.sum())
    else:
        overall = require_number(
            sampling_fraction, "sampling_fraction", error=RiskError, above=0, maximum=1
        )
        p = np.full(len(sizes), overall)
    ones, twos = int((sizes == 1).sum()), int((sizes == 2).sum())
    met = overall * ones + 2 * (1 - overall) * twos
    return Uniqueness(
        n_records=len(table),
        n_unique=ones,
        n_pairs=twos,
        n_population_unique=float(p[sizes == 1].sum()),
        expected_identified=float((sizes * individual_risk(sizes, p)).sum()),
        match_risk=overall * ones / met if met else None,
    )


def individual_risk(sizes: ArrayLike, fractions: ArrayLike) -> NDArray[np.float64]:
    """Compute the mean of one over the population size of a group, given its sample size.

    With ``F = f`` plus a negative binomial number of failures before the ``f``-th success,
    ``E(1 / F) = (p / f) 2F1(1, 1; f + 1; 1 - p)``; for ``f = 1`` this is
    ``p ln(1 / p) / (1 - p)``.
    """
    from scipy.special import hyp2f1

    f = require_counts(sizes, name="sizes").astype(np.float64)
    p = read_numbers(fractions, name="fractions")
    if f.shape != p.shape:
        raise RiskError(f"sizes and fractions must be of one length: {f.shape}, {p.shape}.")
    if not ((f >= 1) & (p > 0) & (p <= 1)).all():
        raise RiskError("sizes must be at least 1 and fractions lie in (0, 1]; some do not.")
    risk: NDArray[np.float64] = p / f * hyp2f1(1, 1, f + 1, 1 - p)
    return risk


def _sizes(
    table: pd.DataFrame, quasi_identifiers: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not quasi_identifiers:
        raise RiskError("Uniqueness needs at least one quasi-identifier.")
    numbers, _ = group_numbers([c.codes for c in columns_of(table, quasi_identifiers)])
    return np.bincount(numbers), numbers
