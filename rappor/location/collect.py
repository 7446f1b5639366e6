"""Collect where people are: one report a period, one permanent response a cell."""

import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Flags, Floats, Integers
from footing.messages import Argument, Message
from rappor.accounting import epsilon_after
from rappor.client.account import ValueLedger
from rappor.client.client import encode
from rappor.client.permanent import SecretKey, permanent_key
from rappor.counts import Counts
from rappor.errors import CapError, RapporError
from rappor.location.areas import Areas
from rappor.parameters import Parameters


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Collection:
    """How people report where they are.

    Everybody reports cells of one level for ever, drawn by a keyed hash: who reported a cell
    and the cell around it would pay for both.

    Parameters
    ----------
    areas
        The cells.
    f, p, q
        As for `Parameters`; the same for all levels.
    shares
        The share of people that report each level; by default equal ones.
    cap
        Largest loss of a person; a report beyond it is not sent.

    Examples
    --------
    >>> from rappor.location.areas import Areas
    >>> regions = Areas(parents=[[0, 0, 1]], n_coarsest=2)
    >>> design = Collection(areas=regions, f=0.5, p=0.25, q=0.75)
    >>> [parameters.n_bits for parameters in design.parameters]
    [2, 3]
    """

    areas: Areas
    f: float
    p: float
    q: float
    shares: Sequence[float] | None = None
    cap: float | None = None

    def __post_init__(self) -> None:
        n = self.areas.n_levels
        shares = (1 / n,) * n if self.shares is None else tuple(self.shares)
        if len(shares) != n or min(shares) < 0 or abs(sum(shares) - 1) > 1e-9:
            raise RapporError(
                Message("The {number} levels need shares of people that sum to 1.", number=n)
            )
        if self.cap is not None and not self.cap > 0:
            raise RapporError(
                Message("cap must be above 0, not {cap!r}.", cap=Argument(self.cap))
            )
        object.__setattr__(self, "shares", shares)

    @property
    def parameters(self) -> tuple[Parameters, ...]:
        """The parameters of each level, coarse to fine: basic RAPPOR, a bit a cell."""
        return tuple(
            Parameters.basic(self.areas.n_cells(level), f=self.f, p=self.p, q=self.q)
            for level in range(self.areas.n_levels)
        )


def levels_of(n_people: int, *, secret: SecretKey, shares: Sequence[float]) -> Integers:
    """Give everybody's level, the same for ever."""
    names = [b"%d" % person for person in range(n_people)]
    return levels_of_names(names, secret=secret, shares=shares)


def levels_of_names(
    names: Sequence[bytes], *, secret: SecretKey, shares: Sequence[float]
) -> Integers:
    """Give the level of persons by their names, the same for ever."""
    key = secret.derive("rappor level")
    digests = [hashlib.sha256(key + name).digest()[:8] for name in names]
    uniform = np.frombuffer(b"".join(digests), "<u8") / 2.0**64
    levels = np.searchsorted(np.cumsum(shares), uniform, side="right")
    return np.minimum(levels, len(shares) - 1)


def sampled_hours(
    n_people: int, *, n_periods: int, hours: int, rng: np.random.Generator
) -> Integers:
    """Draw the hour of each person's one report in each period."""
    draws = rng.integers(0, hours, (n_people, n_periods))
    return draws + hours * np.arange(n_periods)


def collect(
    cells: Integers,
    *,
    collection: Collection,
    secret: SecretKey,
    hours: int,
    rng: np.random.Generator,
) -> list[tuple[Counts, ...]]:
    """Simulate the reports of people whose places are known, and sum them.

    Parameters
    ----------
    cells
        People by hours: the finest cells.
    collection
        How they report.
    secret
        From which their permanent responses derive.
    hours
        Hours of a period; everybody reports one of them, drawn at random.
    rng
        Source of chance of the simulation.

    Returns
    -------
    list of tuple
        For each period, the counts of each level.

    Examples
    --------
    >>> from tables import Secret
    >>> from rappor.location.areas import Areas
    >>> design = Collection(areas=Areas(parents=[], n_coarsest=3), f=0.5, p=0.25, q=0.75)
    >>> days = collect(
    ...     np.zeros((50, 48), int),
    ...     collection=design,
    ...     secret=Secret(bytes(16)),
    ...     hours=24,
    ...     rng=np.random.default_rng(1),
    ... )
    >>> [counts.total for (counts,) in days]
    [50, 50]
    """
    n_people, n_hours = cells.shape
    if hours < 1 or n_hours % hours:
        raise RapporError(
            Message(
                "The {n_hours} hours are no whole number of periods of {hours}.",
                n_hours=n_hours,
                hours=hours,
            )
        )
    periods = n_hours // hours
    when = sampled_hours(n_people, n_periods=periods, hours=hours, rng=rng)
    places = np.take_along_axis(cells, when, axis=1)
    level_of = levels_of(n_people, secret=secret, shares=collection.shares or ())
    days: list[list[Counts]] = [[] for _ in range(periods)]
    for level, parameters in enumerate(collection.parameters):
        metric = f"location, level {level}"
        people = np.flatnonzero(level_of == level)
        reported = collection.areas.upward(places[people], to=level)
        key = permanent_key(secret, metric=metric, parameters=parameters)
        sent, _ = charged(reported, parameters=parameters, cap=collection.cap, key=key)
        for period, counts in enumerate(days):
            is_sent = sent[:, period]
            reports = encode(
                as_values(reported[is_sent, period], parameters),
                people[is_sent],
                parameters=parameters,
                secret=secret,
                metric=metric,
                rng=rng,
            )
            counts.append(reports.sum())
    return [tuple(counts) for counts in days]


def charged(
    reported: Integers, *, parameters: Parameters, cap: float | None, key: bytes
) -> tuple[Flags, Floats]:
    """Charge each person's reports to a ledger, and keep back what passes the cap."""
    if cap is None:
        return np.ones(reported.shape, bool), spent(reported, parameters=parameters)
    sent, losses = np.zeros(reported.shape, bool), np.zeros(len(reported))
    for person, cells in enumerate(reported):
        ledger = ValueLedger(parameters, key=key, cap=cap)
        for period, value in enumerate(as_values(cells, parameters).tolist()):
            with contextlib.suppress(CapError):
                ledger.record(value, cohort=0)
                sent[person, period] = True
        losses[person] = ledger.epsilon
    return sent, losses


def spent(reported: Integers, *, parameters: Parameters) -> Floats:
    """Give what each person's reports have cost: the sum over the distinct cells reported.

    The bound of `rappor.client.account.ValueLedger`, for all people at once.
    """
    n_people, periods = reported.shape
    losses = np.array([epsilon_after(parameters, reports=t) for t in range(periods + 1)])
    total = np.zeros(n_people)
    ordered = np.sort(reported, axis=1)
    starts = np.ones(ordered.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    runs = np.diff(np.append(np.flatnonzero(starts), ordered.size))
    np.add.at(total, np.nonzero(starts)[0], losses[runs])
    return total


def as_values(cells: Integers, parameters: Parameters) -> NDArray[np.generic]:
    """Give the values of basic RAPPOR; a level of one cell asks everybody yes."""
    return np.ones(cells.size, bool) if parameters.is_boolean else cells
