"""Judge a table area by area: some are withheld, the others are published."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ckm.service.rules import concentration, population, sparsity
from ckm.service.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ckm.config.service.rules import RuleSettings
    from ckm.service.rules.slices import Slices

__all__ = ["commonest", "judge_areas"]

_FINE = ("too_fine_try",)
_RULES = (
    (sparsity.empty, ("empty_try",)),
    (population.mean_cell_size, _FINE),
    (sparsity.sparsity_a, _FINE),
    (sparsity.sparsity_b, _FINE),
    (sparsity.permille_zeros, _FINE),
    (sparsity.permille_ones, _FINE),
)
_BY_VARIABLE = (concentration.permille_dominant, concentration.group_disclosure)


def judge_areas(
    slices: Slices, settings: RuleSettings, *, sensitive: Sequence[str] = ()
) -> list[Finding | None]:
    """Return, for each area, the first rule that its protected counts break.

    A table of areas alone needs persons, and no more.

    Parameters
    ----------
    slices, settings
        The table, and the rules.
    sensitive
        The variables that group disclosure is about.
    """
    found: list[Finding | None] = [None] * slices.n_areas
    is_open = np.ones(slices.n_areas, bool)
    for finding, fails in _verdicts(slices, settings, sensitive):
        for area in np.flatnonzero(fails & is_open):
            found[area] = finding
        is_open &= ~fails
    return found


def commonest(findings: Sequence[Finding | None]) -> Finding | None:
    """Return the finding that most areas have.

    Parameters
    ----------
    findings
        One per area, None where nothing was found.

    Examples
    --------
    >>> commonest([None, Finding(rule="empty"), None]).rule
    'empty'
    """
    order = {id(f): f for f in findings if f is not None}
    counted = Counter(id(f) for f in findings if f is not None)
    return order[counted.most_common(1)[0][0]] if counted else None


def _verdicts(
    slices: Slices, settings: RuleSettings, sensitive: Sequence[str]
) -> Iterator[tuple[Finding, NDArray[np.bool_]]]:
    finest = _finest(slices)
    fails = population.minimum_population(slices, settings)
    if fails is not None:
        tries = ("minimum_population_try",)
        filled = {"limit": settings.minimum_population}
        yield Finding(rule="minimum_population", tries=tries, filled=filled), fails
    if finest is None:
        return
    for rule, tries in _RULES:
        fails = rule(slices, settings)
        if fails is not None:
            name = rule.__name__
            filled = {"limit": getattr(settings, name, None)}
            dimension = None if name == "empty" else finest
            yield Finding(rule=name, dimension=dimension, tries=tries, filled=filled), fails
    for by_variable in _BY_VARIABLE:
        is_group = by_variable is concentration.group_disclosure
        for variable in slices.codes:
            if not is_group or variable in sensitive:
                fails = by_variable(slices, settings, variable=variable)
                if fails is not None:
                    name = by_variable.__name__
                    yield Finding(rule=name, dimension=variable, tries=_FINE), fails


def _finest(slices: Slices) -> str | None:
    """Return the variable of most categories, the one to make coarser first."""
    sizes = {name: int(code.max(initial=0)) for name, code in slices.codes.items()}
    return max(sizes, key=lambda name: sizes[name], default=None)
