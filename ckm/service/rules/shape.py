"""What a rule finds, and rules on a request's shape: known before anything is counted."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ckm.config.service.rules import RuleSettings

_MAX_COMBINATIONS = 10_000
_MAX_COUNTED = 20_000_000  # cells of all combinations of levels together
_MAX_OF_ONE = 1_000_000  # more categories do not make more cells: persons do


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A rule that does not hold.

    Parameters
    ----------
    rule
        Its name, which is the reason code of a refusal.
    dimension
        The variable it speaks of, if one.
    tries
        Keys of the words that say what to try instead.
    filled
        What the words name: limits, and facts of the request's shape. Never a count.
    """

    rule: str
    dimension: str | None = None
    tries: tuple[str, ...] = ()
    filled: Mapping[str, Any] = field(default_factory=dict)


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
    >>> from ckm.config.service.rules import RuleSettings
    >>> found = judge_shape(
    ...     Shape(cells=9, categories={"sex": 2}), RuleSettings(maximum_cells=8)
    ... )
    >>> found.rule
    'maximum_cells'
    """
    return next(_findings(shape, settings), None)


def _findings(shape: Shape, settings: RuleSettings) -> Iterator[Finding]:
    for name in settings.mandatory:
        if name not in shape.categories:
            yield Finding(rule="mandatory", dimension=name, tries=("mandatory_try",))
    for group in settings.exclusive:
        together = [name for name in group if name in shape.variables]
        if len(together) > 1:
            yield Finding(
                rule="exclusive",
                dimension=together[-1],
                tries=("exclusive_try",),
                filled={"group": tuple(group)},
            )
    n_variables = len(shape.variables)
    if set(shape.levels.get(shape.area or "", ())) & set(settings.small_areas):
        rule = "maximum_variables_small_areas"
        yield from _above(rule, n_variables, settings, dimension=shape.area)
    yield from _above("maximum_variables", n_variables, settings)
    for name, number in shape.categories.items():
        yield from _above("maximum_categories", number, settings, dimension=name)
    yield from _above("maximum_cells", shape.cells, settings)
    number = math.prod(len(sizes) for sizes in shape.sizes)
    if number > _MAX_COMBINATIONS or _cells(shape) > _MAX_COUNTED:
        tries = ("maximum_levels_try", "maximum_variables_try")
        yield Finding(rule="maximum_levels", tries=tries, filled={"found": number})


def _above(
    rule: str, number: int, settings: RuleSettings, *, dimension: str | None = None
) -> Iterator[Finding]:
    """Compare what was found with the limit of the rule's name."""
    limit = getattr(settings, rule)
    if limit is not None and number > limit:
        filled = {"limit": limit, "found": number}
        yield Finding(rule=rule, dimension=dimension, tries=(f"{rule}_try",), filled=filled)


def _cells(shape: Shape) -> float:
    """Bound the work: levels multiply, and every combination of them is counted."""
    products = np.ones(1)
    for sizes in shape.sizes:
        products = np.outer(products, np.array(sizes, float)).ravel()
    return float(np.minimum(products, _MAX_OF_ONE).sum())
