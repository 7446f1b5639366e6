"""Rules on the shape of a request: known before anything is counted."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ckm.service.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ckm.service.rules.settings import RuleSettings

__all__ = ["Shape", "judge_shape"]

_MAX_COMBINATIONS = 10_000
_MAX_COUNTED = 20_000_000  # cells of all combinations of levels together
_MAX_OF_ONE = 1_000_000  # more categories do not make more cells: persons do


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a request asks for, whatever the data hold.

    Parameters
    ----------
    cells
        Cells of the answer.
    categories
        Variable → its categories at the levels asked for; selecting some of them does not
        count, so that slices cannot evade a rule.
    filtered
        Variables of the filter.
    levels
        Variable → the names of the levels asked for.
    area
        The variable of areas, or None.
    sizes
        For every variable the number of categories of each level asked for, the total's too.
    """

    cells: int
    categories: Mapping[str, int]
    filtered: frozenset[str] = frozenset()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    area: str | None = None
    sizes: tuple[tuple[int, ...], ...] = ()

    @property
    def variables(self) -> frozenset[str]:
        """The variables of the table and of its filter."""
        return frozenset(self.categories) | self.filtered


def judge_shape(shape: Shape, settings: RuleSettings) -> Finding | None:
    """Return the first rule that the shape of a request breaks.

    Parameters
    ----------
    shape, settings
        The request's shape, and the rules.

    Examples
    --------
    >>> from ckm.service.rules.settings import RuleSettings
    >>> found = judge_shape(
    ...     Shape(cells=9, categories={"sex": 2}), RuleSettings(maximum_cells=8)
    ... )
    >>> found.rule
    'maximum_cells'
    """
    for rule in _RULES:
        for finding in rule(shape, settings):
            return finding
    return None


def _mandatory(shape: Shape, settings: RuleSettings) -> Iterator[Finding]:
    for name in settings.mandatory:
        if name not in shape.categories:
            yield Finding(rule="mandatory", dimension=name, tries=("mandatory_try",))


def _exclusive(shape: Shape, settings: RuleSettings) -> Iterator[Finding]:
    for group in settings.exclusive:
        together = [name for name in group if name in shape.variables]
        if len(together) > 1:
            yield Finding(
                rule="exclusive",
                dimension=together[-1],
                tries=("exclusive_try",),
                filled={"group": tuple(group)},
            )


def _small_areas(shape: Shape, settings: RuleSettings) -> Iterator[Finding]:
    limit = settings.maximum_variables_small_areas
    asked = shape.levels.get(shape.area or "", ())
    if limit is not None and set(asked) & set(settings.small_areas):
        found = len(shape.variables)
        if found > limit:
            yield Finding(
                rule="maximum_variables_small_areas",
                dimension=shape.area,
                tries=("maximum_variables_small_areas_try",),
                filled={"limit": limit, "found": found},
            )


def _variables(shape: Shape, settings: RuleSettings) -> Iterator[Finding]:
    limit, found = settings.maximum_variables, len(shape.variables)
    if limit is not None and found > limit:
        yield Finding(
            rule="maximum_variables",
            tries=("maximum_variables_try",),
            filled={"limit": limit, "found": found},
        )


def _categories(shape: Shape, settings: RuleSettings) -> Iterator[Finding]:
    limit = settings.maximum_categories
    for name, found in shape.categories.items():
        if limit is not None and found > limit:
            yield Finding(
                rule="maximum_categories",
                dimension=name,
                tries=("maximum_categories_try",),
                filled={"limit": limit, "found": found},
            )


def _cells(shape: Shape, settings: RuleSettings) -> Iterator[Finding]:
    limit = settings.maximum_cells
    if limit is not None and shape.cells > limit:
        yield Finding(
            rule="maximum_cells",
            tries=("maximum_cells_try",),
            filled={"limit": limit, "found": shape.cells},
        )


def _levels(shape: Shape, settings: RuleSettings) -> Iterator[Finding]:
    """Bound the work: levels multiply, and every combination of them is counted."""
    del settings  # whatever they say
    found = math.prod(len(sizes) for sizes in shape.sizes)
    is_heavy = found > _MAX_COMBINATIONS
    if not is_heavy:
        products = np.ones(1)
        for sizes in shape.sizes:
            products = np.outer(products, np.array(sizes, float)).ravel()
        is_heavy = float(np.minimum(products, _MAX_OF_ONE).sum()) > _MAX_COUNTED
    if is_heavy:
        tries = ("maximum_levels_try", "maximum_variables_try")
        yield Finding(rule="maximum_levels", tries=tries, filled={"found": found})


_RULES: tuple[Callable[[Shape, RuleSettings], Iterator[Finding]], ...] = (
    _mandatory,
    _exclusive,
    _small_areas,
    _variables,
    _categories,
    _cells,
    _levels,
)
