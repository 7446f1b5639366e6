"""A plan: which tables, of whose data, for which budget. It has a price before any data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from dp.accounting.composition import basic, concentrated
from dp.accounting.concentrated import rho_of_epsilon
from dp.adjacency import Adjacency
from dp.aggregates.questions import Question
from dp.aggregates.scope import Scope, checked_law, tail_of
from dp.checking import (
    checked_count,
    checked_delta,
    checked_epsilon,
    checked_positive,
    checked_probability,
)
from dp.errors import DPError
from dp.guarantee import Guarantee

_MOST_ROWS = 2**20
#: Below what is stated, so that sums of rounded parts cannot exceed it.
_SAFETY = 1 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """One table: groups, what a unit may contribute to them, and questions of each.

    Parameters
    ----------
    name
        What it is called.
    by
        Column → the keys of its groups, declared; None to publish those with enough units.
    questions
        What is asked of each group.
    groups_per_unit, rows_per_group
        What is kept of a unit.
    share
        The part of finding keys in the budget, beside those of all questions.

    Examples
    --------
    >>> TablePlan(name="sex", by={"sex": ("F", "M")}, questions=(Question(kind="rows"),)).finds
    False
    """

    name: str
    by: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    questions: tuple[Question, ...]
    groups_per_unit: int = 1
    rows_per_group: int = 1
    share: float = 1.0

    def __post_init__(self) -> None:
        checked_positive(self.share, "share")
        for name in ("groups_per_unit", "rows_per_group"):
            checked_count(getattr(self, name), name)
        if self.groups_per_unit * self.rows_per_group > _MOST_ROWS:
            raise DPError(f"A unit contributes at most 2**20 rows to table {self.name!r}.")
        if not self.questions:
            raise DPError(f"Table {self.name!r} asks nothing.", hint="add a question")
        names = [question.name for question in self.questions]
        if len(set(names)) < len(names):
            raise DPError(f"Table {self.name!r} asks one question twice.", hint="remove one")
        for column, keys in self.by.items():
            if keys is not None and (not keys or len(set(keys)) < len(keys)):
                raise DPError(
                    f"Table {self.name!r}: the keys of {column!r} are none, or repeat.",
                    hint="declare each once; or have them found",
                )

    @property
    def finds(self) -> bool:
        """Whether groups are found in the data."""
        return None in self.by.values()

    @property
    def groups(self) -> int | None:
        """How many groups there are; None where they are found."""
        sizes = [len(keys) for keys in self.by.values() if keys is not None]
        return None if self.finds else math.prod(sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a part of a plan costs, and what can be expected of it.

    Parameters
    ----------
    table
        Of which table.
    what
        A question; ``"keys"``, or ``"bounds"`` of one.
    cost
        An epsilon, or a rho.
    guarantee
        What it promises.
    expected
        How far answers lie from the truth at most, at the confidence: name → size.

    Examples
    --------
    >>> g = Guarantee(epsilon=1, adjacency="add-remove")
    >>> Part(table="t", what="rows", cost=1.0, guarantee=g, expected={"": 3.0}).delta
    0.0
    """

    table: str
    what: str
    cost: float
    guarantee: Guarantee
    expected: Mapping[str, float]
    delta: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Tables of one source, and the budget that they share.

    Parameters
    ----------
    unit
        Column of the identifiers of those who are protected.
    protects
        What they are, in a word.
    epsilon, delta
        What all of it may cost.
    tables
        The tables.
    noise
        ``"laplace"``, or ``"gaussian"``, which needs a delta and is better for many answers;
        by default as delta says.
    confidence
        Of each interval.
    people
        A public number of units, by which delta is judged; no number of the data.

    Examples
    --------
    >>> table = TablePlan(name="all", questions=(Question(kind="units"),))
    >>> plan = Plan(unit="id", protects="person", epsilon=0.5, tables=(table,))
    >>> print(plan.guarantee, plan.parts[0].expected)
    epsilon = 0.5 (add-remove, per person) {'': 6.0}
    """

    unit: str
    protects: str
    epsilon: float
    delta: float = 0.0
    tables: tuple[TablePlan, ...]
    noise: str = ""
    confidence: float = 0.95
    people: int | None = None

    def __post_init__(self) -> None:
        checked_epsilon(self.epsilon)
        checked_delta(self.delta, may_be_zero=True)
        checked_probability(self.confidence, "confidence", is_open=True)
        if self.people is not None:
            checked_count(self.people, "people")
        law = checked_law(self.noise or ("gaussian" if self.delta else "laplace"))
        object.__setattr__(self, "noise", law)
        names = [table.name for table in self.tables]
        if not names or len(set(names)) < len(names):
            raise DPError("A plan has tables, each with a name of its own.")
        if not self.delta and (law == "gaussian" or any(t.finds for t in self.tables)):
            raise DPError(
                "Gaussian noise and keys that are found need a delta.",
                hint="delta = 1e-7, say, far below 1 / number of units; or declare all keys",
            )
        self._require_cost()

    @property
    def warnings(self) -> tuple[str, ...]:
        """What weakens the guarantee, and can be mended."""
        told = []
        if self.delta and self.people is None:
            told.append(
                f"delta = {self.delta:g} promises something only where it is far below 1 / "
                "number of units: state people, a public number of them."
            )
        if self.people is not None and self.delta * self.people >= 1:
            told.append(
                f"delta = {self.delta:g} is not below 1 / people: a release that gives away "
                f"all of one in {self.people:,} units keeps it. Take 0.01 / people or less."
            )
        return tuple(told)

    @property
    def guarantee(self) -> Guarantee:
        """What all of the plan promises together, as the ledger is charged."""
        rho = self._total if self.noise == "gaussian" and not self._finding else math.inf
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta if self.noise == "gaussian" or self._finding else 0.0,
            rho=rho,
            adjacency=Adjacency.ADD_REMOVE,
            unit=self.protects,
        )

    @property
    def _finding(self) -> list[TablePlan]:
        return [table for table in self.tables if table.finds]

    @property
    def delta_of_keys(self) -> float:
        """The delta of finding the keys of one table."""
        if not self._finding:
            return 0.0
        half = 2 if self.noise == "gaussian" else 1
        return self.delta / half / len(self._finding) * _SAFETY

    @property
    def _total(self) -> float:
        """What all parts share: an epsilon, or a rho."""
        if self.noise == "laplace":
            return self.epsilon
        return rho_of_epsilon(self.epsilon, delta=self.delta / (2 if self._finding else 1))

    def scope(self, table: TablePlan) -> Scope:
        """Return what bounds a unit in a table."""
        return Scope(
            groups=table.groups_per_unit,
            rows=table.rows_per_group,
            law=self.noise,
            unit=self.protects,
            confidence=self.confidence,
        )

    @property
    def costs(self) -> dict[tuple[str, str], float]:
        """What each part may cost, by table and what it is."""
        shares: dict[tuple[str, str], float] = {}
        for table in self.tables:
            if table.finds:
                shares[table.name, "keys"] = table.share
            for question in table.questions:
                shares[table.name, question.name] = question.share
                if question.is_found:
                    shares[table.name, f"bounds of {question.name}"] = question.share
        whole = math.fsum(shares.values())
        return {part: self._total * _SAFETY * share / whole for part, share in shares.items()}

    @property
    def parts(self) -> tuple[Part, ...]:
        """Return all parts with their costs and what can be expected of them."""
        costs, found = self.costs, []
        for table in self.tables:
            scope = self.scope(table)
            if table.finds:
                cost = costs[table.name, "keys"]
                noise = scope.one_row().noise(cost)
                found.append(
                    Part(
                        table=table.name,
                        what="keys",
                        cost=cost,
                        guarantee=noise.guarantee,
                        expected={"threshold": self.threshold(table)},
                        delta=self.delta_of_keys,
                    )
                )
            for question in table.questions:
                found += self._parts_of(table, question, scope)
        return tuple(found)

    def _parts_of(self, table: TablePlan, question: Question, scope: Scope) -> list[Part]:
        costs = self.costs
        cost = costs[table.name, question.name]
        parts = [
            Part(
                table=table.name,
                what=question.name,
                cost=cost,
                guarantee=question.guarantee(scope, cost),
                expected=question.expected(scope, cost),
            )
        ]
        if question.is_found:
            what = f"bounds of {question.name}"
            noise = question.bounds_noise(scope, costs[table.name, what])
            parts.append(
                Part(
                    table=table.name,
                    what=what,
                    cost=costs[table.name, what],
                    guarantee=noise.guarantee,
                    expected={"": noise.accuracy(self.confidence)},
                )
            )
        return parts

    def threshold(self, table: TablePlan) -> float:
        """Return the number of units, with noise, above which a key that is found is published.

        Notes
        -----
        A key of one unit alone passes with a chance of delta over the groups of a unit: where
        1 plus the noise of one side exceeds it.
        """
        noise = self.scope(table).one_row().noise(self.costs[table.name, "keys"])
        beta = 2 * self.delta_of_keys / table.groups_per_unit
        return 1 + tail_of(noise, beta)

    def _require_cost(self) -> None:
        """Check the account: all parts together cost no more than what is stated."""
        promises = [part.guarantee for part in self.parts]
        if self.noise == "laplace":
            cost, most = basic(promises).epsilon, self.epsilon
        else:
            cost, most = concentrated(promises).rho, self._total
        if cost > most:
            raise DPError("The parts of the plan cost more than its budget: a fault of ours.")
