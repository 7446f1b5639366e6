"""Find the design that sees most for a given privacy loss."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from footing.checks import require_integer, require_number
from footing.messages import Argument, Message
from rappor.errors import RapporError, RapporInfeasibleError
from rappor.parameters import Parameters

_BITS = tuple(2**power for power in range(3, 13))
_COHORTS = tuple(2**power for power in range(11))
_ENOUGH = 1.1  # variance within ten per cent of the best that more bits would buy
_FEWEST = 100  # reports a cohort, for its rates to be near normal
_MARGIN = 1e-9
_LARGE = 700.0  # nearly the largest power of e in floating point


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a collection may cost and should see.

    Parameters
    ----------
    epsilon_one
        Largest loss of one report.
    epsilon_permanent
        Largest loss of all reports of one value; infinite for values reported once.
    population
        Number of clients, each reporting one value.
    n_candidates
        Number of values that will be looked for.
    frequency
        Share of clients from which a value should be found; None for the best that can be.
    alpha
        Chance of one false discovery or more, over all candidates (Bonferroni).
    power
        Chance of finding a value of that frequency.
    is_closed
        Whether the candidates are all values there are: basic RAPPOR then gives each a bit.

    Examples
    --------
    >>> Goal(epsilon_one=1, epsilon_permanent=4, population=10**6).n_candidates
    200
    """

    epsilon_one: float
    epsilon_permanent: float
    population: int
    n_candidates: int = 200
    frequency: float | None = None
    alpha: float = 0.05
    power: float = 0.8
    is_closed: bool = False

    def __post_init__(self) -> None:
        way = Message("an infinite one protects nothing")
        require_number(self.epsilon_one, "epsilon_one", error=RapporError, hint=way, above=0)
        lasting = self.epsilon_permanent
        require_number(
            lasting, "epsilon_permanent", error=RapporError, above=0, may_be_infinite=True
        )
        for name in ("population", "n_candidates"):
            require_integer(getattr(self, name), name, error=RapporError, minimum=1)
        for name in ("alpha", "power", "frequency"):
            if (value := getattr(self, name)) is not None:
                require_number(value, name, error=RapporError, above=0, below=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Parameters and what they can see, as predicted.

    Parameters
    ----------
    parameters
        What clients and server share.
    standard_error
        Of the estimated number of clients with one rare value.
    detectable
        Smallest share of clients that is found with the power asked for.

    Examples
    --------
    >>> goal = Goal(epsilon_one=1, epsilon_permanent=4, population=10**6)
    >>> 0.005 < solve(goal).detectable < 0.01
    True
    """

    parameters: Parameters
    standard_error: float
    detectable: float


def predict(parameters: Parameters, goal: Goal) -> Design:
    """Predict what given parameters can see.

    Parameters
    ----------
    parameters
        The parameters of the collection.
    goal
        The population, the candidates and the test; its losses are not looked at.

    Notes
    -----
    A value sets ``k o`` distinct bits, ``o = 1 - (1 - 1/k)**h``, and so do the others: with
    the mean rate ``r = p* + (q* - p*) o`` one rare value has the variance
    ``N r (1 - r) / (k o (1 - o) (q* - p*)²)``, divided by ``1 - S / (k m)`` for the fit of S
    candidates to k m counts. For one symbol of k, hashed, it is ``N / ((k - 1) (q - p)²)``,
    divided by ``1 - S / ((k - 1) m)`` but for Hadamard's columns. A value is found when its
    estimate passes ``z(1 - alpha/S)`` standard errors.

    Examples
    --------
    >>> paper = Parameters(n_bits=128, n_hashes=2, n_cohorts=16, f=0.5, p=0.5, q=0.75)
    >>> goal = Goal(epsilon_one=1.08, epsilon_permanent=4.4, population=10**6)
    >>> 2800 < predict(paper, goal).standard_error < 3100
    True
    """
    from scipy.special import ndtri

    own, others, fit = 1.0, 0.0, 1.0  # basic RAPPOR: nobody else's bit
    is_symbol = parameters.response == "symbol"
    if parameters.hash != "index":
        others = -math.expm1(parameters.n_hashes * math.log1p(-1 / parameters.n_bits))
        own = parameters.n_bits * others * (1 - others)
        rows = (parameters.n_bits - is_symbol) * parameters.n_cohorts
        is_random = parameters.hash != "hadamard"  # its columns have nothing in common
        fit = max(0.0, 1 - goal.n_candidates / rows) if is_random else 1.0
    lift = parameters.q_star - parameters.p_star
    rate = parameters.p_star + lift * others
    spread = rate if is_symbol and others else rate * (1 - rate)
    noise = goal.population * spread / lift**2
    variance = noise / (own * fit) if fit else math.inf
    error = math.sqrt(variance)
    quantiles = ndtri(1 - goal.alpha / goal.n_candidates) + ndtri(goal.power)
    detectable = float(max(quantiles, 0.0)) * error / goal.population
    return Design(parameters=parameters, standard_error=error, detectable=detectable)


def solve(goal: Goal, *, n_hashes: Sequence[int] = (1, 2, 3, 4)) -> Design:
    """Find the design with the smallest standard error for the losses allowed.

    Among the numbers of bits and cohorts that come within ten per cent of the best variance,
    those are taken by which a client can be told from others least: the bits of a permanent
    response and the logarithm of the number of cohorts add up to what identifies it.

    Parameters
    ----------
    goal
        What the collection may cost and should see.
    n_hashes
        The numbers of hashes to try.

    Raises
    ------
    RapporInfeasibleError
        If no design finds values of the frequency asked for; the message says what would.
    RapporError
        If a report may cost more than all reports together.

    Notes
    -----
    f follows from ``epsilon_permanent`` and h; on the curve of p* and q* with the loss
    ``epsilon_one`` the variance falls towards ``q* = 1/2``, as far as p and q stay
    probabilities.

    References
    ----------
    Wang, Blocki, Li, Jha: Locally Differentially Private Protocols for Frequency Estimation,
    USENIX Security 2017, for ``q* = 1/2``.

    Examples
    --------
    >>> goal = Goal(epsilon_one=1.0743, epsilon_permanent=4.3944, population=10**6)
    >>> found = solve(goal).parameters
    >>> found.n_hashes, round(found.f, 2), round(found.p, 3), round(found.q, 3)
    (1, 0.2, 0.224, 0.531)
    """
    if goal.epsilon_one > goal.epsilon_permanent:
        raise RapporError(
            Message(
                "One report cannot cost {epsilon_one:g} when all of them together may cost "
                "{epsilon_permanent:g}.",
                epsilon_one=goal.epsilon_one,
                epsilon_permanent=goal.epsilon_permanent,
            ),
            hint=Message("lower epsilon_one, or raise epsilon_permanent"),
        )
    if goal.is_closed:
        f, p, q = _probabilities(goal, 1, is_boolean=goal.n_candidates == 1)
        designs = [predict(Parameters.basic(goal.n_candidates, f=f, p=p, q=q), goal)]
    else:
        designs = [design for h in n_hashes for design in _sizes(goal, h)]
    if not designs:
        raise RapporInfeasibleError(
            Message(
                "No report of at most {bits} bits tells {n_candidates} candidates apart.",
                bits=Argument(_BITS[-1]),
                n_candidates=goal.n_candidates,
            ),
            hint=Message("look for fewer candidates"),
        )
    best = min(design.standard_error for design in designs)
    near = [d for d in designs if d.standard_error**2 <= _ENOUGH * best**2]
    choice = min(near, key=_size)
    if goal.frequency is not None and choice.detectable > goal.frequency:
        choice = min(designs, key=lambda design: (design.standard_error, _size(design)))
    if goal.frequency is not None and choice.detectable > goal.frequency:
        raise _infeasible(goal, choice)
    return choice


def _infeasible(goal: Goal, best: Design) -> RapporInfeasibleError:
    frequency = goal.frequency or 0.0
    least = math.ceil(goal.population * (best.detectable / frequency) ** 2)
    return RapporInfeasibleError(
        Message(
            "Values of {frequency:.3%} cannot be found among {population:,} clients; "
            "the best design finds them from {detectable:.3%}.",
            frequency=frequency,
            population=goal.population,
            detectable=best.detectable,
        ),
        hint=Message("ask about {needed:,} clients, or allow a larger loss", needed=least),
    )


def _size(design: Design) -> tuple[float, float]:
    parameters = design.parameters
    return parameters.n_bits + math.log2(parameters.n_cohorts), design.standard_error


def _sizes(goal: Goal, h: int) -> list[Design]:
    f, p, q = _probabilities(goal, h, is_boolean=False)
    most = max(1, goal.population // _FEWEST)
    designs = [
        predict(Parameters(n_bits=k, n_hashes=h, n_cohorts=m, f=f, p=p, q=q), goal)
        for k in _BITS
        for m in _COHORTS
        if m <= most and h <= k
    ]
    return [design for design in designs if math.isfinite(design.standard_error)]


def _probabilities(goal: Goal, h: int, *, is_boolean: bool) -> tuple[float, float, float]:
    """Give f, p and q of the smallest variance."""
    differing = 1 if is_boolean else 2 * h
    f = 2 / (1 + math.exp(min(goal.epsilon_permanent / differing, _LARGE)))
    if is_boolean:  # both answers count alike: the symmetric design
        q_star = 1 / (1 + math.exp(-goal.epsilon_one))
        return f, *_within(1 - q_star, q_star, f)
    odds = math.exp(min(goal.epsilon_one / h, _LARGE))
    # p >= 0 is p* / q* >= f / (2 - f); p* rises with q*, and that ratio with both.
    q_star = 0.5
    p_star = q_star / (q_star + odds * (1 - q_star))
    if p_star * (2 - f) < f * q_star:
        # Solve p* (2 - f) = f q* together with the odds.
        ratio = f / (2 - f)
        q_star = (1 - odds * ratio) / (ratio * (1 - odds)) if ratio else q_star
        p_star = ratio * q_star
    return f, *_within(p_star, q_star, f)


def _within(p_star: float, q_star: float, f: float) -> tuple[float, float]:
    """Undo the permanent response, on the safe side of the rounding."""
    lift = (q_star - p_star) / (1 - f) * (1 - _MARGIN)
    middle = (q_star + p_star) / 2
    return max(0.0, middle - lift / 2), min(1.0, middle + lift / 2)
