"""Every epsilon of a run with its sampler, its neighbours and its worth beside it.

One run has many epsilons. Which of them holds depends on how batches are drawn and on which
data sets are called neighbours, far more than on the accountant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from dp.adjacency import Adjacency
from dp.errors import DPError, MissingPackageError
from dp.pld import PrivacyLoss
from dp.training import training_cost
from dpsgd.budget import steps_of
from dpsgd.history import strong_composition
from dpsgd.shuffling import shuffled_epsilon, shuffled_lower_bound

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from dp.guarantee import Guarantee

__all__ = ["Claim", "Sampling", "Worth", "claims"]

#: How batches are drawn: by a coin for each record, as a fixed number of records out of all at
#: each step, or cut from a shuffled file.
Sampling: TypeAlias = Literal["poisson", "fixed-size", "shuffled"]
#: ``"promise"`` holds for the sampler named; ``"customary"`` is a figure in use that does not;
#: ``"floor"`` is what no promise can be below; ``"history"`` is for comparison with old figures.
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
        ``"renyi"``, ``"renyi-classic"``, ``"loss"``, ``"no amplification"``,
        ``"lower bound"`` or ``"strong composition"``.
    worth
        Whether it is a promise.

    Examples
    --------
    >>> claim = Claim(
    ...     epsilon=1.2, delta=1e-5, sampling="poisson", adjacency="add-remove", account="loss"
    ... )
    >>> print(claim)
    epsilon = 1.2, delta = 1e-05 (poisson batches, add-remove, loss): promise
    """

    epsilon: float
    delta: float
    sampling: Sampling
    adjacency: Adjacency
    account: str
    worth: Worth = "promise"

    def __post_init__(self) -> None:
        object.__setattr__(self, "adjacency", Adjacency(self.adjacency))

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
    sampling: Sampling = "poisson",
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
    >>> for claim in claims(60_000, sampling="shuffled", **run):
    ...     print(f"{claim.adjacency}: {claim.epsilon:.2f}, {claim.worth}")
    zero-out: 16.53, promise
    replace: 42.19, promise
    add-remove: 1.15, customary
    zero-out: 3.14, floor
    """
    if sampling not in get_args(Sampling):
        raise DPError(
            f"Unknown sampling {sampling!r}.", hint=f"known: {', '.join(get_args(Sampling))}"
        )
    run = _Run(dataset_size, batch_size, noise_multiplier, epochs, delta)
    found = {"poisson": _poisson, "fixed-size": _fixed_size, "shuffled": _shuffled}[sampling]
    order = {worth: place for place, worth in enumerate(get_args(Worth))}
    return tuple(sorted(found(run), key=lambda claim: (order[claim.worth], claim.epsilon)))


@dataclass(frozen=True, slots=True)
class _Run:
    size: int
    batch: int
    sigma: float
    epochs: int
    delta: float

    @property
    def rate(self) -> float:
        return self.batch / self.size

    @property
    def steps(self) -> int:
        return steps_of(self.size, batch_size=self.batch, epochs=self.epochs)

    def renyi(self, conversion: str) -> float:
        from dp.rdp import CLASSIC_ORDERS, WIDE_ORDERS

        return training_cost(
            self.size,
            batch_size=self.batch,
            noise_multiplier=self.sigma,
            epochs=self.epochs,
            delta=self.delta,
            orders=CLASSIC_ORDERS if conversion == "classic" else WIDE_ORDERS,
            conversion=conversion,
            strict=False,
        ).epsilon

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
    for name, conversion in (("renyi-classic", "classic"), ("renyi", "tight")):
        yield run.claim(run.renyi(conversion), "poisson", Adjacency.ADD_REMOVE, name)
    if not 0 < run.sigma < math.inf:
        return
    for adjacency in (Adjacency.ADD_REMOVE, Adjacency.ZERO_OUT, Adjacency.REPLACE):
        step = PrivacyLoss.gaussian(run.sigma, sampling_rate=run.rate, adjacency=adjacency)
        yield run.claim((step * run.steps).epsilon(run.delta), "poisson", adjacency, "loss")
    past = strong_composition(
        run.sigma, sampling_rate=run.rate, steps=run.steps, delta=run.delta
    )
    yield run.claim(past, "poisson", Adjacency.ADD_REMOVE, "strong composition", "history")


def _fixed_size(run: _Run) -> Iterator[Claim]:
    usual = run.renyi("classic")
    yield run.claim(usual, "fixed-size", Adjacency.ADD_REMOVE, "renyi-classic", "customary")
    if not 0 < run.sigma < math.inf:
        yield run.claim(usual, "fixed-size", Adjacency.REPLACE, "renyi")
        return
    if run.batch == run.size:  # every record is in every batch: no chance is left
        for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE):
            epsilon = shuffled_epsilon(
                run.sigma, epochs=run.steps, delta=run.delta, adjacency=adjacency
            )
            yield run.claim(epsilon, "fixed-size", adjacency, "no amplification")
        return
    epsilon = _without_replacement(run)
    yield run.claim(epsilon, "fixed-size", Adjacency.REPLACE, "renyi")


def _without_replacement(run: _Run) -> float:
    accounting = _accounting()
    from dp_accounting import rdp

    accountant = rdp.RdpAccountant(
        neighboring_relation=accounting.NeighboringRelation.REPLACE_ONE
    )
    # A replaced record moves the sum by twice the clipping norm.
    step = accounting.SampledWithoutReplacementDpEvent(
        run.size, run.batch, accounting.GaussianDpEvent(run.sigma / 2)
    )
    accountant.compose(step, run.steps)
    return float(accountant.get_epsilon(run.delta))


def _shuffled(run: _Run) -> Iterator[Claim]:
    usual = run.renyi("classic")
    yield run.claim(usual, "shuffled", Adjacency.ADD_REMOVE, "renyi-classic", "customary")
    if not 0 < run.sigma < math.inf:
        yield run.claim(usual, "shuffled", Adjacency.ZERO_OUT, "no amplification")
        return
    for adjacency in (Adjacency.ZERO_OUT, Adjacency.REPLACE):
        epsilon = shuffled_epsilon(
            run.sigma, epochs=run.epochs, delta=run.delta, adjacency=adjacency
        )
        yield run.claim(epsilon, "shuffled", adjacency, "no amplification")
    floor = shuffled_lower_bound(
        run.sigma,
        steps_per_epoch=run.steps // run.epochs,
        epochs=run.epochs,
        delta=run.delta,
    )
    yield run.claim(floor, "shuffled", Adjacency.ZERO_OUT, "lower bound", "floor")


def _accounting() -> ModuleType:
    try:
        import dp_accounting
    except ImportError:
        raise MissingPackageError(
            "The account of fixed-size batches needs the package dp-accounting.",
            hint="pip install 'ckm-engine[dp]'",
        ) from None
    module: ModuleType = dp_accounting
    return module
