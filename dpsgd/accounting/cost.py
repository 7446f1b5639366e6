"""What a training run costs, for the sampler that draws its batches."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from dp import Adjacency, Guarantee
from dpsgd.accounting.accounts import cuts_noise, epsilon_of_run, guessed_noise
from dpsgd.errors import PlanError
from footing.checks import require_number
from footing.messages import Message

_SLACK = 1e-4
_MAX_NOISE = 1e6
_FIRST = 1.1


class Sampling(StrEnum):
    """How batches are drawn.

    ``POISSON``: each record is in a batch by its own coin. ``FIXED``: each batch holds as many
    records, drawn without replacement, afresh each time. ``SHUFFLED``: each pass cuts the
    shuffled file into batches; drawing then hides nothing that can be proved, and the stated
    cost counts on noise alone.

    Examples
    --------
    >>> Sampling("poisson")
    <Sampling.POISSON: 'poisson'>
    """

    POISSON = "poisson"
    FIXED = "fixed"
    SHUFFLED = "shuffled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a run costs, and for what this holds.

    Parameters
    ----------
    epsilon, delta
        The cost.
    adjacency, unit
        The neighbours, and who is protected.
    sampling
        How batches must be drawn for this to hold.
    steps
        How many batches it counts.
    accountant
        The method: ``"loss distribution"``, ``"Rényi orders"`` or ``"Gaussian curve"``.
    cuts_noise
        Noise multiplier of the counts by which cuts were found, which it counts; 0 for none.

    Examples
    --------
    >>> cost = cost_of(sampling_rate=0.01, noise_multiplier=4, steps=10_000, delta=1e-5)
    >>> print(cost)
    epsilon = 0.946901, delta = 1e-05 (add-remove, per record; poisson batches, 10000 steps)
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    unit: str
    sampling: Sampling
    steps: int
    accountant: str
    cuts_noise: float = 0.0

    @property
    def guarantee(self) -> Guarantee:
        """The cost as a guarantee, for a ledger.

        Examples
        --------
        >>> cost = cost_of(sampling_rate=1, noise_multiplier=1, steps=1, delta=1e-5)
        >>> round(cost.guarantee.epsilon, 4)
        4.3772
        """
        is_finite = math.isfinite(self.epsilon)
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta if is_finite and self.steps else 0.0,
            adjacency=self.adjacency,
            unit=self.unit,
        )

    def __str__(self) -> str:
        if math.isinf(self.epsilon):
            promise = "no protection"
        else:
            promise = f"epsilon = {self.epsilon:.6g}, delta = {self.delta:g}"
        cuts = f"; cuts found, noise {self.cuts_noise:.4g}" if self.cuts_noise else ""
        return (
            f"{promise} ({self.adjacency}, per {self.unit}; {self.sampling} batches, "
            f"{self.steps} steps{cuts})"
        )


def cost_of(
    *,
    sampling_rate: float,
    noise_multiplier: float,
    steps: int,
    delta: float,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    sampling: Sampling = Sampling.POISSON,
    dataset_size: int | None = None,
    unit: str = "record",
    cuts_noise: float = 0.0,
    cuts_times: int = 1,
) -> Cost:
    """Return what a run costs.

    Parameters
    ----------
    sampling_rate
        Chance of a record to be in a batch: the expected batch over the data.
    noise_multiplier
        Standard deviation of the noise over the clipping norm; 0 for no noise.
    steps
        How many batches.
    delta
        The delta.
    adjacency, unit
        The neighbours, and who is protected.
    sampling
        How batches are drawn.
    dataset_size
        Number of records; for batches of a fixed size.
    cuts_noise, cuts_times
        Noise multiplier of the counts by which cuts were found, and how many times; 0 for none.

    Notes
    -----
    Poisson batches: the distribution of the loss. Fixed batches: Rényi orders for samples
    without replacement, or noise alone where that is less. Shuffled batches: noise alone, once
    a pass. The last two move the sum by twice the norm where a record is replaced.

    Examples
    --------
    >>> run = {"sampling_rate": 0.1, "noise_multiplier": 2, "steps": 100, "delta": 1e-3}
    >>> round(cost_of(**run).epsilon, 3)
    1.544
    >>> shuffled = cost_of(**run, sampling="shuffled", adjacency="zero-out")
    >>> round(shuffled.epsilon, 2)
    5.59
    """
    sampling, adjacency = Sampling(sampling), Adjacency(adjacency)
    check_neighbours(sampling, adjacency)
    epsilon, accountant = 0.0, "loss distribution"
    if noise_multiplier == 0:
        epsilon = math.inf if steps and sampling_rate else 0.0
    elif steps and sampling_rate:
        epsilon, accountant = epsilon_of_run(
            rate=float(sampling_rate),
            sigma=float(noise_multiplier),
            steps=int(steps),
            delta=float(delta),
            adjacency=adjacency,
            sampling=str(sampling),
            size=dataset_size,
            cuts=(float(cuts_noise), cuts_times if cuts_noise else 0),
        )
    return Cost(
        epsilon=epsilon,
        delta=delta,
        adjacency=adjacency,
        unit=unit,
        sampling=sampling,
        steps=steps,
        accountant=accountant,
        cuts_noise=cuts_noise,
    )


def noise_for(
    epsilon: float,
    *,
    sampling_rate: float,
    steps: int,
    delta: float,
    adjacency: Adjacency = Adjacency.ADD_REMOVE,
    sampling: Sampling = Sampling.POISSON,
    dataset_size: int | None = None,
    has_cuts: bool = False,
) -> float:
    """Return a noise multiplier that keeps a budget, close to the least.

    Parameters
    ----------
    epsilon
        The budget; never exceeded by what is returned.
    sampling_rate, steps, delta, adjacency, sampling, dataset_size
        As for `cost_of`.
    has_cuts
        Whether the budget pays for finding cuts as well.

    Examples
    --------
    >>> round(noise_for(1.0, sampling_rate=0.0314, steps=640, delta=1e-5), 2)
    3.11
    """

    def spent(sigma: float) -> float:
        return cost_of(
            sampling_rate=sampling_rate,
            noise_multiplier=sigma,
            steps=steps,
            delta=delta,
            adjacency=adjacency,
            sampling=sampling,
            dataset_size=dataset_size,
            cuts_noise=cuts_noise(rate=sampling_rate, sigma=sigma, steps=steps)
            if has_cuts
            else 0.0,
        ).epsilon

    require_number(epsilon, "epsilon", error=PlanError, above=0)
    rate = 1.0 if sampling == Sampling.SHUFFLED else sampling_rate
    guess = guessed_noise(epsilon, delta=delta, rate=rate, steps=steps)
    return _least(spent, epsilon, guess)


def check_neighbours(sampling: Sampling, adjacency: Adjacency) -> None:
    """Refuse neighbours for which nothing is known of batches drawn so."""
    neighbours = {Adjacency.ZERO_OUT, Adjacency.REPLACE}
    if sampling == Sampling.POISSON:
        neighbours.add(Adjacency.ADD_REMOVE)
    if adjacency not in neighbours:
        raise PlanError(
            Message(
                "Nothing is known of {sampling} batches for neighbours {adjacency}.",
                sampling=sampling,
                adjacency=adjacency,
            ),
            hint=Message(
                "batches of a set size show the number of records: choose 'zero-out' or "
                "'replace', for which it is public; or Poisson batches"
            ),
        )


def _least(epsilon_of: Callable[[float], float], epsilon: float, guess: float) -> float:
    """Return a noise that keeps the budget while one a ten-thousandth less does not."""
    low = high = guess
    factor = _FIRST
    while epsilon_of(high) > epsilon:
        low, high, factor = high, high * factor, factor**2
        if high > _MAX_NOISE:
            raise PlanError(
                Message("No noise brings this run to epsilon {epsilon:g}.", epsilon=epsilon),
                hint=Message("take fewer steps, smaller batches or a larger delta"),
            )
    while epsilon_of(low) <= epsilon:
        low, high, factor = low / factor, low, factor**2
    widths = [math.inf]
    while (width := math.log(high / low)) > _SLACK:
        is_slow = len(widths) > 1 and width > widths[-2] / 2
        middle = math.sqrt(low * high) if is_slow else _between(low, high, epsilon_of, epsilon)
        widths.append(width)
        low, high = (low, middle) if epsilon_of(middle) <= epsilon else (middle, high)
    return high


def _between(
    low: float, high: float, epsilon_of: Callable[[float], float], epsilon: float
) -> float:
    """Return where a power law through both ends meets the budget, towards the far end."""
    width = math.log(high / low)
    above, below = (math.log(max(epsilon_of(end), 1e-300) / epsilon) for end in (low, high))
    place = width * above / (above - below)
    place += 0.45 * _SLACK if place < width / 2 else -0.45 * _SLACK
    inside = min(0.4 * _SLACK, width / 4)
    return low * math.exp(min(max(place, inside), width - inside))
