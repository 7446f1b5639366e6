"""Judge a table area by area: some are withheld, the others are published."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ckm.service.rules.counts import RULES, group_disclosure, permille_dominant
from ckm.service.rules.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ckm.config.service.rules import RuleSettings
    from ckm.service.rules.slices import Slices

_FINE = ("too_fine_try",)


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
    limit: float | None = settings.minimum_population
    if limit is not None:
        tries = ("minimum_population_try",)
        finding = Finding(rule="minimum_population", tries=tries, filled={"limit": limit})
        yield finding, slices.population < limit
    finest = _finest(slices)
    if finest is None:
        return
    if settings.sparsity_a is not None or settings.sparsity_b is not None:
        yield Finding(rule="empty", tries=("empty_try",)), slices.count_of() == 0
    for rule, fails in RULES.items():
        limit = getattr(settings, rule)
        if limit is not None:
            filled = {"limit": limit}
            finding = Finding(rule=rule, dimension=finest, tries=_FINE, filled=filled)
            yield finding, fails(slices, limit)
    for by_variable, variables in (
        (permille_dominant, list(slices.codes)),
        (group_disclosure, [name for name in slices.codes if name in sensitive]),
    ):
        name = by_variable.__name__
        if getattr(settings, name) is not None:
            for variable in variables:
                finding = Finding(rule=name, dimension=variable, tries=_FINE)
                yield finding, by_variable(slices, settings, variable=variable)


def _finest(slices: Slices) -> str | None:
    """Return the variable of most categories, the one to make coarser first."""
    sizes = {name: int(code.max(initial=0)) for name, code in slices.codes.items()}
    return max(sizes, key=lambda name: sizes[name], default=None)
