"""How many small counts somebody finds who asks for all tables that the rules permit."""

from __future__ import annotations

import operator
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ckm.audit.query_space import query_space
from ckm.audit.remainders import remainders
from ckm.config.service.sections import ServiceAudit
from ckm.service.process.server import open_answerer
from ptable.lookup import moments
from risk.reconstruction.attributes import FoundAttributes, found_attributes
from risk.reconstruction.counts import possible_origins
from risk.reconstruction.lattice import (
    Found,
    Lattice,
    guessed_counts,
    most_probable_counts,
)
from risk.reconstruction.lattice_bounds import count_bounds, equal_siblings
from risk.reconstruction.posterior import (
    FoundByPosterior,
    exact_posterior,
    found_by,
    sample_posterior,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ckm.audit.query_space import QuerySpace
    from ckm.config.service.service import Service
    from footing.arrays import Floats, Integers
    from ptable import PTable
    from risk.reconstruction.lattice import Guesses
    from risk.reconstruction.lattice_bounds import CountBounds

    Levels = tuple[int, ...]

_ENOUGH = 100
_NONE = Found(n_small=0, guessed=0, right=0, sure=0, sure_wrong=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exposure:
    """What is found of the small counts of the tables with so many variables.

    Parameters
    ----------
    n_variables
        How many variables the tables show.
    n_tables, n_cells
        How many tables and cells are published.
    alone
        What the table of a cell tells by itself.
    together
        What it tells beside all other tables.
    posterior
        What the posterior tells given all tables, where it was asked for.
    """

    n_variables: int
    n_tables: int
    n_cells: int
    alone: Found
    together: Found
    posterior: FoundByPosterior | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Attacked:
    """What is found of the small counts of one table. Disclosive.

    Parameters
    ----------
    table
        Its level of each variable.
    alone, together
        See `Exposure`.
    places
        The small counts: their places in the table, flat.
    is_found_alone, is_found_together
        Which of them are found.
    """

    table: Levels
    alone: Found
    together: Found
    places: NDArray[np.intp]
    is_found_alone: NDArray[np.bool_]
    is_found_together: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRemainders:
    """What is found of sets of records that no table shows, but that two tables differ by.

    Parameters
    ----------
    tables
        Their names: of the one with the larger cells, and of that with parts of these.
    n_sets
        How many sets there are, small or not.
    alone, together
        What the two tables tell by themselves, and beside all others.
    """

    tables: tuple[str, str]
    n_sets: int
    alone: Found
    together: Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What everything that may be asked of a service gives away together.

    Parameters
    ----------
    small
        Counts from 1 to this are small.
    confidence
        The share of right guesses from which on somebody is sure.
    n_areas, n_areas_drawn
        How many of the coarsest areas there are, and how many of them were drawn.
    seed
        Of the draw.
    exposures
        By the number of variables.
    attributes
        What is found of single persons.
    remainders
        By pair of tables, what is found of the sets of records that they differ by.
    """

    small: int
    confidence: float
    n_areas: int
    n_areas_drawn: int
    seed: int
    exposures: tuple[Exposure, ...]
    attributes: FoundAttributes
    remainders: tuple[FoundRemainders, ...] = ()

    @property
    def alone(self) -> Found:
        """All tables, each by itself."""
        return sum((one.alone for one in self.exposures), _NONE)

    @property
    def together(self) -> Found:
        """All tables beside each other."""
        return sum((one.together for one in self.exposures), _NONE)

    @property
    def posterior(self) -> FoundByPosterior | None:
        """What the posterior tells of all tables."""
        found = [one.posterior for one in self.exposures if one.posterior is not None]
        return reduce(operator.add, found) if found else None

    @property
    def remaining(self) -> FoundRemainders:
        """All sets of records that no table shows, but that two tables differ by."""
        return FoundRemainders(
            tables=("", ""),
            n_sets=sum(one.n_sets for one in self.remainders),
            alone=sum((one.alone for one in self.remainders), _NONE),
            together=sum((one.together for one in self.remainders), _NONE),
        )

    @property
    def largest_share(self) -> float:
        """The largest share found: of all tables, those of one size, or all remainders.

        A size is a number of variables; fewer than 100 small counts of one tell too little.
        """
        rows = [one.together for one in self.exposures if one.together.n_small >= _ENOUGH]
        return max(one.share for one in (self.together, self.remaining.together, *rows))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, as JSON has them; for the office alone."""
        return {
            **asdict(self),
            "alone": asdict(self.alone),
            "together": asdict(self.together),
            "posterior": None if self.posterior is None else asdict(self.posterior),
            "remaining": asdict(self.remaining),
            "largest_share": self.largest_share,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Auditor:
    """Attacks query spaces.

    Parameters
    ----------
    small, confidence
        See `Audit`.
    ptable
        The noise of a count.
    """

    small: int
    confidence: float
    ptable: PTable

    @property
    def variance(self) -> float:
        """The largest variance of the noise of a count."""
        table = self.ptable
        rows = (table.units(row) for row in range(table.n_rows))
        return max(float(moments(units, table.key_range)[1]) for units in rows)

    def audit(
        self,
        space: QuerySpace,
        *,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> Audit:
        """Attack all tables of a space together, and count what is found.

        Parameters
        ----------
        space
            The tables.
        seed
            Of the draw of areas.
        progress
            Called with the steps done and the most there are.
        """
        return self.attacked(space, seed=seed, progress=progress)[0]

    def attacked(
        self,
        space: QuerySpace,
        *,
        seed: int = 0,
        draws: int = 0,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Audit, tuple[Attacked, ...]]:
        """Attack all tables as `audit` does, and tell of each table, too, what is found.

        With `draws`, so many of each chain tell what the posterior of every count says, unless
        it can be had exactly.
        """
        fitted = most_probable_counts(
            space.lattice, space.shown, variance=self.variance, progress=progress
        )
        truth = space.lattice.sums(space.joint)
        origins = partial(possible_origins, self.ptable)
        bounds = count_bounds(space.lattice, space.shown, origins=origins, equal_noise=True)
        attacked = self._attacked(space, truth, fitted, bounds)
        audit = Audit(
            small=self.small,
            confidence=self.confidence,
            n_areas=space.n_areas,
            n_areas_drawn=space.n_areas_drawn,
            seed=seed,
            exposures=_exposures(space, attacked),
            remainders=tuple(self._remaining(space, truth, fitted, bounds)),
            attributes=found_attributes(
                space.lattice,
                space.shown,
                truth=truth,
                fitted=fitted,
                axes=space.attributes,
            ),
        )
        if draws:
            audit = self._with_posterior(audit, space, truth, draws=draws, progress=progress)
        return audit, attacked

    def _attacked(
        self,
        space: QuerySpace,
        truth: Mapping[Levels, Integers],
        fitted: Mapping[Levels, Floats],
        bounds: Mapping[Levels, CountBounds],
    ) -> tuple[Attacked, ...]:
        """Tell of each table which small counts are found."""
        beside = equal_siblings(space.lattice, space.shown)
        found = []
        for table, shown in space.shown.items():
            kept = shown.is_shown
            alone, together = self._guessed(
                truth[table][kept],
                shown.published[kept],
                fitted[table][kept],
                bounds=(bounds[table].lower[kept], bounds[table].upper[kept]),
                clues=[beside[table][kept], bounds[table].lower[kept] > 0],
            )
            found.append(
                Attacked(
                    table=table,
                    alone=alone.found,
                    together=together.found,
                    places=np.flatnonzero(kept)[alone.is_small],
                    is_found_alone=alone.is_right[alone.is_small],
                    is_found_together=together.is_right[alone.is_small],
                )
            )
        return tuple(found)

    def _remaining(
        self,
        space: QuerySpace,
        truth: Mapping[Levels, Integers],
        fitted: Mapping[Levels, Floats],
        bounds: Mapping[Levels, CountBounds],
    ) -> Iterator[FoundRemainders]:
        """Tell what is found of the sets that no table shows, but that two differ by."""
        for one in remainders(space):
            above, below = one.above, one.below
            seen = one.less(space.shown[above].published, space.shown[below].published)
            lower = one.less(bounds[above].lower, bounds[below].upper)
            is_unlike = one.is_single & (seen != 0)  # equal records would have equal noise
            alone, together = self._guessed(
                one.less(truth[above], truth[below]),
                seen,
                one.less(fitted[above], fitted[below]),
                bounds=(
                    np.maximum(lower, is_unlike),
                    one.less(bounds[above].upper, bounds[below].lower),
                ),
                clues=[one.is_single, is_unlike],
            )
            yield FoundRemainders(
                tables=(space.name_of(above), space.name_of(below)),
                n_sets=len(seen),
                alone=alone.found,
                together=together.found,
            )

    def _guessed(
        self,
        truth: Integers,
        seen: Integers,
        fitted: Floats,
        *,
        bounds: tuple[Floats, Floats],
        clues: Sequence[NDArray[Any]],
    ) -> tuple[Guesses, Guesses]:
        """Guess counts from what is published of them alone, and together with all tables."""
        top = self.small + 2 * self.ptable.max_noise + 1
        clue = np.clip(seen, -top, top)
        near = np.clip(np.rint(fitted), *bounds).astype(np.int64)
        halves = np.clip(np.rint(2 * fitted).astype(np.int64), 0, 2 * top)
        guess = partial(guessed_counts, truth, small=self.small, confidence=self.confidence)
        return guess(seen, [clue]), guess(near, [clue, halves, *clues], bounds=bounds)

    def _with_posterior(
        self,
        found: Audit,
        space: QuerySpace,
        truth: Mapping[Levels, Integers],
        *,
        draws: int,
        progress: Callable[[int, int], None] | None,
    ) -> Audit:
        """Add what the posterior of every count tells: exactly where it can, or from draws."""
        lattice, shown = space.lattice, space.shown
        given: dict[str, Any] = {"ptable": self.ptable, "small": self.small}
        posterior = exact_posterior(lattice, shown, **given)
        if posterior is None:
            finest = (0,) * len(lattice.shape)
            whole = Lattice(lattice.groups, [*lattice.tables, finest])
            fitted = most_probable_counts(whole, shown, variance=self.variance)[finest]
            area = space.area
            if area is not None and len(area.levels) != len(space.level_names[area.axis]):
                area = None
            posterior = sample_posterior(
                lattice,
                shown,
                draws=draws,
                fitted=fitted,
                area=None if area is None else area.axis,
                seed=found.seed,
                progress=progress,
                **given,
            )
        by_size: dict[int, list[FoundByPosterior]] = {}
        for table, one in shown.items():
            told = found_by(
                posterior[table], truth[table], one.is_shown, confidence=self.confidence
            )
            by_size.setdefault(space.n_variables(space.used(table)), []).append(told)
        return replace(
            found,
            exposures=tuple(
                replace(one, posterior=reduce(operator.add, by_size[one.n_variables]))
                for one in found.exposures
            ),
        )


def _exposures(space: QuerySpace, attacked: Sequence[Attacked]) -> tuple[Exposure, ...]:
    """Sum up what is found, by the number of variables that the tables show."""
    found: dict[int, list[Attacked]] = {}
    for one in attacked:
        found.setdefault(space.n_variables(space.used(one.table)), []).append(one)
    return tuple(
        Exposure(
            n_variables=size,
            n_tables=len(some),
            n_cells=sum(int(space.shown[one.table].is_shown.sum()) for one in some),
            alone=sum((one.alone for one in some), _NONE),
            together=sum((one.together for one in some), _NONE),
        )
        for size, some in sorted(found.items())
    )


def open_space(
    service: Service,
    *,
    small: int = 2,
    confidence: float = 0.95,
    areas: int | None = None,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[QuerySpace, Auditor]:
    """Build all cells that the rules of a service permit; return them and who attacks them.

    Callers who may filter are not looked at, and a ledger is left aside: it can only refuse
    some of the tables.

    Parameters
    ----------
    service
        The service; its ledger is not written.
    small, confidence
        See `Audit`.
    areas
        How many of the coarsest areas to look at, drawn at random; None for all.
    seed
        Of the draw.
    progress
        Called with a stage, what is done and all of it.
    """
    bare = service.changed(ledger=None, audit=ServiceAudit())
    with open_answerer(bare, is_kept=False) as answerer:
        answers = answerer()
        space = query_space(answers, areas=areas, seed=seed, progress=progress)
        table = answers.ptable
    return space, Auditor(small=small, confidence=confidence, ptable=table)
