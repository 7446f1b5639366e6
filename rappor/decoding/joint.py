"""How two answers go together, from reports that hold both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from footing.messages import Message, Name
from rappor.errors import MismatchError, RapporError

if TYPE_CHECKING:
    import pandas as pd

    from footing.arrays import Floats
    from rappor.decoding.candidates import Candidates
    from rappor.encoded import Reports

#: Reports the information is summed over; more change it little.
_SAMPLE = 20_000
_CHUNK = 2_000
#: The information of more cells would not fit into memory.
_MAX_CELLS = 4_000
#: A bit is never taken to be more certain than this.
_SURE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Joint:
    """The joint distribution of two variables.

    Parameters
    ----------
    first, second
        The names of rows and columns; None stands for all other values.
    shares
        Of each pair; they sum to 1.
    sds
        Their standard deviations; None where there are too many pairs.
    total
        Reports.
    rounds, is_converged
        Of the algorithm.
    log_likelihood
        Up to a constant.
    independence
        The chance of shares this far from independent ones, were the variables independent.
    """

    first: tuple[str | None, ...]
    second: tuple[str | None, ...]
    shares: Floats
    sds: Floats | None
    total: int
    rounds: int
    is_converged: bool
    log_likelihood: float
    independence: float

    def to_frame(self) -> pd.DataFrame:
        """Give one line per pair, the largest share first.

        Examples
        --------
        >>> found = Joint(
        ...     first=("a",),
        ...     second=("x", "y"),
        ...     shares=np.array([[0.25, 0.75]]),
        ...     sds=None,
        ...     total=4,
        ...     rounds=1,
        ...     is_converged=True,
        ...     log_likelihood=0.0,
        ...     independence=1.0,
        ... )
        >>> found.to_frame()["share"].tolist()
        [0.75, 0.25]
        """
        import pandas as pd

        rows, columns = np.indices(self.shares.shape).reshape(2, -1)
        sds = np.full(self.shares.shape, np.nan) if self.sds is None else self.sds
        frame = pd.DataFrame(
            {
                "first": [self.first[row] for row in rows],
                "second": [self.second[column] for column in columns],
                "share": self.shares.ravel(),
                "sd": sds.ravel(),
            }
        )
        return frame.sort_values("share", ascending=False, kind="stable", ignore_index=True)

    def __repr__(self) -> str:
        return f"Joint({len(self.first)} x {len(self.second)}, {self.total:,} reports)"


def joint(
    reports: tuple[Reports, Reports],
    candidates: tuple[Candidates, Candidates],
    *,
    tolerance: float = 1e-6,
    max_rounds: int = 2_000,
) -> Joint:
    """Estimate how often each pair of values occurs, by expectation and maximisation.

    Parameters
    ----------
    reports
        Of the two variables: the i-th of both are of one client.
    candidates
        The values of each; all others are one more value.
    tolerance
        The algorithm ends when no share changes by more.
    max_rounds
        It ends after so many rounds at the latest.

    Raises
    ------
    RapporError
        If the reports do not go together, or there is none.

    Notes
    -----
    Each report has a likelihood under each value, so that the shares of pairs are the weights
    of a mixture. Standard deviations come from the scores of the reports, under the
    constraint that shares sum to 1; they are those of a large sample, and too large for
    shares near 0. A value nobody named is taken to set its bits at random.

    The statistic of independence is twice the gain in log-likelihood over the product of the
    margins, with (rows - 1)(columns - 1) degrees of freedom: too large a chance, where shares
    are 0.

    References
    ----------
    Fanti, Pihur, Erlingsson (2016), "Building a RAPPOR with the unknown", §3.

    Examples
    --------
    >>> from rappor import Candidates, Parameters, Reports
    >>> sure = Parameters.basic(2, f=0.0, p=0.0, q=1.0)
    >>> names = Candidates.of(["a", "b"], parameters=sure)
    >>> one = Reports.from_texts(["01", "01", "10", "10"], [0] * 4, parameters=sure)
    >>> two = Reports.from_texts(["01", "10", "10", "10"], [0] * 4, parameters=sure)
    >>> joint((one, two), (names, names)).shares.round(3).tolist()
    [[0.25, 0.25], [0.0, 0.5]]
    """
    _check(reports, candidates)
    tables = [likelihoods(*pair) for pair in zip(reports, candidates, strict=True)]
    first, second = (table for _, table in tables)
    start = np.full((first.shape[1], second.shape[1]), 1 / (first.shape[1] * second.shape[1]))
    shares, rounds, change = start, 0, np.inf
    while change > tolerance and rounds < max_rounds:
        weight = _mixture(first, second, shares)
        next_shares = shares * (first.T @ (second / weight[:, None])) / len(weight)
        change, shares, rounds = (
            float(np.abs(next_shares - shares).max()),
            next_shares,
            rounds + 1,
        )
    weight = _mixture(first, second, shares)
    alone = sum(_margin(table, tolerance, max_rounds) for table in (first, second))
    gain = float(np.log(weight).sum())
    freedom = (shares.shape[0] - 1) * (shares.shape[1] - 1)
    from scipy.special import chdtrc

    return Joint(
        first=tables[0][0],
        second=tables[1][0],
        shares=shares,
        sds=_sds(first, second, weight),
        total=len(weight),
        rounds=rounds,
        is_converged=change <= tolerance,
        log_likelihood=gain,
        independence=float(chdtrc(freedom, max(0.0, 2 * (gain - alone)))) if freedom else 1.0,
    )


def _mixture(left: Floats, right: Floats, shares: Floats) -> Floats:
    mixed: Floats = np.einsum("ij,ij->i", left @ shares, right)
    return mixed


def _margin(table: Floats, tolerance: float, max_rounds: int) -> float:
    """Give the log-likelihood of one variable alone, at its best shares."""
    shares = np.full(table.shape[1], 1 / table.shape[1])
    for _ in range(max_rounds):
        next_shares = shares * (table.T @ (1 / (table @ shares))) / len(table)
        change, shares = np.abs(next_shares - shares).max(), next_shares
        if change <= tolerance:
            break
    return float(np.log(table @ shares).sum())


def _sds(left: Floats, right: Floats, weight: Floats) -> Floats | None:
    n_cells = left.shape[1] * right.shape[1]
    if n_cells > _MAX_CELLS:
        return None
    step = max(1, len(weight) // _SAMPLE)
    sample = np.arange(0, len(weight), step)
    information = np.zeros((n_cells, n_cells))
    for start in range(0, len(sample), _CHUNK):
        own = sample[start : start + _CHUNK]
        scores = (left[own, :, None] * right[own, None, :]).reshape(len(own), -1)
        scores /= weight[own, None]
        information += scores.T @ scores
    inverse = np.linalg.pinv(information * (len(weight) / len(sample)), hermitian=True)
    across = inverse.sum(axis=1)
    variances = np.diag(inverse) - across**2 / across.sum()
    sds: Floats = np.sqrt(np.maximum(variances, 0.0))
    return sds.reshape(left.shape[1], right.shape[1])


def _check(reports: tuple[Reports, Reports], candidates: tuple[Candidates, Candidates]) -> None:
    if {len(reports), len(candidates)} != {2}:
        raise RapporError(Message("A joint distribution is of two variables."))
    first, second = reports
    if len(first) != len(second):
        raise RapporError(
            Message(
                "Reports must come in pairs; there are {number} of the first variable and "
                "{number_2} of the second.",
                number=len(first),
                number_2=len(second),
            ),
            hint=Message("keep the two reports of a client at the same place"),
        )
    if not len(first):
        raise RapporError(Message("There is no report to decode."))
    for one, other in zip(reports, candidates, strict=True):
        if one.parameters != other.parameters:
            raise MismatchError(
                Message(
                    "Reports made with the parameters {fingerprint} have candidates hashed "
                    "with {parameters_fingerprint}.",
                    fingerprint=Name(one.parameters.fingerprint),
                    parameters_fingerprint=Name(other.parameters.fingerprint),
                ),
                hint=Message("hash the candidates with the parameters of their reports"),
            )
        if one.parameters.response == "symbol":
            raise RapporError(
                Message("A joint distribution needs reports of bits, not of one symbol.")
            )


def likelihoods(
    reports: Reports, candidates: Candidates
) -> tuple[tuple[str | None, ...], Floats]:
    """Give the likelihood of reports, relative to that of a value without bits."""
    shape = candidates.parameters
    groups = candidates.groups
    k = shape.n_bits
    p, q = (min(max(x, _SURE), 1 - _SURE) for x in (shape.p_star, shape.q_star))
    logs = np.full((len(reports), k), np.log((1 - q) / (1 - p)))
    logs[reports.bits()] = np.log(q / p)
    design = candidates.design[:, [group[0] for group in groups]].tocsr()
    others = _others(logs, candidates)
    table = np.zeros((len(reports), len(groups) + (others is not None)))
    for cohort in range(shape.n_cohorts):
        own = np.flatnonzero(reports.cohorts == cohort)
        if own.size:
            columns = design[cohort * k : (cohort + 1) * k]
            table[own, : len(groups)] = (columns.T @ logs[own].T).T
    names: tuple[str | None, ...] = tuple(candidates.names[group[0]] for group in groups)
    if others is not None:
        table[:, -1] = others
        names = (*names, None)
    table -= table.max(axis=1, keepdims=True)
    return names, np.exp(table)


def _others(logs: Floats, candidates: Candidates) -> Floats | None:
    """Give the log-likelihood under a value nobody named."""
    shape = candidates.parameters
    if shape.is_boolean:
        return np.zeros(len(logs))  # the other answer sets no bit
    if shape.hash == "index":
        free = np.setdiff1d(np.arange(shape.n_bits), candidates.bits)
        return np.log(np.exp(logs[:, free]).mean(axis=1)) if free.size else None
    height = 1.0 - (1.0 - 1.0 / shape.n_bits) ** shape.n_hashes
    mixed: Floats = np.log1p(height * np.expm1(logs)).sum(axis=1)
    return mixed
