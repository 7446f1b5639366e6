"""Which rules hold, and with which limits."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RuleSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """The limits of all rules; None for a rule that is off.

    The rules of one vendor's example (zeros, ones, dominant category) are off by default: with
    those of sparsity, mean cell size and group disclosure they say little more.

    Examples
    --------
    >>> RuleSettings().sparsity_a, RuleSettings.of({"sparsity_a": False}).sparsity_a
    (0.25, None)
    """

    maximum_cells: int | None = 100_000
    maximum_categories: int | None = 62_000
    maximum_variables: int | None = 6
    small_areas: tuple[str, ...] = ()
    maximum_variables_small_areas: int | None = 4
    exclusive: tuple[tuple[str, ...], ...] = ()
    mandatory: tuple[str, ...] = ()
    minimum_population: int | None = 10
    sparsity_a: float | None = 0.25
    sparsity_b: float | None = 0.5
    permille_zeros: float | None = None
    permille_ones: float | None = None
    permille_dominant: float | None = None
    mean_cell_size: float | None = 2.0
    group_disclosure: int | None = 1
    permille_disclosive: float = 45.0
    judge_filters: bool | None = True

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Take settings as the service file has them, where false means off.

        Parameters
        ----------
        given
            Name → limit.
        """
        known = {field.name for field in fields(cls)}
        return cls(**{name: _plain(value) for name, value in given.items() if name in known})


def _plain(value: Any) -> Any:
    if value is False:
        return None
    return tuple(map(_plain, value)) if isinstance(value, list) else value
