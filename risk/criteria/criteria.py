"""The criteria by which an office chooses a method, measured on its own records."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Levels
from footing.checks import is_integer
from footing.messages import Argument, Message, Name, Shape
from risk.criteria.coded import CodedRecords, CountingMethod, CubeRequest
from risk.criteria.result import Criteria, Criterion
from risk.errors import RiskError
from risk.reconstruction.lattice import Lattice, Shown, guessed_counts, most_probable_counts
from risk.wellformed import require_whole

Numbers = NDArray[np.float64]

#: Called with an office's number and the tables it plans; gives the method as it has it.
MakeMethod: TypeAlias = Callable[[int, Sequence[CubeRequest]], CountingMethod]

_CLOSE = 1e-9
#: Tables of more joint cells are attacked one by one.
_MAX_JOINT = 50_000
#: Published numbers are never taken for more exact than this variance, and somebody is sure
#: of a count who is right so often.
_LEAST_VARIANCE, _CONFIDENCE = 0.05, 0.75
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
    small: int = 2,
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
    small
        Counts from 1 to this are small.

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

    For small counts, a reader fits the most probable joint table to all planned tables at once
    (`risk.reconstruction.lattice`), knowing how far the method moves counts on average, and
    guesses each cell by what is most frequent among other cells that are published and fitted
    alike, as somebody can who simulates the method. What is hidden is fitted as well. Planned
    tables that together have more than 50,000 joint cells are attacked one by one.

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
    planned = _planned(tables)
    for name, place in (("geography", geography), ("sensitive", sensitive)):
        if not is_integer(place, minimum=0, maximum=len(records.sizes) - 1):
            raise RiskError(
                Message(
                    "{name} must be the place of one of {number} attributes, not {place!r}.",
                    name=Name(name),
                    number=len(records.sizes),
                    place=Argument(place),
                )
            )
    require_whole(n_persons, name="n_persons", least=1)
    require_whole(n_unplanned, name="n_unplanned", least=1)
    require_whole(small, name="small", least=1)
    bench = _Testbed(make, records, planned)
    right, wrong = bench.differencing(geography, sensitive, rng=rng, n_persons=n_persons)
    shares = {
        "same_answer": bench.same_answer(),
        "same_by_another_route": bench.same_by_another_route(),
        "parts_below_totals": bench.parts_below_totals(),
        "additive": bench.additive(),
        "found_by_differencing": right,
        "sure_but_wrong": wrong,
        "on_demand": bench.on_demand(rng, n_unplanned),
        "decentral": bench.decentral(),
        "cells_lost": bench.cells_lost(),
        "small_counts_found": bench.small_counts_found(small),
    }
    criteria = tuple(
        Criterion(name=name, share=float(cases.mean()) if cases.size else None, base=cases.size)
        for name, cases in shares.items()
    )
    return Criteria(
        method=method,
        simple=simple,
        measured=criteria,
        mean_change=bench.mean_change(),
        mean_loss=bench.mean_loss(),
    )


def small_counts_found(
    make: MakeMethod,
    records: CodedRecords,
    *,
    tables: Sequence[tuple[int, ...]],
    small: int = 2,
) -> float | None:
    """Give the share of small counts that a reader of all planned tables names rightly.

    Parameters
    ----------
    make, records, tables, small
        As in `measure_criteria`, of whose criteria it is one.

    Returns
    -------
    float or None
        The share, from 0 to 1; None where no count is small.

    Examples
    --------
    >>> from risk.criteria.coded import RecordMethod
    >>> records = CodedRecords(np.random.default_rng(1).integers(0, 9, (90, 2)))
    >>> small_counts_found(
    ...     lambda office, planned: RecordMethod(records), records, tables=[(0, 1)]
    ... )
    1.0
    """
    hits = _Testbed(make, records, _planned(tables)).small_counts_found(small)
    return float(hits.mean()) if hits.size else None


def _planned(tables: Sequence[tuple[int, ...]]) -> list[CubeRequest]:
    if not tables or not any(tables):
        raise RiskError(
            Message("tables must name at least one with a dimension."), hint=Message("[(0, 1)]")
        )
    return [CubeRequest(dimensions=tuple(table)) for table in tables]


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
                Message(
                    "The method must answer with a table of shape {shape}, not "
                    "{numbers_shape}.",
                    shape=Argument(shape),
                    numbers_shape=Shape(numbers.shape),
                ),
                hint=Message("totals stand last in every dimension; what is not shown is NaN"),
            )
        return np.asarray(numbers, np.float64)

    def mean_change(self) -> float | None:
        """Give the mean distance of the planned cells that are shown from their counts."""
        moved, n_cells = 0.0, 0
        for answer, count in zip(self.answers, self.counts, strict=True):
            is_shown = (count > 0) & ~np.isnan(answer)
            moved += float(np.abs(answer - count)[is_shown].sum())
            n_cells += int(is_shown.sum())
        return moved / n_cells if n_cells else None

    def mean_loss(self) -> float | None:
        """Give the mean distance of all planned cells, as if what is hidden were 0."""
        pairs = zip(self.answers, self.counts, strict=True)
        lost = [np.abs(np.nan_to_num(answer) - count)[count > 0] for answer, count in pairs]
        cells = np.concatenate(lost)
        return float(cells.mean()) if cells.size else None

    def small_counts_found(self, small: int) -> NDArray[np.bool_]:
        """Attack the planned tables, together where that is not too large."""
        places = sorted({place for request in self.planned for place in request.dimensions})
        joint = float(np.prod([self.records.sizes[place] for place in places]))
        every = range(len(self.planned))
        if joint <= _MAX_JOINT:
            return self._found_together(places, list(every), small)
        return _joined(
            self._found_together(sorted(self.planned[one].dimensions), [one], small)
            for one in every
        )

    def _found_together(
        self, places: Sequence[int], tables: Sequence[int], small: int
    ) -> NDArray[np.bool_]:
        """Tell for every small count of some tables whether a reader of all names it."""
        cells: dict[Levels, tuple[Numbers, NDArray[np.int64]]] = {}
        for table in tables:
            for levels, cell in self._margins(places, table):
                cells.setdefault(levels, cell)
        change = np.concatenate([(a - c)[(c > 0) & ~np.isnan(a)] for a, c in cells.values()])
        if not change.size:
            return np.zeros(0, np.bool_)  # nothing is shown
        published_cells = {
            levels: Shown(
                published=np.nan_to_num(answer).round().astype(np.int64),
                is_shown=~np.isnan(answer),
            )
            for levels, (answer, _) in cells.items()
        }
        sizes = [self.records.sizes[place] for place in places]
        groups = [(np.arange(size), np.zeros(size, np.int64)) for size in sizes]
        variance = max(float((change**2).mean()), _LEAST_VARIANCE)
        estimates = most_probable_counts(
            Lattice(groups, list(cells)), published_cells, variance=variance
        )
        guess = np.concatenate([estimates[levels].ravel() for levels in cells])
        answers = np.concatenate([answer.ravel() for answer, _ in cells.values()])
        clues = np.nan_to_num(answers, nan=-1), np.rint(2 * guess)
        guesses = guessed_counts(
            np.concatenate([count.ravel() for _, count in cells.values()]),
            np.rint(guess).astype(np.int64),
            [clue.astype(np.int64) for clue in clues],
            small=small,
            confidence=_CONFIDENCE,
        )
        return guesses.is_right[guesses.is_small]

    def _margins(
        self, places: Sequence[int], table: int
    ) -> Iterator[tuple[Levels, tuple[Numbers, NDArray[np.int64]]]]:
        """Give what a planned table and its margins show, and the counts, by levels."""
        inner = self.planned[table].dimensions
        for subset in chain.from_iterable(
            combinations(inner, n) for n in range(len(inner) + 1)
        ):
            at = tuple(slice(-1) if place in subset else slice(-1, None) for place in inner)
            order = np.argsort(inner)
            shape = [self.records.sizes[place] if place in subset else 1 for place in places]
            answer = self.answers[table][at].transpose(order).reshape(shape)
            count = self.counts[table][at].transpose(order).reshape(shape)
            yield tuple(int(place not in subset) for place in places), (answer, count)

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
        comparisons = []
        for first, second in combinations(range(len(self.planned)), 2):
            one, other = self.planned[first], self.planned[second]
            shared = tuple(name for name in one.dimensions if name in other.dimensions)
            is_same = _same(
                _margin(some[first], one, shared), _margin(others[second], other, shared)
            )
            comparisons.append(is_same[_margin(self.counts[first], one, shared) > 0])
        return _joined(comparisons)

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
        comparisons = []
        for total, parts, true in self._lines():
            is_whole = ~np.isnan(total) & ~np.isnan(parts).any(axis=0) & (true.sum(axis=0) > 0)
            sums = np.where(is_whole, np.nan_to_num(parts).sum(axis=0), np.nan)
            comparisons.append(_same(sums, total)[is_whole])
        return _joined(comparisons)

    def differencing(
        self, geography: int, sensitive: int, *, rng: np.random.Generator, n_persons: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        n_sought = min(n_persons, len(self.records))
        sought = rng.choice(len(self.records), n_sought, replace=False)
        guesses = np.array(
            [self._named(person, geography, sensitive) for person in sought.tolist()]
        )
        right = self.records.codes[sought, sensitive][:, None]
        is_right, wrong = guesses == right, (guesses >= 0) & (guesses != right)
        better = int(is_right.sum(axis=0).argmax())
        return is_right[:, better], wrong[:, better]

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
        masks = []
        for _ in range(n_unplanned):
            request = self.planned[int(rng.integers(len(self.planned)))]
            others = [a for a in range(len(self.records.sizes)) if a not in request.dimensions]
            dimensions = request.dimensions if others else request.dimensions[1:]
            by = int(rng.choice(others or request.dimensions[:1]))
            size = self.records.sizes[by]
            half = rng.choice(size, max(1, size // 2), replace=False)
            query = CubeRequest(dimensions=dimensions, within={by: tuple(half.tolist())})
            answer = self.ask(self.method, query)
            masks.append(~np.isnan(answer)[self.records.counts(query) > 0])
        return _joined(masks)

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
    table: NDArray[_Number], request: CubeRequest, dimensions: tuple[int, ...]
) -> NDArray[_Number]:
    """Take the margin over some dimensions, in their order."""
    at = tuple(slice(None) if name in dimensions else -1 for name in request.dimensions)
    order = [name for name in request.dimensions if name in dimensions]
    return table[at].transpose([order.index(name) for name in dimensions])


def _same(first: Numbers, second: Numbers) -> NDArray[np.bool_]:
    return np.isclose(first, second, rtol=_CLOSE, atol=_CLOSE, equal_nan=True)


def _joined(cases: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    arrays = [np.atleast_1d(case).ravel() for case in cases]
    return np.concatenate(arrays) if arrays else np.zeros(0, np.bool_)
