"""Cells that an office names as sensitive, found again in every table by their contributors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ckm.engine.request import TableRequest
from ckm.errors import ConfigError, MagnitudeError
from footing.messages import Message, Name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ckm.engine.magnitudes.settings import MagnitudeNoise
    from footing.arrays import Flags
    from tables import Cells
    from tables.magnitudes.amounts import Magnitudes

#: Dimension and category, by dimension.
NamedCell: TypeAlias = tuple[tuple[str, str], ...]


def as_named_cells(value: Any) -> tuple[NamedCell, ...]:
    """Return named cells in one form: pairs of dimension and category, in order."""
    is_list = isinstance(value, (list, tuple))
    cells = [dict(c) if _is_pairs(c) else c for c in value] if is_list else [None]
    for cell in cells:
        if not (isinstance(cell, Mapping) and cell and all(map(_is_text, cell.items()))):
            raise ConfigError(
                Message(
                    "named_cells must be a list of cells, each by its dimensions and "
                    "categories, as texts."
                ),
                hint=Message('named_cells = [{"region": "North", "branch": "steel"}]'),
                at=("named_cells",),
            )
    return tuple(dict.fromkeys(tuple(sorted(cell.items())) for cell in cells if cell))


def named_requests(
    requests: Iterable[TableRequest], noises: Mapping[str, MagnitudeNoise]
) -> dict[str, TableRequest]:
    """Return the tables in which named cells are looked up."""
    lookups = {}
    for variable in dict.fromkeys(name for request in requests for name in request.variables):
        for cell in as_named_cells(noises[variable].named_cells):
            dimensions = tuple(dimension for dimension, _ in cell)
            lookups[f"named cells of {variable!r} by {', '.join(dimensions)}"] = TableRequest(
                dimensions=dimensions,
                measures=[f"sum:{variable}"],
                missing_values="skip",
            )
    return lookups


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NamedKeys:
    """The contributors of named cells. Disclosive: never write or print them.

    A cell of any table is named if it has the same contributors, whatever its filter and
    categories say: else one set of records would have two noises.

    Parameters
    ----------
    keys
        Variable → the summed keys of contributors and how many there are, for every named cell.
    """

    keys: Mapping[str, frozenset[tuple[int, int]]]

    @classmethod
    def of(
        cls,
        looked_up: Iterable[tuple[TableRequest, Cells]],
        noises: Mapping[str, MagnitudeNoise],
    ) -> NamedKeys:
        """Look named cells up."""
        by_variable: dict[str, set[tuple[int, int]]] = {}
        for request, cells in looked_up:
            (variable,) = request.variables
            magnitudes = (cells.magnitudes or {})[variable]
            for cell in as_named_cells(noises[variable].named_cells):
                if tuple(dimension for dimension, _ in cell) == tuple(request.dimensions):
                    here = _here(cell, cells, variable)
                    keys = magnitudes.key[here].tolist()
                    numbers = magnitudes.contributors[here].tolist()
                    by_variable.setdefault(variable, set()).update(
                        zip(keys, numbers, strict=True)
                    )
        return cls({variable: frozenset(keys) for variable, keys in by_variable.items()})

    def flag(self, cells: Cells) -> Cells:
        """Return the cells with a mark on those that are named."""
        if not self.keys or not cells.magnitudes:
            return cells
        return replace(
            cells,
            magnitudes={
                variable: replace(magnitudes, named=_named(magnitudes, self.keys[variable]))
                if variable in self.keys
                else magnitudes
                for variable, magnitudes in cells.magnitudes.items()
            },
        )


def _here(cell: NamedCell, cells: Cells, variable: str) -> Flags:
    """Tell which cell is meant; none where nobody is in it."""
    is_here = np.ones(len(cells), np.bool_)
    for (dimension, category), axis, ranks in zip(cell, cells.axes, cells.ranks, strict=True):
        if len(axis.columns) > 1:
            raise MagnitudeError(
                Message(
                    "A named cell of {variable!r} is in the hierarchy {dimension!r}, which has "
                    "the columns {columns}.",
                    variable=Name(variable),
                    dimension=Name(dimension),
                    columns=Name.each(axis.columns),
                ),
                hint=Message("name the cell by these columns"),
            )
        is_category = axis.labels[0] == category
        if not is_category.any():
            raise MagnitudeError(
                Message(
                    "A named cell of {variable!r} has the category {category!r}, which "
                    "{dimension!r} does not have.",
                    variable=Name(variable),
                    category=Name(category),
                    dimension=Name(dimension),
                ),
                hint=Message(
                    "look at its spelling, or declare the categories of the dimension"
                ),
            )
        is_here &= is_category[ranks]
    return is_here


def _named(magnitudes: Magnitudes, keys: frozenset[tuple[int, int]]) -> Flags:
    own_keys = np.array(sorted({key for key, _ in keys}), np.uint64)
    mask = np.isin(magnitudes.key, own_keys) & (magnitudes.contributors > 0)
    for place in np.flatnonzero(mask).tolist():
        pair = int(magnitudes.key[place]), int(magnitudes.contributors[place])
        mask[place] = pair in keys
    return mask


def _is_pairs(cell: object) -> bool:
    return isinstance(cell, tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in cell)


def _is_text(pair: tuple[object, object]) -> bool:
    return all(isinstance(text, str) and text for text in pair)
