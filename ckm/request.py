"""One table of a job, in the words of the job file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ckm.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EmptyCells", "TableRequest"]

EmptyCells = Literal["auto", "grid", "drop"]

_MEASURES = ("count", "weighted")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRequest:
    """A table to publish.

    Parameters
    ----------
    dimensions
        Columns or hierarchies; none gives the grand total.
    margins
        ``"all"``, ``"none"``, or the wanted margins, each a list of dimensions.
    where
        A filter, see `tables.filters`.
    measures
        ``"count"``, ``"weighted"``, or both.
    empty_cells
        ``"grid"`` writes every combination of categories, zeros included; ``"drop"`` leaves
        out every cell whose published count is zero, whether it was empty or not;
        ``"auto"`` is ``"grid"`` where all categories are declared, else ``"drop"``.

    Raises
    ------
    ConfigError
        If a measure or `empty_cells` is unknown.

    Notes
    -----
    There is no way to publish the non-empty cells and no others: a zero among them would
    tell that somebody is there.

    Examples
    --------
    >>> TableRequest(dimensions=["sex"]).measures
    ('count',)
    """

    dimensions: Sequence[str]
    margins: str | Sequence[Sequence[str]] = "all"
    where: str | None = None
    measures: Sequence[str] = ("count",)
    empty_cells: EmptyCells = "auto"

    def __post_init__(self) -> None:
        if isinstance(self.measures, str):
            object.__setattr__(self, "measures", (self.measures,))
        if isinstance(self.dimensions, str):
            raise ConfigError(
                "dimensions is a list of names.", hint=f"write [{self.dimensions!r}]"
            )
        object.__setattr__(self, "dimensions", tuple(self.dimensions))
        object.__setattr__(self, "measures", tuple(self.measures))
        unknown = [m for m in self.measures if m not in _MEASURES]
        if unknown or not self.measures or len(set(self.measures)) < len(self.measures):
            shown = ", ".join(repr(m) for m in self.measures) or "none"
            raise ConfigError(
                f"measures are 'count' and 'weighted', each once, not {shown}.",
                hint="sums of a variable are not available yet"
                if any(str(m).startswith("sum") for m in unknown)
                else 'for example measures = ["count"]',
            )
        if self.empty_cells not in {"auto", "grid", "drop"}:
            raise ConfigError(
                f"empty_cells must be 'auto', 'grid' or 'drop', not {self.empty_cells!r}."
            )
