"""The plan of a training run: everything its cost depends on, settled before it starts.

Sampler, clipping, noise and account read the same plan, so that they cannot disagree.
"""

import hashlib
import json
import math
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from dp import Adjacency
from dpsgd.accounting.accounts import cuts_noise
from dpsgd.accounting.cost import Cost, Sampling, check_neighbours, cost_of, noise_for
from dpsgd.errors import PlanError
from dpsgd.schema import Schema
from footing.checks import require_integer, require_number
from footing.messages import Argument, Message, Name
from footing.serialisation import canonical, plain_fields

_FORMAT = 1
_LARGEST = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveClipping:
    """A clipping norm that follows a quantile of the norms, paid for out of the same noise.

    Parameters
    ----------
    quantile
        The share of records whose gradients shall stay unclipped.
    rate
        How fast the norm follows.
    count_noise
        Standard deviation of the noise on the number of unclipped records.

    Examples
    --------
    >>> round(AdaptiveClipping(count_noise=10).gradient_noise(1.0), 4)
    1.0013
    """

    quantile: float = 0.5
    rate: float = 0.2
    count_noise: float = 10.0

    def __post_init__(self) -> None:
        require_number(self.quantile, "quantile", error=PlanError, above=0, below=1)
        for name in ("rate", "count_noise"):
            require_number(getattr(self, name), name, error=PlanError, above=0)

    def gradient_noise(self, noise_multiplier: float) -> float:
        """Return the noise multiplier of the gradients that leaves the whole as stated.

        Parameters
        ----------
        noise_multiplier
            That of the plan, for gradients and count together.

        Notes
        -----
        ``(z ** -2 - (2 s) ** -2) ** -0.5``: the count is of numbers from -1/2 to 1/2.

        References
        ----------
        Andrew, Thakkar, McMahan, Ramaswamy 2021, theorem 1.
        """
        if noise_multiplier == 0:
            return 0.0
        if noise_multiplier >= 2 * self.count_noise:
            raise PlanError(
                Message(
                    "count_noise must exceed half the noise multiplier, {noise_multiplier:g} / "
                    "2, not be {count_noise:g}.",
                    noise_multiplier=noise_multiplier,
                    count_noise=self.count_noise,
                ),
                hint=Message("a twentieth of the expected batch is usual"),
            )
        return float((noise_multiplier**-2 - (2 * self.count_noise) ** -2) ** -0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A training run as decided before anybody looks at the data.

    Parameters
    ----------
    dataset_size
        Number of records. Under ``add-remove`` a public guess: it scales the sum of gradients
        and is never compared with the data. Otherwise the public, true number.
    sampling_rate
        Chance of a record to be in a batch.
    steps
        How many batches; training stops there.
    noise_multiplier
        Standard deviation of the noise over the clipping norm.
    delta
        The delta; below 1 / dataset_size.
    clipping_norm
        The longest gradient that one record may contribute.
    sampling
        How batches are drawn.
    adjacency, unit
        The neighbours, and who is protected. A unit has one record.
    epsilon
        What the run must not exceed; nothing is checked without it.
    schema
        The columns, for a table.
    adaptive
        How the clipping norm follows the gradients; None keeps it.
    augmentations
        How many altered copies of a record make up its gradient. They cost nothing.
    seed
        None draws from the operating system. A number makes a demonstration that anyone can
        repeat and take the noise off; it is no release.

    Examples
    --------
    >>> plan = Plan.for_budget(
    ...     1.0, delta=1e-5, dataset_size=32_561, batch_size=1024, steps=640, clipping_norm=0.5
    ... )
    >>> round(plan.noise_multiplier, 2), round(plan.cost().epsilon, 2)
    (3.11, 1.0)
    >>> Plan.from_json(plan.to_json()) == plan
    True
    """

    dataset_size: int
    sampling_rate: float
    steps: int
    noise_multiplier: float
    delta: float
    clipping_norm: float = 1.0
    sampling: Sampling = Sampling.POISSON
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    unit: str = "record"
    epsilon: float | None = None
    schema: Schema | None = None
    adaptive: AdaptiveClipping | None = None
    augmentations: int = 1
    seed: int | None = None

    def __post_init__(self) -> None:
        _to_enumerations(self)
        for name in ("dataset_size", "steps", "augmentations"):
            _integer(getattr(self, name), name)
        require_number(self.sampling_rate, "sampling_rate", error=PlanError, above=0, maximum=1)
        require_number(self.delta, "delta", error=PlanError, above=0, below=1)
        if self.delta >= 1 / self.dataset_size:
            raise PlanError(
                Message(
                    "delta must lie below 1 / {dataset_size}, not be {delta:g}.",
                    dataset_size=self.dataset_size,
                    delta=self.delta,
                ),
                hint=Message("a mechanism that publishes one record may have such a delta"),
            )
        require_number(self.noise_multiplier, "noise_multiplier", error=PlanError, minimum=0)
        _check_clipping(self)
        if self.epsilon is not None:
            require_number(self.epsilon, "epsilon", error=PlanError, above=0)
        if self.seed is not None:
            _integer(self.seed, "seed", minimum=0)
        if not self.unit.strip():
            raise PlanError(
                Message("unit must name who is protected."),
                hint=Message("for example 'person'"),
            )
        check_neighbours(self.sampling, self.adjacency)
        _check_batch(self)

    @classmethod
    def for_budget(
        cls,
        epsilon: float,
        *,
        delta: float,
        dataset_size: int,
        batch_size: int,
        steps: int | None = None,
        epochs: float | None = None,
        **settings: Any,
    ) -> Self:
        """Return the plan with the least noise that keeps a budget.

        Parameters
        ----------
        epsilon, delta
            The budget.
        dataset_size
            Number of records, see above.
        batch_size
            Expected number of records in a batch.
        steps, epochs
            How many batches, or passes over the data; one of the two. A pass counts as
            ``ceil(dataset_size / batch_size)`` batches.
        settings
            Other fields of the plan.

        Examples
        --------
        >>> budget = {"delta": 1e-6, "dataset_size": 10_000, "batch_size": 500}
        >>> Plan.for_budget(0.5, **budget, epochs=10).steps
        200
        """
        draft = cls.for_noise(
            0.0,
            delta=delta,
            dataset_size=dataset_size,
            batch_size=batch_size,
            steps=steps,
            epochs=epochs,
            epsilon=epsilon,
            **settings,
        )
        has_cuts = draft.schema is not None and bool(draft.schema.uncut)
        sigma = noise_for(epsilon, steps=draft.steps, has_cuts=has_cuts, **_accounted(draft))
        return replace(draft, noise_multiplier=sigma)

    @classmethod
    def for_noise(
        cls,
        noise_multiplier: float,
        *,
        delta: float,
        dataset_size: int,
        batch_size: int,
        steps: int | None = None,
        epochs: float | None = None,
        **settings: Any,
    ) -> Self:
        """Return the plan with a noise that is given.

        Parameters
        ----------
        noise_multiplier
            Standard deviation of the noise over the clipping norm.
        delta, dataset_size, batch_size, steps, epochs, settings
            As for `for_budget`.

        Examples
        --------
        >>> budget = {"delta": 1e-6, "dataset_size": 10_000, "batch_size": 500}
        >>> Plan.for_noise(2.0, **budget, epochs=10).sampling_rate
        0.05
        """
        for name, value in (("dataset_size", dataset_size), ("batch_size", batch_size)):
            _integer(value, name)
        if batch_size > dataset_size:
            raise PlanError(
                Message(
                    "batch_size must not exceed dataset_size, but {batch_size} exceeds "
                    "{dataset_size}.",
                    batch_size=batch_size,
                    dataset_size=dataset_size,
                ),
                hint=Message("for steps on all records, make them equal"),
            )
        return cls(
            dataset_size=dataset_size,
            sampling_rate=batch_size / dataset_size,
            steps=_steps(steps, epochs, math.ceil(dataset_size / batch_size)),
            noise_multiplier=noise_multiplier,
            delta=delta,
            **settings,
        )

    @property
    def expected_batch(self) -> float:
        """Expected number of records in a batch; what the noisy sum is divided by.

        Examples
        --------
        >>> run = {"steps": 10, "noise_multiplier": 1, "delta": 1e-5}
        >>> Plan(dataset_size=1000, sampling_rate=0.25, **run).expected_batch
        250.0
        """
        return self.sampling_rate * self.dataset_size

    @property
    def is_demonstration(self) -> bool:
        """Whether the run can be repeated by anyone, and protects nobody."""
        return self.seed is not None

    @property
    def gradient_noise(self) -> float:
        """Noise multiplier of the gradients: a little more where the norm adapts."""
        if self.adaptive is None:
            return self.noise_multiplier
        return self.adaptive.gradient_noise(self.noise_multiplier)

    @property
    def cuts_noise(self) -> float:
        """Noise multiplier of the counts that find cuts of columns; 0 where none are found."""
        if self.schema is None or not self.schema.uncut or not self.noise_multiplier:
            return 0.0
        return cuts_noise(
            rate=self.sampling_rate, sigma=self.noise_multiplier, steps=self.steps
        )

    @property
    def id(self) -> str:
        """Digest of the whole content."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def cost(self, steps: int | None = None) -> Cost:
        """Return what the run costs, with the neighbours and the sampler it holds for.

        Parameters
        ----------
        steps
            After how many batches; None for all.

        Examples
        --------
        >>> plan = Plan(
        ...     dataset_size=1000, sampling_rate=0.1, steps=100, noise_multiplier=2, delta=1e-4
        ... )
        >>> print(plan.cost())
        epsilon = 1.96598, delta = 0.0001 (add-remove, per record; poisson batches, 100 steps)
        >>> plan.cost(0).epsilon
        0.0
        """
        is_clipped = math.isfinite(self.clipping_norm)
        n_steps = self.steps if steps is None else _integer(steps, "steps", minimum=0)
        return cost_of(
            noise_multiplier=self.noise_multiplier if is_clipped else 0.0,
            steps=n_steps,
            unit=self.unit,
            cuts_noise=self.cuts_noise,
            cuts_times=-(-n_steps // self.steps),
            **_accounted(self),
        )

    def check_budget(self) -> None:
        """Refuse a plan that costs more than the epsilon it states.

        Examples
        --------
        >>> run = {"dataset_size": 100, "sampling_rate": 0.1, "steps": 10, "delta": 1e-3}
        >>> Plan(**run, noise_multiplier=2, epsilon=1).check_budget()
        """
        if self.epsilon is not None and (epsilon := self.cost().epsilon) > self.epsilon:
            raise PlanError(
                Message(
                    "The plan states epsilon {epsilon:g}, but costs {spent:g}.",
                    epsilon=self.epsilon,
                    spent=epsilon,
                ),
                hint=Message("raise noise_multiplier, or make the plan with Plan.for_budget"),
            )

    def to_json(self) -> str:
        """Return the plan as text, the same for equal plans.

        Examples
        --------
        >>> run = {"dataset_size": 100, "sampling_rate": 0.1, "steps": 10, "delta": 1e-3}
        >>> Plan(**run, noise_multiplier=2).to_json()[:43]
        '{"adaptive": null, "adjacency": "add-remove'
        """
        content = plain_fields(self) | {"format": _FORMAT}
        if math.isinf(self.clipping_norm):
            content["clipping_norm"] = "infinite"
        return canonical(content)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the plan that `to_json` wrote.

        Parameters
        ----------
        text
            The text.
        """
        try:
            content = json.loads(text)
            version = content.pop("format")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise PlanError(
                Message("This text is no plan."), hint=Message("write one with Plan.to_json")
            ) from None
        names = {field.name for field in fields(cls)}
        if version != _FORMAT or (unknown := sorted(set(content) - names)):
            raise PlanError(
                Message("This plan has format {version!r}.", version=Argument(version))
                if version != _FORMAT
                else Message("A plan has no entry {names!r}.", names=Argument(unknown[0])),
                hint=Message("it was written by another version"),
            )
        try:
            if content.get("schema") is not None:
                content["schema"] = Schema.from_dict(content["schema"])
            if content.get("adaptive") is not None:
                content["adaptive"] = AdaptiveClipping(**content["adaptive"])
            if content.get("clipping_norm") == "infinite":
                content["clipping_norm"] = math.inf
            return cls(**content)
        except TypeError as error:
            raise PlanError(
                Message("An entry of the plan is missing or of another kind.")
            ) from error


def _accounted(plan: Plan) -> dict[str, Any]:
    """Return what the account depends on beside the noise and the steps."""
    names = ("sampling_rate", "delta", "adjacency", "sampling", "dataset_size")
    return {name: getattr(plan, name) for name in names}


def _to_enumerations(plan: Plan) -> None:
    for name, kind in (("sampling", Sampling), ("adjacency", Adjacency)):
        try:
            object.__setattr__(plan, name, kind(getattr(plan, name)))
        except ValueError:
            raise PlanError(
                Message(
                    "Unknown {name} {getattr!r}.",
                    name=Name(name),
                    getattr=Argument(getattr(plan, name)),
                ),
                hint=Message("known: {kind}", kind=Name.each(kind)),
            ) from None


def _steps(steps: int | None, epochs: float | None, batches: int) -> int:
    if (steps is None) == (epochs is None):
        raise PlanError(
            Message("A plan has steps or epochs."), hint=Message("give one of the two")
        )
    if steps is not None:
        return _integer(steps, "steps")
    passes = require_number(epochs, "epochs", error=PlanError, above=0)
    return math.ceil(passes * batches - 1e-9)


def _check_clipping(plan: Plan) -> None:
    norm, way = plan.clipping_norm, Message("1 is usual")
    require_number(
        norm, "clipping_norm", error=PlanError, hint=way, above=0, may_be_infinite=True
    )
    if math.isinf(plan.clipping_norm) and (plan.noise_multiplier or plan.adaptive):
        raise PlanError(
            Message("Without clipping no noise is enough."),
            hint=Message(
                "give a clipping_norm, or noise_multiplier=0 for training without privacy"
            ),
        )
    if plan.adaptive is not None:
        plan.adaptive.gradient_noise(plan.noise_multiplier)


def _check_batch(plan: Plan) -> None:
    if plan.sampling == Sampling.POISSON:
        return
    size = plan.expected_batch
    if round(size) < 1 or abs(size - round(size)) > 1e-6 * size:
        raise PlanError(
            Message(
                "Batches of a set size need a whole number of records, not {size:g}.", size=size
            ),
            hint=Message("make sampling_rate a whole number over dataset_size"),
        )


def _integer(value: Any, name: str, *, minimum: int = 1) -> int:
    return require_integer(value, name, error=PlanError, minimum=minimum, maximum=_LARGEST)
