"""Where small counts are found: by area, by variable, by table, by the number of tables."""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from ckm.audit.advice import Step
from ckm.audit.audit import ENOUGH, Attacked, Audit, Auditor, Exposure, summed
from ckm.audit.axes import Areas
from ckm.audit.job_tables import ReleaseTables
from ckm.audit.query_space import QuerySpace
from ckm.config.service.service import Service
from footing.arrays import Integers, along
from footing.progress import Progress
from footing.version import engine_version
from reports.facts.exposure import (
    ClosureFact,
    ExposureFacts,
    GrowthFact,
    PartFact,
    PointFact,
)

_WORST = 10
#: The least share of the small counts that the tables asked for first hold.
_FIRST = 1 / 4
#: Attacks of so many more and more tables.
_POINTS = 6


def parts_of(space: QuerySpace, attacked: Sequence[Attacked]) -> dict[str, Any]:
    """Tell where small counts are found: the variables, the worst areas and tables.

    Parameters
    ----------
    space, attacked
        All tables, and what was found of each.
    """
    tables = [_part(space.name_of(one.table), one) for one in attacked]
    variables = [
        _part(name, summed([one for one in attacked if place in space.used(one.table)]))
        for place, name in enumerate(space.variables)
    ]
    areas = tuple(_areas(space, attacked))
    is_sample = space.n_areas_drawn < space.n_areas
    return {
        "variables": tuple(one for one in variables if one.n_tables),
        "areas": _worst(areas),
        "interval": _largest_interval(space, attacked) if is_sample else None,
        "zeros_interval": _largest_interval(space, attacked, of="zeros") if is_sample else None,
        "tables": _worst(tables),
        "drawn": space.area.codes if space.area is not None and is_sample else (),
    }


def _largest_interval(
    space: QuerySpace, attacked: Sequence[Attacked], *, of: Literal["small", "zeros"] = "small"
) -> tuple[float, float]:
    """Bound the largest share of all areas: of all tables by area, or of those of one size.

    Sizes with fewer than 100 such cells count no more than they do for the largest share.
    """
    by_size: dict[int, list[Attacked]] = {}
    for one in attacked:
        by_size.setdefault(one.n_variables, []).append(one)
    numbers = [_by_area(space, some, of=of) for some in (attacked, *by_size.values())]
    every, *sizes = [(n_found, base) for base, n_found in numbers]
    enough = [one for one in sizes if one[1].sum() >= ENOUGH]
    intervals = [_interval(*one, space.n_areas) for one in (every, *enough)]
    return max(low for low, _ in intervals), max(high for _, high in intervals)


def _by_area(
    space: QuerySpace, attacked: Sequence[Attacked], *, of: Literal["small", "zeros"]
) -> tuple[Integers, Integers]:
    """Return for each of the coarsest areas how many cells there are, and are found."""
    size = 0 if space.area is None else len(space.area.codes)
    numbers = np.zeros((2, size), np.int64)
    for one in attacked:
        if space.area is None or one.table[space.area.axis] not in space.area.levels:
            continue
        area = _area_of_cells(space, space.area, one)
        places, is_found = (
            (one.places, one.is_found_together)
            if of == "small"
            else (one.zero_places, one.is_zero_named)
        )
        numbers[0] += np.bincount(area[places], minlength=size)
        numbers[1] += np.bincount(area[places[is_found]], minlength=size)
    return numbers[0], numbers[1]


def _area_of_cells(space: QuerySpace, on_axis: Areas, attacked: Attacked) -> Integers:
    """Return in which of the coarsest areas the cells of a table by area lie."""
    mask, level = space.shown[attacked.table].is_shown, attacked.table[on_axis.axis]
    above = np.zeros(mask.shape[on_axis.axis], np.int64)
    above[space.lattice.groups[on_axis.axis][level]] = on_axis.coarsest
    return np.broadcast_to(along(above, on_axis.axis, mask.ndim), mask.shape).ravel()


def _interval(n_found: Integers, base: Integers, n_areas: int) -> tuple[float, float]:
    """Bound the share found in all areas by those drawn, at 95 %.

    The share is a ratio of two means over areas drawn without replacement (Cochran 1977, 6.4);
    of one area nothing is known of the others.
    """
    from scipy.stats import t as student

    n, small, n_found = len(n_found), base.astype(float), n_found.astype(float)
    if n < 2 or not small.sum():
        return 0.0, 1.0
    share = float(n_found.sum() / small.sum())
    rest = float(((n_found - share * small) ** 2).sum() / (n - 1))
    error = math.sqrt((1 - n / n_areas) * rest / n) / float(small.mean())
    reach = float(student.ppf(0.975, n - 1)) * error
    return max(0.0, share - reach), min(1.0, share + reach)


def _worst(parts: Iterable[PartFact]) -> tuple[PartFact, ...]:
    facts = [one for one in parts if one.together]
    return tuple(sorted(facts, key=lambda one: (-one.together, one.n_small))[:_WORST])


def _part(name: str, exposure: Exposure) -> PartFact:
    return PartFact(
        name=name,
        n_tables=exposure.n_tables,
        n_cells=exposure.n_cells,
        n_small=exposure.together.n_small,
        alone=exposure.alone.right,
        together=exposure.together.right,
    )


def _areas(space: QuerySpace, attacked: Sequence[Attacked]) -> Iterator[PartFact]:
    """Tell what is found of each of the coarsest areas, in all tables by area."""
    on_axis = space.area
    if on_axis is None:
        return
    size, axis = len(on_axis.codes), on_axis.axis
    by_area = [one for one in attacked if one.table[axis] in on_axis.levels]
    numbers = np.zeros((4, size), np.int64)
    for one in by_area:
        area, mask = _area_of_cells(space, on_axis, one), space.shown[one.table].is_shown
        mine = area[one.places]
        members = (mine, mine[one.is_found_alone], mine[one.is_found_together])
        for row, places in enumerate((area[mask.ravel()], *members)):
            numbers[row] += np.bincount(places, minlength=size)
    names = ("n_cells", "n_small", "alone", "together")
    for code, those in zip(on_axis.codes, numbers.T.tolist(), strict=True):
        fields = dict(zip(names, those, strict=True))
        yield PartFact(name=code, n_tables=len(by_area), **fields)


def growth_of(
    space: QuerySpace,
    auditor: Auditor,
    attacked: Sequence[Attacked],
    *,
    seed: int,
    progress: Progress | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> GrowthFact | None:
    """Attack more and more tables, each with its margins, and count what is found.

    The tables are asked for in an order drawn at random, but for margins of others: those come
    with these. The first of them hold a quarter of all small counts or more.

    Parameters
    ----------
    space, auditor, attacked
        All tables, who attacks them, and what was found.
    seed
        Of the order.
    progress
        Called with a stage, the attacks done and all of them.
    is_over
        Asked before each attack whether to give up: then there is no picture.
    """
    of_all = {one.table: one for one in attacked}
    largest = sorted(table for table, of in space.parents.items() if of == {table})
    order = [largest[place] for place in np.random.default_rng(seed).permutation(len(largest))]
    n_small = np.cumsum([of_all[table].together.n_small for table in order])
    steps = np.unique(np.rint(np.geomspace(1, len(order), _POINTS)).astype(int)).tolist()
    if not n_small[-1] or len(steps) < 3:
        return None
    first = next(size for size in steps if n_small[size - 1] >= _FIRST * n_small[-1])
    points = []
    for done, size in enumerate(steps):
        if is_over():
            return None
        if progress is not None:
            progress("more and more tables", done, len(steps))
        by_table = of_all
        if size < len(order):
            sets = {frozenset(space.used(table).items()) for table in order[:size]}
            smaller = space.restricted(partial(_is_among, sets))
            by_table = {one.table: one for one in auditor.attacked(smaller)[1]}
        points.append(
            PointFact(
                n_tables=size,
                found=sum(one.together.right for one in by_table.values()),
                found_first=sum(by_table[table].together.right for table in order[:first])
                if size >= first
                else None,
            )
        )
    return GrowthFact(
        n_first=first, n_small_first=int(n_small[first - 1]), seed=seed, points=tuple(points)
    )


def _is_among(sets: Collection[frozenset[tuple[int, int]]], used: dict[int, int]) -> bool:
    return frozenset(used.items()) in sets


def exposure_facts(
    service: Service,
    audit: Audit,
    parts: Mapping[str, Any],
    *,
    limit: float | None,
    limits: Mapping[str, Any],
    steps: Iterable[Step],
    noise: Iterable[ClosureFact] = (),
    growth: GrowthFact | None,
    release: ReleaseTables | None = None,
) -> ExposureFacts:
    """Gather all that the page of an audit says, of a service or of a release."""
    names = ("small", "confidence", "n_areas", "n_areas_drawn", "seed", "unfinished")
    values: dict[str, Any] = {name: getattr(audit, name) for name in names}
    of_all = ("guessed", "sure", "sure_wrong", "certain")
    values |= {name: getattr(audit.whole.together, name) for name in of_all}
    return ExposureFacts(
        title=service.about.title,
        version=engine_version(),
        **values,
        largest_share=audit.largest_share,
        limit=limit,
        zeros=audit.whole.zeros,
        largest_zeros_share=audit.largest_zeros_share,
        groups=audit.groups,
        attribute_share=audit.attribute_share,
        **limits,
        whole=_part("", audit.whole),
        remaining=_part("", summed(audit.remainders)),
        differences=_worst(_part(one.name, one) for one in audit.remainders),
        persons=audit.attributes,
        sizes=tuple(_part(str(one.n_variables), one) for one in audit.exposures),
        **parts,
        growth=growth,
        advice=tuple(one.chosen for one in steps),
        noise=tuple(noise),
        release=() if release is None else tuple(release.tables),
        cautions=() if release is None else release.sums,
        left_out=tuple(
            release.left_out
            if release is not None
            else (f"{job.path.name}: {name}" for job in service.official for name in job.tables)
        ),
    )
