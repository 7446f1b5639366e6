"""How epsilon moves with each choice: six series, and the surface of batch and noise."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from dp.accounting.rdp import CLASSIC_ORDERS, RenyiCurve
from dp.accounting.training import TrainingCost, training_cost
from dp.errors import DPError
from footing.messages import Message

#: Those of the surface.
BATCHES = (1, 4, 16, 64, 256, 512)
NOISES = (0.7, 1.0, 1.5, 2.0, 2.6)
_GROWTH = (1, 2, 3, 5, 10, 20, 50, 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The choices of a run that its epsilon depends on.

    Parameters
    ----------
    dataset_size, batch_size, noise_multiplier, epochs, delta
        As for `dp.training_cost`.
    """

    dataset_size: int
    batch_size: int
    noise_multiplier: float
    epochs: int = 10
    delta: float = 1e-5

    def cost(self, **account: Any) -> TrainingCost:
        """Return what the run costs, by the classic formula unless asked otherwise."""
        run = {field.name: getattr(self, field.name) for field in fields(Choices)}
        return training_cost(**run, strict=False, **account)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """An epsilon where one choice has another value."""

    value: float
    epsilon: float
    order: float
    is_at_edge: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Epsilon along one choice, all others as they are.

    Parameters
    ----------
    name
        The choice: one of `Choices`, or ``"order"`` for the curve whose least value counts.
    points
        In rising order of the value.
    """

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """A run, six series around it, and the surface of batch size and noise.

    Parameters
    ----------
    base
        The run.
    epsilon, order
        What it costs.
    series
        Along the order, the number of records, the batch size, the noise, the passes, delta.
    batches, noises
        The rows and columns of the surface.
    surface
        Epsilon by batch size and noise.
    """

    base: Choices
    epsilon: float
    order: float
    series: tuple[Series, ...]
    batches: tuple[int, ...]
    noises: tuple[float, ...]
    surface: tuple[tuple[float, ...], ...]


def study(
    base: Choices,
    *,
    batches: Sequence[int] = BATCHES,
    noises: Sequence[float] = NOISES,
) -> Study:
    """Vary each choice of a run by itself, and batch size and noise together.

    More records, more noise and a larger delta lower epsilon; larger batches and more passes
    raise it. Copies of a record, turned or shifted, are no further records.
    """
    cost = base.cost()
    if cost.noise_multiplier == 0:
        raise DPError(
            Message("Without noise every epsilon is infinite."), hint=Message("give some noise")
        )
    rows = tuple(sorted({batch for batch in batches if batch <= base.dataset_size}))
    columns = tuple(sorted(set(noises)))
    if not rows or not columns:
        raise DPError(Message("A surface needs a batch size that fits the data, and a noise."))
    surface = tuple(
        tuple(
            replace(base, batch_size=batch, noise_multiplier=noise).cost().epsilon
            for noise in columns
        )
        for batch in rows
    )
    return Study(
        base=base,
        epsilon=cost.epsilon,
        order=cost.order,
        series=(_by_order(base, cost), *(_along(base, n, v) for n, v in _values(base).items())),
        batches=rows,
        noises=columns,
        surface=surface,
    )


def _values(base: Choices) -> dict[str, list[float]]:
    size, batch = base.dataset_size, base.batch_size
    sizes = {max(batch, round(size * factor)) for factor in (0.05, 0.1, 0.5, 1, 2, 5, 10, 50)}
    batches = {max(1, round(batch * factor)) for factor in (0.25, 0.5, 1, 2, 4, 16, 64)}
    noises = (0.75, 0.875, 1, 1.125, 1.25, 1.5, 1.875, 2.5, 3.25)
    return {
        "dataset_size": sorted(sizes),
        "batch_size": sorted(value for value in batches if value <= size),
        "noise_multiplier": [round(base.noise_multiplier * factor, 6) for factor in noises],
        "epochs": sorted({*_GROWTH, base.epochs}),
        "delta": sorted({1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, base.delta}),
    }


def _along(base: Choices, name: str, values: Sequence[float]) -> Series:
    points = []
    for value in values:
        cost = replace(base, **{name: value}).cost()  # type: ignore[arg-type]
        figures = {key: getattr(cost, key) for key in ("epsilon", "order", "is_at_edge")}
        points.append(Point(value=value, **figures))
    return Series(name=name, points=tuple(points))


def _by_order(base: Choices, cost: TrainingCost) -> Series:
    """Return epsilon at each order by itself; the least of them is what the run costs."""
    curve = RenyiCurve.subsampled_gaussian(
        sampling_rate=cost.sampling_rate,
        noise_multiplier=base.noise_multiplier,
        orders=CLASSIC_ORDERS,
    )
    points = []
    for order, loss in zip(curve.orders, (curve * cost.steps).losses, strict=True):
        one = RenyiCurve(orders=(order,), losses=[loss])  # type: ignore[arg-type]
        account = one.epsilon(base.delta, conversion="classic")
        points.append(
            Point(value=order, epsilon=account.epsilon, order=order, is_at_edge=False)
        )
    return Series(name="order", points=tuple(points))
