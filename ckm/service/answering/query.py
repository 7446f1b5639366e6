"""What a caller asks for: categories of variables, a filter, measures."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckm.service.answering.cells.lru_cache import digest_of
from ckm.service.answering.messages import ClientError, bad_request
from ckm.service.answering.variables import Variable
from tables import Hierarchy, Request, RequestError

_MEASURES = ("count", "weighted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Some categories of a variable, by rank, each once."""

    variable: str
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A table to answer with; equal queries have equal answers.

    Parameters
    ----------
    selections
        Categories, variable by variable; a variable left out is summed over.
    where
        A filter, see `tables.filtering.filters`.
    measures
        ``"count"``, ``"weighted"``.
    margins
        The combinations of levels that are shown, one level per selection; None for all.
    within
        Who is counted: records in one of the categories, for every variable named.
    population
        Whose table it is, of the populations that the service declares; None for all records.
    """

    selections: tuple[Selection, ...] = ()
    where: str | None = None
    measures: tuple[str, ...] = ("count",)
    margins: frozenset[tuple[int, ...]] | None = None
    within: tuple[Selection, ...] = ()
    population: str | None = None

    @property
    def digest(self) -> bytes:
        """A short key that equal queries share."""
        margins = None if self.margins is None else sorted(self.margins)
        return digest_of(
            self.selections, self.where, self.measures, margins, self.within, self.population
        )

    @property
    def cells(self) -> int:
        """Number of cells of the answer."""
        total = 1
        for selection in self.selections:
            total *= len(selection.ranks)
        return total


def are_in_margins(
    levels: Sequence[NDArray[np.int64]], margins: Iterable[tuple[int, ...]], *, size: int
) -> NDArray[np.bool_]:
    """Tell which cells belong to the combinations of levels that were asked for."""
    mask = np.zeros(size, bool)
    for margin in margins:
        pairs = zip(levels, margin, strict=True)
        mask |= np.logical_and.reduce([level == want for level, want in pairs])
    return mask


def query_of_request(
    variables: Mapping[str, Variable],
    *,
    dimensions: Sequence[str],
    margins: str | Sequence[Sequence[str]] = "all",
    where: str | None = None,
    measures: Sequence[str] = ("count",),
    select: Mapping[str, Sequence[str]] | None = None,
    population: str | None = None,
) -> Query:
    """Return the query of a request in the words of a job file."""
    criteria = select or {}
    _require_known([*dimensions, *criteria], variables)
    for name in dimensions:
        if dimensions.count(name) > 1:
            raise ClientError("repeated", name=name)
    for name in criteria:
        if name not in dimensions:
            raise ClientError("no_variable", name=name)
    _require_measures(measures)
    selections = []
    for name in dimensions:
        variable = variables[name]
        if name in criteria:
            ranks = _ranks_of(variable, criteria[name])
        elif margins == "none":
            ranks = variable.ranks(0).tolist()
        else:
            ranks = variable.ranks().tolist()
        selections.append(Selection(variable=name, ranks=tuple(ranks)))
    level_sets = None
    if not isinstance(margins, str):
        level_sets = _level_sets([variables[name] for name in dimensions], margins)
    return Query(
        selections=tuple(selections),
        where=where,
        measures=tuple(measures),
        margins=level_sets,
        population=population,
    )


def _require_known(names: Iterable[str], variables: Mapping[str, Variable]) -> None:
    for name in names:
        if name not in variables:
            raise ClientError("no_variable", name=name, choices=list(variables))


def _require_measures(measures: Sequence[str]) -> None:
    for name in measures:
        if name not in _MEASURES or measures.count(name) > 1:
            raise ClientError("bad_parameter", name="measures")
    if not measures:
        raise ClientError("bad_parameter", name="measures")


def _ranks_of(variable: Variable, codes: Sequence[str]) -> list[int]:
    ranks = []
    for code in codes:
        rank = variable.rank(code)
        if rank is None:
            raise ClientError("no_category", variable=variable.name, name=code)
        ranks.append(rank)
    if len(set(ranks)) < len(ranks):
        times = Counter(ranks)
        twice = next(c for c, r in zip(codes, ranks, strict=True) if times[r] > 1)
        raise ClientError("repeated", name=twice)
    if not ranks:
        raise ClientError("nothing_selected", variable=variable.name)
    return ranks


def _level_sets(
    variables: Sequence[Variable], margins: Sequence[Sequence[str]]
) -> frozenset[tuple[int, ...]]:
    """Return the combinations of levels of listed margins, the finest cells among them."""
    names = [variable.name for variable in variables]
    nested = {v.name: v.level_names for v in variables}
    all_names = {*names, *(level for levels in nested.values() for level in levels)}
    for name in (name for margin in margins for name in margin):
        if name not in all_names:
            raise ClientError("no_variable", name=name, choices=sorted(all_names))
    try:
        request = Request(
            dimensions=names,
            hierarchies={
                name: Hierarchy(columns=tuple(reversed(levels)))
                for name, levels in nested.items()
                if len(levels) > 1
            },
            margins=margins,
        )
    except RequestError as error:
        raise bad_request("bad_margins", said=error.problem) from None
    return frozenset(request.level_sets([len(v.level_names) + 1 for v in variables]))
