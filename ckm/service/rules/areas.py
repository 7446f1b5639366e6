"""Judge the protected counts of a table area by area: some are withheld, others published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ckm.config.service.rules import RuleSettings
from ckm.service.rules.shape import Finding
from footing.arrays import Flags, Integers
from tables.magnitudes.limbs import sum_at

#: Rule on the cells of an area → where its limit is broken.
RULES: dict[str, Callable[[Slices, float], Flags]] = {
    # Persons per cell, empty ones included.
    "mean_cell_size": lambda slices, limit: slices.population < limit * slices.cells,
    "sparsity_a": lambda slices, limit: slices.count_of(1) > limit * slices.count_of(),
    "sparsity_b": lambda slices, limit: (
        slices.count_of(1) + slices.count_of(2) > limit * slices.count_of()
    ),
    "permille_zeros": lambda slices, limit: (
        1000 * (slices.cells - slices.count_of()) > limit * slices.cells
    ),
    "permille_ones": lambda slices, limit: 1000 * slices.count_of(1) > limit * slices.cells,
}

_FINE = ("too_fine_try",)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Slices:
    """Published counts of the inner cells of a table, margins left out.

    Parameters
    ----------
    population
        For each area, its published number of persons.
    cells
        Inner cells of an area, empty or not.
    area
        For each cell whose published count is not zero, its area.
    published
        And its count.
    codes
        Variable → the category of these cells.
    """

    population: Integers
    cells: int
    area: Integers
    published: Integers
    codes: Mapping[str, Integers]

    @property
    def n_areas(self) -> int:
        """Number of areas."""
        return len(self.population)

    def count_of(self, number: int | None = None) -> Integers:
        """Count, area by area, the cells that hold a number; by default all not empty.

        Parameters
        ----------
        number
            A published count above zero.
        """
        area = self.area if number is None else self.area[self.published == number]
        return np.bincount(area, minlength=self.n_areas)


def distinct(*codes: Integers) -> tuple[Integers, int]:
    """Give every distinct combination of codes a number; return them and how many there are."""
    number = np.zeros(len(codes[0]), np.int64)
    size = 1
    for code in codes:
        width = int(code.max(initial=0)) + 1
        number = number * width + code
        size *= width
        if size > 4 * len(number) + 1024:
            values, number = np.unique(number, return_inverse=True)
            size = len(values)
    if size > len(number):
        values, number = np.unique(number, return_inverse=True)
        size = len(values)
    return number, size


def permille_dominant(slices: Slices, settings: RuleSettings, *, variable: str) -> Flags:
    """Tell in which areas one category of a variable holds too large a share of the persons."""
    group, size = distinct(slices.area, slices.codes[variable])
    inside = sum_at(group, slices.published, size)
    largest = np.zeros(slices.n_areas, np.int64)
    np.maximum.at(largest, _areas(slices, group, size), inside)
    every = sum_at(slices.area, slices.published, slices.n_areas)
    return 1000 * largest > (settings.permille_dominant or 0) * every


def group_disclosure(slices: Slices, settings: RuleSettings, *, variable: str) -> Flags:
    """Tell in which areas too many groups are all but k in one category of a variable.

    A group is a combination of categories of the other variables in an area.
    """
    others = (code for name, code in slices.codes.items() if name != variable)
    group, size = distinct(slices.area, *others)
    persons = sum_at(group, slices.published, size)
    largest = np.zeros(size, np.int64)
    np.maximum.at(largest, group, slices.published)
    area = _areas(slices, group, size)
    is_there = persons > 0
    is_disclosed = is_there & (persons - (settings.group_disclosure or 0) <= largest)
    groups = np.bincount(area[is_there], minlength=slices.n_areas)
    disclosed = np.bincount(area[is_disclosed], minlength=slices.n_areas)
    return 1000 * disclosed > settings.permille_disclosive * groups


def _areas(slices: Slices, group: Integers, size: int) -> Integers:
    """Return the area of each group."""
    area = np.zeros(size, np.int64)
    area[group] = slices.area
    return area


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
    findings: list[Finding | None] = [None] * slices.n_areas
    is_open = np.ones(slices.n_areas, bool)
    for finding, fails in _verdicts(slices, settings, sensitive):
        for area in np.flatnonzero(fails & is_open):
            findings[area] = finding
        is_open &= ~fails
    return findings


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
    counter = Counter(id(f) for f in findings if f is not None)
    return order[counter.most_common(1)[0][0]] if counter else None


def _verdicts(
    slices: Slices, settings: RuleSettings, sensitive: Sequence[str]
) -> Iterator[tuple[Finding, Flags]]:
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
