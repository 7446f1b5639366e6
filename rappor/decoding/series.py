"""Periods of one collection: estimates of each, and what changed between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from footing.messages import Message
from rappor.decoding.decode import decode, fitted_twice, own_bits
from rappor.decoding.testing import adjusted, upper_tail
from rappor.errors import MismatchError, RapporError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from footing.arrays import Flags, Floats
    from rappor.counts import Counts
    from rappor.decoding.candidates import Candidates
    from rappor.decoding.regression import Observed
    from rappor.decoding.result import Decoding
    from rappor.decoding.testing import Correction


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Change:
    """What changed from one period to the next, as shares of all reports.

    Parameters
    ----------
    before, after
        The periods.
    estimates, sds
        Of each candidate.
    p_values, adjusted
        Chance of a change as large where there is none, by itself and allowing for all
        candidates.
    is_significant
        Whether the adjusted one is at most the level.
    """

    before: str
    after: str
    estimates: Floats
    sds: Floats
    p_values: Floats
    adjusted: Floats
    is_significant: Flags


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Series:
    """Periods of one collection, decoded.

    Parameters
    ----------
    names
        The candidates.
    periods
        Their names, in order.
    decodings
        Of each period.
    changes
        From each period to the next.
    mean, mean_sds
        Shares over all periods, with errors that the permanent noise of the same clients does
        not leave.
    is_panel
        Whether changes were tested as those of the same clients.
    """

    names: tuple[str, ...]
    periods: tuple[str, ...]
    decodings: tuple[Decoding, ...]
    changes: tuple[Change, ...]
    mean: Floats
    mean_sds: Floats
    is_panel: bool

    def to_frame(self) -> pd.DataFrame:
        """Give a line for each period and candidate: share, interval, change since before."""
        import pandas as pd
        from scipy.special import ndtri

        pieces = []
        for place, decoding in enumerate(self.decodings):
            half = float(ndtri((1 + decoding.confidence) / 2))
            shares, sds = decoding.estimates / decoding.total, decoding.sds / decoding.total
            piece: dict[str, Any] = {
                "period": self.periods[place],
                "candidate": self.names,
                "share": shares,
                "sd": sds,
                "low": shares - half * sds,
                "high": shares + half * sds,
            }
            if place:
                change = self.changes[place - 1]
                piece |= {
                    "change": change.estimates,
                    "change_sd": change.sds,
                    "adjusted": change.adjusted,
                    "is_significant": change.is_significant,
                }
            pieces.append(pd.DataFrame(piece))
        return pd.concat(pieces, ignore_index=True)


def series(
    periods: Mapping[str, Counts],
    candidates: Candidates,
    *,
    is_panel: bool = False,
    correction: Correction = "benjamini-hochberg",
    alpha: float = 0.05,
    confidence: float = 0.95,
) -> Series:
    """Decode the periods of a collection, and test what changed from each to the next.

    Parameters
    ----------
    periods
        Name → counts, in order.
    candidates
        As for `decode`.
    is_panel
        Whether the same clients report in all periods, with the same permanent responses.
        Their noise is then the same and falls out of changes, whose errors are smaller. If
        it is not so, changes are found that are none. Without it the errors of changes are
        those of other clients in each period: on the safe side for a panel, too.
    correction, alpha, confidence
        As for `decode`; the correction is over the candidates of one change.

    Raises
    ------
    RapporError
        If there are fewer than two periods, or one without reports.
    MismatchError
        If periods have other parameters.

    Notes
    -----
    With b = f/2 + (1 - f) x the share of permanent ones where a share x of clients sets a bit,
    the variance of a rate of n reports is r (1 - r) / n, of which ``(q - p)² b (1 - b) / n`` is
    of the permanent responses: the covariance of two periods of a panel. A change of a panel
    has twice the rest, ``(b q (1 - q) + (1 - b) p (1 - p)) / n``. The test of a panel is
    whether anybody's answer changed; where clients swap answers and the shares stay, it may
    find that, too.

    The mean of T periods has the variance ``((q - p)² b (1 - b) + rest / T) / n``, whoever
    reports: more periods of the same clients do not beat their permanent noise.

    Examples
    --------
    >>> from rappor import Candidates, Counts, Parameters
    >>> towns = Parameters.basic(2, f=0.5, p=0.25, q=0.75)
    >>> weeks = {
    ...     name: Counts(n=[10_000], ones=[[a, 10_000 - a]], parameters=towns)
    ...     for name, a in (("W1", 5_000), ("W2", 5_010), ("W3", 5_500))
    ... }
    >>> found = series(weeks, Candidates.of(["Lyon", "Nice"], parameters=towns))
    >>> [change.is_significant.tolist() for change in found.changes]
    [[False, False], [True, True]]
    """
    names, counts = tuple(periods), list(periods.values())
    if len(counts) < 2:
        raise RapporError(Message("A series needs two periods or more."))
    if any(one.parameters != counts[0].parameters for one in counts):
        raise MismatchError(
            Message("The periods were collected with different parameters."),
            hint=Message("make a series of each collection by itself"),
        )
    settings = {"correction": correction, "alpha": alpha, "confidence": confidence}
    decodings = tuple(decode(one, candidates, **settings) for one in counts)  # type: ignore[arg-type]
    changes = []
    for place in range(1, len(counts)):
        pair = counts[place - 1], counts[place]
        estimates, sds, freedom = _regressed(
            pair, candidates, weights=(-1.0, 1.0), is_panel=is_panel
        )
        p_values = np.minimum(1.0, 2 * upper_tail(np.abs(estimates), sds**2, freedom))
        level = adjusted(p_values, correction=correction)
        changes.append(
            Change(
                before=names[place - 1],
                after=names[place],
                estimates=estimates,
                sds=sds,
                p_values=p_values,
                adjusted=level,
                is_significant=level <= alpha,
            )
        )
    even = (1.0 / len(counts),) * len(counts)
    mean, mean_sds, _ = _regressed(counts, candidates, weights=even, is_panel=True)
    return Series(
        names=tuple("; ".join(group) for group in decodings[0].groups),
        periods=names,
        decodings=decodings,
        changes=tuple(changes),
        mean=mean,
        mean_sds=mean_sds,
        is_panel=is_panel,
    )


def _regressed(
    counts: Any, candidates: Candidates, *, weights: tuple[float, ...], is_panel: bool
) -> tuple[Floats, Floats, int]:
    """Regress a weighted sum of periods on the candidates, with the variance of its bits."""
    from functools import reduce
    from operator import add

    from rappor.decoding.regression import Normal, fit, observe, rest_height

    parameters = counts[0].parameters
    has_all = np.all([one.n > 0 for one in counts], axis=0)
    pooled = observe(reduce(add, counts))
    groups = candidates.groups
    whole = candidates.design[:, [group[0] for group in groups]]
    design = whole[pooled.rows].tocsc()
    if parameters.hash == "index":
        design, pooled, _ = own_bits(design, pooled)
    first, members = fitted_twice(design, pooled)
    # Cohorts that are empty in one of the periods say nothing of their sum.
    mask = has_all[pooled.rows // parameters.n_bits]
    if not mask.any():
        raise RapporError(Message("No cohort has reports in all periods."))
    rows = pooled.rows[mask]
    target, variance = np.zeros(rows.size), np.zeros(rows.size)
    between, within = _variances(pooled, first.fitted[mask])
    per_period = [_shares(one, rows) for one in counts]
    for weight, (share, n) in zip(weights, per_period, strict=True):
        target += weight * share
        variance += weight**2 * (within / n if is_panel else (between + within) / n)
    if is_panel:
        least = np.min([n for _, n in per_period], axis=0)
        variance += abs(sum(weights)) ** 2 * between / least
    normal = Normal.weighing(
        design[mask].tocsc(),
        target,
        1 / variance,
        height=rest_height(pooled),
        sums=0 if parameters.response == "bits" else int(has_all.sum()) - 1,
    )
    result = fit(normal, members)
    return result.estimates, np.sqrt(result.variances), result.freedom


def _variances(observed: Observed, shares: Floats) -> tuple[Floats, Floats]:
    """Give the variances of one report: permanent, and of what is drawn anew."""
    shape = observed.parameters
    x = np.clip(shares, 0.0, 1.0)
    lift = (shape.q_star - shape.p_star) ** 2
    if shape.response == "symbol":  # one report a value: nothing is permanent
        chance = np.clip(observed.expected(x), 1e-9, 1 - 1e-9)
        return np.zeros(x.size), chance * (1 - chance) / lift
    b = shape.f / 2 + (1 - shape.f) * x
    between = (shape.q - shape.p) ** 2 * b * (1 - b) / lift
    within = (b * shape.q * (1 - shape.q) + (1 - b) * shape.p * (1 - shape.p)) / lift
    return between, np.maximum(within, 1e-12)


def _shares(counts: Counts, rows: Any) -> tuple[Floats, Floats]:
    shape = counts.parameters
    n = np.repeat(counts.n, shape.n_bits)[rows].astype(float)
    ones = counts.ones.ravel()[rows]
    return (ones / n - shape.p_star) / (shape.q_star - shape.p_star), n
