"""All cells that the rules of a service permit, with the counts behind them."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ckm.audit.axes import Areas, SpaceTables
from ckm.config.service.service import Service
from ckm.errors import ConfigError
from ckm.service.answering.answer import Answerer, Permitted
from ckm.service.answering.query import Query, Selection
from footing.arrays import AnyIntegers, Flags, Integers, Levels, along
from footing.messages import Message, Name
from footing.progress import Progress
from risk.reconstruction.joint_cells import JointCells
from risk.reconstruction.lattice import MAX_JOINT, Lattice, Shown
from tables.cells.axes import Axis

_MAX_TABLES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class QuerySpace(SpaceTables):
    """Everything that may be asked of a service. Disclosive.

    Parameters
    ----------
    lattice
        All tables, margins of permitted tables among them.
    mandatory
        The variables that every table must have.
    attributes
        The places of the variables that tell something of a person: those that are sensitive,
        or where none is, all but the areas.
    joint
        The joint cells that hold records.
    n_areas, n_areas_drawn
        How many of the coarsest areas there are, and how many of them were drawn.
    is_whole
        Whether all tables are there that may be asked for, of these areas.
    """

    lattice: Lattice
    mandatory: frozenset[str]
    attributes: tuple[int, ...]
    joint: JointCells
    n_areas: int
    n_areas_drawn: int
    is_whole: bool = True

    def used(self, table: Levels) -> dict[int, int]:
        """Return what a table shows: its variables and population, by place, as levels."""
        return {
            place: level
            for place, (level, names) in enumerate(zip(table, self.level_names, strict=True))
            if level < len(names)
        }

    def name_of(self, table: Levels) -> str:
        """Name a table by its variables, their levels where they have several, and whose."""
        parts = []
        for place, level in self.used(table).items():
            names, name = self.level_names[place], (*self.variables, "population")[place]
            is_joined = place < len(self.variables) and not names[0]
            parts.append(
                names[level]
                if is_joined
                else name + (f" ({names[level]})" if len(names) > 1 else "")
            )
        return ", ".join(parts)

    def n_variables(self, used: Mapping[int, int]) -> int:
        """Return how many variables a table has; its population is none."""
        return sum(place < len(self.variables) for place in used)

    def restricted(self, is_kept: Callable[[dict[int, int]], bool]) -> Self:
        """Return the space of some of the tables; what none of them shows is summed over.

        Parameters
        ----------
        is_kept
            Whether to keep a permitted table, and with it its margins, by what `used` tells
            of it.
        """
        parents = {
            table: frozenset(one for one in of if is_kept(self.used(one)))
            for table, of in self.parents.items()
        }
        tables = {table: one for table, one in self.shown.items() if parents[table]}
        groups, unused = list(self.lattice.groups), []
        for place, names in enumerate(self.level_names):
            if all(table[place] == len(names) for table in tables):
                groups[place] = [np.zeros(1, np.int64)] * (len(names) + 1)
                unused.append(place)
        return replace(
            self,
            lattice=Lattice(groups, list(tables)),
            shown=tables,
            parents={table: parents[table] for table in tables},
            joint=self.joint.without(unused),
        )

    def truth(self) -> dict[Levels, Integers]:
        """Return the true counts of all tables. Disclosive."""
        return self.joint.sums(self.lattice)


def query_space(
    answerer: Answerer,
    queries: Iterable[Query] | None = None,
    *,
    areas: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> QuerySpace:
    """Ask for every table of one level of each variable, and gather what the rules permit.

    Parameters
    ----------
    answerer
        Who answers; the ledger is neither asked nor written.
    queries
        What to ask for instead, with the margins of each.
    areas
        How many of the coarsest areas to look at, drawn at random; None for all. Tables that
        are not by area are then left out.
    seed
        Of the draw.
    progress
        Called with a stage, the tables done and all of them.
    is_over
        Asked after each table whether to leave out the others.

    Raises
    ------
    ConfigError
        If the rules permit nothing, or more tables than can be looked at.
    risk.RiskError
        If the joint cells are too many.
    """
    names = tuple(answerer.variables)
    axes, counts = answerer.joint_counts()
    groups = [_groups(axis) for axis in axes]
    populations = answerer.memberships()
    if populations:
        members = [inside.astype(np.int64) for inside in populations.values()]
        groups[-1] = [groups[-1][0], *members, groups[-1][-1]]
    at = [
        _places(axis, axis.levels[0].ranks)[rank]
        for axis, rank in zip(axes, counts.ranks, strict=True)
    ]
    area = _areas(answerer, groups)
    sample, n_areas = _drawn(area, groups, at, areas=areas, seed=seed)
    numbers = counts.count
    if sample is not None:
        at, numbers = sample.records(at, numbers)
        area, groups[sample.axis] = sample.area, sample.new_groups()
    by_levels: dict[Levels, Shown] = {}
    parents: dict[Levels, set[Levels]] = {}
    all_queries = list(_queries(answerer, names) if queries is None else queries)
    is_whole = True
    for done, query in enumerate(all_queries):
        if progress is not None:
            progress("tables", done, len(all_queries))
        tables = _tables_of(query, answerer, names, sample)
        if populations:
            tables = dict(_of_population(tables, query.population, list(populations)))
        for table, one in tables.items():
            earlier = by_levels.get(table, one)
            by_levels[table] = replace(one, is_shown=one.is_shown | earlier.is_shown)
            parents.setdefault(table, set()).add(min(tables))  # variables at their finest
        if by_levels and is_over():
            is_whole = done + 1 == len(all_queries)
            break
    if not by_levels:
        raise ConfigError(
            Message("The rules permit no table: there is nothing that callers could find out."),
            hint=Message("see [rules], and whether the data hold any records"),
        )
    lattice = Lattice(groups, list(by_levels))
    return QuerySpace(
        variables=names,
        level_names=(
            *(answerer.variables[name].level_names for name in names),
            *([("", *populations)] if populations else []),
        ),
        shown=by_levels,
        parents={table: frozenset(of) for table, of in parents.items()},
        area=area,
        lattice=lattice,
        mandatory=frozenset(answerer.settings.mandatory),
        attributes=tuple(
            place for place, name in enumerate(names) if name in _attributes(answerer.service)
        ),
        joint=JointCells(
            shape=lattice.shape,
            places=tuple(np.asarray(one, np.int64) for one in at),
            counts=np.asarray(numbers, np.int64),
        ),
        n_areas=n_areas,
        n_areas_drawn=n_areas if areas is None else min(areas, n_areas),
        is_whole=is_whole,
    )


def _areas(answerer: Answerer, groups: Sequence[Sequence[Integers]]) -> Areas | None:
    """Return where areas stand before any axes are joined."""
    if answerer.service.area is None:
        return None
    axis = list(answerer.variables).index(answerer.service.area)
    variable = answerer.variables[answerer.service.area]
    codes = tuple(variable.codes[rank] for rank in variable.axis.levels[-2].ranks)
    areas = Areas(
        axis=axis, levels=range(len(groups[axis]) - 1), coarsest=groups[axis][-2], codes=codes
    )
    return areas.sample(np.ones(len(areas.coarsest), bool))


def _attributes(service: Service) -> list[str]:
    """Name the variables that tell something of a person."""
    sensitive = [v.name for v in service.variables.values() if v.is_sensitive]
    return sensitive or [name for name in service.variables if name != service.area]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class _Sample:
    """Some of the coarsest areas, of the axis of all, and which of the finest lie in them."""

    area: Areas
    kept: Flags
    groups: Sequence[Integers]

    @property
    def axis(self) -> int:
        return self.area.axis

    def new_groups(self) -> list[Integers]:
        """Return the groups of the areas that are kept."""
        return [np.unique(codes[self.kept], return_inverse=True)[1] for codes in self.groups]

    def records(
        self, at: Sequence[Integers], counts: Integers
    ) -> tuple[list[Integers], Integers]:
        """Keep the joint cells of these areas."""
        is_in = self.kept[at[self.axis]]
        places = [place[is_in] for place in at]
        places[self.axis] = (np.cumsum(self.kept) - 1)[places[self.axis]]
        return places, counts[is_in]

    def inside(self, level: int) -> Integers:
        """Return the areas of a level that are kept, by place."""
        return np.unique(self.groups[level][self.kept])


def _drawn(
    area: Areas | None,
    groups: Sequence[Sequence[Integers]],
    at: Sequence[Integers],
    *,
    areas: int | None,
    seed: int,
) -> tuple[_Sample | None, int]:
    """Draw areas that have records, None where these are all; tell how many there are."""
    if area is None:
        if areas is not None:
            raise ConfigError(
                Message("The service has no variable of areas to draw from."),
                hint=Message("is_area = true in its [[variable]], or look at all records"),
            )
        return None, 1
    with_records = np.unique(area.coarsest[at[area.axis]])
    if areas is None or areas >= len(with_records):
        return None, len(with_records)
    codes = np.random.default_rng(seed).choice(with_records, areas, replace=False)
    mask = np.isin(area.coarsest, codes)
    sample = _Sample(area=area.sample(mask), kept=mask, groups=groups[area.axis])
    return sample, len(with_records)


def _groups(axis: Axis) -> list[Integers]:
    """Return, level by level, the category of each finest category."""
    finest = np.arange(axis.levels[0].size, dtype=np.int32)
    return [axis.raised(finest, 0, level).astype(np.int64) for level in range(len(axis.levels))]


def _places(axis: Axis, ranks: AnyIntegers) -> Integers:
    """Return the place of each category, by rank, among some; -1 where it is none of them."""
    place = np.full(axis.size, -1, np.int64)
    place[ranks] = np.arange(len(ranks))
    return place


def _queries(answerer: Answerer, names: tuple[str, ...]) -> Iterator[Query]:
    """Give a query with all margins for each choice of variables, their levels, and whose."""
    populations = (None, *answerer.service.populations)
    depth = [range(len(answerer.variables[name].level_names)) for name in names]
    most = min(answerer.settings.maximum_variables or len(names), len(names))
    total = len(populations) * sum(
        math.prod(len(depth[place]) for place in choice)
        for size in range(most + 1)
        for choice in itertools.combinations(range(len(names)), size)
    )
    if total > _MAX_TABLES:
        raise ConfigError(
            Message(
                "Variables, levels and populations make {total:,} tables, more than "
                "{max_tables:,}.",
                total=total,
                max_tables=_MAX_TABLES,
            ),
            hint=Message("offer fewer of them, or lower maximum_variables in [rules]"),
        )
    for size in range(most + 1):
        for choice in itertools.combinations(range(len(names)), size):
            for levels in itertools.product(*(depth[place] for place in choice)):
                ranks = [
                    answerer.variables[names[place]].ranks(level).tolist()
                    for place, level in zip(choice, levels, strict=True)
                ]
                selections = tuple(
                    Selection(variable=names[place], ranks=(0, *some))
                    for place, some in zip(choice, ranks, strict=True)
                )
                for population in populations if all(ranks) else ():
                    yield Query(selections=selections, population=population)


def _tables_of(
    query: Query, answerer: Answerer, names: tuple[str, ...], sample: _Sample | None
) -> dict[Levels, Shown]:
    """Return what the rules let pass of a query, without margins that it does not ask for."""
    permitted = answerer.permitted(query)
    tables = {} if permitted is None else dict(_shown_by(permitted, answerer, names, sample))
    if query.margins is None:
        return tables
    margins = {_placed(query, levels, answerer, names) for levels in query.margins}
    return {table: one for table, one in tables.items() if table in margins}


def _shown_by(
    permitted: Permitted,
    answerer: Answerer,
    names: tuple[str, ...],
    sample: _Sample | None,
) -> Iterator[tuple[Levels, Shown]]:
    """Give what a permitted query shows, its margins among it; of a sample, tables by area."""
    variables = [answerer.variables[name] for name in names]
    active = [names.index(s.variable) for s in permitted.plan.active]
    top_level = [len(variable.axis.levels) - 1 for variable in variables]
    for levels in permitted.plan.shown():
        ranks, numbers = permitted.protected[levels]
        whole = dict(zip(active, levels, strict=True))
        table = tuple(whole.get(place, top) for place, top in enumerate(top_level))
        of_level = [
            v.axis.levels[level].ranks for v, level in zip(variables, table, strict=True)
        ]
        if sample is not None:
            if table[sample.axis] not in sample.area.levels:
                continue
            inside = sample.inside(table[sample.axis])
            of_level[sample.axis] = of_level[sample.axis][inside]
        sizes = [len(one) for one in of_level]
        if (n_cells := math.prod(sizes)) > MAX_JOINT:
            raise ConfigError(
                Message(
                    "A table of {active} has {n_cells:,} cells, more than the "
                    "{max_joint:,} that an audit can examine.",
                    active=Name.each(names[place] for place in active),
                    n_cells=n_cells,
                    max_joint=MAX_JOINT,
                ),
                hint=Message(
                    "let exclusive in [rules] keep two of them apart, lower maximum_variables, "
                    "or offer broader levels"
                ),
            )
        is_shown = np.ones(sizes, bool)
        for place, (variable, all_ranks) in enumerate(zip(variables, of_level, strict=True)):
            mask = variable.is_listed[all_ranks]
            if place in whole and variable.name == answerer.service.area:
                mask = mask & ~np.isin(all_ranks, list(permitted.withheld))
            is_shown &= along(mask, place, len(names))
        published = np.zeros(is_shown.shape, np.int64)
        at = [np.zeros(len(numbers["count"]), np.int64)] * len(names)
        for place, codes in zip(active, ranks, strict=True):
            at[place] = _places(variables[place].axis, of_level[place])[codes]
        is_there = np.all([place >= 0 for place in at], axis=0)
        published[tuple(place[is_there] for place in at)] = numbers["count"][is_there]
        yield table, Shown(published=published, is_shown=is_shown)


def _placed(query: Query, levels: Levels, answerer: Answerer, names: tuple[str, ...]) -> Levels:
    """Return the table of all variables that a combination of levels of some is."""
    by_name = {s.variable: level for s, level in zip(query.selections, levels, strict=True)}
    top_level = (len(answerer.variables[name].level_names) for name in names)
    return tuple(by_name.get(name, top) for name, top in zip(names, top_level, strict=True))


def _of_population(
    tables: Mapping[Levels, Shown], population: str | None, names: list[str]
) -> Iterator[tuple[Levels, Shown]]:
    """Give tables the axis of populations: of one, its members are shown and nobody else."""
    level = len(names) if population is None else names.index(population)
    for table, one in tables.items():
        yield (*table, 1 + level), one.mapped(partial(_on_axis, is_all=population is None))


def _on_axis(cells: NDArray[Any], *, is_all: bool) -> NDArray[Any]:
    return np.stack([cells] if is_all else [np.zeros_like(cells), cells], axis=-1)
