"""Decode counts: how many reports each candidate had, with its uncertainty and its test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from footing.checks import require_number
from footing.messages import Message, Name
from rappor.decoding.diagnostics import diagnostics
from rappor.decoding.result import Amount, Decoding
from rappor.decoding.testing import adjusted, binomial_tail, upper_tail
from rappor.errors import MismatchError, RapporError

if TYPE_CHECKING:
    from scipy.sparse import csc_array

    from footing.arrays import Flags, Floats, Integers
    from rappor.counts import Counts
    from rappor.decoding.candidates import Candidates
    from rappor.decoding.regression import Fit, Observed, Share
    from rappor.decoding.testing import Correction

#: Below so many expected ones, or zeros, the binomial law replaces the normal one.
_FEW = 30.0
_TOLERANCE = 1e-9
_MAX_STEPS = 200


def decode(
    counts: Counts,
    candidates: Candidates,
    *,
    correction: Correction = "benjamini-hochberg",
    alpha: float = 0.05,
    confidence: float = 0.95,
) -> Decoding:
    """Estimate how many reports were of each candidate, and test which had any.

    Parameters
    ----------
    counts
        The sums of the reports.
    candidates
        What to look for. Those that set the same bits everywhere are decoded as one.
    correction
        How many tests at once are allowed for, see `rappor.decoding.testing.adjusted`.
    alpha
        The level of the tests.
    confidence
        Of the intervals, each for itself.

    Raises
    ------
    RapporError
        If there is no report, or an option is out of range.
    MismatchError
        If counts and candidates were made with other parameters.

    Notes
    -----
    Unbiased shares of the bits are regressed on the candidates' bits with binomial weights
    from a first fit. One more column stands for strings that nobody named: each sets a bit
    with probability 1 - (1 - 1/k)^h. Variances are multiplied by the dispersion, the residual
    squares per degree of freedom, where it is above 1. Where the candidates are more than 0.8
    of the bits, a LASSO and tests choose those to fit together, and every other one is
    estimated beside them, with all that is not fitted as noise. Tests are one-sided.

    Estimates are unbiased; `plausible` has the amounts nearest to them that are not negative
    and add up to all reports, unknown strings among them.

    Examples
    --------
    >>> import numpy as np
    >>> from rappor import Candidates, Counts, Parameters
    >>> towns = Parameters.basic(3, f=0.0, p=0.25, q=0.75)
    >>> counts = Counts(n=[10_000], ones=[[5_000, 5_000, 2_510]], parameters=towns)
    >>> found = decode(counts, Candidates.of(["Lyon", "Nice", "Brest"], parameters=towns))
    >>> found.estimates.round().tolist(), found.is_detected.tolist()
    ([5000.0, 5000.0, 20.0], [True, True, False])
    """
    from rappor.decoding.regression import observe

    _check(counts, candidates, alpha=alpha, confidence=confidence)
    observed = observe(counts)
    groups = candidates.groups
    design = candidates.design[:, [group[0] for group in groups]][observed.rows].tocsc()
    rest = None
    if counts.parameters.hash == "index":
        design, observed, rest = own_bits(design, observed)
    fit, members = fitted_twice(design, observed)
    p_values = _p_values(design, observed, fit)
    total = counts.total
    is_joint = len(members) == len(groups)
    rest = fit.rest or rest
    level = adjusted(p_values, correction=correction)
    # Never less than without noise.
    share = np.clip(np.nan_to_num(fit.estimates), 0.0, 1.0)
    variances = np.maximum(fit.variances, share * (1 - share) / total)
    return Decoding(
        groups=tuple(tuple(candidates.names[place] for place in group) for group in groups),
        total=total,
        estimates=fit.estimates * total,
        sds=np.sqrt(variances) * total,
        plausible=_plausible(fit, rest, counts) * total,
        p_values=p_values,
        adjusted=level,
        correction=correction,
        alpha=alpha,
        confidence=confidence,
        freedom=fit.freedom,
        dispersion=fit.dispersion,
        unknown=_amount(rest, total) if is_joint else None,
        rest=_amount(rest, total),
        fitted_together=len(members),
        mass=_mass(fit, rest, counts),
        diagnostics=diagnostics(counts),
        parameters=counts.parameters,
    )


def fitted_twice(design: csc_array[np.float64], observed: Observed) -> tuple[Fit, Integers]:
    """Fit twice: with the weights of the mean, then with those of the first fit."""
    from rappor.decoding.regression import Normal, fit
    from rappor.decoding.screening import needs_screening, strong

    normal = Normal.of(design, observed, float(np.average(observed.share, weights=observed.n)))
    is_crowded = needs_screening(normal)
    members = strong(normal) if is_crowded else np.arange(normal.n_candidates)
    first = fit(normal, members)
    normal = Normal.of(design, observed, first.fitted)
    return fit(normal, members), members


def _p_values(design: csc_array[np.float64], observed: Observed, fit: Fit) -> Floats:
    """Test each candidate; where few ones or zeros are expected, count them.

    The binomial test asks for the chance of as many ones at the candidate's bits, were it not
    there; heterogeneous probabilities make it err on the safe side.
    """
    usual = upper_tail(fit.estimates, fit.variances, fit.freedom)
    flip = observed.parameters.q_star < observed.parameters.p_star
    counts = observed.n - observed.ones if flip else observed.ones
    reports, ones = np.asarray(design.T @ observed.n), np.asarray(design.T @ counts)
    share = np.nan_to_num(fit.estimates, nan=0.0).clip(min=0.0)
    chance = observed.expected(fit.fitted)
    expected = np.asarray(design.T @ (observed.n * (1 - chance if flip else chance)))
    gap = abs(observed.parameters.q_star - observed.parameters.p_star)
    expected = np.clip(expected - gap * share * reports, 0.0, reports)
    is_few = np.minimum(expected, reports - expected) < _FEW
    if not is_few.any():
        return usual
    exact = binomial_tail(ones[is_few], reports[is_few], expected[is_few] / reports[is_few])
    usual[is_few] = np.maximum(usual[is_few], exact)
    return usual


def _plausible(fit: Fit, rest: Share | None, counts: Counts) -> Floats:
    """Give shares that can be; what was not fitted together has none."""
    n, members, gram = len(fit.estimates), fit.kept, fit.gram
    everything = np.append(fit.estimates, fit.rest[0] if fit.rest else 0.0)
    if counts.parameters.is_boolean:
        return np.clip(fit.estimates, 0.0, 1.0)
    aim = everything[members]
    if counts.parameters.hash == "index" and rest is not None and rest[1]:
        gram = np.block(
            [[gram, np.zeros((len(members), 1))], [np.zeros(len(members)), 1 / rest[1]]]
        )
        aim, members = np.append(aim, rest[0]), np.append(members, n)
    shares = np.zeros(n + 1)
    if len(members):
        shares[members] = project_to_simplex(gram, aim)
    return shares[:n]


def own_bits(
    design: csc_array[np.float64], observed: Observed
) -> tuple[csc_array[np.float64], Observed, Share | None]:
    """Part the bits of basic RAPPOR: those of candidates, and the sum of all others."""
    import dataclasses

    is_own = np.asarray(design.sum(axis=1)).ravel() > 0
    arrays = {name: getattr(observed, name) for name in ("rows", "ones", "n", "share")}
    own = dataclasses.replace(observed, **{name: a[is_own] for name, a in arrays.items()})
    rest = None
    if not is_own.all():
        variance = float((1 / observed.weights(observed.share)[~is_own]).sum())
        rest = float(observed.share[~is_own].sum()), variance
    return design[is_own].tocsc(), own, rest


def _mass(fit: Fit, rest: Share | None, counts: Counts) -> Amount | None:
    """Add up what was fitted; in basic RAPPOR the rest was not fitted with it."""
    if counts.parameters.hash != "index":
        return _amount(fit.total if fit.rest else None, counts.total)
    if counts.parameters.is_boolean:
        return None
    (share, variance), (other, its_variance) = fit.total, rest or (0.0, 0.0)
    return _amount((share + other, variance + its_variance), counts.total)


def _amount(share: Share | None, total: int) -> Amount | None:
    if share is None:
        return None
    return Amount(estimate=share[0] * total, sd=float(np.sqrt(share[1])) * total)


def _check(counts: Counts, candidates: Candidates, *, alpha: float, confidence: float) -> None:
    if candidates.parameters != counts.parameters:
        raise MismatchError(
            Message(
                "The candidates were hashed with the parameters {fingerprint}, the reports "
                "with {parameters_fingerprint}.",
                fingerprint=Name(candidates.parameters.fingerprint),
                parameters_fingerprint=Name(counts.parameters.fingerprint),
            ),
            hint=Message("hash the candidates with the parameters of the counts"),
        )
    for name, number in {"alpha": alpha, "confidence": confidence}.items():
        require_number(number, name, error=RapporError, above=0, below=1)


def project_to_simplex(gram: Floats, estimates: Floats) -> Floats:
    """Find the shares that fit best among those that are not negative and sum to 1.

    Minimises (x - estimates)' gram (x - estimates) by an active set: shares below 0 leave, and
    one whose gradient is too small comes back. Such shares are nearer to the truth than the
    estimates on average, and no longer unbiased.
    """
    scale = np.sqrt(np.diag(gram))
    aim = gram @ estimates
    support = np.ones(len(estimates), bool)
    shares = np.zeros(len(estimates))
    batch = len(estimates)
    for _ in range(_MAX_STEPS):
        shares, multiplier = _on_chosen(gram, aim, support)
        if (shares < 0).any():
            support &= shares > 0
            if not support.any():
                support[int(np.argmax(estimates))] = True
            continue
        pull = (aim - gram @ shares - multiplier) / scale
        pull[support] = -np.inf
        back = np.argsort(-pull, kind="stable")[: max(1, batch)]
        back = back[pull[back] > _TOLERANCE * np.abs(aim / scale).max()]
        if not back.size:
            break
        support[back] = True
        batch //= 2  # in the end one at a time, so that it ends
    shares = shares.clip(min=0.0)
    return np.asarray(shares / shares.sum())


def _on_chosen(gram: Floats, aim: Floats, support: Flags) -> tuple[Floats, float]:
    """Solve where only the chosen shares are not 0; give the price of the sum too."""
    from rappor.decoding.regression import solved

    own = np.flatnonzero(support)
    part = gram[np.ix_(own, own)]
    both = np.column_stack([aim[own], np.ones(len(own))])
    alone, lifted = solved(part, both).T
    multiplier = float((alone.sum() - 1) / lifted.sum())
    shares = np.zeros(len(aim))
    shares[own] = alone - multiplier * lifted
    return shares, multiplier
