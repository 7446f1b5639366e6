"""The shape of ``[[magnitude]]``: the noise of the sums and means of a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ckm.config.section import Section, Text

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["AmountTableModel", "MagnitudeModel", "SensitiveModel", "magnitude_sections"]


class FlexModel(Section):
    """Let the share of a step of noise fall from small amounts to large ones."""

    point: float = Field(gt=0, description="Up to this amount the share is small.")
    small: float = Field(gt=0, le=1, description="The share of small amounts.")
    large: float = Field(gt=0, le=1, description="The share of very large amounts.")
    power: int = Field(default=3, ge=1, le=20, description="How fast the share falls.")


class AmountTableModel(Section):
    """The p-table of amounts: a specification to solve, or a file."""

    path: str | None = Field(default=None, min_length=1, description="A p-table file.")
    max_noise: Annotated[int, Field(ge=1, le=1000)] | None = Field(
        default=None, description="Largest noise, in steps."
    )
    variance: float | None = Field(default=None, gt=0, description="Variance of the noise.")
    step: int | None = Field(default=None, ge=1, le=1000, description="Parts of a step.")


class DominanceModel(Section):
    """The nk rule."""

    n: int = Field(ge=1, le=6, description="How many of the largest contributors.")
    percent: float = Field(gt=0, lt=100, description="Their share of the total.")


class PriorPosteriorModel(Section):
    """The p-q rule."""

    posterior: float = Field(gt=0, lt=100, description="p: how near they come, per cent.")
    prior: float = Field(gt=0, le=100, description="q: how near all were before, per cent.")


class SensitiveModel(Section):
    """Which cells are sensitive: those that any of these finds."""

    few: int | None = Field(default=None, ge=2, description="Fewer contributors than this.")
    dominance: DominanceModel | None = Field(default=None, description="The nk rule.")
    p_percent: float | None = Field(default=None, gt=0, lt=100, description="The p % rule.")
    prior_posterior: PriorPosteriorModel | None = Field(
        default=None, description="The p-q rule."
    )
    weighted: bool = Field(default=False, description="Hold them to weighted totals.")


class MagnitudeModel(Section):
    """The noise of the sums and means of a variable."""

    name: str | None = Field(
        default=None, min_length=1, description="The column; without it, all other variables."
    )
    unit: Text | None = Field(default=None, description="Of its amounts: euros.")
    rules: Literal["ckm", "cellkey", "tauargus"] = Field(
        default="ckm", description="ckm, or another tool's rules to repeat its releases."
    )
    spread: float | None = Field(
        default=None, gt=0, le=1, description="Standard deviation, as a share of the base."
    )
    share: float | None = Field(
        default=None, gt=0, le=1, description="One step of noise, as a share of the base."
    )
    flex: FlexModel | None = Field(default=None, description="A share that falls.")
    base: Literal["top", "mean", "range", "sum"] = Field(
        default="top", description="What noise is a share of."
    )
    factors: list[Annotated[float, Field(gt=0, le=1)]] = Field(
        default=[1.0], min_length=1, max_length=6, description="One for each contributor."
    )
    ptable: AmountTableModel | None = Field(default=None, description="The p-table.")
    even: AmountTableModel | None = Field(default=None, description="Of even numbers.")
    odd: AmountTableModel | None = Field(default=None, description="Of odd numbers.")
    small_cells: AmountTableModel | None = Field(
        default=None, description="Of cells below the separation point."
    )
    sensitive: SensitiveModel | None = Field(
        default=None, description="Which cells are sensitive."
    )
    named_cells: list[dict[str, str]] = Field(
        default=[], description="Further sensitive cells, by dimension and category."
    )
    least_noise: float | None = Field(
        default=None, ge=0, description="What sensitive cells have more, in steps."
    )
    signed: bool = Field(default=False, description="Whether amounts may be negative.")
    zero_keys: bool = Field(default=False, description="Whether zeros count in the key.")
    jitter: bool = Field(default=True, description="Spread noise evenly within its step.")
    decimals: Literal["all"] | Annotated[int, Field(ge=-15, le=15)] | None = Field(
        default=None, description="Decimals of published sums, -3 for thousands."
    )
    period: str = Field(default="", description="That of the data: 2027.")
    same_key: bool = Field(default=True, description="Of cellkey: the first key unturned.")
    key_decimals: int = Field(default=8, ge=1, le=15, description="Of tauargus.")


def magnitude_sections() -> dict[str, type[BaseModel]]:
    """Return the section and those within it, by the name that people know.

    Examples
    --------
    >>> list(magnitude_sections())[:2]
    ['magnitude', 'magnitude.flex']
    """
    tables = ("ptable", "even", "odd", "small_cells")
    return {
        "magnitude": MagnitudeModel,
        "magnitude.flex": FlexModel,
        "magnitude.sensitive": SensitiveModel,
        "magnitude.sensitive.dominance": DominanceModel,
        "magnitude.sensitive.prior_posterior": PriorPosteriorModel,
        **{f"magnitude.{name}": AmountTableModel for name in tables},
    }
