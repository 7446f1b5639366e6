"""Every epsilon of a run with its sampler, its neighbours and its worth beside it.

One run has many epsilons. Which of them holds depends on how batches are drawn and on which
data sets are called neighbours, far more than on the accountant.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dp.accounting.rdp import CLASSIC_ORDERS, WIDE_ORDERS
from dp.accounting.training import steps_of
from dp.adjacency import Adjacency
from dp.errors import DPError
from dp.guarantee import Guarantee
from dpsgd.accounting.cost import Sampling, cost_of
from dpsgd.accounting.published import strong_composition
from dpsgd.accounting.sensitivity import Choices
from dpsgd.accounting.shuffling import shuffled_lower_bound
from footing.messages import Argument, Message, Name, said

__all__ = ["Claim", "Sampling", "Worth", "claims"]

#: ``"promise"`` holds for the sampler named; ``"customary"`` is a figure in use that does not;
#: ``"floor"`` is what no promise can be below; ``"history"`` is to compare with old figures.
Worth: TypeAlias = Literal["promise", "customary", "floor", "history"]


_ACCOUNTED = ("noise_multiplier", "delta", "sampling", "dataset_size")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """An epsilon, and what it is worth.

    Parameters
    ----------
    epsilon, delta
        The figure.
    sampling
        How the batches are drawn.
    adjacency
        What the neighbours are.
    account
        The method that gave the figure.
    worth
        Whether it is a promise.

    Examples
    --------
    >>> claim = Claim(
    ...     epsilon=1.2, delta=1e-5, sampling="poisson", adjacency="add-remove", account="renyi"
    ... )
    >>> print(claim)
    epsilon = 1.2, delta = 1e-05 (poisson batches, add-remove, renyi): promise
    """

    epsilon: float
    delta: float
    sampling: Sampling
    adjacency: Adjacency
    account: str
    worth: Worth = "promise"

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))
        object.__setattr__(self, "sampling", Sampling(self.sampling))

    def guarantee(self, *, unit: str = "record") -> Guarantee:
        """Return it as a guarantee, for a ledger; only a promise is one.

        Parameters
        ----------
        unit
            Who is protected.
        """
        if self.worth != "promise":
            raise DPError(
                Message("This figure is no guarantee: it is {worth}.", worth=said(self.worth)),
                hint=Message("take the claim of this run whose worth is 'promise'"),
            )
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta if math.isfinite(self.epsilon) else 0.0,
            adjacency=self.adjacency,
            unit=unit,
        )

    def __str__(self) -> str:
        return (
            f"epsilon = {self.epsilon:.4g}, delta = {self.delta:g} ({self.sampling} batches, "
            f"{self.adjacency}, {self.account}): {self.worth}"
        )


def claims(
    dataset_size: int,
    *,
    batch_size: int,
    noise_multiplier: float,
    epochs: int,
    delta: float = 1e-5,
    sampling: Sampling = Sampling.POISSON,
    orders: Sequence[float] | None = None,
) -> tuple[Claim, ...]:
    """Return all that can be said of a run, the promises first, the least epsilon first.

    Parameters
    ----------
    dataset_size
        Number of records.
    batch_size
        Records in a batch, or their expected number.
    noise_multiplier
        Standard deviation of the noise over the clipping norm.
    epochs
        Passes over the data.
    delta
        The delta.
    sampling
        How batches are really drawn.
    orders
        Orders of the Rényi formulas; None for 1.1 to 63 in the classic one, more in the other.

    Notes
    -----
    Blanking a record moves a clipped sum by the clipping norm, as adding or removing one does;
    replacing one moves it twice as far. Fixed-size batches have a Rényi account for replaced
    records; shuffled ones no amplification at all.

    References
    ----------
    Wang, Balle, Kasiviswanathan 2019 (fixed-size batches).

    Examples
    --------
    >>> run = {"batch_size": 240, "noise_multiplier": 1.3, "epochs": 15}
    >>> for claim in claims(60_000, sampling=Sampling.SHUFFLED, **run):
    ...     print(f"{claim.adjacency}: {claim.epsilon:.2f}, {claim.worth}")
    zero-out: 16.53, promise
    replace: 42.41, promise
    add-remove: 1.16, customary
    zero-out: 3.14, floor
    """
    try:
        sampler = Sampling(sampling)
    except ValueError:
        raise DPError(
            Message("Unknown sampling {sampling!r}.", sampling=Argument(sampling)),
            hint=Message("known: {sampling}", sampling=Name.each(Sampling)),
        ) from None
    run = _Run(
        dataset_size=dataset_size,
        batch_size=batch_size,
        noise_multiplier=noise_multiplier,
        epochs=epochs,
        delta=delta,
        sampling=sampler,
        orders=orders,
    )
    make = {"poisson": _poisson, "fixed": _fixed, "shuffled": _shuffled}[sampler]
    order = {worth: place for place, worth in enumerate(get_args(Worth))}
    return tuple(sorted(make(run), key=lambda claim: (order[claim.worth], claim.epsilon)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run(Choices):
    sampling: Sampling
    orders: Sequence[float] | None = None

    @property
    def rate(self) -> float:
        return self.batch_size / self.dataset_size

    @property
    def steps(self) -> int:
        return steps_of(self.dataset_size, batch_size=self.batch_size, epochs=self.epochs)

    @property
    def is_noisy(self) -> bool:
        return 0 < self.noise_multiplier < math.inf

    def renyi(self, conversion: str) -> float:
        usual = CLASSIC_ORDERS if conversion == "classic" else WIDE_ORDERS
        return self.cost(orders=self.orders or usual, conversion=conversion).epsilon

    def promise(self, adjacency: Adjacency) -> Claim:
        cost = cost_of(
            sampling_rate=self.rate,
            steps=self.steps,
            adjacency=adjacency,
            **{name: getattr(self, name) for name in _ACCOUNTED},
        )
        return self.claim(cost.epsilon, adjacency, cost.accountant)

    def claim(
        self, epsilon: float, adjacency: Adjacency, account: str, worth: Worth = "promise"
    ) -> Claim:
        return Claim(
            epsilon=epsilon,
            delta=self.delta,
            sampling=self.sampling,
            adjacency=adjacency,
            account=account,
            worth=worth,
        )

    def customary(self) -> Claim:
        return self.claim(
            self.renyi("classic"), Adjacency.ADD_REMOVE, "renyi-classic", "customary"
        )


def _poisson(run: _Run) -> Iterator[Claim]:
    for name, conversion in (("renyi-classic", "classic"), ("renyi", "tight")):
        yield run.claim(run.renyi(conversion), Adjacency.ADD_REMOVE, name)
    if not run.is_noisy:
        return
    for adjacency in (Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT, Adjacency.REPLACE):
        yield run.promise(adjacency)
    past = strong_composition(
        run.noise_multiplier, sampling_rate=run.rate, steps=run.steps, delta=run.delta
    )
    yield run.claim(past, Adjacency.ADD_REMOVE, "strong composition", "history")


def _fixed(run: _Run) -> Iterator[Claim]:
    yield run.customary()
    yield run.promise(Adjacency.REPLACE)


def _shuffled(run: _Run) -> Iterator[Claim]:
    yield run.customary()
    for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE):
        yield run.promise(adjacency)
    if run.is_noisy:
        floor = shuffled_lower_bound(
            run.noise_multiplier,
            steps_per_epoch=run.steps // run.epochs,
            epochs=run.epochs,
            delta=run.delta,
        )
        yield run.claim(floor, Adjacency.ZERO_OUT, "lower bound", "floor")
