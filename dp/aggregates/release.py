"""From what units contribute to answers with noise: charged first, drawn then."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dp.aggregates.plan import Plan, TablePlan
from dp.aggregates.questions import Answers
from dp.budget.entries import Entry
from dp.budget.ledger import BudgetLedger
from dp.errors import BudgetSpentError
from dp.guarantee import Guarantee
from footing.messages import Message, said

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedTable:
    """One table with noise.

    Parameters
    ----------
    plan
        What was asked.
    keys
        Of each group.
    answers
        One for each question.

    Examples
    --------
    >>> from dp.aggregates.questions import Question
    >>> asked = TablePlan(name="all", questions=(Question(kind="units"),))
    >>> ReleasedTable(plan=asked, keys=((),), answers=()).keys
    ((),)
    """

    plan: TablePlan
    keys: tuple[tuple[str, ...], ...]
    answers: tuple[Answers, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """All tables of a plan, with noise; what follows from them costs nothing more.

    Parameters
    ----------
    plan
        What was asked.
    tables
        One for each of the plan.
    entry
        What the ledger was charged.

    Examples
    --------
    >>> from dp.aggregates.questions import Question
    >>> asked = TablePlan(name="all", questions=(Question(kind="units"),))
    >>> plan = Plan(unit="id", protects="person", epsilon=1, tables=(asked,))
    >>> entry = Entry.from_row((1, "2027-01-01", "Ada", "all", "1", "0", "inf", "1", "0", ""))
    >>> Released(plan=plan, tables=(), entry=entry).entry.number
    1
    """

    plan: Plan
    tables: tuple[ReleasedTable, ...]
    entry: Entry


def release(
    records: Callable[..., Any], plan: Plan, *, ledger: BudgetLedger, who: str, what: str
) -> Released:
    """Read records, charge the ledger, and answer the questions of a plan with noise.

    Parameters
    ----------
    records
        Whoever reads them: `tables.contributions` of an opened source. Nothing is read before
        the ledger is known to have enough.
    plan
        What is asked, and what it may cost.
    ledger
        What is charged before any noise is drawn. Where reading fails, nothing is charged.
    who, what
        Who releases, and what, for the ledger.

    Raises
    ------
    BudgetSpentError
        If too little is left.

    Examples
    --------
    >>> import functools, tempfile
    >>> import pyarrow as pa
    >>> from dp import Question, TablePlan, Plan
    >>> from tables import contributions, open_source
    >>> people = pa.table({"id": [1, 2, 3, 3], "sex": ["F", "M", "F", "F"]})
    >>> asked = TablePlan(
    ...     name="sex", by={"sex": ("F", "M")}, questions=(Question(kind="units"),)
    ... )
    >>> plan = Plan(unit="id", protects="person", epsilon=50, tables=(asked,))
    >>> ledger = BudgetLedger.create(
    ...     tempfile.mkdtemp() + "/b.db", epsilon=50, adjacency="add-remove", unit="person"
    ... )
    >>> with open_source(people) as source:
    ...     read = functools.partial(contributions, source)
    ...     found = release(read, plan, ledger=ledger, who="Ada", what="by sex")
    >>> found.tables[0].answers[0].values.ravel().tolist()
    [2.0, 1.0]
    """
    require_left(ledger, plan.guarantee)
    summaries = [
        records(
            unit=plan.unit,
            by=table.by,
            groups_per_unit=table.groups_per_unit,
            rows_per_group=table.rows_per_group,
            readings=[q.reading for q in table.questions if q.reading is not None],
            where=table.where,
        )
        for table in plan.tables
    ]
    entry = ledger.spend(plan.guarantee, who=who, what=what)
    logger.info("ledger charged", extra={"entry": entry.number})
    tables = tuple(_answered(plan, t, f) for t, f in zip(plan.tables, summaries, strict=True))
    return Released(plan=plan, tables=tables, entry=entry)


def require_left(ledger: BudgetLedger, cost: Guarantee) -> None:
    """Raise what a charge would raise, and charge nothing."""
    price = ledger.settings.price(cost)
    remainder = ledger.settings.price(ledger.left)
    if any(part > rest for part, rest in zip(price, remainder, strict=True)):
        raise BudgetSpentError(
            Message(
                "The release costs {cost}; left is {left}.",
                cost=said(str(cost)),
                left=said(str(ledger.left)),
            ),
            hint=Message("ask for less, or for a new budget from its owner"),
        )


def _answered(plan: Plan, table: TablePlan, summary: Any) -> ReleasedTable:
    scope, costs = plan.scope(table), plan.costs
    places = np.arange(len(summary.keys))
    if table.finds:
        noise, threshold = plan.keys_noise(table, costs[table.name, "keys"])
        places = np.flatnonzero(noise.release(summary.units) > threshold)
    readings, answers = iter(summary.readings), []
    for question in table.questions:
        bins = next(readings) if question.reading is not None else None
        bounds_cost = costs.get((table.name, f"bounds of {question.name}"), 0.0)
        both = costs[table.name, question.name], bounds_cost
        answers.append(question.answer(scope, both, summary, bins, places))
    keys = tuple(summary.keys[place] for place in places)
    return ReleasedTable(plan=table, keys=keys, answers=tuple(answers))
