"""From differentially private tables to what their page says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from dp import meaning
from dp.aggregates.release import Released, ReleasedTable
from footing.version import engine_version
from reports import Report, make_report
from reports.facts.copying import fact_of
from reports.facts.dp_tables import DPPartFact, DPTableFact, DPTablesFacts
from reports.facts.quantity import Quantity


def page_of(result: Released, *, title: str, language: str, links: Mapping[str, str]) -> Report:
    """Make the page of a release."""
    plan = result.plan
    means = meaning(plan.guarantee)
    member = means.membership or means.value
    shifts = (member, means.value)
    facts = DPTablesFacts(
        title=title,
        version=engine_version(),
        epsilon=plan.epsilon,
        delta=plan.guarantee.delta,
        unit=plan.protects,
        odds=tuple(s.factor if math.isfinite(s.factor) else None for s in shifts),
        chances=tuple(shift.chance for shift in shifts),
        confidence=plan.confidence,
        currency="\N{GREEK SMALL LETTER EPSILON}"
        if plan.noise == "laplace"
        else "\N{GREEK SMALL LETTER RHO}",
        parts=tuple(fact_of(DPPartFact, part) for part in plan.parts),
        entry=result.entry.number,
        at=result.entry.at,
        tables=tuple(_table_fact(table) for table in result.tables),
    )
    return make_report(facts, language=language, links=links)


def _table_fact(table: ReleasedTable) -> DPTableFact:
    pairs = list(zip(table.plan.questions, table.answers, strict=True))
    return DPTableFact(
        name=table.plan.name,
        groups=table.plan.groups_per_unit,
        rows=table.plan.rows_per_group,
        are_found=table.plan.finds,
        bounds=tuple(
            (question.name, *answers.bounds, answers.beyond[0])
            for question, answers in pairs
            if answers.bounds
        ),
        left_out=tuple(
            (item, numbers[0], numbers[1], numbers[2])
            for question, answers in pairs
            if question.kind == "left-out"
            for item, numbers in zip(answers.items, _triples(answers, 0), strict=True)
        ),
        numbers=tuple(
            Quantity(what, value, subject=", ".join(key), low=low, high=high)
            for key, what, (value, low, high) in rows_of(table)
        ),
    )


def rows_of(
    table: ReleasedTable,
) -> Iterator[tuple[tuple[str, ...], str, tuple[float, float | None, float | None]]]:
    """Give the group of each number that a table publishes, what it is, and its interval."""
    for group, key in enumerate(table.keys):
        for question, answers in zip(table.plan.questions, table.answers, strict=True):
            if question.kind == "left-out":
                continue  # of the table as a whole
            for item, numbers in zip(answers.items, _triples(answers, group), strict=True):
                if numbers[0] is not None:
                    yield key, f"{question.name}{': ' * bool(item)}{item}", numbers


def _triples(answers: Any, group: int) -> list[Any]:
    """Give value, least and most of each item; None where nothing is told."""
    columns = np.stack([answers.values, answers.lower, answers.upper])[:, group]
    return [
        tuple(None if math.isnan(number) else number for number in triple)
        for triple in columns.T.tolist()
    ]
