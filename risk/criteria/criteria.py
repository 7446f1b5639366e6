"""The criteria by which an office chooses a method, measured on its own records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from footing.checks import is_integer
from risk.criteria.coded import CodedRecords, CountingMethod, CubeRequest
from risk.criteria.result import Criteria, Criterion
from risk.errors import RiskError
from risk.wellformed import require_whole

Numbers = NDArray[np.float64]

#: Called with an office's number and the tables it plans; gives the method as it has it.
MakeMethod: TypeAlias = Callable[[int, Sequence[CubeRequest]], CountingMethod]

_CLOSE = 1e-9
_Number = TypeVar("_Number", np.float64, np.int64)


def measure_criteria(
    make: MakeMethod,
    records: CodedRecords,
    *,
    tables: Sequence[tuple[int, ...]],
    geography: int,
    sensitive: int,
    rng: np.random.Generator,
    method: str = "",
    simple: str = "",
    n_persons: int = 200,
    n_unplanned: int = 20,
) -> Criteria:
    """Measure how a method fares by every criterion, by asking it as users would.

    Parameters
    ----------
    make
        Gives the method as an office has it: 0 makes all tables, 1 and 2 know one of the
        tables each, and nothing of each other but what the method lets offices share.
    records
        The records as they are, for the truth.
    tables
        The dimensions of the planned tables. Any two have the cells of a margin in common,
        the total at least; with one table alone some criteria stay open.
    geography
        The attribute of areas, which differencing makes use of.
    sensitive
        The attribute that an intruder wants to know.
    rng
        Draws the persons sought and the tables that nobody planned.
    method
        What the method is called.
    simple
        Whether it is simple to run, in a word.
    n_persons
        How many persons are sought.
    n_unplanned
        How many tables nobody planned.

    Notes
    -----
    Cells without records are left out of all shares. A cell that is hidden both times counts
    as the same answer, one that is hidden once does not, and a filter that is refused as a
    whole is no answer.

    For differencing, the `sensitive` table of a person's area is asked for with and without
    her, as two zonings do whose difference is one person. The intruder names the category
    where the count fell most, or the only one that changed, whichever finds more persons with
    this method; where several qualify, he names none. A service may refuse tables so close to
    each other: what it refuses finds nobody.

    A table that nobody planned is a planned one for half of the categories of another
    attribute.

    Examples
    --------
    >>> from risk.criteria.coded import RecordMethod
    >>> rng = np.random.default_rng(1)
    >>> records = CodedRecords(rng.integers(0, 4, (300, 3)))
    >>> found = measure_criteria(
    ...     lambda office, planned: RecordMethod(records),
    ...     records,
    ...     tables=[(0,), (0, 1)],
    ...     geography=0,
    ...     sensitive=2,
    ...     rng=rng,
    ... )
    >>> found.share("additive"), found.share("found_by_differencing")
    (1.0, 1.0)
    """
    if not tables or not any(tables):
        raise RiskError("tables must name at least one with a dimension.", hint="[(0, 1)]")
    for name, place in (("geography", geography), ("sensitive", sensitive)):
        if not is_integer(place, minimum=0, maximum=len(records.sizes) - 1):
            raise RiskError(
                f"{name} must be the place of one of {len(records.sizes)} attributes, not"
                f" {place!r}."
            )
    require_whole(n_persons, name="n_persons", least=1)
    require_whole(n_unplanned, name="n_unplanned", least=1)
    planned = [CubeRequest(dimensions=tuple(table)) for table in tables]
    bench = _Testbed(make, records, planned)
    found, wrong = bench.differencing(geography, sensitive, rng=rng, n_persons=n_persons)
    shares = {
        "same_answer": bench.same_answer(),
        "same_by_another_route": bench.same_by_another_route(),
        "parts_below_totals": bench.parts_below_totals(),
        "additive": bench.additive(),
        "found_by_differencing": found,
        "sure_but_wrong": wrong,
        "on_demand": bench.on_demand(rng, n_unplanned),
        "decentral": bench.decentral(),
        "cells_lost": bench.cells_lost(),
    }
    measured = tuple(
        Criterion(name=name, share=float(held.mean()) if held.size else None, base=held.size)
        for name, held in shares.items()
    )
    return Criteria(
        method=method, simple=simple, measured=measured, mean_change=bench.mean_change()
    )


class _Testbed:
    """One method on one set of records; every measure gives a truth value per case."""

    def __init__(
        self, make: MakeMethod, records: CodedRecords, planned: list[CubeRequest]
    ) -> None:
        self.make = make
        self.records = records
        self.planned = planned
        self.method = make(0, planned)
        self.answers = [self.ask(self.method, request) for request in planned]
        self.counts = [records.counts(request) for request in planned]

    def ask(self, method: CountingMethod, request: CubeRequest) -> Numbers:
        """Return the numbers of a table, all missing where it was refused."""
        shape = self.records.shape(request)
        try:
            answer = method.publish(request)
        except RiskError:
            raise  # a mistake, not a rule
        except (ValueError, PermissionError):
            answer = None
        if answer is None:
            return np.full(shape, np.nan)
        numbers = np.ma.filled(np.ma.asarray(answer, np.float64), np.nan)
        if numbers.shape != shape:
            raise RiskError(
                f"The method must answer with a table of shape {shape}, not {numbers.shape}.",
                hint="totals stand last in every dimension; what is not shown is NaN",
            )
        return np.asarray(numbers, np.float64)

    def mean_change(self) -> float | None:
        """Give the mean distance of the planned cells that are shown from their counts."""
        moved, n_cells = 0.0, 0
        for answer, count in zip(self.answers, self.counts, strict=True):
            shown = (count > 0) & ~np.isnan(answer)
            moved += float(np.abs(answer - count)[shown].sum())
            n_cells += int(shown.sum())
        return moved / n_cells if n_cells else None

    def same_answer(self) -> NDArray[np.bool_]:
        again = [self.ask(self.method, request) for request in self.planned]
        return _joined(
            _same(first, second)[count > 0]
            for first, second, count in zip(self.answers, again, self.counts, strict=True)
        )

    def same_by_another_route(self) -> NDArray[np.bool_]:
        return _joined([self._in_other_tables(self.answers, self.answers), *self._filtered()])

    def _in_other_tables(
        self, some: Sequence[Numbers], others: Sequence[Numbers]
    ) -> NDArray[np.bool_]:
        """Compare the margins that tables of one list have in common with those of another."""
        found = []
        for first, second in combinations(range(len(self.planned)), 2):
            one, other = self.planned[first], self.planned[second]
            shared = tuple(name for name in one.dimensions if name in other.dimensions)
            is_same = _same(
                _margin(some[first], one, shared), _margin(others[second], other, shared)
            )
            found.append(is_same[_margin(self.counts[first], one, shared) > 0])
        return _joined(found)

    def _filtered(self) -> Iterator[NDArray[np.bool_]]:
        """Ask for the slices of the first dimension by a filter."""
        for request, answer, count in zip(self.planned, self.answers, self.counts, strict=True):
            if not request.dimensions:
                continue
            first, *rest = request.dimensions
            for category in range(self.records.sizes[first]):
                narrowed = CubeRequest(dimensions=tuple(rest), within={first: (category,)})
                part = self.ask(self.method, narrowed)
                if np.isnan(part).all():
                    continue  # a refusal is no other answer
                yield _same(part, answer[category])[count[category] > 0]

    def _lines(self) -> Iterator[tuple[Numbers, Numbers, NDArray[np.int64]]]:
        """Give totals, their parts with the lines' axis first, and the counts of the parts."""
        for answer, count in zip(self.answers, self.counts, strict=True):
            for axis in range(answer.ndim):
                line, true = np.moveaxis(answer, axis, 0), np.moveaxis(count, axis, 0)
                yield line[-1], line[:-1], true[:-1]

    def parts_below_totals(self) -> NDArray[np.bool_]:
        return _joined(
            (parts <= total + _CLOSE * np.abs(total))[
                (true > 0) & ~np.isnan(parts) & ~np.isnan(total)
            ]
            for total, parts, true in self._lines()
        )

    def additive(self) -> NDArray[np.bool_]:
        held = []
        for total, parts, true in self._lines():
            is_whole = ~np.isnan(total) & ~np.isnan(parts).any(axis=0) & (true.sum(axis=0) > 0)
            sums = np.where(is_whole, np.nan_to_num(parts).sum(axis=0), np.nan)
            held.append(_same(sums, total)[is_whole])
        return _joined(held)

    def differencing(
        self, geography: int, sensitive: int, *, rng: np.random.Generator, n_persons: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        n_sought = min(n_persons, len(self.records))
        sought = rng.choice(len(self.records), n_sought, replace=False)
        named = np.array(
            [self._named(person, geography, sensitive) for person in sought.tolist()]
        )
        right = self.records.codes[sought, sensitive][:, None]
        found, wrong = named == right, (named >= 0) & (named != right)
        better = int(found.sum(axis=0).argmax())
        return found[:, better], wrong[:, better]

    def _named(self, person: int, geography: int, sensitive: int) -> tuple[int, int]:
        """Name a person's category by the deepest fall and by the only change; -1 is none."""
        area = {geography: (int(self.records.codes[person, geography]),)}
        here, without = (
            self.ask(
                self.method,
                CubeRequest(dimensions=(sensitive,), within=area, without=left_out),
            )[:-1]
            for left_out in ((), (person,))
        )
        fall = np.nan_to_num(here - without)
        deepest = np.flatnonzero((fall > 0) & (fall == fall.max()))
        changed = np.flatnonzero(fall)
        return (
            int(deepest[0]) if len(deepest) == 1 else -1,
            int(changed[0]) if len(changed) == 1 else -1,
        )

    def on_demand(self, rng: np.random.Generator, n_unplanned: int) -> NDArray[np.bool_]:
        shown = []
        for _ in range(n_unplanned):
            request = self.planned[int(rng.integers(len(self.planned)))]
            others = [a for a in range(len(self.records.sizes)) if a not in request.dimensions]
            kept = request.dimensions if others else request.dimensions[1:]
            by = int(rng.choice(others or request.dimensions[:1]))
            size = self.records.sizes[by]
            half = rng.choice(size, max(1, size // 2), replace=False)
            asked = CubeRequest(dimensions=kept, within={by: tuple(half.tolist())})
            answer = self.ask(self.method, asked)
            shown.append(~np.isnan(answer)[self.records.counts(asked) > 0])
        return _joined(shown)

    def decentral(self) -> NDArray[np.bool_]:
        first, second = (
            [self.ask(self.make(office, [request]), request) for request in self.planned]
            for office in (1, 2)
        )
        alone = [self._in_other_tables(first, second), self._in_other_tables(second, first)]
        return _joined(alone)

    def cells_lost(self) -> NDArray[np.bool_]:
        return _joined(
            np.isnan(answer)[count > 0]
            for answer, count in zip(self.answers, self.counts, strict=True)
        )


def _margin(
    table: NDArray[_Number], request: CubeRequest, kept: tuple[int, ...]
) -> NDArray[_Number]:
    """Take the margin over some dimensions, in their order."""
    at = tuple(slice(None) if name in kept else -1 for name in request.dimensions)
    left = [name for name in request.dimensions if name in kept]
    return table[at].transpose([left.index(name) for name in kept])


def _same(first: Numbers, second: Numbers) -> NDArray[np.bool_]:
    return np.isclose(first, second, rtol=_CLOSE, atol=_CLOSE, equal_nan=True)


def _joined(cases: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    found = [np.atleast_1d(case).ravel() for case in cases]
    return np.concatenate(found) if found else np.zeros(0, np.bool_)
