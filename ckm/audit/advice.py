"""What to close first where all tables together give away too much: each step is measured."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from footing.progress import Progress
from ptable import InfeasibleError, NoiseSpec, solve
from ptable.lookup import KeyIndex, look_up
from reports.facts.exposure import ClosureFact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ckm.audit.audit import Audit, Auditor
    from ckm.audit.query_space import QuerySpace
    from footing.arrays import Integers, Words
    from ptable import PTable

    Kept = Callable[[dict[int, int]], bool]

_MAX_STEPS = 12
_FACTORS = (1.5, 2, 3, 4, 6, 8)
_MORE_NOISE = 6
#: How many p-tables by limits are attacked, and the largest count of their prior.
_MOST_DESIGNS, _PRIOR_UP_TO = 4, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One round of advice.

    Parameters
    ----------
    chosen
        What is closed in this round.
    options
        All that could be, the one that leaves the smallest share first.
    """

    chosen: ClosureFact
    options: tuple[ClosureFact, ...]


def advise(
    space: QuerySpace,
    auditor: Auditor,
    *,
    limit: float,
    is_release: bool = False,
    progress: Progress | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[Step, ...]:
    """Close one thing after another until the share found is within a limit.

    Of what brings it there, that is taken which keeps most cells; where nothing does, what
    leaves the smallest share. Each choice is the best of its round; fewer closures in another
    order are not looked for.

    Parameters
    ----------
    space, auditor
        The tables, and who attacks them.
    limit
        The largest share of small counts that may be found.
    is_release
        Whether tables are closed one by one, and not variables, levels and so on.
    progress
        Called with a stage, the options tried and all of them.
    is_over
        Asked after each option whether to leave out the others.
    """
    steps: list[Step] = []
    while len(steps) < _MAX_STEPS and not is_over():
        trials: list[tuple[ClosureFact, QuerySpace]] = []
        options = list(_tables(space) if is_release else _options(space))
        for done, (what, is_kept) in enumerate(options):
            if progress is not None:
                progress(f"advice {len(steps) + 1}", done, len(options))
            smaller = space.restricted(is_kept)
            if not smaller.shown:  # to publish nothing is no advice
                continue
            trials.append((_closure(what, auditor.audit(smaller)), smaller))
            if is_over():
                break
        if not trials:
            break
        enough = [one for one in trials if one[0].share <= limit]
        best, space = (
            max(enough, key=lambda one: one[0].n_cells)
            if enough
            else min(trials, key=lambda one: (one[0].share, -one[0].n_cells))
        )
        closures = sorted((one for one, _ in trials), key=lambda one: (one.share, -one.n_cells))
        steps.append(Step(chosen=best, options=tuple(closures)))
        if enough:
            break
    return tuple(steps)


def stronger_noise(
    space: QuerySpace,
    auditor: Auditor,
    *,
    limit: float,
    seed: int,
    progress: Progress | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[ClosureFact, ...]:
    """Publish the same cells with more and more noise until the share found is within a limit.

    The variance grows by half, then to twice, three times and so on, with the largest noise
    that this needs. Noise is drawn anew for each set of records, by a seed; areas that the
    rules withhold are taken to stay the same.

    Parameters
    ----------
    space, auditor
        The tables, and who attacks them.
    limit
        The largest share of small counts that may be found.
    seed
        Of the noise.
    progress
        Called with a stage, the designs tried and all of them.
    is_over
        Asked before each design whether to leave out the others.

    Returns
    -------
    tuple
        What each design leaves, in one draw; none without a specification of one variance.
    """
    spec = auditor.ptable.spec
    closures: list[ClosureFact] = []
    if not isinstance(spec, NoiseSpec) or isinstance(spec.variance, tuple | None):
        return ()
    if spec.limits is not None:  # such a table is chosen once, and by more than a variance
        return ()
    for done, factor in enumerate(_FACTORS):
        if progress is not None:
            progress("more noise", done, len(_FACTORS))
        if is_over():
            break
        variance = factor * spec.variance
        largest = math.ceil(math.sqrt(factor) * auditor.ptable.max_noise)
        ptable = _solved(spec, variance, largest)
        if ptable is None:
            break
        again, other = redrawn(space, auditor, ptable, seed=seed)
        audit = other.audit(again)
        what = f"max_noise = {ptable.max_noise}, variance = {variance:g}"
        closures.append(_closure(what, audit))
        if closures[-1].share <= limit:
            break
    return tuple(closures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """A p-table by limits, and what is found with it.

    Parameters
    ----------
    ptable
        The p-table.
    closure
        What was found, and what it is called.
    """

    ptable: PTable
    closure: ClosureFact


def designs_by_limits(
    space: QuerySpace,
    auditor: Auditor,
    noise: Sequence[ClosureFact],
    *,
    limit: float,
    seed: int,
    progress: Progress | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> tuple[Design, ...]:
    """Solve p-tables that tell no more than enough noise does, and lose less; measure each.

    They are no worse than that noise by any limit: posteriors, best guesses, neighbours,
    variances. Those that lose least are tried first, until the share found is within the limit.

    Parameters
    ----------
    space, auditor, limit, seed, progress, is_over
        See `stronger_noise`.
    noise
        What that returned; where its last does not suffice, there is nothing to start from.
    """
    from ckm.audit.attacked_designs import trials
    from ptable.advice.frontier import frontier_spec

    spec = auditor.ptable.spec
    if not noise or noise[-1].share > limit or not isinstance(spec, NoiseSpec):
        return ()
    if isinstance(spec.variance, tuple | None):
        return ()
    factor = _FACTORS[len(noise) - 1]
    largest = math.ceil(math.sqrt(factor) * auditor.ptable.max_noise)
    louder = _solved(spec, factor * spec.variance, largest)
    if louder is None:
        return ()
    own, *others = trials(louder, frontier_spec(louder, priors=[_prior(space)]))
    others = [one for one in sorted(others, key=lambda one: one.loss) if one.loss < own.loss]
    designs: list[Design] = []
    for done, trial in enumerate(others[:_MOST_DESIGNS]):
        if progress is not None:
            progress("p-tables by limits", done, min(len(others), _MOST_DESIGNS))
        if is_over():
            break
        again, other = redrawn(space, auditor, trial.table, seed=seed)
        less = 1 - trial.loss / own.loss
        what = (
            f"p-table by limits: variance_floor = {trial.floor:g} of small counts, "
            f"{trial.full_floor:g} of others; {less:.0%} less loss than {noise[-1].what}"
        )
        designs.append(Design(ptable=trial.table, closure=_closure(what, other.audit(again))))
        if designs[-1].closure.share <= limit:
            break
    return tuple(designs)


def _prior(space: QuerySpace) -> list[float]:
    """Return how frequent each count above 0 is among all cells, none quite impossible."""
    truth = space.truth()
    counts = np.concatenate([truth[table][one.is_shown] for table, one in space.shown.items()])
    times = np.bincount(np.clip(counts, 0, _PRIOR_UP_TO), minlength=_PRIOR_UP_TO + 1) + 0.5
    times[0] = 0.0
    weights: list[float] = (times / times.sum()).tolist()
    return weights


def redrawn(
    space: QuerySpace, auditor: Auditor, ptable: PTable, *, seed: int
) -> tuple[QuerySpace, Auditor]:
    """Publish the same cells with the noise of another p-table; equal records, equal noise.

    Parameters
    ----------
    space, auditor
        The tables, and who attacks them.
    ptable
        The other noise.
    seed
        Of the keys: the same for the same seed, whatever the p-table.
    """
    rng = np.random.default_rng(seed)
    truth = space.truth()
    index = KeyIndex.build(ptable, ptable.key_range)
    keys = rng.integers(1 << 63, size=len(space.joint.counts), dtype=np.uint64)
    of_set = space.joint.sums(space.lattice, keys)
    tables = {
        table: replace(one, published=_published(index, truth[table], of_set[table]))
        for table, one in space.shown.items()
    }
    return replace(space, shown=tables), replace(auditor, ptable=ptable)


def _solved(spec: NoiseSpec, variance: float, max_noise: int) -> PTable | None:
    """Solve a p-table of more noise; None where a few more counts do not suffice for it."""
    for more in range(_MORE_NOISE):
        try:
            return solve(replace(spec, variance=variance, max_noise=max_noise + more))
        except InfeasibleError:
            continue
    return None


def _published(index: KeyIndex, truth: Integers, keys: Words) -> Integers:
    at = keys.ravel() % index.key_range
    return truth + look_up(index, truth.ravel(), at).reshape(truth.shape)


def _closure(what: str, audit: Audit) -> ClosureFact:
    whole = audit.whole
    return ClosureFact(
        what=what,
        n_tables=whole.n_tables,
        n_cells=whole.n_cells,
        n_small=whole.together.n_small,
        share=audit.largest_share,
    )


def _tables(space: QuerySpace) -> Iterator[tuple[str, Kept]]:
    """Give each table that could be left out of a release, with the margins it alone has."""
    tables = sorted({table for of in space.parents.values() for table in of})
    for table in tables if len(tables) > 1 else ():
        yield f"no table of {space.name_of(table)}", _but(space.used(table))


def _but(used: dict[int, int]) -> Kept:
    return lambda table: table != used


def _options(space: QuerySpace) -> Iterator[tuple[str, Kept]]:
    """Give what could be closed next: a size of tables, a variable, a level, and so on."""
    used = [space.used(table) for of in space.parents.values() for table in of]
    most = max(map(space.n_variables, used), default=0)
    fixed = {p for p, name in enumerate(space.variables) if name in space.mandatory}
    if most > max(1, len(fixed)):
        yield f"maximum_variables = {most - 1}", lambda table: space.n_variables(table) < most
    all_places = sorted({place for table in used for place in table})
    places = [place for place in all_places if place < len(space.variables)]
    for place in sorted(set(places) - fixed) if len(places) > 1 else ():
        yield f"no variable {space.variables[place]!r}", _without(place)
    for place in places:
        levels = sorted({table[place] for table in used if place in table})
        if len(levels) > 1:
            name = space.level_names[place][levels[0]]
            yield (
                f"no level {name!r} of {space.variables[place]!r}",
                _without(place, levels[0]),
            )
    for place in all_places[len(places) :]:
        for level in sorted({table[place] for table in used if place in table}):
            yield f"no population {space.level_names[place][level]!r}", _without(place, level)
    for pair in itertools.combinations(places, 2):
        if not set(pair) <= fixed and any(set(pair) <= set(table) for table in used):
            names = ", ".join(f'"{space.variables[place]}"' for place in pair)
            yield f"exclusive = [[{names}]]", _apart(pair)


def _without(place: int, level: int | None = None) -> Kept:
    return lambda table: place not in table or (level is not None and table[place] != level)


def _apart(pair: tuple[int, int]) -> Kept:
    return lambda table: not set(pair) <= set(table)
