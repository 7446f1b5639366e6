"""The criteria by which an office chooses a method, measured on its own records."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from footing.arrays import Floats
from footing.checks import is_integer
from footing.messages import Argument, Message, Name
from risk.criteria.answers import Answer, Answers, Sought
from risk.criteria.coded import CodedQuestions, CodedRecords, CubeRequest, MakeMethod
from risk.criteria.joint import JointTables
from risk.criteria.result import Criteria, Criterion
from risk.errors import RiskError
from risk.reconstruction.fitted_counts import most_probable_counts
from risk.reconstruction.lattice import Lattice, Shown, guessed_counts
from risk.wellformed import require_whole

_CLOSE = 1e-9
#: Tables of more joint cells are attacked one by one; one of more than that is not.
_MAX_JOINT, _MAX_ALONE = 50_000, 500_000
#: Published numbers are never taken for more exact than this variance, and somebody is sure
#: of a count who is right so often.
_LEAST_VARIANCE, _CONFIDENCE = 0.05, 0.75


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
    questions = CodedQuestions(make, records, planned)
    answers = questions.answers(
        geography, sensitive, rng=rng, n_persons=n_persons, n_unplanned=n_unplanned
    )
    return judge(answers, method=method, simple=simple, small=small)


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
    questions = CodedQuestions(make, records, _planned(tables))
    return share_of_small_counts(questions.planned, small=small)


def share_of_small_counts(planned: Sequence[Answer], *, small: int) -> float | None:
    """Give the share of `small_counts_found` of tables that were answered already.

    Parameters
    ----------
    planned, small
        As for `named_small_counts`.

    Examples
    --------
    >>> share_of_small_counts([], small=2)
    """
    cases = named_small_counts(planned, small=small)
    return float(cases.mean()) if cases.size else None


def _planned(tables: Sequence[tuple[int, ...]]) -> list[CubeRequest]:
    if not tables or not any(tables):
        raise RiskError(
            Message("tables must name at least one with a dimension."), hint=Message("[(0, 1)]")
        )
    return [CubeRequest(dimensions=tuple(table)) for table in tables]


def judge(answers: Answers, *, method: str = "", simple: str = "", small: int = 2) -> Criteria:
    """Judge a method by all that it answered.

    Parameters
    ----------
    answers
        The answers.
    method, simple, small
        As in `measure_criteria`.

    Examples
    --------
    >>> judge(answers)  # doctest: +SKIP
    """
    cases, wrong = _differencing(answers.sought)
    shares = {
        "same_answer": _same_answer(answers),
        "same_by_another_route": _same_by_another_route(answers),
        "parts_below_totals": _parts_below_totals(answers.planned),
        "additive": _additive(answers.planned),
        "found_by_differencing": cases,
        "sure_but_wrong": wrong,
        "on_demand": _joined(each.is_shown[each.is_held] for each in answers.unplanned),
        "decentral": _decentral(answers),
        "cells_lost": _joined(~each.is_shown[each.is_held] for each in answers.planned),
        "small_counts_found": named_small_counts(answers.planned, small=small),
    }
    return Criteria(
        method=method,
        simple=simple,
        measured=tuple(
            Criterion(
                name=name, share=float(flags.mean()) if flags.size else None, base=flags.size
            )
            for name, flags in shares.items()
        ),
        mean_change=_mean_change(answers.planned),
        mean_loss=_mean_loss(answers.planned),
    )


def _mean_change(planned: Sequence[Answer]) -> float | None:
    """Give the mean distance of the planned counts that are shown from the true ones."""
    moved = np.concatenate(
        [
            np.abs(each.published - each.count)[each.is_held & each.is_shown]
            for each in planned
            if each.has_counts
        ]
        or [np.zeros(0)]
    )
    return float(moved.mean()) if moved.size else None


def _mean_loss(planned: Sequence[Answer]) -> float | None:
    """Give the mean distance of all planned counts, as if what is hidden were 0."""
    lost = np.concatenate(
        [
            np.abs(np.nan_to_num(each.published) - each.count)[each.is_held]
            for each in planned
            if each.has_counts
        ]
        or [np.zeros(0)]
    )
    return float(lost.mean()) if lost.size else None


def named_small_counts(planned: Sequence[Answer], *, small: int) -> NDArray[np.bool_]:
    """Tell for every small count of planned tables whether a reader of all names it.

    Parameters
    ----------
    planned
        The tables. Those of one population are attacked together, where that is not too large.
    small
        Counts from 1 to this are small.

    Examples
    --------
    >>> named_small_counts([], small=2)
    array([], dtype=bool)
    """
    groups: dict[str, list[Answer]] = {}
    for each in planned:
        if each.has_counts and len(each.count):
            groups.setdefault(each.population, []).append(each)
    cases = []
    for tables in groups.values():
        together = JointTables.of(tables)
        apart = [JointTables.of([table]) for table in tables]
        attacked = [together] if together.n_joint <= _MAX_JOINT else apart
        cases += [
            _named_together(joint, small) for joint in attacked if joint.n_joint <= _MAX_ALONE
        ]
    return _joined(cases)


def _named_together(tables: JointTables, small: int) -> NDArray[np.bool_]:
    cells = tables.cells
    change = np.concatenate([(a - c)[(c > 0) & ~np.isnan(a)] for a, c in cells.values()])
    if not change.size:
        return np.zeros(0, np.bool_)  # nothing is shown
    tables_shown = {
        levels: Shown(
            published=np.nan_to_num(answer).round().astype(np.int64),
            is_shown=~np.isnan(answer),
        )
        for levels, (answer, _) in cells.items()
    }
    variance = max(float((change**2).mean()), _LEAST_VARIANCE)
    lattice = Lattice(tables.groups, list(cells))
    estimates = most_probable_counts(lattice, tables_shown, variance=variance)
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


def _same_answer(answers: Answers) -> NDArray[np.bool_]:
    return _joined(
        _same(first.published, second.published)[first.is_held]
        for first, second in zip(answers.planned, answers.again, strict=True)
    )


def _same_by_another_route(answers: Answers) -> NDArray[np.bool_]:
    cases = [_in_other_tables(answers.planned, answers.planned)]
    for each in answers.slices:
        part, whole = each.answer, answers.planned[each.table]
        if part.is_shown.any():  # a refusal is no other answer
            here, there = part.common(whole, apart=each.category)
            is_same = _same(part.published[here], whole.published[there])
            cases.append(is_same[whole.is_held[there]])
    return _joined(cases)


def _decentral(answers: Answers) -> NDArray[np.bool_]:
    first, second = answers.alone
    return _joined([_in_other_tables(first, second), _in_other_tables(second, first)])


def _in_other_tables(some: Sequence[Answer], others: Sequence[Answer]) -> NDArray[np.bool_]:
    """Compare the cells that tables of one list have in common with those of another."""
    cases = []
    for first, second in combinations(range(len(some)), 2):
        one, other = some[first], others[second]
        if one.population == other.population and one.has_counts == other.has_counts:
            here, there = one.common(other)
            is_same = _same(one.published[here], other.published[there])
            cases.append(is_same[one.is_held[here]])
    return _joined(cases)


def _parts_below_totals(planned: Sequence[Answer]) -> NDArray[np.bool_]:
    cases = []
    for each in planned:
        for parts, totals in each.lines() if each.has_counts else ():
            part, total = each.published[parts], each.published[totals]
            is_counted = each.is_held[parts] & ~np.isnan(part) & ~np.isnan(total)
            cases.append((part <= total + _CLOSE * np.abs(total))[is_counted])
    return _joined(cases)


def _additive(planned: Sequence[Answer]) -> NDArray[np.bool_]:
    cases = []
    for each in planned:
        for parts, totals in each.lines() if each.has_counts else ():
            lines, line = np.unique(totals, return_inverse=True)
            sums = np.zeros(len(lines))
            np.add.at(sums, line, each.published[parts])  # of a hidden part: not a number
            total = each.published[lines]
            is_whole = each.is_held[lines] & ~np.isnan(sums) & ~np.isnan(total)
            cases.append(_same(sums, total)[is_whole])
    return _joined(cases)


def _differencing(sought: Sequence[Sought]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell whose category two tables single out, and for whom they single out another."""
    if not sought:
        return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
    categories = np.array([_singled_out(each) for each in sought], object)
    right = np.array([each.category for each in sought], object)[:, None]
    cases = np.asarray(categories == right, np.bool_)
    wrong = np.asarray(categories != -1, np.bool_) & ~cases
    better = int(cases.sum(axis=0).argmax())
    return cases[:, better], wrong[:, better]


def _singled_out(person: Sought) -> tuple[int, int]:
    """Name a person's category by the deepest fall and by the only change; -1 is none."""
    both = (person.present, person.absent)
    if any(len(answer.count) and not answer.is_shown.any() for answer in both):
        return -1, -1  # a table that is refused singles out nobody
    before, after = map(_finest, both)
    fall = {
        category: float(np.nan_to_num(number - after.get(category, 0.0)))
        for category, number in before.items()
    }
    fall |= {c: float(np.nan_to_num(-n)) for c, n in after.items() if c not in before}
    most = max(fall.values(), default=0.0)
    deepest = [category for category, number in fall.items() if number == most > 0]
    changed = [category for category, number in fall.items() if number]
    return (
        deepest[0] if len(deepest) == 1 else -1,
        changed[0] if len(changed) == 1 else -1,
    )


def _finest(answer: Answer) -> dict[int, float]:
    """Return the published numbers of the finest categories of a table of one dimension."""
    (axis,), (rank,) = answer.axes, answer.ranks
    is_finest = np.isin(rank, axis.levels[0].ranks)
    identities = answer.identities[is_finest].tolist()
    return dict(zip(identities, answer.published[is_finest].tolist(), strict=True))


def _same(first: Floats, second: Floats) -> NDArray[np.bool_]:
    return np.isclose(first, second, rtol=_CLOSE, atol=_CLOSE, equal_nan=True)


def _joined(cases: Iterable[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    arrays = [np.atleast_1d(case).ravel() for case in cases]
    return np.concatenate(arrays) if arrays else np.zeros(0, np.bool_)
