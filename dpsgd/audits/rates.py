"""How well scores tell members from others: rates with intervals, ties counted as ties."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from dp.checking import checked_probability
from dpsgd.audits.bounds import Ceiling
from dpsgd.errors import DPSGDError
from footing.arrays import Floats
from footing.checks import require_number
from footing.messages import Message, Name, Shape

_LOW_RATES = (0.001, 0.01, 0.1)
_POINTS = 41


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """The share of members found where few others are taken for members.

    Parameters
    ----------
    false_positive_rate
        At most so many others are taken for members.
    true_positive_rate, low, high
        The share of members found, and its interval.
    ceiling
        What the guarantee allows; None where none was given.
    """

    false_positive_rate: float
    true_positive_rate: float
    low: float
    high: float
    ceiling: float | None = None

    @property
    def is_above(self) -> bool:
        """Whether even the lower end of the interval is above what the guarantee allows."""
        return self.ceiling is not None and self.low > self.ceiling


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRates:
    """What an attack reached.

    Parameters
    ----------
    members, others
        How many records of each.
    auc
        The chance that a member has a higher score than another; ties count half.
    advantage, advantage_low
        The largest distance of the two rates, over all thresholds, and a lower bound of what it
        would be for ever more records.
    rates
        Members found at low false positive rates.
    advantage_ceiling
        What the guarantee allows; None where none was given.
    curve
        False and true positive rates over all thresholds, thinned for a picture.

    Examples
    --------
    >>> attack_rates([3, 2, 1], [0, 0, 0]).auc
    1.0
    """

    members: int
    others: int
    auc: float
    advantage: float
    advantage_low: float
    rates: tuple[Rate, ...]
    advantage_ceiling: float | None = None
    curve: tuple[tuple[float, float], ...] = ()

    @property
    def is_above(self) -> bool:
        """Whether some rate, or the advantage, is above its ceiling, beyond its interval."""
        if self.advantage_ceiling is not None and self.advantage_low > self.advantage_ceiling:
            return True
        return any(rate.is_above for rate in self.rates)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberShares:
    """Shares of success, with their intervals and what a guarantee allows.

    Parameters
    ----------
    members, members_low, members_high
        The share of records that were trained on, and its interval.
    others, others_low, others_high
        The same of records that were not: what can be had without them.
    ceiling
        What the guarantee allows for members, given the share of the others.
    """

    members: float
    members_low: float
    members_high: float
    others: float
    others_low: float
    others_high: float
    ceiling: float | None

    @property
    def is_above(self) -> bool:
        """Whether the attack succeeds on members more often than the guarantee allows."""
        return self.ceiling is not None and self.members_low > self.ceiling

    @classmethod
    def of(
        cls,
        *hits: tuple[int, int],
        ceiling: Ceiling | None,
        confidence: float,
        **more: float,
    ) -> Self:
        """Judge how many succeeded of how many: of the members, then of the others."""
        shares: dict[str, Any] = dict(more)
        for name, (number, trials) in zip(("members", "others"), hits, strict=True):
            low, high = binomial_interval(number, trials=trials, error=(1 - confidence) / 2)
            shares |= {name: number / trials, f"{name}_low": low, f"{name}_high": high}
        most = None if ceiling is None else ceiling.success(shares["others_high"])
        return cls(**shares, ceiling=most)


def require_confidence(confidence: float) -> float:
    """Return the confidence of intervals, or refuse what is none."""
    return require_number(
        confidence,
        "confidence",
        error=DPSGDError,
        hint=Message("0.95 is usual"),
        above=0,
        below=1,
    )


def attack_rates(
    members: ArrayLike,
    others: ArrayLike,
    *,
    at: Sequence[float] = _LOW_RATES,
    ceiling: Ceiling | None = None,
    confidence: float = 0.95,
) -> AttackRates:
    """Return how well an attack's scores tell members from others.

    Parameters
    ----------
    members, others
        Scores, higher for a likelier member.
    at
        False positive rates.
    ceiling
        What the guarantee allows.
    confidence
        Of all intervals together.

    Notes
    -----
    A threshold is a score: records of equal score fall on one side together. Intervals are of
    Clopper and Pearson and take the records for independent, which those of one training run
    are only nearly; the threshold is chosen by the others' scores, and what the ceiling is
    taken at is the upper bound of the rate there. The advantage is bounded by the inequality of
    Dvoretzky, Kiefer and Wolfowitz, which holds at all thresholds at once: with some hundred
    records it sees far more than low rates do. The proof of a fault is `one_run_audit`.

    References
    ----------
    Massart 1990.

    Examples
    --------
    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> found = attack_rates(generator.normal(1, 1, 4000), generator.normal(0, 1, 4000))
    >>> round(found.auc, 2), round(found.rates[1].true_positive_rate, 2)
    (0.76, 0.1)
    """
    first, second = _scores(members, "members"), _scores(others, "others")
    error = 1 - require_confidence(confidence)
    cuts = np.unique(np.concatenate((first, second)))[::-1]
    right = _share_from(first, cuts)
    wrong = _share_from(second, cuts)
    part = error / (2 * len(at) + 2)  # of each of two intervals, for each rate and advantage
    at = [checked_probability(rate, Message("false positive rate")) for rate in at]
    rates = tuple(_rate(first, second, rate, ceiling, part) for rate in at)
    advantage = float(max(0.0, np.max(right - wrong)))
    areas = np.concatenate(([0.0], right)), np.concatenate(([0.0], wrong))
    return AttackRates(
        members=len(first),
        others=len(second),
        auc=float(np.trapezoid(*areas)),
        advantage=advantage,
        advantage_low=max(0.0, advantage - sum(_widest(len(s), part) for s in (first, second))),
        rates=rates,
        advantage_ceiling=None if ceiling is None else ceiling.advantage,
        curve=_thinned(wrong, right, least=1 / len(second)),
    )


def _thinned(wrong: Floats, right: Floats, *, least: float) -> tuple[tuple[float, float], ...]:
    """Give the most that is found at false positive rates by powers of ten.

    Below one other record nothing can be told.
    """
    grid = np.logspace(-4, 0, _POINTS)
    grid = np.unique(np.concatenate(([least], grid[grid > least])))
    place = np.searchsorted(wrong, grid + 1e-12, side="right") - 1
    shares = np.where(place >= 0, right[np.maximum(place, 0)], 0.0)
    return tuple((float(x), float(y)) for x, y in zip(grid, shares, strict=True))


def _rate(
    first: Floats, second: Floats, at: float, ceiling: Ceiling | None, error: float
) -> Rate:
    n_false = int(np.floor(at * len(second) + 1e-9))
    # All scores strictly above this one belong to at most `allowed` others.
    line = np.sort(second)[::-1][n_false] if n_false < len(second) else -np.inf
    hits, wrong = int((first > line).sum()), int((second > line).sum())
    low, high = binomial_interval(hits, trials=len(first), error=error)
    bound = None
    if ceiling is not None:
        worst = binomial_interval(wrong, trials=len(second), error=error)[1]
        bound = ceiling.true_positive_rate(worst)
    return Rate(
        false_positive_rate=at,
        true_positive_rate=hits / len(first),
        low=low,
        high=high,
        ceiling=bound,
    )


def _widest(number: int, error: float) -> float:
    """Return how far a share can lie above its mean, at any threshold."""
    return float(np.sqrt(np.log(1 / error) / (2 * number)))


def binomial_interval(hits: int, *, trials: int, error: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson of a share."""
    from scipy.stats import beta

    low = float(beta.ppf(error / 2, hits, trials - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - error / 2, hits + 1, trials - hits)) if hits < trials else 1.0
    return low, high


def _share_from(scores: Floats, cuts: Floats) -> Floats:
    below = np.searchsorted(np.sort(scores), cuts, side="left")
    return np.asarray(1 - below / len(scores))


def _scores(values: ArrayLike, name: str) -> Floats:
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DPSGDError(
            Message("The scores of {name} must be numbers.", name=Name(name))
        ) from None
    if scores.ndim != 1 or not scores.size:
        raise DPSGDError(
            Message(
                "The scores of {name} must be a list of numbers, not of shape {shape}.",
                name=Name(name),
                shape=Shape(scores.shape),
            ),
            hint=Message("one score a record"),
        )
    if np.isnan(scores).any():
        raise DPSGDError(
            Message("The scores of {name} must be numbers, but some are NaN.", name=Name(name)),
            hint=Message("give a record that cannot be scored the lowest score"),
        )
    return scores
