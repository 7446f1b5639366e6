"""Every epsilon of a run with its sampler, its neighbours and its worth beside it.

One run has many epsilons. Which of them holds depends on how batches are drawn and on which
data sets are called neighbours, far more than on the accountant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from dp.accounting.training import training_cost
from dp.adjacency import Adjacency
from dp.errors import DPError
from dpsgd.accounting.budget import steps_of
from dpsgd.accounting.cost import Sampling, cost_of
from dpsgd.accounting.history import strong_composition
from dpsgd.accounting.shuffling import shuffled_lower_bound

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dp.guarantee import Guarantee

__all__ = ["Claim", "Sampling", "Worth", "claims"]

#: ``"promise"`` holds for the sampler named; ``"customary"`` is a figure in use that does not;
#: ``"floor"`` is what no promise can be below; ``"history"`` is to compare with old figures.
Worth: TypeAlias = Literal["promise", "customary", "floor", "history"]


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
        from dp.guarantee import Guarantee

        if self.worth != "promise":
            raise DPError(
                f"This figure is no promise but {self.worth}.",
                hint="take the claim of this run whose worth is 'promise'",
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
        drawn = Sampling(sampling)
    except ValueError:
        raise DPError(
            f"Unknown sampling {sampling!r}.", hint=f"known: {', '.join(Sampling)}"
        ) from None
    run = _Run(dataset_size, batch_size, noise_multiplier, epochs, delta, orders)
    found = {"poisson": _poisson, "fixed": _fixed, "shuffled": _shuffled}[drawn]
    order = {worth: place for place, worth in enumerate(get_args(Worth))}
    return tuple(sorted(found(run), key=lambda claim: (order[claim.worth], claim.epsilon)))


@dataclass(frozen=True, slots=True)
class _Run:
    size: int
    batch: int
    sigma: float
    epochs: int
    delta: float
    orders: Sequence[float] | None = None

    @property
    def rate(self) -> float:
        return self.batch / self.size

    @property
    def steps(self) -> int:
        return steps_of(self.size, batch_size=self.batch, epochs=self.epochs)

    def renyi(self, conversion: str) -> float:
        from dp.accounting.rdp import CLASSIC_ORDERS, WIDE_ORDERS

        return training_cost(
            self.size,
            batch_size=self.batch,
            noise_multiplier=self.sigma,
            epochs=self.epochs,
            delta=self.delta,
            orders=self.orders or (CLASSIC_ORDERS if conversion == "classic" else WIDE_ORDERS),
            conversion=conversion,
            strict=False,
        ).epsilon

    def promise(self, sampling: Sampling, adjacency: Adjacency) -> Claim:
        cost = cost_of(
            sampling_rate=self.rate,
            noise_multiplier=self.sigma,
            steps=self.steps,
            delta=self.delta,
            adjacency=adjacency,
            sampling=sampling,
            dataset_size=self.size,
        )
        return self.claim(cost.epsilon, sampling, adjacency, cost.accountant)

    def claim(
        self,
        epsilon: float,
        sampling: Sampling,
        adjacency: Adjacency,
        account: str,
        worth: Worth = "promise",
    ) -> Claim:
        return Claim(
            epsilon=epsilon,
            delta=self.delta,
            sampling=sampling,
            adjacency=adjacency,
            account=account,
            worth=worth,
        )


def _poisson(run: _Run) -> Iterator[Claim]:
    found = Sampling.POISSON
    for name, conversion in (("renyi-classic", "classic"), ("renyi", "tight")):
        yield run.claim(run.renyi(conversion), found, Adjacency.ADD_REMOVE, name)
    if not 0 < run.sigma < math.inf:
        return
    for adjacency in (Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT, Adjacency.REPLACE):
        yield run.promise(found, adjacency)
    past = strong_composition(
        run.sigma, sampling_rate=run.rate, steps=run.steps, delta=run.delta
    )
    yield run.claim(past, found, Adjacency.ADD_REMOVE, "strong composition", "history")


def _fixed(run: _Run) -> Iterator[Claim]:
    usual = run.renyi("classic")
    yield run.claim(usual, Sampling.FIXED, Adjacency.ADD_REMOVE, "renyi-classic", "customary")
    yield run.promise(Sampling.FIXED, Adjacency.REPLACE)


def _shuffled(run: _Run) -> Iterator[Claim]:
    usual = run.renyi("classic")
    found = Sampling.SHUFFLED
    yield run.claim(usual, found, Adjacency.ADD_REMOVE, "renyi-classic", "customary")
    for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE):
        yield run.promise(found, adjacency)
    if not 0 < run.sigma < math.inf:
        return
    floor = shuffled_lower_bound(
        run.sigma,
        steps_per_epoch=run.steps // run.epochs,
        epochs=run.epochs,
        delta=run.delta,
    )
    yield run.claim(floor, found, Adjacency.ZERO_OUT, "lower bound", "floor")
