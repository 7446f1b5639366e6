"""How many small counts somebody finds who asks for all tables that the rules permit."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckm.audit.query_space import QuerySpace, query_space
from ckm.audit.remainders import remainders
from ckm.config.service.sections import ServiceAudit
from ckm.config.service.service import Service
from ckm.service.process.server import open_answerer
from footing.arrays import Flags, Floats, Integers, Levels
from footing.progress import Progress
from footing.serialisation import plain, plain_fields
from ptable import PTable
from ptable.lookup import moments
from risk.reconstruction.attributes import (
    FoundAttributes,
    FoundGroups,
    found_attributes,
    found_groups,
)
from risk.reconstruction.cavity_probabilities import cavity_probabilities
from risk.reconstruction.count_probabilities import count_probabilities
from risk.reconstruction.counts import possible_origins
from risk.reconstruction.fitted_counts import fitted_cells
from risk.reconstruction.lattice import (
    Found,
    FoundZeros,
    Guesses,
    NamedZeros,
    better_by_halves,
    guessed_counts,
    named_zeros,
)
from risk.reconstruction.lattice_bounds import CountBounds, count_bounds, equal_siblings

#: Fewer cells of one kind tell too little by themselves.
ENOUGH = 100
_TENTHS = 10
#: Cells look alike whose fitted counts have roots that differ by less than one such part.
_FINENESS = 6
_NO_ZEROS, _NO_GROUPS = FoundZeros(), FoundGroups()


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
    zeros
        Which cells published as 0 are named that hold records, from all tables.
    """

    n_variables: int
    n_tables: int
    n_cells: int
    alone: Found
    together: Found
    zeros: FoundZeros = _NO_ZEROS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Attacked(Exposure):
    """What is found of the small counts of one table. Disclosive.

    Parameters
    ----------
    table
        Its level of each variable.
    places
        The small counts: their places in the table, flat.
    is_found_alone, is_found_together
        Which of them are found.
    zero_places, is_zero_named
        Where cells published as 0 hold records, flat, and which of them are named.
    """

    table: Levels
    places: NDArray[np.intp]
    is_found_alone: Flags
    is_found_together: Flags
    zero_places: NDArray[np.intp]
    is_zero_named: Flags


@dataclass(frozen=True, slots=True, kw_only=True)
class Remaining(Exposure):
    """What is found of the sets of records that two tables differ by, and no table shows.

    Parameters
    ----------
    name
        Of both tables, the one with parts of the other's cells last.
    """

    name: str


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
        By pair of tables, what is found of the sets that they differ by; sets are its cells.
    groups
        Cells of which a stranger says that all their records have one category.
    unfinished
        What a limit of CPU time cut short; then all figures are lower bounds.
    """

    small: int
    confidence: float
    n_areas: int
    n_areas_drawn: int
    seed: int
    exposures: tuple[Exposure, ...]
    attributes: FoundAttributes
    remainders: tuple[Remaining, ...] = ()
    groups: FoundGroups = _NO_GROUPS
    unfinished: tuple[str, ...] = ()

    @property
    def whole(self) -> Exposure:
        """All tables."""
        return summed(self.exposures)

    @property
    def largest_share(self) -> float:
        """The largest share found: of all tables, those of one size, or all remainders.

        The attack that finds most counts. A size is a number of variables; fewer than 100 small
        counts of one tell too little by themselves.
        """
        return max(*self._shares("alone"), *self._shares("together"))

    def _shares(self, attack: str) -> list[float]:
        enough = [one for one in self.exposures if one.together.n_small >= ENOUGH]
        exposures = (self.whole, summed(self.remainders), *enough)
        return [getattr(one, attack).share for one in exposures]

    @property
    def largest_zeros_share(self) -> float:
        """The largest share named of the occupied cells published as 0: of all, or of a size.

        Fewer than 100 such cells of one number of variables tell too little.
        """
        sizes = (one.zeros for one in self.exposures)
        enough = [zeros.share for zeros in sizes if zeros.n_occupied >= ENOUGH]
        return max([self.whole.zeros.share, *enough])

    @property
    def attribute_share(self) -> float:
        """The share of right statements that all of a cell have a category.

        Of fewer than 100 statements it is 0: they tell too little.
        """
        return self.groups.share if self.groups.n >= ENOUGH else 0.0

    @property
    def is_lower_bound(self) -> bool:
        """Whether something was cut short, or areas drawn: others may find more with all."""
        return bool(self.unfinished) or self.n_areas_drawn < self.n_areas

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, as JSON has them; for the office alone."""
        whole = self.whole
        return plain_fields(self) | {
            "alone": plain(whole.alone),
            "together": plain(whole.together),
            "remaining": plain(summed(self.remainders)),
            "zeros": plain(whole.zeros) | {"share": whole.zeros.share},
            "largest_share": self.largest_share,
            "largest_zeros_share": self.largest_zeros_share,
            "largest_attribute_share": self.attribute_share,
            "is_lower_bound": self.is_lower_bound,
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

    @property
    def _top(self) -> int:
        """From which published or fitted count on cells look alike."""
        return self.small + 2 * self.ptable.max_noise + 1

    def audit(self, space: QuerySpace) -> Audit:
        """Attack all tables of a space together, and count what is found.

        Parameters
        ----------
        space
            The tables.
        """
        return self.attacked(space)[0]

    def attacked(
        self,
        space: QuerySpace,
        *,
        seed: int = 0,
        progress: Callable[[int, int], None] | None = None,
        is_over: Callable[[], bool] = lambda: False,
    ) -> tuple[Audit, tuple[Attacked, ...]]:
        """Attack all tables as `audit` does, and tell of each table, too, what is found.

        Once `is_over` says so, each step ends with what it has: the audit names these steps.
        """
        unfinished = [] if space.is_whole else ["tables"]

        def after(step: str) -> None:
            if is_over():
                unfinished.append(step)

        fit = fitted_cells(
            space.lattice,
            space.shown,
            variance=self.variance,
            progress=progress,
            is_over=is_over,
        )
        estimates = fit.sums()
        after("fit")
        probable = count_probabilities(
            fit.fitted_to_sums(space.lattice, variance=self.variance, is_over=is_over),
            space.lattice,
            ptable=self.ptable,
            most=self.small,
            is_over=is_over,
        )
        cavities = cavity_probabilities(
            fit, ptable=self.ptable, variance=self.variance, most=self.small, is_over=is_over
        )
        if not probable.is_settled:  # or all steps were made, and time cut nothing short
            after("probabilities")
        truth = space.truth()
        bounds = count_bounds(
            space.lattice,
            space.shown,
            origins=partial(possible_origins, self.ptable),
            equal_noise=True,
            is_over=is_over,
        )
        after("bounds")
        attacked = self._attacked(space, truth, estimates, bounds, (cavities, probable.shares))
        by_size: dict[int, list[Attacked]] = {}
        for one in attacked:
            by_size.setdefault(one.n_variables, []).append(one)
        remaining = tuple(self._remaining(space, truth, estimates, bounds, is_over))
        after("differences")
        audit = Audit(
            small=self.small,
            confidence=self.confidence,
            n_areas=space.n_areas,
            n_areas_drawn=space.n_areas_drawn,
            seed=seed,
            exposures=tuple(
                replace(summed(some), n_variables=size)
                for size, some in sorted(by_size.items())
            ),
            remainders=remaining,
            groups=found_groups(space.lattice, space.shown, truth=truth, axes=space.attributes),
            unfinished=tuple(unfinished),
            attributes=found_attributes(
                space.lattice,
                space.shown,
                truth=truth,
                estimates=estimates,
                axes=space.attributes,
            ),
        )
        return audit, attacked

    def _attacked(
        self,
        space: QuerySpace,
        truth: Mapping[Levels, Integers],
        estimates: Mapping[Levels, Floats],
        bounds: Mapping[Levels, CountBounds],
        probabilities: Sequence[Floats],
    ) -> tuple[Attacked, ...]:
        """Tell of each table which small counts are found.

        Cells that look alike are those of one table, or of all, or those whose most probable
        count is the same, and about as probable; or the most probable count is guessed. Of
        these ways each half of the cells has the one that finds more of the other half: nobody
        chooses by counts that are to be found.
        """
        beside = equal_siblings(space.lattice, space.shown)

        def every(arrays: Mapping[Levels, NDArray[Any]]) -> NDArray[Any]:
            return np.concatenate([arrays[t][one.is_shown] for t, one in space.shown.items()])

        true, fit = every(truth), np.maximum(every(estimates), 0)
        published = every({table: one.published for table, one in space.shown.items()})
        lower = every({table: one.lower for table, one in bounds.items()})
        upper = every({table: one.upper for table, one in bounds.items()})
        flags = [every(beside), lower > 0]
        root = np.minimum(np.rint(_FINENESS * np.sqrt(fit)), _FINENESS * np.sqrt(self._top))
        clues = [
            one.astype(np.int64) for one in (np.minimum(published, self._top), root, *flags)
        ]
        of_all = guessed_counts(
            true,
            np.clip(np.rint(fit), lower, upper).astype(np.int64),
            clues,
            small=self.small,
            confidence=self.confidence,
            bounds=(lower, upper),
            n_coarse=2,
        )
        zeros = named_zeros(true, published, clues, confidence=self.confidence, lower=lower)
        ends = np.cumsum([0, *(int(one.is_shown.sum()) for one in space.shown.values())])
        parts = [slice(*pair) for pair in itertools.pairwise(ends.tolist())]
        of_each = [
            self._guessed(
                true[part],
                published[part],
                fit[part],
                bounds=(lower[part], upper[part]),
                clues=[flag[part] for flag in flags],
            )
            for part in parts
        ]
        by_table = Guesses.joined([own for _, own in of_each])
        ways, ways_of_zeros = [of_all, by_table], [zeros]
        for of_cells, is_learnt in itertools.product(probabilities, (True, False)):
            probable, probable_zeros = self._by_probability(
                true, published, of_cells, bounds=(lower, upper), is_learnt=is_learnt
            )
            ways.append(probable)
            ways_of_zeros.append(probable_zeros)
        all_guesses = better_by_halves(ways, [w.is_right & w.is_small for w in ways])
        zeros = better_by_halves(
            ways_of_zeros,
            [
                # A way that is wrong more often than right names no cell.
                w.is_named & w.is_occupied & (2 * w.found.right >= w.found.named)
                for w in ways_of_zeros
            ],
        )
        attacks = []
        for (table, cells), part, (alone, _) in zip(
            space.shown.items(), parts, of_each, strict=True
        ):
            together = all_guesses.part(part)
            of_zeros, places = zeros.part(part), np.flatnonzero(cells.is_shown)
            attacks.append(
                Attacked(
                    table=table,
                    n_variables=space.n_variables(space.used(table)),
                    n_tables=1,
                    n_cells=part.stop - part.start,
                    alone=alone.found,
                    together=together.found,
                    zeros=of_zeros.found,
                    places=places[alone.is_small],
                    is_found_alone=alone.is_right[alone.is_small],
                    is_found_together=together.is_right[alone.is_small],
                    zero_places=places[of_zeros.is_occupied],
                    is_zero_named=of_zeros.is_named[of_zeros.is_occupied],
                )
            )
        return tuple(attacks)

    def _by_probability(
        self,
        truth: Integers,
        published: Integers,
        probabilities: Floats,
        *,
        bounds: tuple[Floats, Floats],
        is_learnt: bool,
    ) -> tuple[Guesses, NamedZeros]:
        """Guess the most probable count, or what cells with about the same probability have.

        How often probabilities are right is counted, and not believed: nobody is sure by them.
        """
        best, highest = probabilities.argmax(axis=1), probabilities.max(axis=1)
        guesses = guessed_counts(
            truth,
            best,
            [best, np.minimum((_TENTHS * highest).astype(np.int64), _TENTHS - 1)],
            small=self.small,
            confidence=self.confidence,
            bounds=bounds,
            n_coarse=1,
            is_guess_learnt=is_learnt,
        )
        occupied = (_TENTHS * (1 - probabilities[:, 0])).astype(np.int64)
        return guesses, named_zeros(
            truth,
            published,
            [np.minimum(occupied, _TENTHS - 1)],
            confidence=self.confidence,
            lower=bounds[0],
            is_likely=None if is_learnt else probabilities[:, 0] < 0.5,
        )

    def _remaining(
        self,
        space: QuerySpace,
        truth: Mapping[Levels, Integers],
        estimates: Mapping[Levels, Floats],
        bounds: Mapping[Levels, CountBounds],
        is_over: Callable[[], bool],
    ) -> Iterator[Remaining]:
        """Tell what is found of the sets that two tables differ by, and no table shows."""
        for one in remainders(space, is_over=is_over):
            above, below = one.above, one.below
            published = one.less(space.shown[above].published, space.shown[below].published)
            lower = one.less(bounds[above].lower, bounds[below].upper)
            upper = one.less(bounds[above].upper, bounds[below].lower)
            is_unlike = one.is_single & (published != 0)  # equal records would have equal noise
            alone, together = self._guessed(
                one.less(truth[above], truth[below]),
                published,
                one.less(estimates[above], estimates[below]),
                bounds=(np.maximum(lower, is_unlike), upper),
                clues=[one.is_single],
            )
            yield Remaining(
                name=f"{space.name_of(above)} \N{MINUS SIGN} {space.name_of(below)}".strip(),
                n_variables=space.n_variables(space.used(above)),
                n_tables=2,
                n_cells=len(published),
                alone=alone.found,
                together=together.found,
            )

    def _guessed(
        self,
        truth: Integers,
        published: Integers,
        estimates: Floats,
        *,
        bounds: tuple[Floats, Floats],
        clues: Sequence[Flags],
    ) -> tuple[Guesses, Guesses]:
        """Guess counts from what is published of them alone, and together with all tables."""
        top = self._top
        clue = np.clip(published, -top, top)
        near = np.clip(np.rint(estimates), *bounds).astype(np.int64)
        halves = np.clip(np.rint(2 * estimates).astype(np.int64), 0, 2 * top)
        every = [clue, halves, *(one.astype(np.int64) for one in clues)]
        guess = partial(guessed_counts, truth, small=self.small, confidence=self.confidence)
        return guess(published, [clue]), guess(near, every, bounds=bounds)


def summed(some: Sequence[Exposure]) -> Exposure:
    """Sum up what is found of tables, whatever the number of their variables."""
    return Exposure(
        n_variables=0,
        n_tables=sum(one.n_tables for one in some),
        n_cells=sum(one.n_cells for one in some),
        alone=sum((one.alone for one in some), Found()),
        together=sum((one.together for one in some), Found()),
        zeros=sum((one.zeros for one in some), FoundZeros()),
    )


def open_space(
    service: Service,
    *,
    small: int = 2,
    confidence: float = 0.95,
    areas: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    is_over: Callable[[], bool] = lambda: False,
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
    is_over
        Asked whether to leave out the tables that were not yet built.
    """
    bare = service.changed(ledger=None, audit=ServiceAudit())
    with open_answerer(bare, is_kept=False) as answerer:
        answers = answerer()
        space = query_space(answers, areas=areas, seed=seed, progress=progress, is_over=is_over)
        table = answers.ptable
    return space, Auditor(small=small, confidence=confidence, ptable=table)
