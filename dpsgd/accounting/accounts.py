"""Accounts of whole runs, as tight as their sampler allows."""

import math
from functools import lru_cache

from dp import Adjacency, PrivacyLoss, gaussian_epsilon
from dp.accounting.pld import fixed_batches_epsilon
from dpsgd.errors import PlanError
from footing.messages import Message

_PARTS = 50  # of a step's typical loss: with fewer the epsilon rises in the fourth digit
_MAX_POINTS = 5e4
_COARSEST = 1e-2
_FAR = 10.0  # standard deviations
_LARGEST = 700.0
_NOISES = 32  # of which losses are composed one by one
_TO_CUTS = 1 / 9  # of what the steps spend


@lru_cache(maxsize=512)
def epsilon_of_run(
    *,
    rate: float,
    sigma: float,
    steps: int,
    delta: float,
    adjacency: Adjacency,
    sampling: str,
    size: int | None,
    cuts: tuple[float, int] = (0.0, 0),
) -> tuple[float, str]:
    """Return the epsilon of a run and the name of the account that gave it.

    Cuts are found by Gaussian noise on counts: its multiplier, and how many times.
    """
    if sampling == "poisson" and rate < 1:
        grid = _grid(rate, sigma)
        step = PrivacyLoss.gaussian(sigma, sampling_rate=rate, adjacency=adjacency, grid=grid)
        whole = step * steps
        if cuts[1]:
            cut_loss = PrivacyLoss.gaussian(cuts[0], adjacency=adjacency, grid=grid)
            whole = whole + cut_loss * cuts[1]
        return whole.epsilon(delta), "loss distribution"
    # Several Gaussians are one of less noise; of such a sum the account is exact and quick.
    times = -(-steps // _batches(rate, size)) if sampling == "shuffled" else steps
    distance = 2.0 if adjacency == Adjacency.REPLACE else 1.0
    square = times / sigma**2 + (cuts[1] / cuts[0] ** 2 if cuts[1] else 0.0)
    plain = gaussian_epsilon(delta, mu=distance * math.sqrt(square))
    if sampling != "fixed" or cuts[1]:
        return plain, "Gaussian curve"
    if size is None:
        raise PlanError(
            Message("Batches of a fixed size need dataset_size."), hint=Message("give it")
        )
    by_orders = fixed_batches_epsilon(
        delta,
        dataset_size=size,
        batch_size=round(rate * size),
        noise_multiplier=sigma,
        steps=steps,
    )
    return min((by_orders, "Rényi orders"), (plain, "Gaussian curve"))


def epsilon_of_parts(
    parts: tuple[tuple[float, float, int], ...],
    *,
    delta: float,
    adjacency: Adjacency,
    is_poisson: bool,
    size: int,
) -> tuple[float, str]:
    """Return the epsilon of steps whose noise or rate changes, and the name of the account.

    Each part is a noise multiplier, a rate and a number of steps. Of shuffled batches each part
    but the first may begin within a pass: a record is then in one batch more.
    """
    if len({(sigma, rate) for sigma, rate, _ in parts}) == 1:
        sigma, rate, _ = parts[0]
        return epsilon_of_run(
            rate=rate,
            sigma=sigma,
            steps=sum(steps for _, _, steps in parts),
            delta=delta,
            adjacency=adjacency,
            sampling="poisson" if is_poisson else "shuffled",
            size=size,
        )
    if is_poisson:
        counts: dict[tuple[float, float], int] = {}
        for sigma, rate, steps in parts:
            counts[sigma, rate] = counts.get((sigma, rate), 0) + steps
        counts = _grouped(counts)
        grid = min(_grid(rate, sigma) for sigma, rate in counts)
        losses = [
            PrivacyLoss.gaussian(sigma, sampling_rate=rate, adjacency=adjacency, grid=grid)
            * steps
            for (sigma, rate), steps in counts.items()
        ]
        whole = losses[0]
        for loss in losses[1:]:
            whole = whole + loss
        return whole.epsilon(delta), "loss distribution"
    distance = 2.0 if adjacency == Adjacency.REPLACE else 1.0
    square = sum(
        (-(-steps // _batches(rate, size)) + (number > 0)) / sigma**2
        for number, (sigma, rate, steps) in enumerate(parts)
    )
    return gaussian_epsilon(delta, mu=distance * math.sqrt(square)), "Gaussian curve"


def _grouped(counts: dict[tuple[float, float], int]) -> dict[tuple[float, float], int]:
    """Return steps of few noises: of many, each is taken for the least of those near it.

    Less noise never costs less, so that the epsilon is not below that of the steps. Each noise
    is lowered by at most a thirty-second of what lies between the least and the most, in
    ratios: from 2 to 0.8 by 3 %.
    """
    if len(counts) <= _NOISES:
        return counts
    by_rate: dict[float, list[float]] = {}
    for sigma, rate in sorted(counts):
        by_rate.setdefault(rate, []).append(sigma)
    number = max(1, _NOISES // len(by_rate))
    grouped: dict[tuple[float, float], int] = {}
    for rate, sigmas in by_rate.items():
        least, width = sigmas[0], math.log(sigmas[-1] / sigmas[0]) / number
        for sigma in sigmas:
            if math.log(sigma / least) > width:
                least = sigma
            key = least, rate
            grouped[key] = grouped.get(key, 0) + counts[sigma, rate]
    return grouped


def cuts_noise(*, rate: float, sigma: float, steps: int) -> float:
    """Return the noise multiplier of the counts that find cuts: a tenth of all is theirs."""
    cost = rate**2 * steps * math.expm1(min(1.0, sigma**-2)) if sigma else math.inf
    return 1 / math.sqrt(_TO_CUTS * cost)


def guessed_noise(epsilon: float, *, delta: float, rate: float, steps: int) -> float:
    """Return roughly the noise that a budget needs, by the central limit of many losses."""
    from scipy.special import ndtri

    edge = max(0.1, -float(ndtri(delta)))
    mu = math.sqrt(edge**2 + 2 * epsilon) - edge
    return 1 / math.sqrt(math.log1p(mu**2 / (rate**2 * steps)))


def _batches(rate: float, size: int | None) -> int:
    """Return the batches of a pass; too many would count too few passes."""
    if size is not None:
        return -(-size // max(1, round(rate * size)))
    return math.ceil(1 / rate * (1 - 1e-12))


def _grid(rate: float, sigma: float) -> float:
    """Return a distance of losses, small beside the loss of a step.

    A grid adds about a third of its square to the variance of every step, so that one for all
    runs would cost a quarter of epsilon where each step loses little, and time elsewhere.
    """
    typical = rate * math.sqrt(math.expm1(min(_LARGEST, sigma**-2)))
    most = _FAR / sigma + sigma**-2 / 2
    largest = math.log1p(rate * math.expm1(most)) if most < _LARGEST else most
    points = largest / _MAX_POINTS
    return max(points, min(typical / _PARTS, _COARSEST))
